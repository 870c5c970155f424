"""New switches compared with the design and the inventory before they are configured, on stand-ins for Junos."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from railweave import api
from railweave.api.deploying import deploy_acknowledge, deploy_apply, deploy_plan
from railweave.cli.app import app
from railweave.errors import InputError, OutputError
from railweave.model.device.build import device_config
from railweave.model.state.device_state import DeviceState
from railweave.operations.deploy import journal
from railweave.operations.deploy.acknowledging import ComparedDevice
from railweave.operations.deploy.ztp.making import minimal
from railweave.systems import system
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.junos_box import as_set
from tests.operations.deploy.network import Changing, changing, runs
from tests.operations.deploy.test_rollout import SMALL

LEAF, OTHER = "stripe1-leaf1", "stripe1-leaf2"
SERIALS = {LEAF: "AB1", OTHER: "AB2", "spine1": "SP1", "spine2": "SP2"}
SERVERS = ("server-cables",)
GREEN, BLUE = "et-0/0/0:0", "et-0/0/0:1"


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Changing]:
    """Every switch runs its design, but a leaf that has just booted for the first time."""
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(SMALL)
    rows = "".join(f"{name},,{serial}\n" for name, serial in SERIALS.items())
    fabric.with_name("fabric.inventory.csv").write_text(f"device,interface,serial\n{rows}")
    booted = minimal(device_config(api.load(fabric), LEAF))
    running = runs(fabric) | {LEAF: as_set(system("junos").files(booted)["junos.conf"])}
    with changing(fabric, running) as changed:
        yield changed


def acknowledged(network: Changing, *names: str, allow: tuple[str, ...] = SERVERS) -> list[ComparedDevice]:
    return deploy_acknowledge(network.fabric, names or (LEAF,), access=network.access, allow_unseen=allow)


def spoil(network: Changing, changes: Mapping[str, Callable[[DeviceState], DeviceState]]) -> None:
    """Have switches report a different state."""
    network.state.spoiled = lambda name, state: changes.get(name, lambda same: same)(state)
    network.state.forget()


def identified(**values: Any) -> Callable[[DeviceState], DeviceState]:
    return lambda state: replace(state, identity=state.identity and replace(state.identity, **values))


def hears(**ports: tuple[str, str] | None) -> Callable[[DeviceState], DeviceState]:
    """Return a change of LLDP neighbors: ``green`` and ``blue`` are the ports; None: no neighbor."""

    def changed(state: DeviceState) -> DeviceState:
        neighbors = dict(state.neighbors or {})
        for color, far in ports.items():
            port = {"green": GREEN, "blue": BLUE}[color]
            old = neighbors.pop(port)[0]
            if far is not None:
                neighbors[port] = (replace(old, system=far[0], port=far[1]),)
        return replace(state, neighbors=neighbors)

    return changed


def test_a_new_switch_is_configured_only_after_it_was_acknowledged(network: Changing) -> None:
    path = network.fabric.with_name("plan.json")
    plan = deploy_plan(network.fabric, live=True, access=network.access)
    assert set(plan.changed) == {LEAF}
    [refusal] = plan.refused
    assert f"{LEAF} runs no routing yet, as after its first boot, and was not acknowledged" in refusal
    write_file(path, json.dumps(plan.to_json()), private=True)
    with pytest.raises(InputError, match="not acknowledged"):
        deploy_apply(path, access=network.access, settle=0)
    [device] = acknowledged(network)
    assert device.good, device.refused
    assert device.serial == "AB1"
    rights = {row["subject"]: (row["right"], row["wrong"], row["not_seen"]) for row in device.subjects}
    assert rights == {
        "host-name": (1, 0, 0),
        "model": (1, 0, 0),
        "serial-number": (1, 0, 0),
        "cables": (2, 0, 0),
        "server-cables": (0, 0, 2),
    }
    plan = deploy_plan(network.fabric, live=True, access=network.access)
    assert not plan.refused
    write_file(path, json.dumps(plan.to_json()), private=True)
    assert deploy_apply(path, access=network.access, settle=0).state == "done"
    with journal.opened(network.fabric) as rows:
        [entry] = rows.acknowledgements()
        assert (entry.device, entry.serial, len(entry.unseen)) == (LEAF, "AB1", 2)


def test_cables_that_no_end_sees_are_not_right(network: Changing) -> None:
    [device] = acknowledged(network, allow=())
    [refusal] = device.refused
    assert refusal == (
        "server-cables not seen: et-0/0/32:0 to gpu-1 gpu0_eth (no LLDP neighbor is received at either end), "
        "et-0/0/32:1 to gpu-2 gpu0_eth (no LLDP neighbor is received at either end)"
    )
    assert deploy_plan(network.fabric, live=True, access=network.access).refused
    spoil(network, {name: lambda state: replace(state, neighbors={}) for name in SERIALS})
    [device] = acknowledged(network)
    assert [row["right"] for row in device.subjects if row["subject"] == "cables"] == [0]
    assert f"{GREEN} to spine1 et-0/0/0:0" in [each.what for each in device.unseen]
    assert acknowledged(network, allow=("cables", *SERVERS))[0].good


def test_the_neighbor_of_a_cable_is_enough_to_see_it(network: Changing) -> None:
    """After a first boot without LLDP, only the spines may report the leaf, or only the leaf the spines."""
    spoil(network, {LEAF: lambda state: replace(state, neighbors=None)})
    assert acknowledged(network)[0].good
    spoil(network, {})
    network.devices["spine1"].gone = True
    assert acknowledged(network)[0].good
    spoil(network, {LEAF: lambda state: replace(state, neighbors={})})
    [device] = acknowledged(network)
    [refusal] = device.refused
    assert "et-0/0/0:0 to spine1" in refusal
    assert "spine1 did not answer" in refusal
    assert "spine2" not in refusal


CASES: dict[str, tuple[Mapping[str, Callable[[DeviceState], DeviceState]], tuple[str, ...]]] = {
    "another name": (
        {LEAF: identified(host_name="leaf9")},
        ("reports the host name leaf9", "boot it again as stripe1-leaf1"),
    ),
    "another model": (
        {LEAF: identified(model="qfx5130-32cd")},
        ("is a qfx5130-32cd, the design has a qfx5240-64od", "replace the device"),
    ),
    "an unknown serial number": (
        {LEAF: identified(serial="ZZ9")},
        ("has serial number ZZ9, the inventory has AB1", f"deploy replace FABRIC {LEAF} --serial ZZ9"),
    ),
    "the serial number of another switch": (
        {LEAF: identified(serial="AB2")},
        (
            f"has serial number AB2, the inventory has AB1, and AB2 is that of {OTHER}",
            f"exchange the two devices, or the serial numbers of {LEAF} and {OTHER}",
        ),
    ),
    "no serial number": (
        {LEAF: identified(serial=None)},
        ("serial-number not seen: serial number (the device does not report it)",),
    ),
    "swapped cables": (
        {LEAF: hears(green=("spine2", GREEN), blue=("spine1", GREEN)), "spine1": hears(green=(LEAF, BLUE))},
        (f"the cables in {GREEN} and {BLUE} are swapped", f"at {LEAF}, swap the cables in {GREEN} and {BLUE}"),
    ),
    "a cable in another port": (
        {LEAF: hears(green=("spine1", "et-0/0/9:0")), "spine1": hears(green=None)},
        (f"{GREEN} leads to spine1 et-0/0/9:0, but should lead to spine1 et-0/0/0:0", "move the cable of"),
    ),
    "a cable to a stranger": (
        {LEAF: hears(green=("printer", "1")), "spine1": hears(green=None)},
        (f"{GREEN} leads to printer 1", f"move the cable of {LEAF} {GREEN} from printer 1 to spine1 et-0/0/0:0"),
    ),
    "the place of another switch": (
        {
            LEAF: hears(green=("spine1", BLUE), blue=("spine2", BLUE)),
            "spine1": hears(green=None),
            "spine2": hears(green=None),
        },
        (f"{LEAF} is cabled in the place of {OTHER}", f"exchange {LEAF} and {OTHER}, or their serial numbers"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_difference_is_refused_with_both_sides_and_the_remedy(network: Changing, name: str) -> None:
    changes, parts = CASES[name]
    spoil(network, changes)
    [device] = acknowledged(network)
    assert not device.good
    text = "\n".join(device.refused)
    assert all(part in text for part in parts), text
    with journal.opened(network.fabric) as rows:
        assert rows.acknowledgements() == []


def test_a_switch_without_a_serial_number_in_the_inventory_is_refused_with_the_number_to_write(
    network: Changing,
) -> None:
    network.fabric.with_name("fabric.inventory.csv").unlink()
    spoil(network, {LEAF: identified(serial="NEW7")})
    [device] = acknowledged(network)
    [refusal] = device.refused
    assert "has serial number NEW7, the inventory has no serial number of stripe1-leaf1" in refusal
    assert "write NEW7 into the column `serial`" in refusal


def test_a_switch_is_acknowledged_with_the_serial_number_that_it_then_has(network: Changing) -> None:
    """The same name on another device is not known: it has to be compared again."""
    assert acknowledged(network)[0].good
    inventory = network.fabric.with_name("fabric.inventory.csv")
    inventory.write_text(inventory.read_text().replace("AB1", "AB7"))
    assert deploy_plan(network.fabric, live=True, access=network.access).refused


def test_what_cannot_be_named_is_an_error(network: Changing) -> None:
    with pytest.raises(InputError, match="no switch 'leaf9'"):
        acknowledged(network, "leaf9")
    with pytest.raises(InputError, match="there is no such subject"):
        acknowledged(network, allow=("lamps",))
    network.fabric.write_text(SMALL + f"status: {{{LEAF}: planned}}\n")
    with pytest.raises(InputError, match="planned or failed"):
        acknowledged(network)


def test_a_silent_switch_and_another_operator(network: Changing) -> None:
    with journal.at_work(network.fabric), pytest.raises(OutputError, match="is at work"):
        acknowledged(network)
    network.devices[LEAF].gone = True
    first, second = acknowledged(network, LEAF, OTHER, allow=SERVERS)
    assert second.good
    assert not first.good
    assert all("did not answer" in line for line in first.refused)


def test_a_journal_of_an_earlier_release_has_no_acknowledged_switches(network: Changing) -> None:
    assert acknowledged(network)[0].good
    with sqlite3.connect(journal.folder_of(network.fabric) / "journal.db") as rows:
        rows.execute("DROP TABLE acknowledged")
    with journal.opened(network.fabric) as rows:
        assert rows.acknowledgements() == []


def test_the_command_prints_what_matches_and_what_does_not(network: Changing) -> None:
    words = ["deploy", "acknowledge", str(network.fabric), LEAF, "--access", str(network.access)]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 1
    assert f"{LEAF}: refused: server-cables not seen" in ran.output
    ran = CliRunner().invoke(app, [*words, "--allow-unseen", "server-cables"])
    assert ran.exit_code == 0
    assert f"{LEAF}: acknowledged, serial number AB1" in ran.output
    ran = CliRunner().invoke(app, [*words, "--json"])
    assert ran.exit_code == 1
    [device] = json.loads(ran.stdout)
    assert (device["good"], device["serial"], len(device["unseen"])) == (False, "AB1", 2)
