"""In which order switches and servers are changed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from railweave.analysis.checks.subject import Subject
from railweave.analysis.drift.running import running_configs
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from railweave.operations.deploy.changes import DeviceChange, Disruptive
from railweave.operations.deploy.drain import DrainWait
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.waves import PlanLimits, Wave, waves
from railweave.outputs.rendering.host.host_json import host_json
from tests.operations.deploy.test_mixed import designed, texts
from tests.operations.deploy.test_rollout import OTHER, SMALL

TWICE = {"table": 77, "to": "fc00:77::/64", "dev": "gpu0_eth"}


def planned(path: Path, running: Network, wanted: Network, servers: dict[str, str]) -> Plan:
    """The plan from a design to another, where servers run given files."""
    hosts = {name: ({"host.json": text}, {"host.json": file(wanted, name)}) for name, text in servers.items()}
    return make_plan(path, wanted, Answers(texts(running), hosts))


def file(network: Network, server: str) -> str:
    return host_json(host_config(network, server))


def test_a_server_that_only_loses_routes_is_changed_before_the_switches_and_any_other_after_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "new.yaml"
    old, new = designed(tmp_path / "old.yaml", OTHER), designed(path, SMALL)
    more = json.loads(file(new, "gpu-1"))
    more["routes"].append(TWICE)
    plan = planned(path, old, new, {"gpu-1": json.dumps(more), "gpu-2": file(old, "gpu-2")})
    assert plan.refused == []
    order = [wave.devices for wave in plan.waves]
    assert order[0] == ("gpu-1",)
    assert order[-1] == ("gpu-2",)
    assert plan.changed["gpu-1"].shown == ("- routes table 77 to fc00:77::/64 dev gpu0_eth",)
    assert [wave.servers for wave in plan.waves if set(wave.devices) & {"gpu-1", "gpu-2"}] == [("gpu-1",), ("gpu-2",)]


def test_a_server_whose_kernel_lacks_something_is_in_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    new = designed(path, SMALL)
    lacking = {**json.loads(file(new, "gpu-1")), "not in place": ["ip -6 rule add from fc00:1:1:1::/64 table 10000"]}
    plan = planned(path, new, new, {"gpu-1": json.dumps(lacking), "gpu-2": file(new, "gpu-2")})
    assert set(plan.changed) == {"gpu-1"}
    assert not plan.changed["gpu-1"].disrupts


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ('test "$RAILWEAVE_WAVE $RAILWEAVE_DEVICES $RAILWEAVE_SERVERS" = "3 leaf1,leaf2 gpu-1,gpu-2"', ""),
        ("exit 4", "--wait-for ended with 4"),
        ("sleep 1000", "--wait-for did not end within 0.2 s"),
    ],
)
def test_the_command_that_a_wave_waits_for(command: str, why: str) -> None:
    wave = Wave(("leaf1", "leaf2"), "", servers=("gpu-1", "gpu-2"))
    seconds = 0.2 if "sleep" in command else 60
    assert asyncio.run(DrainWait(command, seconds)(3, wave)) == why


def test_servers_that_lose_nics_are_in_the_wave_of_their_leaf(tmp_path: Path) -> None:
    network = designed(tmp_path / "fabric.yaml", SMALL)
    resets = Disruptive("system", "everything", "it starts anew", "-")
    change = DeviceChange("stripe1-leaf1", "junos", commands={"junos.conf": ("set x",)}, disrupts=(resets,))
    (wave,) = waves(network, Subject.of(network).control_plane, {"stripe1-leaf1": change}, most=1)
    cabled = {one.a.device for one in network.cables_of("stripe1-leaf1") if one.kind == "server"}
    assert set(wave.servers) == cabled
    assert cabled


def test_ports_whose_mtu_changes_are_out_meanwhile(tmp_path: Path) -> None:
    """Junos deletes an interface and adds it again, so it counts against what may be out."""
    path = tmp_path / "new.yaml"
    old, new = designed(tmp_path / "old.yaml", SMALL), designed(path, SMALL)
    running = texts(old)
    running["spine1"] = {file: text.replace("mtu 9216", "mtu 9000") for file, text in running["spine1"].items()}
    plan = make_plan(path, new, Answers(running), limits=PlanLimits(0.4))
    (wave,) = plan.waves
    assert wave.risks == (
        "stripe1-leaf1 keeps 50% of its uplink capacity",
        "interrupted while the wave commits: the interface (it is deleted and added again) on spine1",
        "changes that routes do not show: MTU on spine1",
    )
    assert plan.refused == ["wave 1: 50% of it would be out at once, and --max-unavailable is 40%"]


def test_what_moves_nothing_is_called_so_and_is_computed(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    old, new = designed(tmp_path / "old.yaml", SMALL), designed(path, SMALL)
    running = texts(old)
    running["spine1"] = {file: f"{text}\nsnmp {{ location x; }}\n" for file, text in running["spine1"].items()}
    (wave,) = make_plan(path, new, Answers(running)).waves
    assert wave.risks == ("no effect on traffic, computed for 1 state of the network",)


def test_a_port_that_neither_the_switch_nor_the_design_uses_is_said_to_carry_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    new = designed(path, SMALL)
    running = texts(new)
    spare = "interfaces { et-0/0/40 { description spare; mtu 9000; } }\n"
    running["spine1"] = {file: f"{text}\n{spare}" for file, text in running["spine1"].items()}
    change = DeviceChange(
        "spine1",
        "junos",
        commands={"junos.conf": ("delete interfaces et-0/0/40",)},
        disrupts=(Disruptive("interfaces / et-0/0/40", "the interface", "it goes", "-", ("et-0/0/40",)),),
    )
    configs = running_configs(new, running)
    (wave,) = waves(new, ControlPlane(configs.values()), {"spine1": change}, most=1)
    assert wave.risks == ("what it disrupts carries nothing, neither now nor by the design",)
