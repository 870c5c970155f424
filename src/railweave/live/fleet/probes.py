"""Probes: packets between NICs that test whether a network carries the designed traffic.

A probe goes from a NIC's address of a path color to its peer's address of the same color, so the design determines the
path in both directions. Each NIC sends at most ``MOST`` probes. They are chosen so that the probes of all NICs together
cross every leaf, spine and path color. Without path colors, switches choose spines by hash, so a spine may be missed.
The probes depend only on the design.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address
from railweave.model.network.status import present

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.model.network.devices import Nic, Server
    from railweave.model.network.model import Network

MOST = 16
"""The largest number of probes that a NIC sends."""

UNPINNED = 8
"""The number of probes of a NIC to other leaves if paths have no colors. Several probes are needed to reach many spines by hash."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe between two NICs, each named by its Linux interface, and the switches that it crosses.

    - ``bytes``: the size of the IP packet, which is the designed MTU of servers.
    - ``spines``: every switch that may carry the packet between the leaves, including super-spines; empty on the same leaf.
    - ``pinned``: True if the design leaves only one path.
    """

    server: str
    nic: str
    source: str
    peer: str
    peer_nic: str
    target: str
    fabric: str
    color: str
    bytes: int
    leaf: str
    peer_leaf: str
    spines: tuple[str, ...]
    pinned: bool

    def __str__(self) -> str:
        by = f" by {self.color}" if self.color else ""
        return f"{self.server}:{self.nic} to {self.peer}:{self.peer_nic}{by}"


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A NIC, its index among the NICs of its leaf and rail, and its addresses by color and IP family."""

    server: Server
    nic: Nic
    number: int
    addresses: dict[tuple[int | None, str], str]


def plan(network: Network, servers: Iterable[str] | None = None) -> list[Probe]:
    """Return the probes of these servers, or of all servers, in the order of servers and NICs.

    A NIC probes the next NIC on its leaf, and NICs of its rail on other leaves. It uses a different leaf for each
    color, so that the NICs of a leaf together probe many leaves. If its rail is on only one leaf, the NIC probes NICs
    of other rails. Both NICs belong to the same tenant. Devices that the section ``status:`` of the fabric file marks
    absent get no probes.
    """
    there, wanted = present(network), None if servers is None else set(servers)
    ways = LeafPaths(there)
    probes: list[Probe] = []
    for leaves in _parts(there):
        rails = _rails(leaves)
        everything = [place for leaf in leaves.values() for place in leaf]
        for leaf, places in leaves.items():
            for place in places:
                if wanted is None or place.server.name in wanted:
                    probes += _of(place, leaf, rails[place.nic.rail], leaves, everything, ways)
    order = {server.name: number for number, server in enumerate(there.servers)}
    return sorted(probes, key=lambda probe: order[probe.server])


def probe_file(probes: Iterable[Probe]) -> str:
    """Return probes as JSON, in the form that ``railweave.host.probing`` reads."""
    return json.dumps([{"source": probe.source, "target": probe.target, "bytes": probe.bytes} for probe in probes])


def _parts(network: Network) -> list[dict[str, list[_Place]]]:
    """Return groups of NICs that can communicate. Each group has, for each leaf, its NICs on this leaf.

    The NICs of a group have the same fabric, plane, tenant and layer-2 network.
    """
    parts: dict[tuple[str, str, str, str], dict[str, list[_Place]]] = {}
    count: Counter[tuple[str, str, str, str, str, int]] = Counter()
    for server in network.servers:
        for nic in server.nics:
            if nic.addresses:
                part = (nic.fabric, network.plane_of(nic), nic.tenant, nic.network)
                addresses = {
                    (address.color, Address(address.address).family): address.address for address in nic.addresses
                }
                place = _Place(server, nic, count[*part, nic.leaf, nic.rail], addresses)
                parts.setdefault(part, {}).setdefault(nic.leaf, []).append(place)
                count[*part, nic.leaf, nic.rail] += 1
    return list(parts.values())


def _rails(leaves: dict[str, list[_Place]]) -> dict[int, dict[str, list[_Place]]]:
    """Return the NICs by rail and leaf. ``leaves`` has the NICs of all rails by leaf."""
    rails: dict[int, dict[str, list[_Place]]] = defaultdict(dict)
    for leaf, places in leaves.items():
        for place in places:
            rails[place.nic.rail].setdefault(leaf, []).append(place)
    return rails


def _of(
    place: _Place,
    leaf: str,
    rail: dict[str, list[_Place]],
    leaves: dict[str, list[_Place]],
    everything: list[_Place],
    ways: LeafPaths,
) -> list[Probe]:
    """Return the probes of the NIC ``place``, at most ``MOST``: first those to other leaves, then those to the next NIC on its leaf.

    - ``leaf``: the leaf of the NIC.
    - ``rail``: the NICs of the same rail, by leaf.
    - ``leaves``: the NICs that the NIC can reach, by leaf.
    - ``everything``: the same NICs as one list.
    - ``ways``: the switches between leaves.
    """
    mine = list(place.addresses)
    others = rail if len(rail) > 1 else leaves
    far: list[Probe] = []
    if len(others) > 1:
        colors = _turned(mine, place.number * MOST) if mine[0][0] is not None else mine * UNPINNED
        for turn, color in enumerate(colors[:MOST]):
            peer = _across(place, leaf, others, turn)
            if peer and (probe := _probe(place, peer, color, ways)) and probe not in far:
                far.append(probe)
    neighbor = _after(place, rail[leaf]) or _after(place, leaves[leaf])
    if not neighbor and not far:
        neighbor = _after(place, everything)
    near = [_probe(place, neighbor, color, ways) for color in _turned(mine, place.number)] if neighbor else []
    return [*far, *(probe for probe in near if probe)][:MOST]


