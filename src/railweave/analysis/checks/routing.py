"""Rules about the routes that result from the configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from railweave.analysis.routing.table import UNREACHABLE, Routes
from railweave.model.config.addresses import Address, Prefix
from railweave.model.findings.registry import FindingPlace, Rule, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from railweave.analysis.checks.subject import Subject
    from railweave.model.findings import Finding

EVERY_FAULT_UP_TO = 64
"""The largest number of switches for which the rule single-fault tries every fault.

In larger networks, ``SAMPLED_FAULTS`` evenly spaced faults are tried.
"""

SAMPLED_FAULTS = 24
MOST_SHOWN = 20


def _unreached(subject: Subject, routes: Routes) -> list[tuple[str, str]]:
    """Return (leaf, prefix) for each prefix that a leaf must reach but has no route to. Leaves that are down are ignored."""
    unreached: list[tuple[str, str]] = []
    for leaf, remote in subject.remote.items():
        if leaf not in routes.down:
            lost = remote.places[routes.fibs[leaf].group[remote.places] == UNREACHABLE]
            unreached += [(leaf, routes.prefixes[place]) for place in cast("list[int]", lost.tolist())]
    return unreached


ALONE = "a server reaches only NICs of its own leaf"


@check(
    "unreachable",
    "error",
    applies="network",
    why="this leaf cannot reach the servers with these prefixes",
    fix="compare the policies and sessions of both leaves and of the spines between them",
)
def unreachable(subject: Subject) -> Iterator[FindingPlace]:
    """Every leaf reaches every server prefix of its fabric."""
    by_leaf: dict[str, list[str]] = {}
    for leaf, prefix in _unreached(subject, subject.routes):
        by_leaf.setdefault(leaf, []).append(prefix)
    for leaf, prefixes in list(by_leaf.items())[:MOST_SHOWN]:
        if all(cable.kind == "server" for cable in subject.network.cables_of(leaf)):
            fix = "`topology: {spines: 2}` joins leaves; `topology: {planes: rail}` says that each rail is a network of its own"
            yield FindingPlace(
                leaf, f"no link joins it to other leaves, so no route leads to {prefixes[0]}", why=ALONE, fix=fix
            )
            continue
        yield FindingPlace(
            leaf, f"no route to {prefixes[0]}" + (f" and {len(prefixes) - 1} more prefixes" if prefixes[1:] else "")
        )


@check(
    "path-color",
    "error",
    applies="network",
    why="queue pairs of different colors would share an uplink while other uplinks stay idle",
    fix="on both ends, check the color of the BGP group, the community, and `fabric-advertise` or the import policy",
)
def path_color(subject: Subject) -> Iterator[FindingPlace]:
    """Every other leaf reaches a prefix of a path color over all uplinks of that color and over no others."""
    network, routes = subject.present, subject.routes
    cut, elsewhere = _cut_colors(subject)
    apart = _Apart(subject) if subject.network.absent else None
    for leaf, remote in subject.remote.items():
        fabric = network.fabric(network.switch(leaf).fabric)
        group = routes.fibs[leaf].group[remote.places]
        checked = ~np.isin(remote.places, elsewhere)
        for color in fabric.colors:
            wanted = {c.name for c in network.cables_of(leaf) if c.kind == "fabric" and c.color == color.index}
            if (leaf, color.index) in cut or (subject.network.absent and not wanted):
                continue
            mine = (remote.colors == color.index) & checked
            if apart:
                mine &= ~np.isin(remote.places, apart.places(leaf, color.index))
            for number in cast("list[int]", np.unique(group[mine]).tolist()):
                uplinks = set(routes.groups[number]) if number >= 0 else wanted
                if uplinks == wanted:
                    continue
                places = cast("list[int]", remote.places[mine & (group == number)].tolist())
                more = f" and {len(places) - 1} more prefixes" if places[1:] else ""
                yield FindingPlace(
                    leaf,
                    f"{routes.prefixes[places[0]]}{more} ({color.name}) leave by {', '.join(sorted(uplinks))} "
                    f"instead of {', '.join(sorted(wanted))}",
                )


class _Apart:
    """The pairs of leaves that a path color no longer connects, because devices or links are out of service by ``status:``.

    A color connects two leaves if their uplinks of this color lead to a common spine or super-spine. The links between sites
    count as one super-spine.
    """

    def __init__(self, subject: Subject) -> None:
        network, index = subject.present, subject.routes.index
        links = [cable for cable in network.cables if cable.kind == "fabric"]
        above: dict[str, set[str]] = {}
        for link in links:
            if link.color is None:
                top = link.b.device if network.switch(link.b.device).role == "super-spine" else "between sites"
                above.setdefault(link.a.device, set()).add(top)
        tops: dict[tuple[str, int], set[str]] = {}
        for link_of_color in links:
            if link_of_color.color is not None:
                tops.setdefault((link_of_color.a.device, link_of_color.color), set()).update(
                    {link_of_color.b.device}, above.get(link_of_color.b.device, ())
                )
        self._tops = {key: frozenset(devices) for key, devices in tops.items()}
        self._places: dict[tuple[int, frozenset[str]], list[int]] = {}
        for segment in network.segments:
            for subnet in segment.subnets:
                if subnet.color is not None and subnet.routed_by in index:
                    tops_of_color = self._tops.get((segment.leaf, subnet.color), frozenset())
                    self._places.setdefault((subnet.color, tops_of_color), []).append(index[subnet.routed_by])

    def places(self, leaf: str, color: int) -> list[int]:
        """Return the indexes of the color's prefixes (in ``Routes.prefixes``) that a leaf cannot reach over that color."""
        mine = self._tops.get((leaf, color), frozenset())
        groups = (places for (other, tops), places in self._places.items() if other == color and mine.isdisjoint(tops))
        return [place for places in groups for place in places]


