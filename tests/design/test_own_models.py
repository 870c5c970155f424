"""Switches of unlike models in one fabric: each has its own ports, speeds, buffers, limits and configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.design.limits.headroom_terms import headrooms
from railweave.errors import RailweaveError
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.outputs.report.bom import bill
from railweave.outputs.report.tables import buffers_table
from railweave.outputs.runbook.network import document
from railweave.prediction.simulation.model.buffers import switch_parameters
from railweave.systems import system
from tests.conftest import designed
from tests.growth import growth_of

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

FABRIC = """
name: mixed
fabrics:
  backend:
    topology: {{stripes: 2, leaves_per_stripe: 2, spines: 3, links_per_spine: 2, link_speed: {speed}, servers_per_stripe: 1{more}}}
    leaf: {{device: qfx5240-64od, release: 23.4R2}}
    load_balancing: {{mode: {mode}}}
servers: [{{names: "gpu-[1-2]", model: h100-8gpu-cx7}}]
management: {{root_password: secret:root, users: {{ops: {{password: secret:ops}}}}}}
overrides:
  devices:
    "stripe2-leaf[1-2]": {{device: qfx5220-32cd{leaf}}}
    spine2: {{device: qfx5230-64cd, release: 24.4R1}}
    spine3: {{asn: 4200000777, buffers: {{lossless: 66, headroom: 24, lossy: 10}}}}
