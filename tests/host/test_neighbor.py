"""The switch port at the other end of a NIC's cable, in every form in which systems announce it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from railweave.host import host_file
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, FAILED, NOT_SEEN, OK
from railweave.host.checks.server import server
from railweave.model.device.host import host_config
from railweave.outputs.rendering.host.host_json import document
from tests.host.machines import Written, healthy
from tests.retarget import retargeted

WORDS = ("lldpctl", "-f", "json0")
Row = dict[str, Any]


def neighbor(name: str, kind: str, port: str, description: str = "") -> Row:
    chassis: Row = {"id": [{"type": "mac", "value": "02:00:5e:00:00:01"}]}
    said: Row = {"id": [{"type": kind, "value": port}], "mfs": [{"value": "9216"}]}
    return {
        "chassis": [chassis | ({"name": [{"value": name}]} if name else {})],
        "port": [said | ({"descr": [{"value": description}]} if description else {})],
    }


@pytest.fixture
def plan(tmp_path: Path) -> Row:
    found: Row = dict(document(host_config(retargeted("evpn-functional", "sonic"), "H100-01")))
    (tmp_path / "host.json").write_text(json.dumps(found))
    return found


def look(folder: Path, plan: Row, *heard: Row) -> tuple[str, str]:
    """What is said of the first NIC where it hears these."""
    parts, netdev = healthy(plan), plan["nics"][0]["netdev"]
    parts.say(json.dumps({"lldp": [{"interface": [{"name": netdev, **one} for one in heard]}]}), *WORDS)
    file = folder / "host.json"
    results = running.run(server(Written(parts), host_file.load(file), plan), [ALL["link-neighbor"]])
    outcome = next(one.outcome for one in results if one.outcome.of == netdev)
    return outcome.verdict, outcome.seen


def test_host_json_has_alias_and_description(plan: Row) -> None:
    first = plan["nics"][0]
    assert (first["leaf_port"], first["leaf_port_names"]) == ("Ethernet88", ["Eth1/12", "H100-01 gpu0_eth"])


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (("leaf1", "local", "Eth1/12", "H100-01 gpu0_eth"), OK),
        (("leaf1", "local", "Eth1/12"), OK),
        (("leaf1.example.net", "ifname", "Ethernet88"), OK),
        (("leaf1", "local", "etp12", "H100-01 gpu0_eth"), OK),
        (("leaf1", "local", "549", "H100-01 gpu0_eth"), OK),
        (("leaf1", "mac", "02:00:5e:00:00:07", "Ethernet88"), OK),
        (("leaf1", "local", "Eth1/13", "H100-01 gpu1_eth"), FAILED),
        (("leaf1", "local", "Eth1/13", "H100-01 gpu0_eth"), FAILED),  # the port tells, a description may be old
        (("leaf1", "local", "Eth1/12/2"), FAILED),
        (("leaf1", "ifname", "Ethernet96"), FAILED),
        (("leaf1", "local", "549", "Ethernet96"), FAILED),
        (("leaf2", "local", "Eth1/12", "H100-01 gpu0_eth"), FAILED),
        (("leaf2", "mac", "02:00:5e:00:00:07"), FAILED),
        (("leaf1", "mac", "02:00:5e:00:00:07"), NOT_SEEN),
        (("leaf1", "local", "549"), NOT_SEEN),
        (("leaf1", "local", "549", "uplink"), NOT_SEEN),
        (("", "mac", "02:00:5e:00:00:07"), NOT_SEEN),
    ],
)
def test_the_port_by_any_of_its_names(plan: Row, tmp_path: Path, said: tuple[str, ...], verdict: str) -> None:
    assert look(tmp_path, plan, neighbor(*said))[0] == verdict


def test_one_of_several_neighbors_is_the_leaf(plan: Row, tmp_path: Path) -> None:
    firmware = neighbor("", "mac", "02:00:5e:00:00:07")
    leaf = neighbor("leaf1", "local", "Eth1/12")
    assert look(tmp_path, plan, firmware, leaf)[0] == OK
    assert look(tmp_path, plan, firmware, neighbor("leaf1", "local", "Eth1/13")) == (
        FAILED,
        "leaf1 Eth1/13, which is Ethernet96",
    )


def test_a_host_json_of_before_cannot_tell_an_alias(plan: Row, tmp_path: Path) -> None:
    for nic in plan["nics"]:
        del nic["leaf_port_names"]
    (tmp_path / "host.json").write_text(json.dumps(plan))
    assert look(tmp_path, plan, neighbor("leaf1", "local", "Eth1/12"))[0] == NOT_SEEN
    assert look(tmp_path, plan, neighbor("leaf1", "ifname", "Ethernet88"))[0] == OK
