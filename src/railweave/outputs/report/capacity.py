"""The capacity of each rail (oversubscription, uplinks in use towards other stripes, shares of path colors), and the effects of failures.

A path color is a class of uplinks. A bandwidth is the sum of cable speeds. Uplinks in use are counted in the computed forwarding tables,
so that an uplink that a policy makes unusable is not counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from railweave.counting import counted
from railweave.outputs.report.decisions.statement import Decision, Grid
from railweave.outputs.report.figures import oversubscription, port_planes, rail_label

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.network.devices import Cable, Fabric, Segment, Switch
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class RailCapacity:
    """The capacity of all leaves that serve one set of rails. A path color is a class of uplinks.

    - ``down_gbps`` and ``up_gbps``: the bandwidth to servers and to spines in Gb/s, summed over all of the leaves.
    - ``oversubscription`` and ``one_spine_down``: the oversubscription of the worst leaf, with all spines and with one spine
      down (None if the leaf has no uplinks, or if no spine is left).
    - ``uplinks_used``: the smallest and the largest number of uplinks that a leaf uses towards another leaf of the same
      rails.
    - ``spines``: the smallest and the largest number of spines to which these uplinks lead.
    - ``width``: the smallest and the largest number of members of a next-hop group.
    - ``color_one_spine_down``: the highest oversubscription of a path color while one spine is down, if servers use all
      colors equally. Only colors that keep some of their uplinks count: traffic of a color without uplinks uses the other
      spines. None if there is no such color.
    - ``color_gbps``: the smallest and the largest bandwidth of a path color on a leaf, in Gb/s.

    For a rail with only one leaf, ``uplinks_used``, ``spines`` and ``width`` refer to leaves of other rails. They are None
    if there is no other leaf.
    """

    rails: tuple[int, ...]
    leaves: int
    nics: int
    down_gbps: int
    up_gbps: int
    oversubscription: float | None
    one_spine_down: float | None
    color_one_spine_down: float | None
    uplinks_used: tuple[int, int] | None
    spines: tuple[int, int] | None
    width: tuple[int, int] | None
    color_gbps: tuple[int, int] | None


def rail_capacities(network: Network, fabric: Fabric, routes: Routes) -> list[RailCapacity]:
    """Return the capacity of each rail, or of each set of rails that share a leaf, in order."""
    by_rails: dict[tuple[int, ...], list[Switch]] = {}
    for switch in network.switches:
        if switch.fabric == fabric.name and switch.role == "leaf":
            by_rails.setdefault(switch.rails, []).append(switch)
    return [_capacity(network, fabric, routes, rails, leaves) for rails, leaves in sorted(by_rails.items())]


def _capacity(
    network: Network, fabric: Fabric, routes: Routes, rails: tuple[int, ...], leaves: list[Switch]
) -> RailCapacity:
    per_leaf = [network.cables_of(leaf.name) for leaf in leaves]
    cables = [cable for leaf_cables in per_leaf for cable in leaf_cables]
    server = [cable for cable in cables if cable.kind == "server"]
    uplinks = [cable for cable in cables if cable.kind == "fabric"]
    reduced = [ratio for ratio in (_without_a_spine(leaf_cables) for leaf_cables in per_leaf) if ratio is not None]
    colors = [gbps for leaf_cables in per_leaf for gbps in _color_bandwidth(fabric, leaf_cables)]
    on_a_color = [
        ratio
        for ratio in (_color_without_a_spine(fabric, leaf_cables) for leaf_cables in per_leaf)
        if ratio is not None
    ]
    others = leaves
    if len(leaves) == 1:
        others = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == "leaf"]
    used, spines, width = _uplinks_used(network, routes, leaves, others)
    return RailCapacity(
        rails=rails,
        leaves=len(leaves),
        nics=len(server),
        down_gbps=sum(cable.speed_gbps for cable in server),
        up_gbps=sum(cable.speed_gbps for cable in uplinks),
        oversubscription=oversubscription(cables),
        one_spine_down=max(reduced, default=None),
        color_one_spine_down=max(on_a_color, default=None),
        uplinks_used=_range(used),
        spines=_range(spines),
        width=_range(width),
        color_gbps=_range(colors),
    )


def _range(values: list[int]) -> tuple[int, int] | None:
    return (min(values), max(values)) if values else None


def _without_a_spine(cables: list[Cable]) -> float | None:
    """Return a leaf's oversubscription after the loss of the spine to which it has the most bandwidth.

    ``cables`` are the cables of the leaf. Return None if no uplink is left.
    """
    down = sum(cable.speed_gbps for cable in cables if cable.kind == "server")
    up: Counter[str] = Counter()
    for cable in cables:
        if cable.kind == "fabric":
            up[cable.b.device] += cable.speed_gbps
    left = up.total() - max(up.values(), default=0)
    return down / left if left else None


def _color_without_a_spine(fabric: Fabric, cables: list[Cable]) -> float | None:
    """Return the highest oversubscription that a path color (a class of uplinks) of a leaf has while any one spine is down.

    ``cables`` are the cables of the leaf. Only path colors that lose some of their uplinks, but not all, count. Return None if there is no
    such path color.
    """
    down = sum(cable.speed_gbps for cable in cables if cable.kind == "server")
    color: Counter[int] = Counter()
    part: Counter[tuple[int, str]] = Counter()
    for cable in cables:
        if cable.kind == "fabric" and cable.color is not None:
            color[cable.color] += cable.speed_gbps
            part[cable.color, cable.b.device] += cable.speed_gbps
    left = [color[index] - gbps for (index, _), gbps in part.items() if color[index] > gbps]
    return down / len(fabric.colors) / min(left) if left else None


def _color_bandwidth(fabric: Fabric, cables: list[Cable]) -> list[int]:
    """Return the bandwidth of each path color (class of uplinks) of a leaf in Gb/s. The list is empty if no uplink has a path color.

    ``cables`` are the cables of the leaf.
    """
    by_color = dict.fromkeys((color.index for color in fabric.colors), 0)
    for cable in cables:
        if cable.kind == "fabric" and cable.color is not None:
            by_color[cable.color] += cable.speed_gbps
    return list(by_color.values()) if any(by_color.values()) else []


def _uplinks_used(
    network: Network, routes: Routes, leaves: list[Switch], others: list[Switch]
) -> tuple[list[int], list[int], list[int]]:
    """Return three sorted lists of counts, each count once, over all pairs of a leaf of ``leaves`` and a leaf of ``others``.

    The lists have the numbers of uplinks in use, of spines of these uplinks, and of members of a next-hop group. If ``others`` is not
    ``leaves``, it has leaves of other rails. A leaf of another rail counts only if there is a route to it; with rail planes, there is none.
    """
    used: set[int] = set()
    spines: set[int] = set()
    widths: set[int] = set()
    targets = [(leaf.name, _places(routes, network.segments_of(leaf.name))) for leaf in others]
    for leaf in leaves:
        table = routes.fibs[leaf.name].group
        seen: set[bytes] = set()
        for name, places in targets:
            chosen = np.unique(table[places])
            if name == leaf.name or not len(chosen) or chosen.tobytes() in seen:
                continue
            seen.add(chosen.tobytes())
            groups = [routes.groups[number] if number >= 0 else () for number in cast("list[int]", chosen.tolist())]
            links = {link for group in groups for link in group}
            if not links and others is not leaves:
                continue
            used.add(len(links))
            spines.add(len({network.cable(link).b.device for link in links}))
            widths |= {len(group) for group in groups}
    return sorted(used), sorted(spines), sorted(widths)


def _places(routes: Routes, segments: list[Segment]) -> list[int]:
    return [
        routes.index[net.routed_by] for segment in segments for net in segment.subnets if net.routed_by in routes.index
    ]


def capacity_grid(network: Network, fabric: Fabric, capacities: list[RailCapacity]) -> tuple[str, Grid]:
    """Return (a description of the columns, the table) of the capacity of a fabric's rails, with a row for each member of ``capacities``."""
    sites = fabric.interconnect is not None and not fabric.dci
    noun = "NIC port" if fabric.adapters else "NIC"
    rows = [_row(capacity, "site" if sites else "spine", noun) for capacity in capacities]
    uplinks = sum(capacity.up_gbps for capacity in capacities)
    between = [c for c in network.cables if c.fabric == fabric.name and c.kind == "fabric"]
    leaves = {switch.name for switch in network.switches if switch.role == "leaf"}
    upper = sum(c.speed_gbps for c in between if not {c.a.device, c.b.device} & leaves and not network.between_sites(c))
    long = sum(c.speed_gbps for c in between if network.between_sites(c))
    several = (
        len({switch.stripe for switch in network.switches if switch.fabric == fabric.name and switch.role == "leaf"})
        > 1
    )
    there = "of the same rail in another stripe" if several else "of another rail"
    about = (
        "Oversubscription is server bandwidth over uplink bandwidth of the fullest leaf: 1:1 carries every NIC at full "
        "rate, below it uplinks are to spare. With one spine down, a path color that loses some of its uplinks is "
        f"shown too. Uplinks used are those of a leaf towards one leaf {there}; a path color is even where every color has the same bandwidth on every leaf."
    )
    if uplinks and not sites:
        about += f" All uplinks of leaves together carry {uplinks / 1000:,.1f} Tb/s each way."
    if upper:
        up = "super-spines" if fabric.super_spine else "routers between sites"
        about += f" Those of spines to {up} carry {upper / 1000:,.1f} Tb/s, {uplinks / upper:.2f}:1 to these."
    if long:
        about += f" Links between sites carry {long / 1000:,.1f} Tb/s each way."
    above, gone = ("other sites", "one site") if sites else ("spines", "one spine")
    header = (
        "Rail", "Leaves", f"{noun}s", "To servers", f"To {above}", "Oversubscription", f"With {gone} down",
        "Uplinks used to another stripe" if several else "Uplinks used to another leaf", "Uplinks per path color", "Bandwidth of a path color on a leaf",
    )  # fmt: skip
    return about, Grid(header, tuple(rows))


