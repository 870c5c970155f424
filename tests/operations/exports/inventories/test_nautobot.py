"""The objects that a design has in Nautobot, and what is particular about their comparison. Nautobot itself: ``make trial NAME=nautobot``."""

from __future__ import annotations

import ipaddress
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from railweave.errors import InputError
from railweave.operations.exports.inventories import design
from railweave.operations.exports.inventories.client import Client, ServerError
from railweave.operations.exports.inventories.nautobot import KINDS, NAUTOBOT, items
from railweave.operations.exports.inventories.objects import Item, Reference
from tests.conftest import EXAMPLES, SMALL, example
from tests.operations.exports.inventories.test_client import called, serving
from tests.operations.exports.inventories.test_sync import Memory, compared

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.network.model import Network

Record = dict[str, Any]


def of_kind(name: str, kind: str) -> dict[tuple[str, ...], Item]:
    """The objects of a kind of an example, by key."""
    return {item.key: item for item in items(example(name)) if item.kind == kind}


@pytest.mark.parametrize("name", SMALL)
def test_every_object_comes_after_those_it_refers_to(name: str) -> None:
    made: set[Reference] = set()
    for item in sorted(items(example(name)), key=lambda item: [*KINDS].index(item.kind)):
        for value in item.fields.values():
            if isinstance(value, Reference):
                assert value in made, f"{item.kind} {item.name} refers to {value}"
        assert Reference(item.kind, item.key) not in made, f"twice: {item.kind} {item.name}"
        made.add(Reference(item.kind, item.key))


@pytest.mark.parametrize("name", SMALL)
def test_every_address_has_a_prefix_and_its_interfaces(name: str) -> None:
    prefixes = [ipaddress.ip_network(key[0]) for key in of_kind(name, "prefix")]
    addresses = {key[0] for key in of_kind(name, "IP address")}
    for host in addresses:
        assert any(ipaddress.ip_address(host) in prefix for prefix in prefixes), host
    assert {key[0] for key in of_kind(name, "interface of address")} == addresses


@pytest.mark.parametrize("name", SMALL)
def test_interfaces_in_a_vrf_are_on_devices_that_have_it(name: str) -> None:
    on = {
        (*item.fields["vrf"].key, item.key[0]) for item in of_kind(name, "interface").values() if "vrf" in item.fields
    }  # type: ignore[union-attr]
    assert on == {*of_kind(name, "VRF of device")}


def test_a_gateway_of_several_leaves_is_one_address() -> None:
    per_address = Counter(key[0] for key in of_kind("aidc-three-fabrics", "interface of address"))
    roles = {key[0]: item.fields.get("role") for key, item in of_kind("aidc-three-fabrics", "IP address").items()}
    assert {roles[host] for host, count in per_address.items() if count > 1} == {Reference("role", ("Anycast",))}


def test_the_mac_address_is_a_field_of_the_interface() -> None:
    macs = {key: item.fields.get("mac_address") for key, item in of_kind("h100-rlb", "interface").items()}
    real = {
        (item.key[0], item.key[1]): item.key[2]
        for item in design.items(example("h100-rlb"))
        if item.kind == "MAC address"
    }
    assert {key: mac for key, mac in macs.items() if mac} == real
    assert real


def test_lengths_are_whole_numbers() -> None:
    lengths = {(item.fields["length"], item.fields["length_unit"]) for item in of_kind("dci-50km", "cable").values()}
    assert (50, "km") in lengths
    assert all(isinstance(length, int) for length, _ in lengths)


def test_an_address_in_two_vrfs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(network: Network, *, site: str, tag: str) -> list[Item]:
        return [
            Item("prefix", ("10.0.0.0/24", vrf), {"prefix": "10.0.0.0/24", "vrf": Reference("VRF", (vrf,))})
            for vrf in ("red", "blue")
        ]

    monkeypatch.setattr(design, "items", twice)
    with pytest.raises(InputError, match=r"prefix 10\.0\.0\.0/24 is in two VRFs"):
        items(example("h100-rlb"))


