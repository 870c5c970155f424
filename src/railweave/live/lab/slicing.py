"""A consistent part of a network: some rails, stripes, spines and servers, with the cables between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.model import Network

T = TypeVar("T")

WORDS = ("rails", "stripes", "spines", "servers")
_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
HOW = "write --slice rails=1-2,spines=4,servers=1-8: a number N stands for the first N, A-B for those from A to B"


@dataclass(frozen=True)
class Slice:
    """The part of a network to keep, as a range for each dimension.

    A range is the first and the last number, counted from 1. A dimension without a range is kept whole. Rails are selected by rail number.
    The other dimensions are selected by position: stripes, spines (in each fabric, plane or pod), and servers (among the servers on the
    selected rails and stripes).
    """

    ranges: dict[str, tuple[int, int]]


def parse(text: str) -> Slice:
    """Return a slice (part of a network) from a text such as ``rails=1-2,spines=4``. Raises ``InputError`` if the text is invalid."""
    ranges: dict[str, tuple[int, int]] = {}
    for part in text.split(","):
        word, _, value = part.partition("=")
        match = _PART.fullmatch(value)
        if word not in WORDS or word in ranges or match is None:
            raise InputError([Problem(Option("--slice"), f"{part!r} is no part of a slice", HOW)])
        first, last = (int(match[1]), int(match[2])) if match[2] else (1, int(match[1]))
        if not 1 <= first <= last:
            raise InputError([Problem(Option("--slice"), f"{part!r} takes nothing", HOW)])
        ranges[word] = first, last
    return Slice(ranges)


def sliced(network: Network, part: Slice) -> Network:
    """Return a part of a network: selected leaves and spines, servers with NICs on these leaves, and the cables between them.

    Addresses, numbers and names are those of the whole network. Raises ``InputError`` if no device remains.
    """
    stripes = set(
        _some(list(dict.fromkeys(switch.stripe for switch in network.switches if switch.stripe)), part, "stripes")
    )
    spines: set[str] = set()
    groups: dict[tuple[str, str], list[str]] = {}
    for switch in network.switches:
        if switch.role == "spine":
            groups.setdefault((switch.fabric, switch.pod or switch.plane), []).append(switch.name)
    for names in groups.values():
        spines.update(_some(names, part, "spines"))
    low, high = part.ranges.get("rails", (1, 1 << 30))
    leaves = {
        switch.name
        for switch in network.switches
        if switch.role == "leaf" and switch.stripe in stripes and any(low <= rail <= high for rail in switch.rails)
    }
    there = [
        replace(server, nics=nics)
        for server in network.servers
        if (nics := tuple(nic for nic in server.nics if nic.leaf in leaves and low <= nic.rail <= high))
    ]
    servers = _some(there, part, "servers")
    ports = {(server.name, nic.name) for server in servers for nic in server.nics}
    if not leaves or not servers:
        raise InputError([Problem(Option("--slice"), "no leaf with a server is in this slice", HOW)])
    above = {cable.b.device for cable in network.cables if cable.kind == "fabric" and cable.a.device in spines}
    switches = leaves | spines | above
    return replace(
        network,
        switches=tuple(switch for switch in network.switches if switch.name in switches),
        segments=tuple(
            segment
            for segment in network.segments
            if segment.leaf in leaves
            and (
                segment.edge
                or (low <= segment.rail <= high and (not segment.nic or tuple(segment.nic.split(":", 1)) in ports))
            )
        ),
        servers=tuple(servers),
        cables=tuple(
            cable
            for cable in network.cables
            if cable.b.device in switches and (cable.a.device in switches or (cable.a.device, cable.a.port) in ports)
        ),
        findings=(),
    )


def _some(items: Sequence[T], part: Slice, word: str) -> list[T]:
    first, last = part.ranges.get(word, (1, len(items)))
    return list(items[first - 1 : last])
