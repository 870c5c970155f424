"""``metrics``: counters of NICs and of the plugin by one name, whatever the driver calls them."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from railweave.host import host_file, metrics, plugin
from railweave.host.checks import counters
from railweave.host.checks.server import server
from railweave.host.commands import main
from tests.host.machines import Written, healthy
from tests.host.machines.plans import PLANS, plan
from tests.host.test_plugin import page

if TYPE_CHECKING:
    from pathlib import Path

PROMTOOL = shutil.which("promtool")


def test_what_every_check_goes_by_is_exported() -> None:
    assert metrics.COUNTED.keys() | {metrics.NOTIFICATION} == counters.KNOWN.keys()


@pytest.mark.parametrize("name", PLANS)
def test_numbers_of_every_kind_of_server(name: str, tmp_path: Path) -> None:
    file, document = plan(name, tmp_path)
    parts = healthy(document)
    first = document["nics"][0]
    folder = f"/sys/class/infiniband/{first['rdma']}/ports/{first['rdma_port']}"
    mlx5 = first["driver"] == "mlx5_core"
    parts.files[f"{folder}/counters/port_rcv_data"] = "250"
    resends = f"{folder}/hw_counters/{'out_of_sequence' if mlx5 else 'oos_drop_count'}"
    parts.files[resends] = str(int(parts.files[resends]) + 7)
    looked = server(Written(parts), host_file.load(file), document)
    before = {
        one["netdev"]: one["counters"]
        for one in metrics.document(server(Written(healthy(document)), looked.plan, document), [])["nics"]
    }
    shown = metrics.document(looked, [])
    assert [one["netdev"] for one in shown["nics"]] == [one["netdev"] for one in document["nics"]]
    for one in shown["nics"]:
        assert one["speed_bytes_per_second"] == one["planned_speed_bytes_per_second"]
        assert one["up"] == 1
        assert {"resends", "timeouts", "pauses_sent", "pauses_received", "link_errors", "lossless_drops"} <= one[
            "counters"
        ].keys()
    counted = shown["nics"][0]["counters"]
    assert counted["receive_bytes"] == 1000, "the kernel counts units of four bytes"
    assert counted["resends"] == before[first["netdev"]]["resends"] + 7
    text = metrics.text(shown, [])
    assert re.search(rf'^railweave_nic_receive_bytes_total{{netdev="{first["netdev"]}",.*}} 1000$', text, re.MULTILINE)


def test_a_counter_that_a_driver_lacks_is_not_zero(tmp_path: Path) -> None:
    file, document = plan(next(iter(PLANS)), tmp_path)
    parts = healthy(document)
    for path in [one for one in parts.files if "/hw_counters/" in one]:
        del parts.files[path]
    shown = metrics.document(server(Written(parts), host_file.load(file), document), [])
    assert "timeouts" not in shown["nics"][0]["counters"]
    assert "railweave_nic_timeouts_total" not in metrics.text(shown, [])


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian: prometheus)")
def test_promtool_takes_it(tmp_path: Path) -> None:
    file, document = plan(next(iter(PLANS)), tmp_path)
    (tmp_path / "railweave-net-7").write_bytes(page(7, 1, [100, 50]))
    pages = plugin.read(tmp_path)
    shown = metrics.document(server(Written(healthy(document)), host_file.load(file), document), pages)
    assert {(one["color"], one["bytes"]) for one in shown["net"]} == {(0, 100), (1, 50)}
    text = metrics.text(shown, pages)
    assert 'railweave_net_bytes_total{direction="send",device="mlx5_0",color="1",peer_leaf="leaf2"} 50' in text
    done = subprocess.run([str(PROMTOOL), "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, _ = plan(next(iter(PLANS)), tmp_path)
    (tmp_path / "sys").mkdir()
    words = ["metrics", "--host-file", str(file), "--sysfs", str(tmp_path / "sys"), "--shm", str(tmp_path)]
    assert main(words) == 0
    assert "railweave_nic_up{" in capsys.readouterr().out
    assert main([*words, "--json", "--out", str(tmp_path / "out" / "a.json")]) == 0
    assert json.loads((tmp_path / "out" / "a.json").read_text())["schema"] == metrics.SCHEMA
    assert main([*words, "--interval", "1"]) == 2
    assert "--interval needs --out" in capsys.readouterr().err


def test_what_is_written_again_and_again_goes_with_the_program(tmp_path: Path) -> None:
    file, _ = plan(next(iter(PLANS)), tmp_path)
    out = tmp_path / "railweave.prom"
    words = ["metrics", "--host-file", str(file), "--shm", str(tmp_path), "--out", str(out), "--interval", "0.1"]
    process = subprocess.Popen([sys.executable, "-m", "railweave.host", *words])
    end = time.monotonic() + 30
    while not out.exists():
        assert time.monotonic() < end
    first = out.stat().st_ino
    while out.exists() and out.stat().st_ino == first:
        assert time.monotonic() < end
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert not out.exists(), "old numbers would look like new ones"