def test_ends_of_cables() -> None:
    ends = {"a": [("dcim.interface", "x")], "b": [("dcim.interface", "y"), ("dcim.frontport", "z")]}
    read = {"a1": {"object_type": "dcim.interface", "id": "x"}, "b1": {"object_type": "dcim.interface", "id": "y"}, "b2": {"object_type": "dcim.frontport", "id": "z"}}  # fmt: skip
    assert NAUTOBOT.ends_of({"terminations": {**read, "a2": None}}) == ends
    assert NAUTOBOT.ends_body(ends, False) == {"terminations": read}
    assert NAUTOBOT.ends_body({"a": []}, False) == {"terminations": {"a1": None}}
    assert NAUTOBOT.ends_body({"a": ends["a"]}, True) == {
        "termination_a_type": "dcim.interface",
        "termination_a_id": "x",
    }


class Nautobot(Memory):
    """The API of a Nautobot server in memory: new cables lose their tags, and filters have its names."""

    product = NAUTOBOT

    def version(self) -> str:
        return "3.2.7"

    def fields(self, path: str) -> Record:
        names = [
            "name",
            "location",
            "location_type",
            "label",
            "address",
            "ip_address",
            "interface",
            "device",
            "primary_ip4",
        ]
        tags = ["tags"] if "assign" not in path and "-to-" not in path else []
        return {name: {} for name in [*names, *tags]}

    def objects(
        self, path: str, query: Mapping[str, str], name: str = "", values: Sequence[str | int] = ()
    ) -> Iterator[Record]:
        for record in super().objects(path, {}):
            there = record.get(name.removesuffix("_id"))
            if not name or (there["id"] if isinstance(there, dict) else there) in values or name == "device_id":
                yield record

    def send(self, method: str, path: str, objects: Sequence[Record], names: Sequence[str]) -> list[Record]:
        if path == "dcim/cables" and method == "POST":
            objects = [{**body, "tags": []} for body in objects]
        if path == "ipam/ip-addresses" and method == "POST":
            objects = [{**body, "host": body["address"].partition("/")[0]} for body in objects]
        return super().send(method, path, objects, names)

    def _stored(self, name: str, value: object) -> object:
        if name in {"location", "location_type", "ip_address", "interface"}:
            return {"id": value}
        return super()._stored(name, value)

    def _check_ports(self, objects: Sequence[Record]) -> None:
        for body in objects:
            for side in "ab":
                if f"termination_{side}_id" in body:
                    end = {"object_type": "dcim.interface", "id": body.pop(f"termination_{side}_id")}
                    body.setdefault("terminations", {})[f"{side}1"] = end


TAG = Item("tag", ("railweave",), {"name": "railweave"})
PLACE = Reference("location", ("site1",))
BASE = [
    TAG,
    Item("location type", ("Site",), {"name": "Site"}),
    Item("location", ("site1",), {"name": "site1", "location_type": Reference("location type", ("Site",))}),
    Item("device", ("leaf1",), {"name": "leaf1", "location": PLACE}),
    Item("device", ("leaf2",), {"name": "leaf2", "location": PLACE}),
    *(
        Item("interface", (name, "p"), {"name": "p", "device": Reference("device", (name,))})
        for name in ("leaf1", "leaf2")
    ),
]
CABLE = Item("cable", ("leaf1", "p", "leaf2", "p"), {"label": "leaf1:p--leaf2:p"})
ADDRESS = Item("IP address", ("10.0.0.1",), {"address": "10.0.0.1/32"})


def at(device: str) -> Item:
    both = {"ip_address": Reference("IP address", ("10.0.0.1",)), "interface": Reference("interface", (device, "p"))}
    return Item("interface of address", ("10.0.0.1", device, "p"), both)


def test_a_location_type_is_made_for_a_new_location_only() -> None:
    assert [str(change) for change in compared(Nautobot({}), BASE).changes][1] == "+ location type Site"
    memory = Nautobot({"dcim/locations": [{"id": "l", "name": "site1", "location_type": {"id": "hall"}}]})
    assert not any(change.kind.startswith("location") for change in compared(memory, BASE).changes)