def _row(capacity: RailCapacity, over: str, noun: str) -> tuple[str, ...]:
    color = "–"
    if capacity.color_gbps:
        least, most = capacity.color_gbps
        color = f"even, {most:,}G each" if least == most else f"uneven, {least:,}G to {most:,}G"
    used = "–"
    if capacity.uplinks_used and capacity.spines:
        used = f"{_span(capacity.uplinks_used)} over {_span(capacity.spines)} {over if capacity.spines[1] == 1 else f'{over}s'}"
    return (
        rail_label(capacity.rails),
        str(capacity.leaves),
        counted(capacity.nics, noun),
        f"{capacity.down_gbps / 1000:,.1f} Tb/s",
        f"{capacity.up_gbps / 1000:,.1f} Tb/s",
        _ratio(capacity.oversubscription),
        spine_down_words(capacity.one_spine_down, capacity.color_one_spine_down)
        if capacity.oversubscription is not None
        else "–",
        used,
        _span(capacity.width) if capacity.width else "–",
        color,
    )


def spine_down_words(total: float | None, color: float | None) -> str:
    """Return the oversubscription of a leaf with one spine down, as text.

    ``total`` is the oversubscription of the whole leaf. ``color`` is that of the path color (class of uplinks) that loses an uplink. If
    ``color`` is higher than ``total``, the text has both, the path color's first.
    """
    if total is None or color is None or color <= total:
        return _ratio(total)
    return f"{_ratio(color)} on the color that loses an uplink, {_ratio(total)} on the whole leaf"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}:1"


