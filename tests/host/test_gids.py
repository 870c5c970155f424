"""GIDs from a sysfs tree as the kernel makes it, and the job environment that depends on them."""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from railweave.host import environment
from railweave.host.commands import main
from tests.host.plans import SOURCE, designed, small

ZERO = "::"


def tree(folder: Path, devices: dict[str, list[tuple[str, str, str]]]) -> Path:
    """A sysfs of these devices' GIDs: address, type, netdev. An empty slot has attributes that cannot be read."""
    for device, gids in devices.items():
        port = folder / "class/infiniband" / device / "ports/1"
        for kind in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
            (port / kind).mkdir(parents=True)
        for index, (address, kind, netdev) in enumerate(gids):
            (port / "gids" / str(index)).write_text(ipaddress.IPv6Address(address).exploded + "\n")
            for name, value in (("types", kind), ("ndevs", netdev)):
                file = port / "gid_attrs" / name / str(index)
                if address == ZERO:
                    file.mkdir()  # reading it is an error, as EINVAL is for the kernel's
                else:
                    file.write_text(value + "\n")
    return folder


def slots(*addresses: str, netdev: str = "gpu0_eth") -> list[tuple[str, str, str]]:
    return [(one, kind, netdev) for one in addresses for kind in ("IB/RoCE v1", "RoCE v2")]


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    """Options for two NICs, of which the second's addresses came in another order."""
    sysfs = tree(
        tmp_path / "sys",
        {
            "mlx5_0": slots("fe80::1", "fc00:1:1:1::a", ZERO, "fc00:1:1:2::a"),
            "mlx5_1": slots("fe80::1", "fc00:1:2:2::a", "::ffff:10.0.0.7"),
        },
    )
    document = small("gpu0_eth", "gpu1_eth")
    document["job"] = {"environment": {"NCCL_IB_TC": "106"}, "resolve": ["NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX"]}
    (tmp_path / "host.json").write_text(json.dumps(document))
    return ["--sysfs", str(sysfs), "--host-file", str(tmp_path / "host.json")]