def test_new_cables_get_their_tag_also_after_an_interrupt() -> None:
    memory = Nautobot({})
    compared(memory, [*BASE, CABLE], apply=True)
    (cable,) = memory.records["dcim/cables"]
    tags = cable["tags"]
    assert tags == [{"id": memory.records["extras/tags"][0]["id"]}]
    assert not compared(memory, [*BASE, CABLE]).differs
    cable["tags"] = []  # killed before the second request
    assert [str(change) for change in compared(memory, [*BASE, CABLE], apply=True).changes] == [
        "~ cable leaf1 p leaf2 p: tags none -> with railweave"
    ]
    assert cable["tags"] == tags
    cable |= {"tags": [], "label": "by hand"}
    planned = compared(memory, [*BASE, CABLE])
    assert not planned.differs
    assert "cable leaf1 p leaf2 p was not made by railweave" in planned.notes[0]


def test_an_address_moves_to_another_interface_by_the_same_assignment() -> None:
    memory = Nautobot({})
    compared(memory, [*BASE, ADDRESS, at("leaf1")], apply=True)
    planned = compared(memory, [*BASE, ADDRESS, at("leaf2")])
    assert [change.name for change in planned.changes] == ["10.0.0.1 leaf2 p"]
    compared(memory, [*BASE, ADDRESS, at("leaf2")], apply=True)
    assert len(memory.records["ipam/ip-address-to-interface"]) == 1
    assert not compared(memory, [*BASE, ADDRESS, at("leaf2")]).differs


def test_an_address_made_by_hand_is_not_assigned() -> None:
    """Nor does a device get it as its primary address."""
    by_hand = {"id": "a", "host": "10.0.0.1", "address": "10.0.0.1/32", "tags": []}
    primary = Item("primary address", ("leaf1",), {"primary_ip4": Reference("IP address", ("10.0.0.1",))})
    memory = Nautobot({"ipam/ip-addresses": [by_hand]})
    wanted = [*BASE, ADDRESS, at("leaf1"), primary]
    result = compared(memory, wanted, apply=True)
    assert (
        "interface of address 10.0.0.1 leaf1 p is left out: IP address 10.0.0.1 was not made by railweave"
        in result.notes[0]
    )
    assert result.counts()["interface of address"]["different"] == 1
    assert not compared(memory, wanted).differs
    compared(memory, wanted, apply=True, adopt=True)
    assert not compared(memory, wanted, adopt=True).differs


@pytest.mark.parametrize("words", [(), ("--apply",)])
def test_the_command_prints_what_its_schema_says(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Empty(Nautobot):
        """A server without objects, and with each field. Its objects have each field that the export reads."""

        def __init__(self, *_: object) -> None:
            super().__init__({})

        def __enter__(self) -> Empty:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def fields(self, path: str) -> Record:
            made = items(example("h100-rlb"))
            names = {name for item in made if KINDS[item.kind].path == path for name in item.fields}
            return {name: {} for name in names | ({"tags"} if "assign" not in path and "-to-" not in path else set())}

    monkeypatch.setattr("railweave.operations.exports.inventories.client.Client", Empty)
    monkeypatch.setenv("NAUTOBOT_TOKEN", "0" * 40)
    fabric = str(EXAMPLES / "h100-rlb.yaml")
    code = called(monkeypatch, "export", "nautobot", fabric, "--url", "https://nautobot.example.net", "--json", *words)
    shown = json.loads(capsys.readouterr().out)
    assert code == (0 if words else 1)
    assert shown["nautobot"] == "3.2.7"
    assert shown["counts"]["cable"]["create"] == len(example("h100-rlb").cables)


def test_a_refused_change_without_its_object_is_found_one_by_one() -> None:
    """Nautobot answers a list of changes with the reasons of one object, without its id."""
    sent: list[int] = []

    def answer(request: Any) -> tuple[int, Any]:
        bodies = json.loads(request.body)
        sent.append(len(bodies))
        wrong = any(body["id"] == "b" for body in bodies)
        return (400, {"position": ["U3 is occupied"]}) if wrong else (200, bodies)

    with serving(answer) as url, Client(NAUTOBOT, url, "0" * 40) as client:
        with pytest.raises(ServerError, match=r"HTTP 400\n  device 2: position: U3 is occupied"):
            client.send(
                "PATCH", "dcim/devices", [{"id": "a"}, {"id": "b"}, {"id": "c"}], ["device 1", "device 2", "device 3"]
            )
        assert client.send("PATCH", "dcim/devices", [{"id": "a"}], ["device 1"]) == [{"id": "a"}]
    assert sent == [3, 1, 1, 1]
