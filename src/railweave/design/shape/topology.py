"""The layout of a fabric: stripes, leaves, spines and servers. Size, ports, oversubscription and underlay are checked."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.shape.equipment import Equipment, equipment_of, role_equipment
from railweave.design.shape.interconnect import Border, borders_of, check_sites
from railweave.design.shape.numbers import keep_numbers, leaf_numbers
from railweave.design.shape.placing import PlacedServer, place, room_of
from railweave.design.shape.tiers import Leaf, block_of, place_of, spines_of, super_spines_of, switch_name
from railweave.model.catalog.words import unknown_server
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.tiers import Spine, SuperSpine
    from railweave.model.catalog.hardware import NicGroup
    from railweave.model.intent.fabric import Fabric, ServerGroup
    from railweave.model.intent.topology import Topology
    from railweave.model.network.devices import RoleName


DPF_RELEASE = Rule(
    id="dpf-release",
    severity="warning",
    applies="design",
    fault="`path_color: dpf` is set for a release older than the first one that all documents name",
    why="railweave renders it because the fabric file sets it explicitly; a release without the feature rejects "
    "the commit",
    fix="test one leaf and one spine with `commit check`, or leave `path_color` at auto",
)

IPV6_OVER_IPV4 = Rule(
    id="ipv6-over-ipv4-links",
    severity="warning",
    applies="design",
    fault="switches exchange IPv6 routes over links that have only IPv4 addresses",
    why="the next hop of such a route is the IPv4 address in IPv6 notation, which is on no link: Junos ignores "
    "the route, and no public document describes the behavior of other systems",
    fix="set an IPv6 prefix in `pools.fabric_links`, or use `peering: auto-discovered`, where IPv4 routes have "
    "IPv6 next hops (RFC 8950)",
)

LINKS_AMONG_SERVERS = Rule(
    id="links-among-servers",
    severity="warning",
    applies="design",
    fault="links between switches have addresses from a pool of servers",
    why="a leaf advertises the prefixes of its ports that are in these pools: on Junos, it would also advertise "
    "its links",
    fix="set a separate prefix in `pools.fabric_links`",
)


def check_underlay(context: Context, name: str, fabric: Fabric) -> None:
    """Record a problem for path colors, tenants, planes or link addresses that do not work with IS-IS or between sites.

    Then raise ``DesignError`` if there is any problem.
    """
    at = ("fabrics", name)
    colored = fabric.load_balancing.mode == "rlb"
    if fabric.underlay.protocol == "isis":
        where = (*at, "underlay", "protocol")
        if colored:
            context.problem(
                where, "IS-IS has no policies, which path colors need", "use `protocol: bgp`, or another mode"
            )
        if fabric.evpn() is not None:
            context.problem(
                where,
                "tenants need BGP for their routes, but the underlay is IS-IS",
                "set `protocol: bgp`, or remove the tenants",
            )
        if fabric.underlay.peering != "numbered":
            message = "IS-IS needs addresses on its links"
            context.problem(where, message, "set `peering: numbered` and `pools: {fabric_links: 10.254.0.0/16}`")
        if fabric.topology.planes or fabric.topology.super_spines:
            part = "planes" if fabric.topology.planes else "super-spines"
            message = f"IS-IS is possible only for one set of spines or an interconnect, not for a fabric with {part}"
            context.problem(where, message, f"set `protocol: bgp`, or remove {part}")
    across = fabric.topology.interconnect
    if across is not None and not across.routers and colored:
        context.problem(
            (*at, "load_balancing", "mode"),
            "path colors need spines, but there are none",
            "use spray, dlb-flowlet or ecmp",
        )
    if across is not None and colored and fabric.underlay.path_color == "dpf":
        context.problem(
            (*at, "underlay", "path_color"),
            "dpf does not work over an interconnect: its routers forward one copy of a prefix, with one color",
            "set `path_color: local-preference`, or remove the line",
        )
    if across is not None and fabric.evpn() is not None:
        context.problem(
            (*at, "topology", "interconnect"),
            "tenants are not possible over an interconnect: their overlay ends at the spines",
            "remove the tenants, or give each site a fabric of its own",
        )
    context.check()


def check_systems(context: Context, name: str, fabric: Fabric, equipment: Iterable[Equipment]) -> None:
    """Record a problem for each switch model with an operating system for which no document shows IS-IS, if the underlay is IS-IS.

    Also record findings about path colors and link addresses that an operating system may not support.
    """
    equipment = list(equipment)
    if fabric.underlay.path_color == "dpf" and fabric.load_balancing.mode == "rlb":
        _note_dpf(context, name, equipment)
    _note_links(context, name, fabric, equipment)
    if fabric.underlay.protocol != "isis":
        return
    for kind in equipment:
        if not context.catalog.systems[kind.role.nos].isis:
            context.problem(
                ("fabrics", name, "underlay", "protocol"),
                f"no public document shows IS-IS with {kind.role.nos}, the system of {kind.role.device}",
                "set `underlay: {protocol: bgp}`, or choose another system for that switch",
            )


def _note_dpf(context: Context, name: str, equipment: Iterable[Equipment]) -> None:
    noted: set[str] = set()
    for kind in equipment:
        system = context.catalog.systems[kind.role.nos]
        entry, release = system.capabilities.get("path-color-dpf"), kind.role.release or system.release
        if entry is None or system.has("path-color-dpf", release) or release in noted:
            continue
        noted.add(release)
        message = f"`path_color: dpf` on {system.description} {release}, which may not support it ({entry.source})"
        context.finding(DPF_RELEASE, name, ("fabrics", name, "underlay", "path_color"), message)


def _note_links(context: Context, name: str, fabric: Fabric, equipment: Iterable[Equipment]) -> None:
    """Record a finding if link addresses overlap a server pool.

    Also record a finding if IPv6 routes use IPv4 sessions on systems not known to support them.
    """
    underlay, overlay, links = fabric.underlay, fabric.evpn(), fabric.pools.fabric_links
    if underlay.protocol != "bgp" or underlay.peering != "numbered":
        return
    addressings = [fabric.addressing, *fabric.addressing.other_links.values()]
    pools = [pool for addressing in addressings for pool in addressing.pools()] if overlay is None else []
    around = next((pool for pool in pools if _overlap(pool, links)), None)
    if around is not None:
        message = f"links have {links} addresses, but servers have {around}"
        context.finding(LINKS_AMONG_SERVERS, name, ("fabrics", name, "pools", "fabric_links"), message)
    routed = [":" in pool for pool in pools] if overlay is None else [overlay.vtep == "ipv6"]
    if ":" in links or not any(routed):
        return
    systems = dict.fromkeys(kind.role.nos for kind in equipment)
    lacking = [system for system in systems if not context.catalog.systems[system].has("ipv6-over-ipv4")]
    if lacking:
        message = (
            f"links have only IPv4 addresses, but {' and '.join(lacking)} switches would exchange IPv6 routes over them"
        )
        context.finding(IPV6_OVER_IPV4, name, ("fabrics", name, "pools", "fabric_links"), message)


def _overlap(pool: str, other: str) -> bool:
    mine, theirs = ipaddress.ip_network(pool), ipaddress.ip_network(other)
    return mine.version == theirs.version and mine.overlaps(theirs)


MOST_SWITCHES = 16_384
"""The largest number of switches in a fabric: twelve times the number that 32,768 GPUs under super-spines need."""
MOST_LINKS = 524_288
"""The largest number of links between the switches of a fabric."""


def check_extent(context: Context, name: str, fabric: Fabric, leaves: int) -> None:
    """Raise ``DesignError`` if a fabric with this number of leaves would exceed the largest number of switches or links."""
    topology = fabric.topology
    blocks = _blocks(topology, leaves)
    spines = blocks * len(topology.spine_names())
    supers = topology.super_spines * len(topology.spine_names()) * topology.port_planes
    across = topology.interconnect
    dci = across.routers * len(across.sites) if across else 0
    links = leaves * len(topology.spine_names()) * topology.links_per_spine
    links += spines * topology.super_spines * topology.links_per_super_spine
    for count, most, label in (
        (leaves + spines + supers + dci, MOST_SWITCHES, "switches"),
        (links, MOST_LINKS, "links between switches"),
    ):
        if count > most:
            context.problem(
                ("fabrics", name, "topology"),
                f"fabric {name!r} would have {count:,} {label}",
                f"at most {most:,} are possible",
            )
    context.check()


def _blocks(topology: Topology, leaves: int) -> int:
    """Return the largest possible number of separate sets of spines in a topology with this number of leaves."""
    if topology.interconnect is not None:
        return len(topology.interconnect.sites)
    stripes = len(topology.stripe_names())
    if topology.planes == "rail":
        return leaves // stripes
    pods = -(-stripes // topology.stripes_per_pod) if topology.stripes_per_pod else 1
    return topology.port_planes * pods


def check_ports(
    context: Context, name: str, fabric: Fabric, groups: Sequence[tuple[int, ServerGroup, NicGroup]]
) -> None:
    """Record a problem if NICs have fewer ports than there are planes, or differ in their number of ports.

    ``groups`` are the server groups that the fabric connects, each with its index in the file.
    """
    if not groups:
        return
    line, planes = context.source.document.line, fabric.topology.port_planes
    first_index, first, nics = groups[0]
    for index, group, other in groups[1:]:
        if other.ports != nics.ports:
            context.problem(
                ("servers", index, "model"),
                f"uneven ports: on fabric {name!r}, NICs of {group.model} have {_ports(other)}, but those of "
                f"{first.model} (line {line(('servers', first_index))}) have {_ports(nics)}",
                "servers of one fabric need NICs with the same number of ports; put them on fabrics of their own",
            )
    if fabric.topology.planes == "rail" and nics.ports > 1:
        context.problem(
            ("fabrics", name, "topology", "planes"),
            f"planes: rail needs NICs with one port, but those of {first.model} (line "
            f"{line(('servers', first_index))}) have {_ports(nics)}",
            f"set `planes: {nics.ports}` to get one plane per port, or remove planes",
        )
    if planes > 1 and nics.ports != planes:
        by_ports = f"every plane uses one port of every NIC: set `planes: {nics.ports}`"
        other_server = f"use servers whose NICs have {planes} ports (`ports:`, docs/hardware.md), or remove planes"
        context.problem(
            ("fabrics", name, "topology", "planes"),
            f"{planes} planes are given, but the NICs of {first.model} (line {line(('servers', first_index))}) "
            f"have {_ports(nics)}",
            by_ports if nics.ports > 1 else other_server,
        )


def _ports(nics: NicGroup) -> str:
    return "one port" if nics.ports == 1 else f"{nics.ports} ports"


def check_oversubscription(context: Context, layout: Layout) -> None:
    """Record a problem if a leaf's or spine's bandwidth down, divided by its bandwidth up, exceeds ``oversubscription:``."""
    if not layout.spines:
        return
    at = ("fabrics", layout.name, "topology", "oversubscription")
    servers = Counter(server.stripe for server in layout.servers)
    leaves = {(leaf.stripe, leaf.block, len(leaf.rails), layout.equipment[leaf.name]): leaf for leaf in layout.leaves}
    loads = [
        (servers[leaf.stripe] * len(leaf.rails) * layout.nic_speeds[leaf.stripe], _bandwidth_up(layout, leaf))
        for leaf in leaves.values()
    ]
    down, up = max(loads, key=lambda load: load[0] / (load[1] or 1))
    asked = layout.spec.topology.oversubscription
    if up and down / up > asked + 1e-9:
        context.problem(
            at,
            (
                f"oversubscription is {down / up:.2f}:1 ({down} Gb/s of servers over {up} Gb/s of uplinks on a "
                f"leaf), more than the requested {asked:g}:1"
            ),
            _more_uplinks(layout, down, up, asked)
            + f"or accept it with `oversubscription: {math.ceil(100 * down / up) / 100:g}`",
        )
    if layout.super_spines:
        spines = {(spine.block, spine.group, layout.equipment[spine.name]): spine for spine in layout.spines}
        below, above = max(
            (_bandwidth_of(layout, spine) for spine in spines.values()), key=lambda load: load[0] / (load[1] or 1)
        )
        if above and below / above > asked + 1e-9:
            context.problem(
                at,
                f"oversubscription is {below / above:.2f}:1 ({below} Gb/s of leaves over {above} Gb/s of "
                f"super-spines on a spine), more than the requested {asked:g}:1",
                "add super_spines or links_per_super_spine, put fewer stripes in a pod, or accept it with `oversubscription:`",
            )


def _more_uplinks(layout: Layout, down: int, up: int, asked: float) -> str:
    """Return the beginning of a remedy sentence: changes of the fabric file that give leaves enough uplinks.

    ``down`` and ``up`` are the bandwidths of a leaf to servers and to spines, and ``asked`` is the allowed oversubscription.
    """
    topology = layout.spec.topology
    factor, spines = down / up / asked, len(topology.spine_names())
    fewer = int(max(Counter(server.stripe for server in layout.servers).values()) / factor)
    links, more = math.ceil(topology.links_per_spine * factor - 1e-9), math.ceil(spines * factor - 1e-9)
    stripes = f"put at most {counted(fewer, 'server')} in a stripe, " if fewer else ""
    return f"give `links_per_spine: {links}` or `spines: {more}`, {stripes}"


def _bandwidth_up(layout: Layout, leaf: Leaf) -> int:
    """Return the total bandwidth of a leaf's uplinks, in Gb/s."""
    spines = (spine for spine in layout.spines if spine.block == leaf.block)
    return layout.spec.topology.links_per_spine * sum(layout.link_speed(leaf.name, spine.name) for spine in spines)


