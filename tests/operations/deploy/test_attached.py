"""What the ports of running switches carry and lose by a plan, on every system: servers, links of the fabric, devices outside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.analysis.drift.running import running_configs
from railweave.operations.deploy.attached import attached, lost_attachments
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.plan import Plan, plan_of
from railweave.operations.deploy.waves import UNUSED, PlanLimits
from tests.operations.deploy.test_mixed import designed, texts
from tests.operations.deploy.test_rollout import SMALL

MODELS = {"junos": "qfx5240-64od", "frr": "qfx5240-64od", "eos": "arista-7060x6-64pe", "sonic": "z9864f-on"}
GROWN = ("gpu-[1-2]", "gpu-[1-3]"), ("link_speed", "oversubscription: 2, link_speed")
"""A third server, and fewer uplinks: the ports of all servers move."""
MORE_LINKS = (("link_speed: 400G", "link_speed: 400G, links_per_spine: 2"),)
"""Two links to each spine: the second port of a leaf then leads to the first spine."""


def planned(folder: Path, nos: str, *changes: tuple[str, str], model: str = "", running: str = SMALL) -> Plan:
    """The plan from a design to another, on switches of one system."""

    def on(text: str) -> str:
        return text.replace("junos", nos).replace("qfx5240-64od", model or MODELS[nos])

    path, text = folder / "new.yaml", running
    old = designed(folder / "old.yaml", on(running))
    for former, later in changes:
        assert former in text
        text = text.replace(former, later)
    new = designed(path, on(text))
    names = {switch.name for switch in new.switches}
    there = {name: files for name, files in texts(old).items() if name in names}
    return make_plan(path, new, Answers(there), limits=PlanLimits(1))


@pytest.mark.parametrize("nos", MODELS)
def test_a_server_whose_port_moves_is_named_with_both_ports(tmp_path: Path, nos: str) -> None:
    plan = planned(tmp_path, nos, *GROWN)
    rows = {port.attached: port for wave in plan.waves for port in wave.effect.ports}
    assert set(rows) == {(f"gpu-{server}:gpu{nic}_eth",) for server in (1, 2) for nic in (0, 1)}
    new = designed(tmp_path / "new.yaml", (tmp_path / "new.yaml").read_text())
    old = designed(tmp_path / "old.yaml", (tmp_path / "old.yaml").read_text())
    for (name,), row in rows.items():
        server, _, nic = name.partition(":")
        was, will = (
            next(cable.b for cable in network.cables_of(server) if cable.a.port == nic) for network in (old, new)
        )
        assert (row.device, row.port) == (was.device, was.port)
        assert row.later == f"{will.device} {will.port}"
        assert row.certain
        assert row.loses
    for wave in plan.waves:
        assert UNUSED not in wave.risks
        assert "2 NICs (50% of all) cannot be reached" in wave.risks
        assert any(line.startswith("LOST until recabled: 2 NICs with all queue pairs: gpu-1:") for line in wave.risks)
        assert {"gpu-1", "gpu-2"} <= set(wave.servers)
    again = plan_of(plan.to_json())
    assert [wave.effect.ports for wave in again.waves] == [wave.effect.ports for wave in plan.waves]


def test_what_is_typed_by_hand_names_the_servers_that_it_cuts_off(tmp_path: Path) -> None:
    plan = planned(tmp_path, "dell_sonic", *GROWN, model="z9864f-on")
    lines = [line for line in plan.refused if line.startswith("stripe1-leaf1: ") and "LOST until recabled" in line]
    assert len(lines) == 1
    assert "gpu-1:gpu0_eth on stripe1-leaf1 Eth1/33/1 (designed: stripe1-leaf1 Eth1/22/1)" in lines[0]
    assert not any("every device that answered runs its design" in line for line in plan.lines())


def test_ports_without_a_description_name_the_nics_that_they_can_have(tmp_path: Path) -> None:
    """As on a Linux switch whose links have no aliases."""
    path = tmp_path / "new.yaml"
    old = designed(tmp_path / "old.yaml", SMALL.replace("junos", "frr"))
    text = SMALL.replace("junos", "frr")
    for former, later in GROWN:
        text = text.replace(former, later)
    running = {
        name: {
            file: "".join(line for line in text.splitlines(keepends=True) if " alias " not in line)
            for file, text in files.items()
        }
        for name, files in texts(old).items()
    }
    first = make_plan(path, designed(path, text), Answers(running), limits=PlanLimits(1)).waves[0]
    assert {(row.port, row.attached, row.certain) for row in first.effect.ports} == {
        (port, ("gpu-1:gpu0_eth", "gpu-2:gpu0_eth", "gpu-3:gpu0_eth"), False) for port in ("et-32-0", "et-32-1")
    }
    assert "2 NICs (50% of all) cannot be reached" in first.risks
    assert any("The configuration does not name the NICs" in line for line in first.risks)


@pytest.mark.parametrize("nos", MODELS)
def test_a_server_that_leaves_the_design_loses_its_port_for_good(tmp_path: Path, nos: str) -> None:
    plan = planned(tmp_path, nos, ("gpu-[1-2]", "gpu-[1-1]"))
    rows = [port for wave in plan.waves for port in wave.effect.ports]
    assert {row.attached for row in rows} == {("gpu-2:gpu0_eth",), ("gpu-2:gpu1_eth",)}
    assert not any(row.later for row in rows)
    for wave in plan.waves:
        assert any(line.startswith("LOST for good: 1 NIC with all queue pairs: gpu-2:") for line in wave.risks)
        assert "gpu-2" in wave.servers
        assert not wave.effect.cuts


@pytest.mark.parametrize("nos", MODELS)
def test_links_of_the_fabric_that_move_carry_traffic_until_their_switches_change(tmp_path: Path, nos: str) -> None:
    """Each second port of a leaf is cabled to spine2, and by the design to spine1: the network is cut in between."""
    plan = planned(tmp_path, nos, *MORE_LINKS)
    by_device = {name: wave for wave in plan.waves for name in wave.devices}
    rows = [row for row in by_device["spine2"].effect.ports if row.kind == "fabric"]
    assert {row.attached[0].partition(" ")[0] for row in rows} == {"stripe1-leaf1", "stripe1-leaf2"}
    assert all(row.later.startswith("spine1 ") for row in rows)
    assert UNUSED not in by_device["spine2"].risks
    assert any(wave.effect.cuts for wave in plan.waves)


@pytest.mark.parametrize("nos", MODELS)
def test_links_to_a_switch_that_leaves_the_design_are_lost_with_what_they_carry(tmp_path: Path, nos: str) -> None:
    plan = planned(tmp_path, nos, ("spines: 2", "spines: 1, oversubscription: 2"), (", {name: blue}", ""))
    waves = [wave for wave in plan.waves if set(wave.devices) & {"stripe1-leaf1", "stripe1-leaf2"}]
    assert waves
    for wave in waves:
        rows = [row for row in wave.effect.ports if row.kind == "fabric"]
        assert [row.attached[0].partition(" ")[0] for row in rows] == ["spine2"]
        assert [row.later for row in rows] == [""]
        assert any(line.startswith("LOST for good: 1 link: spine2 ") for line in wave.risks)


def test_a_description_that_contradicts_another_does_not_move_a_cable(tmp_path: Path) -> None:
    """Two ports of a leaf are described as those of the same NIC: the design decides which of the two it is."""
    network = designed(tmp_path / "fabric.yaml", SMALL)
    running = texts(network)
    running["stripe1-leaf1"] = {
        file: text.replace("gpu-2 gpu0_eth", "gpu-1 gpu0_eth") for file, text in running["stripe1-leaf1"].items()
    }
    running["spine1"] = {
        file: text.replace('"stripe1-leaf1 et-0/0/0:0"', '"stripe1-leaf1 et-0/0/0:1"')
        for file, text in running["spine1"].items()
    }
    configs = running_configs(network, running)
    assert configs["spine1"] != running_configs(network, texts(network))["spine1"]
    ends = attached(network, configs)
    assert ends == attached(network, running_configs(network, texts(network)))


def test_a_server_that_moves_to_another_vlan_loses_its_own(tmp_path: Path) -> None:
    network = designed(tmp_path / "fabric.yaml", SMALL)
    before = running_configs(network, texts(network))["stripe1-leaf1"]
    gateway = before.gateways[0]
    other = replace(gateway, name="irb.9", vlan=9, vlan_name="vn9", addresses=(), prefixes=())
    port = next(port for port in before.interfaces if port.vlan == gateway.vlan_name)
    after = replace(
        before,
        gateways=(gateway, other),
        interfaces=tuple(replace(each, vlan="vn9") if each == port else each for each in before.interfaces),
    )
    ends = attached(network, {before.name: before})
    rows = list(lost_attachments(network, before.name, before, after, ends))
    assert [(row.port, row.loses) for row in rows] == [(port.name, (f"VLAN {gateway.vlan}",))]
    renumbered = replace(before, gateways=(replace(gateway, vlan=9, vlan_name="vn9"),))
    renumbered = replace(
        renumbered,
        interfaces=tuple(replace(each, vlan="vn9") if each.vlan else each for each in before.interfaces),
    )
    assert not list(lost_attachments(network, before.name, before, renumbered, ends))


def test_the_routes_that_are_gone_meanwhile_are_those_of_the_running_network(tmp_path: Path) -> None:
    """A leaf whose uplinks the running configuration shuts carries no routes of others, whatever the design has."""
    network = designed(tmp_path / "new.yaml", SMALL)
    running = texts(network)
    shut = "interfaces { et-0/0/0:0 { disable; } et-0/0/0:1 { disable; } }\n"
    running["stripe1-leaf1"] = {file: f"{text}\n{shut}" for file, text in running["stripe1-leaf1"].items()}
    other = running["stripe1-leaf1"]
    changed = {file: text.replace("64512", "64513").replace("4200001001", "4200001999") for file, text in other.items()}
    assert changed != other
    plan = make_plan(
        tmp_path / "new.yaml", network, Answers({**running, "stripe1-leaf1": changed}), limits=PlanLimits(1)
    )
    (wave,) = [wave for wave in plan.waves if "stripe1-leaf1" in wave.devices]
    assert not any("routes of other leaves are gone" in line for line in wave.risks)