def _turned(colors: list[tuple[int | None, str]], by: int) -> list[tuple[int | None, str]]:
    """Return the list of colors rotated by ``by`` places.

    If a NIC has too few probes for all colors, the next NIC of its leaf continues with the remaining colors.
    """
    at = by % len(colors)
    return colors[at:] + colors[:at]


def _across(place: _Place, leaf: str, leaves: dict[str, list[_Place]], turn: int) -> _Place | None:
    """Return the NIC on another leaf to which the NIC ``place`` sends its probe number ``turn``, or None.

    ``leaves`` has the possible NICs by leaf. The choice depends on the NIC's index on its leaf, so that no NIC receives the probes of many
    NICs.
    """
    names = list(leaves)
    step = 1 + (place.number + turn) % (len(names) - 1)
    there = leaves[names[(names.index(leaf) + step) % len(names)]]
    first = place.number + turn // (len(names) - 1)
    ring = (there[(first + offset) % len(there)] for offset in range(len(there)))
    return next((candidate for candidate in ring if candidate.server.name != place.server.name), None)


def _after(place: _Place, places: Sequence[_Place]) -> _Place | None:
    """Return the NIC after ``place`` that is on a different server, or None. The last NIC is followed by the first."""
    at = places.index(place)
    ring = (places[(at + step) % len(places)] for step in range(1, len(places)))
    return next((candidate for candidate in ring if candidate.server.name != place.server.name), None)


def _probe(place: _Place, peer: _Place, color: tuple[int | None, str], ways: LeafPaths) -> Probe | None:
    """Return the probe from the NIC ``place`` to a peer.

    Return None if the peer has no address of the color, or if ``ways`` has no path between their leaves.
    """
    target = peer.addresses.get(color)
    if target is None:
        return None
    nic, other = place.nic, peer.nic
    fabric = ways.network.fabric(nic.fabric)
    spines, pinned = ways.between(nic.leaf, other.leaf, color[0])
    if nic.leaf != other.leaf and not ways.joined(nic.leaf, other.leaf, color[0]):
        return None
    return Probe(
        server=place.server.name,
        nic=nic.netdev,
        source=place.addresses[color],
        peer=peer.server.name,
        peer_nic=other.netdev,
        target=target,
        fabric=nic.fabric,
        color="" if color[0] is None else fabric.color_name(color[0]),
        bytes=fabric.mtu.server,
        leaf=nic.leaf,
        peer_leaf=other.leaf,
        spines=spines,
        pinned=pinned,
    )


@dataclass
class LeafPaths:
    """The switches between any two leaves, for each path color, computed on demand. Devices that ``status:`` marks absent are not in ``network``."""

    network: Network
    _up: dict[tuple[str, int | None], frozenset[str]] = field(
        default_factory=dict[tuple[str, "int | None"], frozenset[str]]
    )
    _known: dict[tuple[str, str, int | None], tuple[str, ...] | None] = field(
        default_factory=dict[tuple[str, str, "int | None"], "tuple[str, ...] | None"]
    )

    def joined(self, leaf: str, other: str, color: int | None) -> bool:
        """Return True if links of the color lead from one leaf to the other."""
        return self._between(leaf, other, color) is not None

    def between(self, leaf: str, other: str, color: int | None) -> tuple[tuple[str, ...], bool]:
        """Return (the switches on shortest paths between the leaves ``leaf`` and ``other``, True if there is only one path)."""
        switches = self._between(leaf, other, color) or ()
        return switches, leaf == other or len(switches) <= 1

    def _between(self, leaf: str, other: str, color: int | None) -> tuple[str, ...] | None:
        if leaf == other:
            return ()
        key = (min(leaf, other), max(leaf, other), color)
        if key not in self._known:
            both = self._next(leaf, color) & self._next(other, color)
            self._known[key] = tuple(sorted(both)) if both else self._searched(*key)
        return self._known[key]

    def _next(self, device: str, color: int | None) -> frozenset[str]:
        """Return the switches at the other ends of a device's links of a color.

        If paths have no colors, all links count.
        """
        key = (device, color)
        if key not in self._up:
            self._up[key] = frozenset(
                cable.b.device if cable.a.device == device else cable.a.device
                for cable in self.network.cables_of(device)
                if cable.kind == "fabric" and (color is None or cable.color in {None, color})
            )
        return self._up[key]

    def _searched(self, leaf: str, other: str, color: int | None) -> tuple[str, ...] | None:
        """Return the switches on shortest paths between two leaves, or None if no path exists.

        A switch is on a shortest path if its distances to the two leaves add up to the distance between them.
        """
        here, there = self._distances(leaf, color), self._distances(other, color)
        if other not in here:
            return None
        return tuple(
            sorted(
                device
                for device, far in here.items()
                if 0 < far < here[other] and far + there.get(device, far + here[other]) == here[other]
            )
        )

    def _distances(self, start: str, color: int | None) -> dict[str, int]:
        distances, edge = {start: 0}, [start]
        while edge:
            following: list[str] = []
            for device in edge:
                for neighbor in self._next(device, color):
                    if neighbor not in distances:
                        distances[neighbor] = distances[device] + 1
                        following.append(neighbor)
            edge = following
        return distances
