"""``plugin stats`` and ``plugin doctor``."""

from __future__ import annotations

import json
import re
import struct
from typing import TYPE_CHECKING

import pytest

from railweave.host import doctor, host_file, plugin
from railweave.host.commands import main
from railweave.host.machine import ThisMachine
from tests.conftest import ROOT
from tests.host.plans import designed, small

if TYPE_CHECKING:
    from pathlib import Path


def page(pid: int, written_ns: int, byte_counts: list[int], sequence: int = 2, peers: tuple[bytes, ...] = ()) -> bytes:
    """As plugin/src/stats.h lays it out: one way per count, by color."""
    head = struct.Struct("<8sIIQQII64sII")
    data = head.pack(b"RWSTATS\0", 2, 344, sequence, written_ns, pid, len(byte_counts), b"H100-01", len(peers), 280)
    for color, count in enumerate(byte_counts):
        names = struct.pack("<64s64s64s32s", b"mlx5_0", b"leaf1", b"leaf2", b"")
        data += names + struct.pack("<iI4I8Q4Q", color, 1, 2, 2, 0, 1, count, 5, 6, 0, 1, 0, 0, 0, 10, 20, 30, 40)
    return data + bytes(256 * 344 + head.size - len(data)) + b"".join(peers)


def peer(host: bytes, live: int, deaths: int, doing: bytes = b"") -> bytes:
    died_ns = 1_700_000_000_123_000_000 if deaths else 0
    numbers = (9, died_ns, deaths, 4711, 12, 4, 3, 8, live, 0, 0)
    return struct.pack("<64s96s64sQQQIiiIIIII", host, b"mlx5_0 is down", doing, *numbers)


def test_processes_at_the_other_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    peers = (peer(b"H100-02", 8, 0), peer(b"H100-03", 6, 2, b"probes the path"))
    tmp_path.joinpath("railweave-net-7").write_bytes(page(7, 1, [100], peers=peers))
    asked = ["plugin", "stats", "--shm", str(tmp_path), "--interval", "0"]
    assert main(asked) == 0
    told = capsys.readouterr().out
    assert "H100-02" not in told
    [row] = [line.split() for line in told.splitlines() if "H100-03" in line]
    assert row[:7] == ["7", "H100-03", "4711", "12", "4", "6/8", "2"]
    assert row[7].endswith(".123")
    assert "mlx5_0 is down; probes the path" in told
    assert main([*asked, "--peers"]) == 0
    assert "H100-02" in capsys.readouterr().out
    assert main([*asked, "--json"]) == 0
    [calm, ill] = json.loads(capsys.readouterr().out)["peers"]
    assert (calm["deaths"], calm["last_death_ms"], ill["last_death_ms"]) == (0, 0, 1_700_000_000_123)


def test_a_page_that_is_being_written_or_of_another_version_is_not_read() -> None:
    good = page(7, 1, [100])
    assert plugin.parse(good) is not None
    assert plugin.parse(page(7, 1, [100], sequence=3)) is None
    assert plugin.parse(b"other" + good[5:]) is None
    assert plugin.parse(good[:-1]) is None
    assert plugin.parse(b"") is None