def test_table(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gids", *two]) == 0
    said = capsys.readouterr()
    assert said.out == (
        "device  port  index  GID            type     netdev    path  color  table\n"
        "mlx5_0  1     3      fc00:1:1:1::a  RoCE v2  gpu0_eth  1     c1     gpu0_eth_1\n"
        "mlx5_0  1     7      fc00:1:1:2::a  RoCE v2  gpu0_eth  2     c2     gpu0_eth_2\n"
        "mlx5_1  1     3      fc00:1:2:2::a  RoCE v2  gpu0_eth  2     c2     gpu1_eth_2\n"
        "mlx5_1  1     5      10.0.0.7       RoCE v2  gpu0_eth  -     -      -\n"
    )
    assert said.err == "mlx5_1 port 1: no RoCE v2 GID in fc00:1:2:1::/64 (gpu1_eth_1)\n"
    assert main(["gids", "--check", *two]) == 1
    assert main(["gids", "--check", "--device", "mlx5_0", *two]) == 0


def test_a_device_that_nobody_knows(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for check in ([], ["--check"]):
        assert main(["gids", "--device", "mlx5_7", *check, *two]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err == "error: --device mlx5_7: there is no such RDMA device; there are mlx5_0, mlx5_1\n"


def test_a_planned_device_that_is_not_there(two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = ["--sysfs", str(tmp_path / "none")]
    assert main(["gids", "--check", "--device", "mlx5_0", *two, *nothing]) == 1
    assert "mlx5_0 port 1: no RoCE v2 GID in fc00:1:1:1::/64" in capsys.readouterr().err
    assert main(["gids", "--device", "mlx5_7", *two, *nothing]) == 2
    assert "there is none at all: is the RDMA driver loaded?" in capsys.readouterr().err


def test_json_and_all(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(["gids", "--json", "--all", "--device", "mlx5_0", *two])
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [one["index"] for one in shown["gids"]] == [0, 1, 2, 3, 6, 7]
    assert shown["gids"][3] == {
        "device": "mlx5_0", "port": 1, "index": 3, "gid": "fc00:1:1:1::a", "type": "RoCE v2", "netdev": "gpu0_eth",
        "path": 1, "color": 1, "color_name": "c1", "table": 10000,
    }  # fmt: skip
    assert shown["missing"] == []


def test_the_tuner_is_asked_for_by_an_option(
    two: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["env", *two]) == 0
    assert "RAILWEAVE_NET_TUNER" not in capsys.readouterr().out
    monkeypatch.setenv("RAILWEAVE_NET_TUNER", "0")
    assert main(["env", "--tuner", *two]) == 0
    assert "export RAILWEAVE_NET_TUNER=1\n" in capsys.readouterr().out


def test_an_index_that_is_not_the_same_everywhere_is_left_out(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["env", *two]) == 0
    said = capsys.readouterr()
    assert said.out == "export NCCL_IB_TC=106\n"
    assert "warning: NCCL_IB_GID_INDEX is left out: mlx5_1 has no RoCE v2 GID in fc00:1:2:1::/64. NCCL 2.21" in said.err
    late = tree(tmp_path / "late", {"mlx5_0": slots("fe80::1", "fc00:1:1:1::a"), "mlx5_1": slots("fc00:1:2:1::a")})
    main(["env", *two, "--sysfs", str(late)])
    assert "left out: it is not the same on all devices: mlx5_0 3, mlx5_1 1. NCCL 2.21" in capsys.readouterr().err
    same = tree(
        tmp_path / "same", {"mlx5_0": slots("fe80::1", "fc00:1:1:1::a"), "mlx5_1": slots("fe80::1", "fc00:1:2:1::a")}
    )
    main(["env", *two, "--sysfs", str(same)])
    said = capsys.readouterr()
    assert said.out == "export NCCL_IB_TC=106\nexport NCCL_IB_GID_INDEX=3\nexport UCX_IB_GID_INDEX=3\n"
    assert said.err == ""


AWKWARD = {
    "PLAIN": "=mlx5_0:1,mlx5_3:1",
    "EMPTY": "",
    "QUOTES": 'it\'s "so" `id` $(id) \\ !x ; #',
    "LINES": "a\nb",
    "ALONE": "$ 1$2 $$ ${A-b}",
    "LD_LIBRARY_PATH": "$LD_LIBRARY_PATH:/opt/x y/lib",
    "BRACED": "${HAVE}tail:${NONE}:$HAVE",
}


@pytest.mark.parametrize("present", [{}, {"HAVE": "h v", "LD_LIBRARY_PATH": "/a:/b"}], ids=["unset", "set"])
def test_shell_and_exec_agree(tmp_path: Path, present: dict[str, str]) -> None:
    """What a shell makes of the export lines is what a command run in the environment gets."""
    document = small("gpu0_eth")
    document["job"]["environment"] = AWKWARD
    (tmp_path / "host.json").write_text(json.dumps(document))
    tool = [sys.executable, "-m", "railweave.host", "env", "--host-file", str(tmp_path / "host.json")]
    show = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE), "OTHER": "kept", **present}

    def run(*argv: str) -> str:
        return subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout

    executed = json.loads(run(*tool, "--", *show))
    sourced = json.loads(
        run("bash", "-c", 'set -u; . "$1"; shift; exec "$@"', "x", str(_file(tmp_path, run(*tool))), *show)
    )
    planned = environment.expanded(AWKWARD, env)
    assert {name: executed[name] for name in AWKWARD} == {name: sourced[name] for name in AWKWARD} == planned
    assert executed["OTHER"] == "kept"
    assert planned["QUOTES"] == AWKWARD["QUOTES"]
    assert planned["LD_LIBRARY_PATH"] == ("/a:/b:/opt/x y/lib" if present else "/opt/x y/lib")
    assert planned["BRACED"] == ("h vtail:h v" if present else "tail:")


def _file(folder: Path, text: str) -> Path:
    (folder / "job.env").write_text(text)
    return folder / "job.env"


def test_what_the_user_has_set_wins() -> None:
    planned = {"A": "1", "B": "2", "P": "$P:/x"}
    assert environment.chosen(planned, {"A": "9", "P": "/y"}, override=False) == {"B": "2", "P": "$P:/x"}
    assert environment.chosen(planned, {"A": "9", "P": "/y"}, override=True) == planned


def test_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "host.json").write_text(json.dumps(designed("h100-rlb", "H100-01")))
    assert main(["env", "--override", "--host-file", str(tmp_path / "host.json"), "--sysfs", str(tmp_path)]) == 0
    assert "export NCCL_IB_TC=106\n" in capsys.readouterr().out


def test_a_command_that_is_not_there(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env", *two, "--", "/none/such"]) == 2
    assert capsys.readouterr().err.endswith("error: /none/such: cannot be run: No such file or directory\n")


def test_the_index_is_of_the_family_that_the_job_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sysfs = tree(tmp_path / "sys", {"mlx5_0": slots("fe80::1", "fc00:1:1:1::a", "::ffff:10.0.0.7")})
    document = small("gpu0_eth")
    four = {**document["nics"][0]["addresses"][0], "path": 9, "prefix": "10.0.0.0/24", "gateway": "10.0.0.1"}
    document["nics"][0]["addresses"].append(
        {**four, "address": "10.0.0.7", "origin": "static", "table": 77, "table_name": "four"}
    )
    for family, index in (("AF_INET", "5"), ("AF_INET6", "3")):
        document["job"] = {"environment": {"NCCL_IB_ADDR_FAMILY": family}, "resolve": ["NCCL_IB_GID_INDEX"]}
        (tmp_path / "host.json").write_text(json.dumps(document))
        assert main(["env", "--json", "--sysfs", str(sysfs), "--host-file", str(tmp_path / "host.json")]) == 0
        assert json.loads(capsys.readouterr().out)["NCCL_IB_GID_INDEX"] == index
