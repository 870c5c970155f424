"""What goes wrong when something breaks, and where traffic goes then: read from the forwarding tables and capacities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.capacity import spine_down_words
from railweave.outputs.report.decisions.statement import Decision
from railweave.outputs.report.figures import port_planes

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.network.devices import Segment, Switch
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network
    from railweave.outputs.report.capacity import RailCapacity


def failures_decision(
    network: Network, fabric: Fabric, routes: Routes, capacities: list[RailCapacity]
) -> Decision | None:
    """What an uplink, a spine, a leaf and a NIC cost; None where nothing is there to fail."""
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
    """What a leaf and a cable cost where they are all that a NIC has."""
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
    """What a plane, a leaf, a port and a NIC cost where each port of a NIC has a plane of its own."""
    nics = counted(max(len(leaf.rails) for leaf in leaves), "NIC")
    one, left = f"one of {planes} ports", f"{planes - 1}/{planes}"
    return [
        (
            "A plane",
            (
                f"every NIC loses {one}. Jobs that use the net plugin, or NCCL 2.29 and newer, go on with {left} of their "
                "bandwidth; jobs of RCCL, and of older NCCL without the plugin, end, and use the planes that are left once "
                "they are started again"
            ),
        ),
        (
            "A leaf",
            (
                f"{_servers_of_a_leaf(network, leaves)} lose {one} of {nics} each, with the same consequences: "
                f"those NICs go on with {left} of their bandwidth"
            ),
        ),
        ("A server cable or port", f"one NIC loses {one}, with the same consequences"),
        ("A NIC", "one server loses all ports of a NIC: a job on it stops unless its library can do without"),
    ]


def _uplink(network: Network, fabric: Fabric, routes: Routes, leaves: list[Switch]) -> list[tuple[str, str]]:
    """What takes over from an uplink of the first leaf that has any, towards another leaf of its rails."""
    for leaf in leaves:
        segment = _elsewhere(network, leaf)
        prefix = (
            next((net.routed_by for net in segment.subnets if net.routed_by in routes.index), None) if segment else None
        )
        group = routes.next_hops(leaf.name, prefix) if prefix else ()
        if not prefix or not group:
            continue
        what = "its path color" if fabric.colors else "its traffic"
        if len(group) > 1:
            return [("An uplink", f"{what} keeps the other {counted(len(group) - 1, 'uplink')} of its next-hop group")]
        backup = routes.backup(leaf.name, prefix)
        if not backup:
            return [("An uplink", f"{what} has no other way")]
        spines = sorted({network.cable(link).b.device for link in backup})
        ways = f"{counted(len(backup), 'uplink')} to {spines[0] if len(spines) == 1 else counted(len(spines), 'spine')}"
        return [("An uplink", f"{what} moves to its backup, {ways}, beside the colors that are there")]
    return []


def _elsewhere(network: Network, leaf: Switch) -> Segment | None:
    """A segment of another leaf: of the same rails, or where there is none of others."""
    away = [one for one in network.segments if one.fabric == leaf.fabric and one.leaf != leaf.name]
    return min(away, key=lambda one: one.rail not in leaf.rails, default=None)


def _spine(capacities: list[RailCapacity], planes: int) -> list[tuple[str, str]]:
    with_uplinks = [one for one in capacities if one.oversubscription is not None]
    if not with_uplinks:
        return []
    left = [one.one_spine_down for one in with_uplinks if one.one_spine_down is not None]
    if len(left) < len(with_uplinks):
        where = " in its plane" if planes else ""
        return [("A spine", f"some leaves lose every uplink: their stripes are cut off from the others{where}")]
    on_a_color = (one.color_one_spine_down for one in with_uplinks if one.color_one_spine_down is not None)
    words = spine_down_words(max(left), max(on_a_color, default=None))
    whose = "every leaf of its plane" if planes else "every leaf"
    return [("A spine", f"{whose} loses its uplinks to it; oversubscription is then {words} at most")]