def _bandwidth_of(layout: Layout, spine: Spine) -> tuple[int, int]:
    """Return (bandwidth down to all leaves that can be below a spine, bandwidth up to super-spines), in Gb/s."""
    topology = layout.spec.topology
    leaves = [leaf for leaf in layout.leaves if leaf.block == spine.block]
    most = max(layout.link_speed(leaf.name, spine.name) for leaf in leaves)
    places = max(leaf.place for leaf in layout.leaves) - len(leaves)
    below = sum(layout.link_speed(leaf.name, spine.name) for leaf in leaves) + places * most
    above = sum(
        layout.link_speed(spine.name, super_spine.name)
        for super_spine in layout.super_spines
        if super_spine.group == spine.group
    )
    return below * topology.links_per_spine, above * topology.links_per_super_spine


@dataclass(frozen=True)
class Layout:
    """A fabric before addresses and cables: its switches and servers.

    ``roles`` holds the equipment (model, software, settings) of switches without overrides, by role. ``equipment`` holds the
    equipment of each switch, by name.
    """

    name: str
    spec: Fabric
    roles: Mapping[RoleName, Equipment]
    equipment: Mapping[str, Equipment]
    leaves: tuple[Leaf, ...]
    spines: tuple[Spine, ...]
    super_spines: tuple[SuperSpine, ...]
    servers: tuple[PlacedServer, ...]
    rails: int
    """The number of NIC ports of each server, summed over all planes."""
    ports: int
    """The number of ports of each NIC."""
    nic_speeds: Mapping[str, int]
    """The NIC speed of the servers in each stripe, in Gb/s."""
    borders: tuple[Border, ...] = ()

    @cached_property
    def tiers(self) -> tuple[RoleName, ...]:
        """The roles that have switches in the fabric. ``leaf`` is included even without leaves."""
        above: tuple[tuple[RoleName, bool], ...] = (
            ("spine", bool(self.spines)),
            ("super-spine", bool(self.super_spines)),
            ("dci", bool(self.dci)),
        )
        return ("leaf", *(role for role, there in above if there))

    def kinds(self) -> list[Equipment]:
        """Return the kinds of switches (role with model and settings), lowest tier first. A tier without overrides has only one kind."""
        there = dict.fromkeys(self.equipment.values())
        kinds = [kind for role in self.tiers for kind in there if kind.role_name == role]
        return kinds if self.leaves else [self.roles["leaf"], *kinds]

    def link_speed(self, lower: str, upper: str) -> int:
        """Return the speed of links between the switches ``lower`` and ``upper`` in Gb/s.

        This is the highest speed that both switches support, up to the requested speed. Return 0 if they have no such speed.
        """
        below, above = self.equipment[lower], self.equipment[upper]
        speed = self._speeds.get((below, above))
        if speed is None:
            wanted = self.spec.topology.link_speed
            both = below.link_speeds("uplink_ports", wanted) & above.link_speeds("leaf_ports", wanted)
            speed = self._speeds[below, above] = max(both, default=0)
        return speed

    @cached_property
    def _speeds(self) -> dict[tuple[Equipment, Equipment], int]:
        return {}

    def server_speed(self, equipment: Equipment) -> int:
        """Return the speed in Gb/s of links between servers and leaves with this equipment.

        Leaves with different server speeds have different equipment (``_by_speed``).
        """
        stripes = (leaf.stripe for leaf in self.leaves if self.equipment[leaf.name] is equipment)
        return self.nic_speeds[next(stripes, next(iter(self.nic_speeds)))]

    @property
    def dci(self) -> tuple[Border, ...]:
        """The dedicated routers of the interconnect; empty if the leaves connect the sites."""
        return self.borders if self.spines else ()

    @property
    def border_role(self) -> RoleName | None:
        """The role of the switches that connect sites; None without an interconnect."""
        return None if not self.borders else "dci" if self.dci else "leaf"

    @property
    def uplinks(self) -> int:
        """The number of uplinks of each leaf."""
        return len(self.spec.topology.spine_names()) * self.spec.topology.links_per_spine

    @property
    def spine_uplinks(self) -> int:
        """The number of links of each spine to super-spines, or to the routers of its site's interconnect."""
        topology = self.spec.topology
        if topology.interconnect is not None:
            return topology.interconnect.routers * topology.interconnect.links_per_router
        return topology.super_spines * topology.links_per_super_spine


