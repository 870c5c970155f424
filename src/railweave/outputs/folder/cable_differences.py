"""Compare the cables, places and bills of two networks, and list what a technician has to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from railweave.outputs.rendering.tables import as_csv
from railweave.outputs.report.bom import bill

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.model.network.devices import Cable, End
    from railweave.model.network.model import Network

    Attributes = Mapping[str, str]
    Changes = dict[str, tuple[str, str]]
    """Old and new value of each attribute that differs; empty where there is none."""


class CableWork(NamedTuple):
    """A cable that somebody has to touch: both ends before and after, ``DEVICE:PORT``, and the labels of the new cable.

    Actions:

    - ``lay`` and ``remove``: the cable is in one of the networks only.
    - ``move``: an end goes to another port, or a device of the cable to another place, and the cable is as long as before.
    - ``replace``: the cable gets another length.
    - ``optics``: the cable stays, and its optics or speed change.
    """

    action: str
    old_a: str
    old_a_place: str
    old_a_optic: str
    old_b: str
    old_b_place: str
    old_b_optic: str
    old_length_m: str
    old_speed_gbps: str
    new_a: str
    new_a_place: str
    new_a_optic: str
    new_b: str
    new_b_place: str
    new_b_optic: str
    new_length_m: str
    new_speed_gbps: str
    label_a: str = ""
    label_b: str = ""


class BillChange(NamedTuple):
    """One line of the bill of materials whose count differs."""

    kind: str
    name: str
    before: int
    after: int


def attributes(network: Network) -> dict[str, Attributes]:
    """All that is known of each cable, by its name; cables to routers of the operator's too."""
    found = {one.name: _attributes(network, one) for one in network.cables}
    for fabric, _, router, link in network.external_links():
        at = {**_place(network, link.leaf, "a_"), **_place(network, router.name, "b_")}
        found[f"{link.leaf}:{link.port}--{router.name}"] = {
            "kind": "external",
            "fabric": fabric.name,
            "speed_gbps": str(link.speed_gbps),
            **at,
        }
    return found


def _attributes(network: Network, cable: Cable) -> Attributes:
    color = "" if cable.color is None else network.fabric(cable.fabric).color_name(cable.color)
    return {
        "kind": cable.kind,
        "fabric": cable.fabric,
        "speed_gbps": str(cable.speed_gbps),
        "length_m": f"{cable.length_m:g}",
        "length_is": "measured" if cable.measured else "planned",
        "delay_us": _text(cable.delay_us),
        "color": color,
        "prefix_length": _text(cable.prefix_length),
        **_end(network, "a", cable.a),
        **_end(network, "b", cable.b),
    }


def _end(network: Network, side: str, end: End) -> dict[str, str]:
    own = {
        "optic": end.optic,
        "lanes": end.lanes,
        "address": end.address,
        "physical": end.physical,
        "channel": end.channel,
    }
    return {**{f"{side}_{key}": _text(value) for key, value in own.items()}, **_place(network, end.device, f"{side}_")}


def _text(value: str | int | None) -> str:
    return "" if value is None else str(value)


def _place(network: Network, device: str, before: str = "") -> dict[str, str]:
    place = network.positions.get(device)
    return {f"{before}rack": place.rack if place else "", f"{before}unit": str(place.unit) if place else ""}


def differing(old: Attributes, new: Attributes) -> Changes:
    """The attributes that differ."""
    keys = dict.fromkeys((*old, *new))
    return {key: (was, now) for key in keys if (was := old.get(key, "")) != (now := new.get(key, ""))}


def device_changes(old: Network, new: Network) -> dict[str, Changes]:
    """By device that both networks have: rack, unit and serial number, of switches the model and release too."""
    before, after = _devices(old), _devices(new)
    found = {name: differing(was, after[name]) for name, was in before.items() if name in after}
    return {name: one for name, one in found.items() if one}


def _devices(network: Network) -> dict[str, Attributes]:
    found: dict[str, Attributes] = {
        one.name: {"model": one.model, "release": one.release, "serial": one.serial} for one in network.switches
    }
    found |= {one.name: {"serial": one.serial} for one in network.servers}
    return {name: {**own, **_place(network, name)} for name, own in found.items()}


def bill_changes(old: Network, new: Network) -> tuple[BillChange, ...]:
    """The lines of the bill of materials whose counts differ, by kind and name."""
    before, after = ({(one.kind, one.name): one.count for one in bill(network)} for network in (old, new))
    return tuple(
        BillChange(*key, before.get(key, 0), after.get(key, 0))
        for key in dict.fromkeys((*before, *after))
        if before.get(key, 0) != after.get(key, 0)
    )


def cable_work(old: Network, new: Network) -> Iterator[CableWork]:
    """The list for the technician: cables that there are in their order, then new ones."""
    before, after = ({one.name: one for one in network.cables} for network in (old, new))
    added = {(end.device, end.port): one for one in after.values() if one.name not in before for end in (one.a, one.b)}
    moved: set[str] = set()
    for name, cable in before.items():
        other = after.get(name)
        if other is None:
            ends = (added.get((end.device, end.port)) for end in (cable.a, cable.b))
            other = next((one for one in ends if one is not None and one.name not in moved), None)
            moved |= {other.name} if other else set()
        action = _action(old, new, cable, other)
        if action:
            yield CableWork(action, *_sides(old, cable), *_sides(new, other), *(other.labels if other else ()))
    for name, cable in after.items():
        if name not in before and name not in moved:
            yield CableWork("lay", *_sides(old, None), *_sides(new, cable), *cable.labels)


def work_csv(work: Iterable[CableWork]) -> str:
    """The list for the technician as CSV."""
    return as_csv(CableWork._fields, work)


def _action(old: Network, new: Network, cable: Cable, other: Cable | None) -> str:
    """Return the work on a cable that becomes ``other``; empty if no one has to touch the cable."""
    if other is None:
        return "remove"
    if cable.length_m != other.length_m:
        return "replace"
    stands = all(old.positions.get(end.device) == new.positions.get(end.device) for end in (cable.a, cable.b))
    if cable.name != other.name or not stands:
        return "move"
    alike = cable.speed_gbps == other.speed_gbps and (cable.a.optic, cable.b.optic) == (other.a.optic, other.b.optic)
    return "" if alike else "optics"


def _sides(network: Network, cable: Cable | None) -> tuple[str, str, str, str, str, str, str, str]:
    """Both ends of a cable with place and optic, its length and speed; empty where there is none."""
    if cable is None:
        return ("", "", "", "", "", "", "", "")
    ends: list[tuple[str, str, str]] = []
    for end in (cable.a, cable.b):
        place = network.positions.get(end.device)
        ends.append((f"{end.device}:{end.port}", f"{place.rack} {place.unit}" if place else "", end.optic))
    return (*ends[0], *ends[1], f"{cable.length_m:g}", str(cable.speed_gbps))