def _span(bounds: tuple[int, int]) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"


def failures_decision(
    network: Network, fabric: Fabric, routes: Routes, capacities: list[RailCapacity]
) -> Decision | None:
    """Return the decision about failures: the effects of losing an uplink, a spine, a leaf or a NIC.

    ``capacities`` has the capacity of each rail. Return None if the fabric has no leaf.
    """
    leaves = [switch for switch in network.switches if switch.fabric == fabric.name and switch.role == "leaf"]
    if not leaves:
        return None
    facts, planes = _uplink(network, fabric, routes, leaves), len(port_planes(network, fabric))
    if fabric.interconnect and not fabric.dci:
        facts.append(("A leaf of another site", "that site is cut off; each of the others keeps to itself"))
    else:
        facts += _spine(capacities, planes)
    facts += _ports_lost(network, leaves, planes) if planes else _nics_lost(network, leaves)
    bfd = fabric.underlay.bfd
    noticed = f"at once; a silent neighbor {f'after {bfd.detection_ms():,} ms, by BFD' if bfd.enabled else 'by the hold timer of BGP'}"
    facts.append(("Noticed", f"loss of light {noticed}"))
    return Decision(
        "Failures",
        "what one fault costs; railweave verify tries single links and spines on the forwarding tables",
        "Where traffic goes is read from the tables with nothing down: the next best routes they hold.",
        tuple(facts),
    )


def _servers_of_a_leaf(network: Network, leaves: list[Switch]) -> str:
    most = max(len({c.a.device for c in network.cables_of(leaf.name) if c.kind == "server"}) for leaf in leaves)
    return f"up to {counted(most, 'server')}"