"""


def network(folder: Path, speed: str = "400G", mode: str = "ecmp", leaf: str = "", more: str = "") -> Network:
    return designed(folder, FABRIC.format(speed=speed, mode=mode, leaf=leaf, more=more))[0]


def test_each_switch_has_its_own_model_and_ports(tmp_path: Path) -> None:
    found = network(tmp_path)
    models = {switch.name: switch.model for switch in found.switches}
    assert models == {
        "stripe1-leaf1": "qfx5240-64od",
        "stripe1-leaf2": "qfx5240-64od",
        "stripe2-leaf1": "qfx5220-32cd",
        "stripe2-leaf2": "qfx5220-32cd",
        "spine1": "qfx5240-64od",
        "spine2": "qfx5230-64cd",
        "spine3": "qfx5240-64od",
    }
    assert found.switch("spine2").release == "24.4R1"
    assert found.switch("spine3").asn == 4200000777
    ports = {
        (cable.a.device, cable.b.device): (cable.a.port, cable.b.port, cable.speed_gbps)
        for cable in found.cables
        if cable.kind == "fabric"  # the second of two links
    }
    assert ports["stripe1-leaf1", "spine1"] == ("et-0/0/0:1", "et-0/0/0:1", 400)
    assert ports["stripe2-leaf1", "spine1"] == ("et-0/0/1", "et-0/0/2:1", 400)
    assert ports["stripe1-leaf1", "spine2"] == ("et-0/0/1:1", "et-0/0/1", 400)
    assert ports["stripe2-leaf2", "spine2"] == ("et-0/0/3", "et-0/0/7", 400)
    servers = {c.b.device: c.b.port for c in reversed(found.cables) if c.kind == "server"}
    assert servers["stripe1-leaf1"] == "et-0/0/32:0"  # uplinks and servers share the ports of each model half and half
    assert servers["stripe2-leaf1"] == "et-0/0/16"


def test_optics_follow_the_cages_of_each_end(tmp_path: Path) -> None:
    cages = {"qfx5240-64od": "OSFP", "qfx5220-32cd": "QSFP-DD", "qfx5230-64cd": "QSFP-DD"}
    found = network(tmp_path)
    listed = catalog().optics
    for cable in found.cables:
        for end in (cable.a, cable.b):
            if end.physical is not None and end.optic in listed:
                assert cages[found.switch(end.device).model] in listed[end.optic].cages, cable.name


def test_configurations_split_only_the_ports_that_are_split(tmp_path: Path) -> None:
    found = network(tmp_path)
    assert device_config(found, "spine2").splits == ()
    assert {(one.channels, one.speed_gbps) for one in device_config(found, "spine1").splits} == {(2, 400)}
    text = "".join(system("junos").files(device_config(found, "stripe2-leaf1")).values())
    assert "number-of-sub-ports" not in text


def test_every_check_passes_and_servers_reach_each_other(tmp_path: Path) -> None:
    found = network(tmp_path, mode="rlb")
    configs = {switch.name: device_config(found, switch.name) for switch in found.switches}
    bad = [one for one in run_checks(Subject(found, configs)) if one.severity == "error"]
    assert bad == []


def test_links_run_at_the_speed_that_both_ends_have(tmp_path: Path) -> None:
    """800G between QFX5240; 400G to others, on the first half of an 800G port that nothing else uses."""
    found = network(tmp_path, speed="800G", more=", oversubscription: 2")
    speeds = {
        (found.switch(c.a.device).model, found.switch(c.b.device).model): c.speed_gbps
        for c in found.cables
        if c.kind == "fabric"
    }
    assert speeds == {
        ("qfx5240-64od", "qfx5240-64od"): 800,
        ("qfx5240-64od", "qfx5230-64cd"): 400,
        ("qfx5220-32cd", "qfx5240-64od"): 400,
        ("qfx5220-32cd", "qfx5230-64cd"): 400,
    }
    slow = next(c for c in found.cables if (c.a.device, c.b.device) == ("stripe2-leaf1", "spine1"))
    assert (slow.a.port, slow.b.port) == ("et-0/0/0", "et-0/0/4:0")
    splits = device_config(found, "spine1").splits
    assert [(one.port, one.channels, one.speed_gbps) for one in splits] == [
        (f"et-0/0/{port}", 2, 400) for port in (4, 5, 6, 7)
    ]
    notes = [one.where for one in found.findings if one.id == "link-slower"]
    assert notes == ["backend qfx5220-32cd", "backend qfx5230-64cd"]


def test_oversubscription_is_that_of_the_slowest_leaf(tmp_path: Path) -> None:
    """A QFX5240 leaf of the same fabric has 2 x (800 + 400 + 800); the QFX5220 has 2 x 3 x 400 Gb/s up."""
    text = FABRIC.format(speed="800G", mode="ecmp", leaf="", more="").replace("gpu-[1-2]", "gpu-[1-4]")
    with pytest.raises(RailweaveError, match=r"1\.33:1 \(3200 Gb/s of servers over 2400 Gb/s of uplinks") as error:
        designed(tmp_path, text.replace("servers_per_stripe: 1", "servers_per_stripe: 2"))
    assert "oversubscription" in str(error.value)


def test_buffers_are_those_of_each_chip(tmp_path: Path) -> None:
    found = network(tmp_path)
    fabric = found.fabrics[0]
    shared = {"qfx5240-64od": 165, "qfx5220-32cd": 64, "qfx5230-64cd": 112}
    headroom = {one.device: one for role in ("leaf", "spine") for one in headrooms(found, fabric, role)}
    for switch in found.switches:
        percent = 24 if switch.name == "spine3" else 10
        assert headroom[switch.name].partition_bytes == round(shared[switch.model] * 1e6 * percent / 100)
        config = device_config(found, switch.name)
        assert config.qos is not None
        assert config.qos.buffers.headroom == percent
    lossless = {name: one.shared_mb * one.buffers.lossless / 100 for name, one in headroom.items()}
    assert lossless["spine3"] == pytest.approx(108.9)  # 66 % of 165 MB
    assert lossless["spine2"] == pytest.approx(89.6)  # 80 % of 112 MB
    table = buffers_table(found)
    column = table["data"][[one["title"] for one in table["columns"]].index("Lossless pool")]
    pools = [column["d"][place] for place in column["i"]] if isinstance(column, dict) else column
    assert sorted(set(pools)) == ["108.9 MB", "132.0 MB", "51.2 MB", "89.6 MB"]


def test_the_simulator_has_the_buffer_of_each_chip(tmp_path: Path) -> None:
    found = network(tmp_path)
    host = host_config(found, "gpu-1").qos_of("backend")
    pool = {
        name: switch_parameters(device_config(found, name), found.cables_of(name), host)[0][
            "switch.ingress-pool-lossless"
        ]
        for name in ("stripe1-leaf1", "stripe2-leaf1", "spine2")
    }
    assert pool == {"stripe1-leaf1": "132000000", "stripe2-leaf1": "51200000", "spine2": "89600000"}


def test_the_bill_and_the_runbook_name_each_model(tmp_path: Path) -> None:
    found = network(tmp_path)
    counts = {item.name: (item.count, item.used_at) for item in bill(found) if item.kind == "switch"}
    assert counts == {
        "qfx5240-64od": (4, "leaves and spines"),
        "qfx5220-32cd": (2, "leaves"),
        "qfx5230-64cd": (1, "spines"),
    }
    routes = ControlPlane(device_config(found, switch.name) for switch in found.switches).routes()
    junos = system("junos").runbook
    assert junos is not None
    page = document(found, device_config(found, "spine2"), routes, junos)
    assert "qfx5230-64cd" in page
    assert "24.4R1" in page


def test_room_to_grow_is_that_of_the_spine_with_least_left(tmp_path: Path) -> None:
    found = network(tmp_path)
    grown = growth_of(found, found.fabrics[0])
    assert (grown.ports, grown.used) == (64, 8)  # spine2 has 64 ports of 400G, the others 128


def test_a_release_of_its_own_decides_what_the_fabric_can_do(tmp_path: Path) -> None:
    text = FABRIC.format(speed="400G", mode="rlb", leaf="", more="").replace("release: 23.4R2", "release: 25.4R1")
    for number, (release, dpf) in enumerate((("24.4R1", False), ("25.4R1", True))):  # colors have one form in a fabric
        (tmp_path / str(number)).mkdir()
        found = designed(tmp_path / str(number), text.replace("release: 24.4R1", f"release: {release}"))[0]
        for name in ("spine1", "spine2"):
            (group, *_) = device_config(found, name).bgp.groups  # type: ignore[union-attr]
            assert (group.fabric_color is not None) == dpf, (release, name)


def test_taking_an_override_away_moves_only_its_own_ports(tmp_path: Path) -> None:
    before = network(tmp_path)
    text = FABRIC.format(speed="400G", mode="ecmp", leaf="", more="").replace(
        "    spine2: {device: qfx5230-64cd, release: 24.4R1}\n", ""
    )
    (tmp_path / "b").mkdir()
    after = designed(tmp_path / "b", text)[0]

    def others(of: Network) -> list[object]:
        return [c for c in of.cables if "spine2" not in {c.a.device, c.b.device}]

    assert others(before) == others(after)
