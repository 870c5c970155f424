"""Comparisons and changes, with a small imitation of the API in memory. What NetBox itself does is shown by ``make trial NAME=netbox``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from railweave.cli.export import _show_changes  # pyright: ignore[reportPrivateUsage]
from railweave.operations.exports.inventories.client import ServerError
from railweave.operations.exports.inventories.netbox import NETBOX
from railweave.operations.exports.inventories.objects import Item, Reference, Value
from railweave.operations.exports.inventories.sync import Synced, export_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.operations.exports.inventories.client import Client

Record = dict[str, Any]
MADE = [{"id": 1, "slug": "railweave"}]
TAG = Item("tag", ("railweave",), {"name": "railweave", "slug": "railweave"})
SITE = Item("site", ("site1",), {"name": "site1", "slug": "site1"})
TAG_RECORD: Record = {"id": 1, "name": "railweave", "slug": "railweave"}
SITE_RECORD: Record = {"id": 2, "name": "site1", "slug": "site1"}
_NESTED = {"device": "dcim/devices", "site": "dcim/sites", "rack": "dcim/racks"}


class Memory:
    """The API of a NetBox server that keeps its objects in a dictionary, by path. ``refuse`` are words of objects that it refuses, and ``unfit``
    is the number of a port that takes no new cable.
    """

    url = "https://netbox.example.net"
    product = NETBOX
    requests = 0

    def __init__(self, records: Mapping[str, Sequence[Record]]) -> None:
        self.records = {path: [dict(record) for record in entries] for path, entries in records.items()}
        self.refuse = ""
        self.refused = 0
        self.unfit = 0

    def version(self) -> str:
        return "4.7.3"

    def fields(self, path: str) -> Record:
        names = ("name", "slug", "device", "site", "rack", "label", "serial", "primary_ip4", "mtu", "tags")
        return {name: {} for name in names}

    def objects(
        self, path: str, query: Mapping[str, str], name: str = "", values: Sequence[str | int] = ()
    ) -> Iterator[Record]:
        """The objects by the conditions that the export uses. A tag that does not exist is refused, as NetBox does."""
        records = self.records.get(path, [])
        if "tag" in query:
            ids = [tag["id"] for tag in self.records.get("extras/tags", []) if tag["slug"] == query["tag"]]
            if not ids:
                raise ServerError("HTTP 400: tag: Select a valid choice.")
            records = [r for r in records if any(tag["id"] in ids for tag in r.get("tags", ()))]
        if name == "device_id" and path == "dcim/cables":
            ports = {r["id"] for r in self.records["dcim/interfaces"] if r["device"]["id"] in values}
            records = [r for r in records if ports & {end["object_id"] for end in _ends(r)}]
        elif name in {"device_id", "site_id"}:
            records = [r for r in records if (r.get(name.removesuffix("_id")) or {}).get("id") in values]
        elif name:
            records = [r for r in records if r.get(name) in values]
        yield from [dict(record) for record in records]

    def send(self, method: str, path: str, objects: Sequence[Record], names: Sequence[str]) -> list[Record]:
        """Create or change all objects, or none of them."""
        if self.refuse and any(self.refuse in name for name in names):
            self.refused += 1
            raise ServerError(f"{method} {path}: refused")
        entries = self.records.setdefault(path, [])
        if path == "dcim/cables":
            self._check_ports(objects)
        result: list[Record] = []
        for body in objects:
            new = {name: self._stored(name, value) for name, value in body.items()}
            if method == "POST":
                record: Record = {"id": 100 + len(entries), **new}
                entries.append(record)
            else:
                record = next(entry for entry in entries if entry["id"] == body["id"])
                record.update(new)
            result.append(record)
        return result

    def _stored(self, name: str, value: object) -> object:
        if name in _NESTED:
            return None if value is None else {"id": value}
        return [{"id": number} for number in cast("list[int]", value)] if name == "tags" else value

    def _check_ports(self, objects: Sequence[Record]) -> None:
        """Refuse a second cable on a port, as NetBox does."""
        after = {record["id"]: dict(record) for record in self.records["dcim/cables"]}
        if any(end["object_id"] == self.unfit for body in objects for end in body.get("b_terminations", ())):
            raise ServerError("a port takes no cable")
        for number, body in enumerate(objects):
            now = after.setdefault(body.get("id", -number), {"a_terminations": [], "b_terminations": []})
            now.update(body)
            ports = [end["object_id"] for record in after.values() for end in _ends(record)]
            if len(ports) != len(set(ports)):
                raise ServerError("a port has a cable already")


def _ends(record: Record) -> list[Record]:
    return [*record["a_terminations"], *record["b_terminations"]]


def compared(memory: Memory, items: Sequence[Item], *, apply: bool = False, adopt: bool = False) -> Synced:
    client = cast("Client", memory)
    return export_to(client, items, apply=apply, adopt=adopt, progress=lambda _: None)


def device(name: str, **fields: Value) -> Item:
    return Item("device", (name,), {"name": name, "site": Reference("site", ("site1",)), **fields})


def device_record(number: int, name: str, **fields: Any) -> Record:
    return {"id": number, "name": name, "site": {"id": 2}, **fields}


def test_a_server_without_the_tag_is_not_asked_for_its_devices() -> None:
    memory = Memory({"dcim/sites": [SITE_RECORD]})
    planned = compared(memory, [TAG, SITE, device("leaf1")])
    assert [str(change) for change in planned.changes] == ["+ tag railweave", "+ device leaf1"]


def test_devices_that_the_design_lacks_are_named() -> None:
    old = device_record(5, "old", tags=MADE)
    memory = Memory({"extras/tags": [TAG_RECORD], "dcim/sites": [SITE_RECORD], "dcim/devices": [old]})
    (note,) = compared(memory, [TAG, SITE, device("leaf1")]).notes
    assert "1 device with the tag that the design does not have" in note


def test_a_plan_adopts_before_the_tag_exists() -> None:
    memory = Memory({"dcim/sites": [SITE_RECORD], "dcim/devices": [device_record(5, "leaf1", tags=[])]})
    planned = compared(memory, [TAG, SITE, device("leaf1")], adopt=True)
    assert [str(change) for change in planned.changes] == [
        "+ tag railweave",
        "~ device leaf1: tags none -> with railweave",
    ]
    compared(memory, [TAG, SITE, device("leaf1")], apply=True, adopt=True)
    assert not compared(memory, [TAG, SITE, device("leaf1")], adopt=True).differs


RACK = Item("rack", ("site1", "K1"), {"name": "K1", "site": Reference("site", ("site1",))})


def test_a_reference_to_a_planned_object_is_a_difference() -> None:
    """A device without a rack, and a rack that is to be created."""
    memory = Memory(
        {
            "extras/tags": [TAG_RECORD],
            "dcim/sites": [SITE_RECORD],
            "dcim/devices": [device_record(5, "leaf1", rack=None, tags=MADE)],
        }
    )
    items = [TAG, SITE, RACK, device("leaf1", rack=Reference("rack", ("site1", "K1")))]
    planned = compared(memory, items)
    assert [str(change) for change in planned.changes] == ["+ rack site1 K1", "~ device leaf1: rack none -> site1 K1"]
    assert compared(memory, items, apply=True).counts() == planned.counts()
    assert not compared(memory, items).differs


def test_an_object_made_by_hand_that_differs_is_not_equal(capsys: pytest.CaptureFixture[str]) -> None:
    by_hand = [device_record(5, "leaf1", serial="A", tags=[]), device_record(6, "leaf2", serial="B", tags=[])]
    memory = Memory({"extras/tags": [TAG_RECORD], "dcim/sites": [SITE_RECORD], "dcim/devices": by_hand})
    planned = compared(memory, [TAG, SITE, device("leaf1", serial="A"), device("leaf2", serial="C")])
    assert not planned.differs
    assert planned.counts()["device"] == {"create": 0, "update": 0, "equal": 1, "different": 1}
    assert planned.notes == ["device leaf2 was not made by railweave: serial is B (design: C); --adopt changes it"]
    _show_changes(planned)
    shown = capsys.readouterr().out
    assert "device: 0 to create, 0 to change, 1 equal, 1 different and left as they are" in shown
    assert "nothing to do; 1 object left different from the design, named above" in shown


def interface(device: str, name: str) -> Item:
    return Item("interface", (device, name), {"name": name, "device": Reference("device", (device,))})


def link(*key: str) -> Item:
    return Item("cable", key, {"label": f"{key[0]}:{key[1]}--{key[2]}:{key[3]}"})


PORTS = {("s1", "p"): 11, ("s2", "p"): 12, ("s3", "p"): 13, ("leaf", "1"): 21, ("leaf", "2"): 22, ("leaf", "3"): 23}
DEVICES = {"s1": 5, "s2": 6, "s3": 7, "leaf": 8}
BASE = [TAG, SITE, *map(device, DEVICES), *(interface(*key) for key in PORTS)]


def cabled(*cables: tuple[int | None, int | None, str]) -> Memory:
    """A server with devices and interfaces, and with cables made by railweave: their two ports and their labels."""

    def ends(port: int | None) -> list[Record]:
        return [] if port is None else [{"object_type": "dcim.interface", "object_id": port, "object": {"id": port}}]

    return Memory(
        {
            "extras/tags": [TAG_RECORD],
            "dcim/sites": [SITE_RECORD],
            "dcim/devices": [device_record(number, name, tags=MADE) for name, number in DEVICES.items()],
            "dcim/interfaces": [
                {"id": number, "name": name, "device": {"id": DEVICES[owner]}, "tags": MADE}
                for (owner, name), number in PORTS.items()
            ],
            "dcim/cables": [
                {"id": number, "label": label, "a_terminations": ends(a), "b_terminations": ends(b), "tags": MADE}
                for number, (a, b, label) in enumerate(cables, 31)
            ],
        }
    )


def at(memory: Memory) -> dict[int, list[int]]:
    """The ports of each cable."""
    return {record["id"]: [end["object_id"] for end in _ends(record)] for record in memory.records["dcim/cables"]}


SWAPPED = [*BASE, link("s1", "p", "leaf", "2"), link("s2", "p", "leaf", "1")]


def test_cables_are_put_back_if_their_move_is_refused() -> None:
    memory = cabled((11, 21, "s1:p--leaf:1"), (12, 22, "s2:p--leaf:2"))
    memory.refuse = "s1 p leaf 2"
    with pytest.raises(ServerError, match=r"refused\n2 cables put back on the ports from before\nuntil then"):
        compared(memory, SWAPPED, apply=True)
    assert memory.refused == 1
    assert at(memory) == {31: [11, 21], 32: [12, 22]}
    memory.refuse = ""
    compared(memory, SWAPPED, apply=True)
    assert at(memory) == {31: [11, 22], 32: [12, 21]}
    assert not compared(memory, SWAPPED).differs


def test_a_cable_whose_port_is_taken_by_then_is_named() -> None:
    """The first of two requests that move cables is carried out, the second is refused."""
    memory = cabled((11, 21, "s1:p--leaf:1"), (12, 22, "s2:p--leaf:2"))
    memory.product = replace(NETBOX, batch=1)
    memory.refuse = "s2 p leaf 1"
    with pytest.raises(ServerError, match="an end may be missing until the next run: s2:p--leaf:2"):
        compared(memory, SWAPPED, apply=True)
    assert at(memory) == {31: [11, 22], 32: [12]}
    memory.refuse = ""
    compared(memory, SWAPPED, apply=True)
    assert at(memory) == {31: [11, 22], 32: [12, 21]}


def test_a_cable_that_cannot_be_put_back_does_not_keep_others_from_it() -> None:
    """A cable that NetBox would not accept again: its request fails, that of the other succeeds."""
    memory = cabled((11, 21, "s1:p--leaf:1"), (12, 22, "s2:p--leaf:2"))
    memory.refuse = "s1 p leaf 2"
    memory.unfit = 22
    with pytest.raises(ServerError) as error:
        compared(memory, SWAPPED, apply=True)
    assert "1 cable put back on the ports from before" in str(error.value)
    assert "until the next run: s2:p--leaf:2 (a port takes no cable)" in str(error.value)
    assert at(memory) == {31: [11, 21], 32: [12]}


def test_a_cable_without_ends_is_found_by_its_tag() -> None:
    memory = cabled((None, None, "s1:p--leaf:3"), (12, 22, "s2:p--leaf:2"), (None, None, "elsewhere:p--other:1"))
    items = [*BASE, link("s1", "p", "leaf", "1"), link("s2", "p", "leaf", "2")]
    planned = compared(memory, items)
    assert [str(change) for change in planned.changes] == [
        "~ cable s1 p leaf 1: ends s1:p--leaf:3 -> s1 p leaf 1, label s1:p--leaf:3 -> s1:p--leaf:1"
    ]
    compared(memory, items, apply=True)
    assert at(memory) == {31: [11, 21], 32: [12, 22], 33: []}
    last = compared(memory, items)
    assert not last.differs
    assert any("1 cable with the tag that the design does not have" in note for note in last.notes)


def test_a_cable_that_loses_its_port_for_good_is_named() -> None:
    """The cable of s3 is no longer in the design, and its leaf port gets the cable of s1."""
    memory = cabled((11, 21, "s1:p--leaf:1"), (13, 23, "s3:p--leaf:3"))
    items = [*BASE, link("s1", "p", "leaf", "3")]
    for apply in (False, True):
        result = compared(memory, items, apply=apply)
        assert result.notes == [
            "cable s3:p--leaf:3, which the design does not have, is taken off a port that another cable gets"
        ]
    assert at(memory) == {31: [11, 23], 32: [13]}


def test_an_adopted_cable_that_moves_gets_the_tag() -> None:
    memory = cabled((11, 21, "by hand"))
    memory.records["dcim/cables"][0]["tags"] = []
    items = [*BASE, link("s1", "p", "leaf", "2")]
    assert not compared(memory, items).differs
    compared(memory, items, apply=True, adopt=True)
    assert at(memory) == {31: [11, 22]}
    assert memory.records["dcim/cables"][0]["tags"] == [{"id": 1}]
    assert not compared(memory, items).differs


def test_a_cable_of_people_that_loses_a_port_is_named() -> None:
    """Both ends of the designed cable are taken by cables that people made. One of them moves, the other loses its end."""
    memory = cabled((11, 21, "by hand 1"), (12, 22, "by hand 2"))
    for record in memory.records["dcim/cables"]:
        record["tags"] = []
    planned = compared(memory, [*BASE, link("s1", "p", "leaf", "2")], adopt=True)
    taken = [note for note in planned.notes if "is taken off a port that another cable gets" in note]
    assert len(taken) == 1
    assert "by hand" in taken[0]