def _nics_lost(network: Network, leaves: list[Switch]) -> list[tuple[str, str]]:
    """Return two pairs (failure, effect) for fabrics in which each NIC is connected to one leaf.

    The first failure is the loss of a leaf, the second that of a server cable or NIC. ``leaves`` are the fabric's leaves.
    """
    rails = counted(max(len(leaf.rails) for leaf in leaves), "rail")
    return [
        (
            "A leaf",
            (
                f"{_servers_of_a_leaf(network, leaves)} lose the NICs of {rails}; no other leaf reaches those NICs, "
                "so a job on them stops unless its library can do without"
            ),
        ),
        ("A server cable or NIC", "one server loses one NIC, with the same consequence for its job"),
    ]


def _ports_lost(network: Network, leaves: list[Switch], planes: int) -> list[tuple[str, str]]:
    """Return four pairs (failure, effect) for fabrics in which each port of a NIC has its own plane.

    The failures are the loss of a plane, of a leaf, of a server cable or port, and of a NIC. ``leaves`` are the fabric's leaves, and
    ``planes`` is the number of planes.
    """
    nics = counted(max(len(leaf.rails) for leaf in leaves), "NIC")
    lost, left = f"one of {planes} ports", f"{planes - 1}/{planes}"
    return [
        (
            "A plane",
            (
                f"every NIC loses {lost}. Jobs that use the net plugin, or NCCL 2.29 and newer, go on with {left} of their "
                "bandwidth; jobs of RCCL, and of older NCCL without the plugin, end, and use the planes that are left once "
                "they are started again"
            ),
        ),
        (
            "A leaf",
            (
                f"{_servers_of_a_leaf(network, leaves)} lose {lost} of {nics} each, with the same consequences: "
                f"those NICs go on with {left} of their bandwidth"
            ),
        ),
        ("A server cable or port", f"one NIC loses {lost}, with the same consequences"),
        ("A NIC", "one server loses all ports of a NIC: a job on it stops unless its library can do without"),
    ]


def _uplink(network: Network, fabric: Fabric, routes: Routes, leaves: list[Switch]) -> list[tuple[str, str]]:
    """Return [(failure, effect)] for the loss of an uplink. The effect says which other uplinks, if any, then carry the uplink's traffic.

    The example is the first of ``leaves`` with a route to servers of a different leaf. The list is empty if no leaf has such a route.
    """
    for leaf in leaves:
        segment = _elsewhere(network, leaf)
        prefix = (
            next((net.routed_by for net in segment.subnets if net.routed_by in routes.index), None) if segment else None
        )
        group = routes.next_hops(leaf.name, prefix) if prefix else ()
        if not prefix or not group:
            continue
        traffic = "its path color" if fabric.colors else "its traffic"
        if len(group) > 1:
            return [
                ("An uplink", f"{traffic} keeps the other {counted(len(group) - 1, 'uplink')} of its next-hop group")
            ]
        backup = routes.backup(leaf.name, prefix)
        if not backup:
            return [("An uplink", f"{traffic} has no other way")]
        spines = sorted({network.cable(link).b.device for link in backup})
        ways = f"{counted(len(backup), 'uplink')} to {spines[0] if len(spines) == 1 else counted(len(spines), 'spine')}"
        return [("An uplink", f"{traffic} moves to its backup, {ways}, beside the colors that are there")]
    return []


def _elsewhere(network: Network, leaf: Switch) -> Segment | None:
    """Return a server segment (a leaf port or VLAN with its servers) on another leaf of the same fabric, or None if there is none.

    A segment on one of the rails of ``leaf`` is preferred.
    """
    away = [segment for segment in network.segments if segment.fabric == leaf.fabric and segment.leaf != leaf.name]
    return min(away, key=lambda candidate: candidate.rail not in leaf.rails, default=None)


def _spine(capacities: list[RailCapacity], planes: int) -> list[tuple[str, str]]:
    with_uplinks = [capacity for capacity in capacities if capacity.oversubscription is not None]
    if not with_uplinks:
        return []
    left = [scenario.one_spine_down for scenario in with_uplinks if scenario.one_spine_down is not None]
    if len(left) < len(with_uplinks):
        where = " in its plane" if planes else ""
        return [("A spine", f"some leaves lose every uplink: their stripes are cut off from the others{where}")]
    on_a_color = (
        scenario.color_one_spine_down for scenario in with_uplinks if scenario.color_one_spine_down is not None
    )
    words = spine_down_words(max(left), max(on_a_color, default=None))
    whose = "every leaf of its plane" if planes else "every leaf"
    return [("A spine", f"{whose} loses its uplinks to it; oversubscription is then {words} at most")]