def test_sums_over_processes_and_rates(tmp_path: Path) -> None:
    tmp_path.joinpath("railweave-net-7").write_bytes(page(7, 1_000_000_000, [100, 50]))
    tmp_path.joinpath("railweave-net-8").write_bytes(page(8, 1_000_000_000, [1000]))
    before = plugin.read(tmp_path)
    tmp_path.joinpath("railweave-net-7").write_bytes(page(7, 3_000_000_000, [500, 50]))
    after = plugin.read(tmp_path)
    ways = plugin.total(after)
    assert [(one.color, one.bytes, one.queue_pairs) for one in ways] == [(0, 1500, 4), (1, 50, 2)]
    assert plugin.rates(before, after) == {
        ("send", "mlx5_0", 0, "leaf2"): 200.0,
        ("send", "mlx5_0", 1, "leaf2"): 0.0,
    }
    text = plugin.prometheus(ways)
    assert 'railweave_net_bytes_total{direction="send",device="mlx5_0",color="0",peer_leaf="leaf2"} 1500' in text
    assert "pid" not in text


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plugin", "stats", "--shm", str(tmp_path)]) == 0
    assert "no process with the net plugin" in capsys.readouterr().out
    tmp_path.joinpath("railweave-net-7").write_bytes(page(7, 1, [100]))
    assert main(["plugin", "stats", "--shm", str(tmp_path), "--interval", "0", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["pids"] == [7]
    assert told["paths"][0]["bytes"] == 100
    assert main(["plugin", "stats", "--shm", str(tmp_path), "--interval", "0"]) == 0
    assert "leaf2" in capsys.readouterr().out


def findings(
    tmp_path: Path, rate: str, variables: dict[str, str], fabrics: dict[str, object] | None = None
) -> dict[str, list[str]]:
    """Levels of what the doctor finds of one NIC, by what was looked at; the parts that need no plan."""
    port = tmp_path / "class/infiniband/mlx5_0/ports/1"
    port.mkdir(parents=True, exist_ok=True)
    port.joinpath("rate").write_text(rate)
    raw = {"nics": [{"rdma": "mlx5_0", "rdma_port": 1, "speed_gbps": 400}], "fabrics": fabrics or {}}
    found = [
        *doctor.speeds(raw, ThisMachine(tmp_path)),
        *doctor.timeout(raw, variables),
        *doctor.variables_of_nccl(variables),
    ]
    by_what: dict[str, list[str]] = {}
    for one in found:
        by_what.setdefault(one.what, []).append(one.level)
    return by_what


USES_IT = {"NCCL_NET_PLUGIN": "railweave", "NCCL_NET": "railweave"}


def test_doctor_finds_slow_ports_and_variables_that_harm(tmp_path: Path) -> None:
    assert findings(tmp_path, "400 Gb/sec (4X NDR)\n", USES_IT) == {"speed": ["good"]}
    assert findings(tmp_path, "200 Gb/sec (4X HDR)\n", USES_IT) == {"speed": ["error"]}
    with_index = {**USES_IT, "NCCL_IB_GID_INDEX": "3"}
    assert findings(tmp_path, "400 Gb/sec\n", with_index)["variables"] == ["error"]
    assert findings(tmp_path, "400 Gb/sec\n", {})["variables"] == ["warning"]


def test_doctor_weighs_the_timeout_against_the_time_to_reroute(tmp_path: Path) -> None:
    slow_bfd = {"be": {"bfd_detection_ms": 3000}}
    # 4.096 us x 2^14 x 8 = 537 ms; 2^20: 34 s.
    assert findings(tmp_path, "400 Gb/sec\n", {**USES_IT, "NCCL_IB_TIMEOUT": "14"}, slow_bfd)["timeout"] == ["error"]
    assert findings(tmp_path, "400 Gb/sec\n", {**USES_IT, "NCCL_IB_TIMEOUT": "20"}, slow_bfd)["timeout"] == ["warning"]


def machine(folder: Path, *, mtu: int = 9000, index: int = 3) -> Path:
    """The sysfs of a server with the one NIC of ``plans.small("gpu0_eth")``."""
    net = folder / "class/net/gpu0_eth"
    net.mkdir(parents=True)
    net.joinpath("mtu").write_text(f"{mtu}\n")
    port = folder / "class/infiniband/mlx5_0/ports/1"
    for kind in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
        port.joinpath(kind).mkdir(parents=True)
    for place, path in ((index, 1), (index + 1, 2)):
        port.joinpath("gids", str(place)).write_text(f"fc00:0001:0001:000{path}:0000:0000:0000:000a\n")
        port.joinpath("gid_attrs/types", str(place)).write_text("RoCE v2\n")
        port.joinpath("gid_attrs/ndevs", str(place)).write_text("gpu0_eth\n")
    return folder


def examined(plan: Path, sysfs: Path, variables: dict[str, str], what: str) -> list[tuple[str, str]]:
    found = doctor.examine(host_file.load(plan), doctor.load_raw(plan), ThisMachine(sysfs), variables)
    return [(one.level, one.text) for one in found if one.what == what]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "host.json"
    file.write_text(json.dumps(small("gpu0_eth")))
    return file


def test_doctor_compares_the_mtu_with_the_design(plan: Path, tmp_path: Path) -> None:
    assert examined(plan, machine(tmp_path / "good"), {}, "MTU") == [("good", "gpu0_eth: 9000")]
    [(level, text)] = examined(plan, machine(tmp_path / "low", mtu=1400), {}, "MTU")
    assert level == "error"
    assert "gpu0_eth: has 1400, the design says 1500" in text
    [(level, text)] = examined(plan, tmp_path / "no such NIC", {}, "MTU")
    assert (level, "gpu0_eth: not seen" in text) == ("warning", True)


def test_doctor_finds_paths_without_an_address_in_this_namespace(plan: Path, tmp_path: Path) -> None:
    sysfs = machine(tmp_path / "sys")
    assert examined(plan, sysfs, {}, "paths") == [("good", "every NIC has an address on every path")]
    sysfs.joinpath("class/infiniband/mlx5_0/ports/1/gids/4").write_text("0000:0000:0000:0000:0000:0000:0000:0000\n")
    [(level, text)] = examined(plan, sysfs, {}, "paths")
    assert level == "error"
    assert "mlx5_0: no RoCE v2 GID in fc00:1:1:2::/64" in text


def test_doctor_says_the_same_of_several_nics_once() -> None:
    absent = [doctor.Verdict("error", "speed", f"mlx5_{n}: no such RDMA device") for n in range(8)]
    other = doctor.Verdict("good", "speed", "mlx5_9: 400 Gbit/s")
    names = ", ".join(f"mlx5_{n}" for n in range(8))
    assert doctor.alike([*absent, other]) == [
        doctor.Verdict("error", "speed", f"{names} (8): no such RDMA device"),
        other,
    ]


def test_doctor_without_a_host_file(tmp_path: Path) -> None:
    sysfs = machine(tmp_path / "sys")
    sysfs.joinpath("class/infiniband/mlx5_0/ports/1/rate").write_text("400 Gb/sec\n")
    found = {one.what: one for one in doctor.examine(None, {}, ThisMachine(sysfs), USES_IT)}
    assert (found["host.json"].level, found["speed"].text) == ("warning", "mlx5_0: 400 Gbit/s")
    assert found["paths"].text == "mlx5_0: 2 RoCE v2 addresses"
    assert found["scheme"].text.startswith("no path colors")
    nothing = {one.what: one.level for one in doctor.examine(None, {}, ThisMachine(tmp_path / "none"), USES_IT)}
    assert nothing["speed"] == "error"


def test_doctor_looks_at_dscp_and_ecn_and_says_what_it_does_not_see(plan: Path, tmp_path: Path) -> None:
    sysfs = machine(tmp_path / "sys")
    assert examined(plan, sysfs, {}, "trust")[0][0] == "warning"
    assert "not seen" in examined(plan, sysfs, {}, "trust")[0][1]
    document = small("gpu0_eth")
    document["fabrics"] = designed("h100-rlb", "H100-01")["fabrics"]
    document["nics"][0]["driver"] = "mlx5_core"
    plan.write_text(json.dumps(document))
    ecn = sysfs / "class/net/gpu0_eth/ecn"
    for side in ("roce_np", "roce_rp"):
        ecn.joinpath(side, "enable").mkdir(parents=True)
        ecn.joinpath(side, "enable/3").write_text("1\n")
    assert examined(plan, sysfs, {}, "congestion-control") == [("good", "gpu0_eth: roce_np on, roce_rp on")]
    ecn.joinpath("roce_rp/enable/3").write_text("0\n")
    assert examined(plan, sysfs, {}, "congestion-control")[0][0] == "error"


def test_doctor_compares_servers(plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "lib"
    library.mkdir()
    library.joinpath("libnccl-net-railweave.so").write_bytes(b"ELF railweave-net wire 3\0")
    variables = {**USES_IT, "LD_LIBRARY_PATH": str(library)}
    found = doctor.examine(
        host_file.load(plan), doctor.load_raw(plan), ThisMachine(machine(tmp_path / "sys")), variables
    )
    same = doctor.document(found)
    [build] = [one for one in same if one["what"] == "build"]
    assert (build["level"], "wire version 3" in build["text"]) == ("good", True)
    other = [{**one, "text": one["text"].replace("version 3", "version 2")} for one in same]
    verdicts = {one.what: one for one in doctor.compared(found, {"a.json": same, "b.json": other})}
    assert (verdicts["same build"].level, verdicts["same scheme"].level) == ("error", "good")
    assert "b.json: libnccl-net-railweave.so: wire version 2" in verdicts["same build"].text
    nonsense = tmp_path / "nonsense.json"
    nonsense.write_text("{")
    assert main(["plugin", "doctor", "--host-file", str(plan), "--compare", str(nonsense)]) == 2
    assert "--compare" in capsys.readouterr().err


def test_doctor_looks_for_a_way_to_gpu_memory(plan: Path, tmp_path: Path) -> None:
    sysfs = machine(tmp_path / "sys")
    [(level, text)] = examined(plan, sysfs, {}, "GPU memory")
    assert (level, "through host memory" in text) == ("warning", True)
    driver = sysfs / "module/nvidia"
    driver.mkdir(parents=True)
    driver.joinpath("version").write_text("570.1\n")
    [(level, text)] = examined(plan, sysfs, {}, "GPU memory")
    assert (level, "needs DMA-BUF" in text) == ("warning", True)
    peer = sysfs / "module/nvidia_peermem"
    peer.mkdir()
    peer.joinpath("version").write_text("570.1\n")
    assert examined(plan, sysfs, {}, "GPU memory")[0][0] == "good"


def test_doctor_wants_the_table_that_the_tuner_is_to_use(plan: Path, tmp_path: Path) -> None:
    sysfs, table = machine(tmp_path / "sys"), tmp_path / "tuner.json"
    asked = {"RAILWEAVE_NET_TUNER": "1", "RAILWEAVE_NET_TUNER_FILE": str(table)}
    assert examined(plan, sysfs, {**asked, "RAILWEAVE_NET_TUNER": "0"}, "tuner") == []
    assert examined(plan, sysfs, asked, "tuner")[0][0] == "error"
    table.write_text('{"schema": 1, "rows": [{}, {}]}')
    assert examined(plan, sysfs, asked, "tuner") == [("good", f"{table}: 2 rows; it must be the same on all servers")]


def test_doctor_has_nothing_against_a_class_for_clear_to_send(plan: Path, tmp_path: Path) -> None:
    used = {**USES_IT, "NCCL_IB_TC": "106", "NCCL_IB_FIFO_TC": "194"}
    assert examined(plan, machine(tmp_path / "sys"), used, "variables") == []


def test_remedies_name_targets_that_the_makefile_has() -> None:
    """Whoever reads ``make plugin...`` in a remedy can run it."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    texts = [one.read_text() for one in (ROOT / "src" / "railweave" / "host").rglob("*.py")]
    named = {word for text in texts for word in re.findall(r"\bmake (plugin[\w-]*)", text)}
    assert "plugin" in named
    assert named <= targets