def _cut_colors(subject: Subject) -> tuple[set[tuple[str, int]], NDArray[np.int64]]:
    """Return the pairs (leaf, color) that have lost a link by ``status:``, and the indexes of the prefixes of these leaves and colors.

    Part of the traffic of such a color uses other colors, as after any fault. Links to absent spines do not count, because
    all leaves then lose the same links of a color.
    """
    whole, absent = subject.network, subject.network.absent
    named = {cable_out.name for cable_out in whole.not_active}
    cut = {
        (cable.a.device, cable.color)
        for cable in whole.cables
        if cable.name in named and cable.color is not None and not {cable.a.device, cable.b.device} & absent
    }
    index = subject.routes.index
    places = [
        index[subnet.routed_by]
        for segment in whole.segments
        for subnet in segment.subnets
        if (segment.leaf, subnet.color) in cut and subnet.routed_by in index
    ]
    return cut, np.array(places, dtype=np.int64)


@check(
    "leaf-transit",
    "error",
    applies="network",
    why="the spine may send other leaves' traffic through this leaf, whose uplinks are not sized for it",
    fix="restore the no-transit term in the leaf's export policy",
)
def leaf_transit(subject: Subject) -> Iterator[FindingPlace]:
    """A leaf advertises to spines only the prefixes that it originates."""
    network, routes = subject.network, subject.routes
    originated = {leaf: np.isin(np.arange(len(routes.prefixes)), _designed(subject, leaf)) for leaf in subject.remote}
    for (spine, link), received in routes.received.items():
        leaf = network.cable(link).a.device
        if spine == leaf or leaf not in originated:  # a leaf's own end, or a link between spine and super-spine
            continue
        foreign = np.flatnonzero(received & ~originated[leaf]).tolist()
        if foreign:
            more = (
                f" and {len(foreign) - 1} more prefixes it only learned" if foreign[1:] else ", which it only learned"
            )
            yield FindingPlace(leaf, f"advertises {routes.prefixes[foreign[0]]} to {spine}{more}")


def _designed(subject: Subject, leaf: str) -> list[int]:
    """Return the indexes of the prefixes that a leaf originates by design: its server prefixes, loopback and tunnel endpoints.

    An index is a position in ``Routes.prefixes``.
    """
    switch, index = subject.network.switch(leaf), subject.routes.index
    prefixes = [Prefix(subnet.prefix) for segment in subject.network.segments_of(leaf) for subnet in segment.subnets]
    addresses = [switch.loopback, *(endpoint.address for endpoint in switch.endpoints)] if switch.loopback else []
    prefixes += [Address(address).prefix for address in addresses]
    return [index[prefix] for prefix in prefixes if prefix in index]


SINGLE_FAULT_SAMPLED = Rule(
    id="single-fault-sampled",
    severity="info",
    applies="network",
    holds="Every single fault is simulated.",
    why="the faults that were not simulated differ from the simulated ones only in the leaf or spine that fails",
)
NO_REDUNDANCY = Rule(
    id="no-redundancy",
    severity="warning",
    applies="network",
    holds="Leaves have more than one uplink.",
    why="when the uplink fails, there is no other path",
    fix="add a spine or a second link",
)
ONE_MORE_FAULT = Rule(
    id="one-more-fault",
    severity="warning",
    applies="network",
    holds="While the parts under `status:` are out of service, no single failure of a link, spine or super-spine "
    "cuts servers off.",
    why="until those parts are in service, a single failure cuts servers off",
    fix="bring up the parts that are listed under `status:`, or keep jobs off these servers",
)


@check(
    "single-fault",
    "error",
    applies="network",
    why="a single failure cuts servers off",
    fix="give every prefix a backup color, or every leaf a second spine",
    slow=True,
)
def single_fault(subject: Subject) -> Iterator[FindingPlace | Finding]:
    """With any one link, spine or super-spine down, every leaf has a route to every prefix whose own leaf is up."""
    network = subject.present
    faults = [cable.name for cable in network.cables if cable.kind == "fabric"]
    faults += [switch.name for switch in network.switches if switch.role != "leaf"]
    step = max(1, len(faults) // SAMPLED_FAULTS) if len(network.switches) > EVERY_FAULT_UP_TO else 1
    if step > 1:
        yield SINGLE_FAULT_SAMPLED.finding(
            network.name, f"{len(faults[::step])} of {len(faults)} single faults were tried"
        )
    single = {fabric.name for fabric in network.fabrics if _uplinks(subject, fabric.name) <= 1}
    for fault in faults[::step]:
        lost = _unreached(subject, subject.control_plane.routes([fault]))
        lost = [(leaf, prefix) for leaf, prefix in lost if network.switch(leaf).fabric not in single]
        if lost:
            message = f"when it is down, {lost[0][0]} has no route to {lost[0][1]} ({len(lost)} lost routes in all)"
            yield ONE_MORE_FAULT.finding(fault, message) if subject.network.absent else FindingPlace(fault, message)
    for fabric in sorted(single):
        if _uplinks(subject, fabric):
            yield NO_REDUNDANCY.finding(fabric, "every leaf has one uplink: any fault on it cuts its servers off")


def _uplinks(subject: Subject, fabric: str) -> int:
    """Return the largest number of uplinks of a leaf. Leaves and uplinks that are out of service do not count.

    Leaves have different numbers only if links are out of service.
    """
    network = subject.present
    leaves = [switch.name for switch in network.switches if switch.fabric == fabric and switch.role == "leaf"]
    return max((sum(cable.kind == "fabric" for cable in network.cables_of(leaf)) for leaf in leaves), default=0)
