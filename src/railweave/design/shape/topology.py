"""Who is where: stripes, leaves, spines, and the servers of each stripe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.design.limits.underlay import check_systems, check_underlay
from railweave.design.shape.equipment import equipment_of, role_equipment
from railweave.design.shape.extent import check_extent
from railweave.design.shape.interconnect import borders_of, check_sites
from railweave.design.shape.names import switch_name
from railweave.design.shape.oversubscription import check_oversubscription
from railweave.design.shape.placing import PlacedServer, place, room_of
from railweave.design.shape.ports import check_ports
from railweave.design.shape.tiers import Leaf, block_of, place_of, spines_of, super_spines_of
from railweave.model.catalog.words import unknown_server

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.design.shape.interconnect import Border
    from railweave.design.shape.tiers import Spine, SuperSpine
    from railweave.model.catalog.hardware import NicGroup
    from railweave.model.intent.fabric import Fabric, ServerGroup
    from railweave.model.intent.topology import Topology
    from railweave.model.network.fabric import RoleName


@dataclass(frozen=True)
class Layout:
    """The skeleton of one fabric. ``roles`` is what switches without overrides are, ``equipment`` what each switch is."""

    name: str
    spec: Fabric
    roles: Mapping[RoleName, Equipment]
    equipment: Mapping[str, Equipment]
    leaves: tuple[Leaf, ...]
    spines: tuple[Spine, ...]
    super_spines: tuple[SuperSpine, ...]
    servers: tuple[PlacedServer, ...]
    rails: int
    """Ports of each server, counted over all planes of NIC ports."""
    ports: int
    """Ports of each NIC."""
    nic_speeds: Mapping[str, int]
    """What the NICs of each stripe's servers do, Gb/s."""
    borders: tuple[Border, ...] = ()

    @cached_property
    def tiers(self) -> tuple[RoleName, ...]:
        """The roles that it has switches of; a leaf's intent counts also without leaves."""
        above: tuple[tuple[RoleName, bool], ...] = (
            ("spine", bool(self.spines)),
            ("super-spine", bool(self.super_spines)),
            ("dci", bool(self.dci)),
        )
        return ("leaf", *(role for role, there in above if there))

    def kinds(self) -> list[Equipment]:
        """What there is of each tier, lowest first: a tier without overrides is all alike."""
        there = dict.fromkeys(self.equipment.values())
        found = [one for role in self.tiers for one in there if one.role_name == role]
        return found if self.leaves else [self.roles["leaf"], *found]

    def link_speed(self, lower: str, upper: str) -> int:
        """The speed of links between two switches: the one asked for, or the highest below it that both can do; 0: none."""
        below, above = self.equipment[lower], self.equipment[upper]
        if (below, above) not in self._speeds:
            wanted = self.spec.topology.link_speed
            both = below.link_speeds("uplink_ports", wanted) & above.link_speeds("leaf_ports", wanted)
            self._speeds[below, above] = max(both, default=0)
        return self._speeds[below, above]

    @cached_property
    def _speeds(self) -> dict[tuple[Equipment, Equipment], int]:
        return {}

    def server_speed(self, equipment: Equipment) -> int:
        """The speed of links from servers to leaves of a kind: every kind of leaf has one (``_by_speed``)."""
        stripes = (leaf.stripe for leaf in self.leaves if self.equipment[leaf.name] is equipment)
        return self.nic_speeds[next(stripes, next(iter(self.nic_speeds)))]

    @property
    def dci(self) -> tuple[Border, ...]:
        """The routers of the interconnect, where those are not the leaves."""
        return self.borders if self.spines else ()

    @property
    def border_role(self) -> RoleName | None:
        """The role of what joins sites; None where nothing does."""
        return None if not self.borders else "dci" if self.dci else "leaf"

    @property
    def uplinks(self) -> int:
        """Uplinks of each leaf."""
        return len(self.spec.topology.spine_names()) * self.spec.topology.links_per_spine

    @property
    def spine_uplinks(self) -> int:
        """Links of each spine to super-spines, or to the routers of its site's interconnect."""
        topology = self.spec.topology
        if topology.interconnect is not None:
            return topology.interconnect.routers * topology.interconnect.links_per_router
        return topology.super_spines * topology.links_per_super_spine