def lay_out(context: Context, name: str, fabric: Fabric) -> Layout:
    """Place the stripes, leaves, spines and servers of a fabric, and return them as a layout. Records problems in the context."""
    check_underlay(context, name, fabric)
    check_sites(context, name, fabric)
    groups = _served_groups(context, name, fabric)
    rails, speed = _rails(context, name, groups)
    check_ports(context, name, fabric, groups)
    roles = role_equipment(context, name, fabric)
    topology = fabric.topology
    planes = topology.port_planes
    of_plane = max(1, rails // planes)
    leaves_of_plane = topology.leaves_per_stripe or of_plane
    if of_plane % leaves_of_plane:
        ways = [str(n) for n in range(1, of_plane + 1) if of_plane % n == 0]
        context.problem(
            (*_at(name), "topology", "leaves_per_stripe"),
            f"uneven rails: {of_plane} rails cannot be divided equally among {leaves_of_plane} leaves",
            f"use {', '.join(ways)}",
        )
        context.check()
    per_stripe = leaves_of_plane * planes
    stripes = context.lock.allot(f"{name}/stripes", topology.stripe_names())
    if len(stripes) > 1 and not topology.spine_names() and topology.interconnect is None:
        context.problem(
            (*_at(name), "topology"),
            f"{len(stripes)} stripes but no spines: stripes could not reach each other",
            "add `spines:`",
        )
    check_extent(context, name, fabric, len(stripes) * per_stripe)
    each = rails // per_stripe
    keep_numbers(context, name, topology, of_plane, leaves_of_plane)
    numbers = leaf_numbers(context, name, stripes, per_stripe)
    places = _places(context, name, topology, stripes)
    leaves = tuple(
        Leaf(
            name=switch_name(
                context,
                fabric.naming,
                name,
                "leaf",
                stripe=stripe,
                stripe_number=slot,
                leaf=position,
                number=numbers[stripe, position],
                **({"plane": plane or "plane1"} if "{plane" in fabric.naming.leaf else {}),
            ),
            stripe=stripe,
            stripe_slot=slot,
            position=position,
            number=numbers[stripe, position],
            rails=tuple(range((position - 1) * each + 1, position * each + 1)),
            pod=pod,
            plane=plane,
            place=place_of(topology, places[stripe], position, leaves_of_plane),
        )
        for stripe, slot in sorted(stripes.items(), key=lambda item: item[1])
        for position in range(1, per_stripe + 1)
        for pod, plane in [block_of(topology, stripe, slot, position, each, leaves_of_plane)]
    )
    spines = spines_of(context, name, fabric, leaves)
    supers = super_spines_of(context, name, fabric, spines)
    borders = borders_of(context, name, fabric, leaves)
    tiers: tuple[tuple[RoleName, Sequence[Leaf | Spine | SuperSpine | Border]], ...] = (
        ("leaf", leaves),
        ("spine", spines),
        ("super-spine", supers),
        ("dci", borders if spines else ()),
    )
    equipment = equipment_of(
        context, name, fabric, roles, [(role, switch.name) for role, tier in tiers for switch in tier]
    )
    speeds = dict.fromkeys(stripes, speed) | _stripe_speeds(context, name, groups)
    check_systems(context, name, fabric, equipment.values())
    equipment = _by_speed(leaves, equipment, speeds)
    context.check()
    room = room_of(fabric, leaves, equipment, speeds)
    layout = Layout(
        name=name,
        spec=fabric,
        roles=roles,
        equipment=equipment,
        leaves=leaves,
        spines=spines,
        super_spines=supers,
        servers=tuple(place(context, name, groups, stripes, room)),
        rails=rails,
        ports=groups[0][2].ports if groups else 1,
        nic_speeds=speeds,
        borders=borders,
    )
    context.check()
    _check_speeds(context, layout)
    check_oversubscription(context, layout)
    context.check()
    return layout


def _places(context: Context, name: str, topology: Topology, stripes: dict[str, int]) -> dict[str, int]:
    """Return, for each stripe, the number that determines its leaves' ports on the spines.

    If each site has its own spines, this is the stripe's number at its site. Otherwise it is the stripe's number in the lock
    (``stripes``).
    """
    if topology.interconnect is None or not topology.spine_names():
        return stripes
    places: dict[str, int] = {}
    for site, here in topology.interconnect.sites.items():
        places |= context.lock.allot(f"{name}/stripes of {site}", here)
    return places


def _at(name: str) -> tuple[str, str]:
    return ("fabrics", name)


def _served_groups(context: Context, name: str, fabric: Fabric) -> list[tuple[int, ServerGroup, NicGroup]]:
    """Return the server groups that a fabric connects, as (index in the file, group, its NICs).

    These groups have NICs for the fabric, are at its site, and do not exclude the fabric. Records a problem for each unknown server
    model.
    """
    result: list[tuple[int, ServerGroup, NicGroup]] = []
    for index, group in enumerate(context.source.spec.servers):
        model = context.catalog.servers.get(group.model)
        if model is None:
            context.problem(
                ("servers", index, "model"),
                *unknown_server(context.catalog, group.model),
            )
        elif (
            (group.site is None or fabric.site is None or group.site == fabric.site)
            and (group.fabrics is None or name in group.fabrics)
            and fabric.nics in model.nics
        ):
            result.append((index, group, model.nics[fabric.nics]))
    return result


def _rails(context: Context, name: str, groups: list[tuple[int, ServerGroup, NicGroup]]) -> tuple[int, int]:
    """Return (number of rails, NIC speed of the first server group in Gb/s). ``groups`` comes from ``_served_groups``.

    Records a problem if server groups differ in their number of rails, or if the fabric has no servers.
    """
    if not groups and any(group.model not in context.catalog.servers for group in context.source.spec.servers):
        return 1, 400  # what NICs there are is not known until the models are right
    if not groups:
        models = [context.catalog.servers.get(group.model) for group in context.source.spec.servers]
        there = dict.fromkeys(nics for model in models if model for nics in model.nics)
        context.problem(
            (*_at(name), "nics"),
            f"fabric {name!r} has no servers with the NICs {context.source.spec.fabrics[name].nics!r}",
            f"the servers of this file have {', '.join(there)}" if there else "add a group under `servers:`",
        )
        return 1, 400
    first_index, first, nics = groups[0]
    for index, group, other in groups[1:]:
        if len(other.names) != len(nics.names):
            context.problem(
                ("servers", index, "model"),
                f"uneven rails: {group.model} has {len(other.names)} NICs on fabric {name!r}, "
                f"{first.model} (line {context.source.document.line(('servers', first_index))}) has {len(nics.names)}",
                "servers of one fabric need the same number of NICs; put them on fabrics of their own",
            )
    return len(nics.names), context.catalog.nics[nics.nic].speed_gbps


def _stripe_speeds(context: Context, name: str, groups: list[tuple[int, ServerGroup, NicGroup]]) -> dict[str, int]:
    """Return the NIC speed in Gb/s of each stripe to which the file assigns servers. ``groups`` comes from ``_served_groups``.

    Records a problem if a stripe would have two speeds.
    """
    speeds: dict[str, int] = {}
    for index, group, nics in groups:
        stripe = group.stripe.get(name) if isinstance(group.stripe, dict) else group.stripe
        speed = context.catalog.nics[nics.nic].speed_gbps
        if stripe is not None and speeds.setdefault(stripe, speed) != speed:
            context.problem(
                ("servers", index, "model"),
                f"stripe {stripe!r} of fabric {name!r} has NICs of {speeds[stripe]}G and of {speed}G",
                "all server ports of a leaf are split in the same way: put the NICs in different stripes",
            )
    return speeds


def _by_speed(
    leaves: Sequence[Leaf], equipment: Mapping[str, Equipment], speeds: Mapping[str, int]
) -> dict[str, Equipment]:
    """Return the equipment (model, software, settings) by switch name. ``speeds`` is the NIC speed of each stripe.

    Leaves with the same equipment and different NIC speeds get a separate object for each speed.
    """
    kinds: dict[tuple[Equipment, int], Equipment] = {}
    used: set[Equipment] = set()
    result = dict(equipment)
    for leaf in leaves:
        kind, speed = equipment[leaf.name], speeds[leaf.stripe]
        if (kind, speed) not in kinds:
            kinds[kind, speed] = kind if kind not in used else replace(kind)
            used.add(kind)
        result[leaf.name] = kinds[kind, speed]
    return result


def _check_speeds(context: Context, layout: Layout) -> None:
    """Record a problem for servers that the design placed in a stripe with a different NIC speed.

    Then raise ``DesignError`` if there is any problem.
    """
    for server in layout.servers:
        speed, wanted = context.catalog.nics[server.nics.nic].speed_gbps, layout.nic_speeds[server.stripe]
        if speed != wanted:
            index = next(i for i, group in enumerate(context.source.spec.servers) if server.name in group.names)
            context.problem(
                ("servers", index),
                f"{server.name} has NICs of {speed}G, but stripe {server.stripe!r} of fabric {layout.name!r} "
                f"has NICs of {wanted}G",
                "give this group of servers a `stripe:` of its own",
            )
            break
    context.check()