def lay_out(context: Context, name: str, fabric: Fabric) -> Layout:
    """Place stripes, leaves, spines and servers of one fabric. Notes problems in the context."""
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
            f"uneven rails: {leaves_of_plane} leaves cannot share {of_plane} rails equally",
            f"use {', '.join(ways)}",
        )
        context.check()
    per_stripe = leaves_of_plane * planes
    stripes = context.lock.allot(f"{name}/stripes", topology.stripe_names())
    if len(stripes) > 1 and not topology.spine_names() and topology.interconnect is None:
        context.problem(
            (*_at(name), "topology"),
            f"{len(stripes)} stripes and no spines: stripes could not reach each other",
            "add `spines:`",
        )
    check_extent(context, name, fabric, len(stripes) * per_stripe)
    each = rails // per_stripe
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
                number=(slot - 1) * per_stripe + position,
                **({"plane": plane or "plane1"} if "{plane" in fabric.naming.leaf else {}),
            ),
            stripe=stripe,
            stripe_slot=slot,
            position=position,
            number=(slot - 1) * per_stripe + position,
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
    equipment = equipment_of(context, name, fabric, roles, [(role, one.name) for role, tier in tiers for one in tier])
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
    """The places of stripes on the ports of their spines: their slots, or where each site has spines, those there."""
    if topology.interconnect is None or not topology.spine_names():
        return stripes
    found: dict[str, int] = {}
    for site, here in topology.interconnect.sites.items():
        found |= context.lock.allot(f"{name}/stripes of {site}", here)
    return found


def _at(name: str) -> tuple[str, str]:
    return ("fabrics", name)


def _served_groups(context: Context, name: str, fabric: Fabric) -> list[tuple[int, ServerGroup, NicGroup]]:
    """Server groups that have NICs for this fabric, stand on its site and are meant for it, with their place in the file."""
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
    """How many rails the servers have, the same for all, and the speed of the first ones' NICs."""
    if not groups and any(group.model not in context.catalog.servers for group in context.source.spec.servers):
        return 1, 400  # what NICs there are is not known until the models are right
    if not groups:
        models = [context.catalog.servers.get(group.model) for group in context.source.spec.servers]
        there = dict.fromkeys(nics for model in models if model for nics in model.nics)
        context.problem(
            (*_at(name), "nics"),
            f"fabric {name!r} has no servers with {context.source.spec.fabrics[name].nics!r} NICs",
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
    """The NICs' speed in each stripe that servers are put into by the file. Notes a problem where one would have two."""
    found: dict[str, int] = {}
    for index, group, nics in groups:
        stripe = group.stripe.get(name) if isinstance(group.stripe, dict) else group.stripe
        speed = context.catalog.nics[nics.nic].speed_gbps
        if stripe is not None and found.setdefault(stripe, speed) != speed:
            context.problem(
                ("servers", index, "model"),
                f"NICs of {found[stripe]}G and of {speed}G in stripe {stripe!r} of fabric {name!r}",
                "a leaf's server ports are all split alike: put them in stripes of their own",
            )
    return found


def _by_speed(
    leaves: Sequence[Leaf], equipment: Mapping[str, Equipment], speeds: Mapping[str, int]
) -> dict[str, Equipment]:
    """The equipment by switch, leaves of one kind told apart where their servers' NICs differ in speed."""
    kinds: dict[tuple[Equipment, int], Equipment] = {}
    used: set[Equipment] = set()
    result = dict(equipment)
    for leaf in leaves:
        own, speed = equipment[leaf.name], speeds[leaf.stripe]
        if (own, speed) not in kinds:
            kinds[own, speed] = own if own not in used else replace(own)
            used.add(own)
        result[leaf.name] = kinds[own, speed]
    return result


def _check_speeds(context: Context, layout: Layout) -> None:
    """Servers that filled a stripe by themselves have NICs of its speed."""
    for server in layout.servers:
        speed, wanted = context.catalog.nics[server.nics.nic].speed_gbps, layout.nic_speeds[server.stripe]
        if speed != wanted:
            index = next(i for i, one in enumerate(context.source.spec.servers) if server.name in one.names)
            context.problem(
                ("servers", index),
                f"{server.name} has NICs of {speed}G, and stripe {server.stripe!r} of fabric {layout.name!r} those of {wanted}G",
                "give the group a `stripe:` of its own",
            )
            break
    context.check()
