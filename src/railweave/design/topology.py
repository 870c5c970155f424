"""Who is where: stripes, leaves, spines, and the servers of each stripe."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.design.interconnect import borders_of, check_sites
from railweave.design.ports import breakout_of, capacity
from railweave.design.tiers import Leaf, block_of, place_of, spines_of, super_spines_of
from railweave.design.underlay import check_underlay

if TYPE_CHECKING:
    from railweave.catalog.models import NicGroup, SwitchModel
    from railweave.design.context import Context
    from railweave.design.interconnect import Border
    from railweave.design.network import RoleName
    from railweave.design.tiers import Spine, SuperSpine
    from railweave.spec.fabric import Fabric, ServerGroup
    from railweave.spec.topology import Role, Topology


@dataclass(frozen=True, slots=True)
class PlacedServer:
    """A server on a fabric: its stripe, its slot there (which decides its ports), its NICs."""

    name: str
    stripe: str
    slot: int
    model: str
    nics: NicGroup


@dataclass(frozen=True)
class Layout:
    """The skeleton of one fabric."""

    name: str
    spec: Fabric
    leaf_model: SwitchModel
    spine_model: SwitchModel
    super_spine_model: SwitchModel
    leaves: tuple[Leaf, ...]
    spines: tuple[Spine, ...]
    super_spines: tuple[SuperSpine, ...]
    servers: tuple[PlacedServer, ...]
    rails: int
    nic_speed_gbps: int
    dci_model: SwitchModel
    borders: tuple[Border, ...] = ()

    @cached_property
    def _roles(self) -> dict[str, tuple[Role, SwitchModel]]:
        return {
            "leaf": (self.spec.leaf, self.leaf_model),
            "spine": (self.spec.spine_role(), self.spine_model),
            "super-spine": (self.spec.super_spine_role(), self.super_spine_model),
            "dci": (self.spec.dci_role(), self.dci_model),
        }

    @cached_property
    def tiers(self) -> tuple[RoleName, ...]:
        """The roles that it has switches of; a leaf's intent counts also without leaves."""
        above: tuple[tuple[RoleName, bool], ...] = (
            ("spine", bool(self.spines)),
            ("super-spine", bool(self.super_spines)),
            ("dci", bool(self.dci)),
        )
        return ("leaf", *(role for role, there in above if there))

    def role(self, name: RoleName) -> tuple[Role, SwitchModel]:
        """What every device of a role is to be, and its switch model."""
        return self._roles[name]

    @property
    def dci(self) -> tuple[Border, ...]:
        """The routers of the interconnect, where those are not the leaves."""
        return self.borders if self.spines else ()

    @property
    def border_role(self) -> RoleName:
        """The role of what joins sites."""
        return "dci" if self.dci else "leaf"

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
    leaf_model = _switch_model(context, (*_at(name), "leaf"), fabric.leaf)
    spine_model = _switch_model(context, (*_at(name), "spine"), fabric.spine) if fabric.spine else leaf_model
    super_model = (
        _switch_model(context, (*_at(name), "super_spine"), fabric.super_spine) if fabric.super_spine else spine_model
    )
    dci_model = _switch_model(context, (*_at(name), "dci"), fabric.dci) if fabric.dci else spine_model
    check_underlay(context, name, fabric)
    check_sites(context, name, fabric)
    groups = _served_groups(context, fabric)
    rails, speed = _rails(context, name, groups)
    context.check()
    assert leaf_model is not None  # noqa: S101 - check() has raised otherwise
    assert spine_model is not None  # noqa: S101
    assert super_model is not None  # noqa: S101
    assert dci_model is not None  # noqa: S101

    topology = fabric.topology
    per_stripe = topology.leaves_per_stripe or rails
    if rails % per_stripe:
        ways = [str(n) for n in range(1, rails + 1) if rails % n == 0]
        context.problem(
            (*_at(name), "topology", "leaves_per_stripe"),
            f"uneven rails: {per_stripe} leaves cannot share {rails} rails equally",
            f"use {', '.join(ways)}",
        )
        context.check()
    stripes = context.lock.allot(f"{name}/stripes", topology.stripe_names())
    if len(stripes) > 1 and not topology.spine_names() and topology.interconnect is None:
        context.problem(
            (*_at(name), "topology"),
            f"{len(stripes)} stripes and no spines: stripes could not reach each other",
            "add `spines:`",
        )
    each = rails // per_stripe
    places = _places(context, name, topology, stripes)
    leaves = tuple(
        Leaf(
            name=fabric.naming.leaf.format(fabric=name, stripe=stripe, leaf=position),
            stripe=stripe,
            stripe_slot=slot,
            position=position,
            number=(slot - 1) * per_stripe + position,
            rails=tuple(range((position - 1) * each + 1, position * each + 1)),
            pod=pod,
            plane=plane,
            place=place_of(topology, places[stripe], position, per_stripe),
        )
        for stripe, slot in sorted(stripes.items(), key=lambda item: item[1])
        for position in range(1, per_stripe + 1)
        for pod, plane in [block_of(topology, stripe, slot, position, each)]
    )
    spines = spines_of(context, name, fabric, leaves)
    layout = Layout(
        name=name,
        spec=fabric,
        leaf_model=leaf_model,
        spine_model=spine_model,
        super_spine_model=super_model,
        leaves=leaves,
        spines=spines,
        super_spines=super_spines_of(context, name, fabric, spines),
        servers=tuple(_place(context, name, fabric, groups, stripes, leaf_model, each, speed)),
        rails=rails,
        nic_speed_gbps=speed,
        dci_model=dci_model,
        borders=borders_of(context, name, fabric, leaves),
    )
    context.check()
    _check_oversubscription(context, layout)
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


def _switch_model(context: Context, location: tuple[str, ...], role: Role) -> SwitchModel | None:
    model = context.catalog.switches.get(role.device)
    if model is None:
        context.problem(
            (*location, "device"),
            f"switch model {role.device!r} is not in the catalog",
            f"known models: {', '.join(sorted(context.catalog.switches))}",
        )
    elif role.nos not in context.catalog.systems or role.nos not in model.systems:
        context.problem(
            (*location, "nos"), f"{role.device} does not run {role.nos!r}", f"it runs {', '.join(model.systems)}"
        )
    return model


def _served_groups(context: Context, fabric: Fabric) -> list[tuple[int, ServerGroup, NicGroup]]:
    """Server groups that have NICs for this fabric and stand on its site, with their place in the file."""
    result: list[tuple[int, ServerGroup, NicGroup]] = []
    for index, group in enumerate(context.source.spec.servers):
        model = context.catalog.servers.get(group.model)
        if model is None:
            context.problem(
                ("servers", index, "model"),
                f"server model {group.model!r} is not in the catalog",
                f"known models: {', '.join(sorted(context.catalog.servers))}",
            )
        elif (group.site is None or fabric.site is None or group.site == fabric.site) and fabric.nics in model.nics:
            result.append((index, group, model.nics[fabric.nics]))
    return result


def _rails(context: Context, name: str, groups: list[tuple[int, ServerGroup, NicGroup]]) -> tuple[int, int]:
    """How many rails the servers have, and their NICs' speed; both must be the same for all."""
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


def _place(
    context: Context,
    name: str,
    fabric: Fabric,
    groups: list[tuple[int, ServerGroup, NicGroup]],
    stripes: dict[str, int],
    leaf_model: SwitchModel,
    rails_per_leaf: int,
    speed: int,
) -> list[PlacedServer]:
    """Give every server a stripe and a slot in it; servers without a stripe fill the stripes in order."""
    limit = fabric.topology.servers_per_stripe
    if limit is None:
        breakout = breakout_of(leaf_model, fabric.leaf.server_ports, speed)
        ports = capacity(leaf_model, fabric.leaf.server_ports, breakout, fabric.topology) if breakout else 0
        limit = max(1, ports // rails_per_leaf)
    members: dict[str, list[tuple[str, ServerGroup, NicGroup]]] = {stripe: [] for stripe in stripes}
    floating: list[tuple[int, str, ServerGroup, NicGroup]] = []
    for index, group, nics in groups:
        wanted = group.stripe.get(name) if isinstance(group.stripe, dict) else group.stripe
        if wanted is not None and wanted not in stripes:
            context.problem(
                ("servers", index, "stripe"),
                f"stripe {wanted!r} is not in fabric {name!r}",
                f"stripes are {', '.join(stripes)}",
            )
            continue
        for server in group.names:
            if wanted is None:
                floating.append((index, server, group, nics))
            else:
                members[wanted].append((server, group, nics))
    homes = {server: stripe for stripe in stripes for server in context.lock.pools.get(f"{name}/servers/{stripe}", {})}
    for _, server, group, nics in floating:
        if homes.get(server) in members:
            members[homes[server]].append((server, group, nics))
    for index, server, group, nics in floating:
        if homes.get(server) in members:
            continue
        home = next((stripe for stripe in members if len(members[stripe]) < limit), None)
        if home is None:
            context.problem(
                ("servers", index, "names"),
                f"no room for server {server!r}: {len(stripes)} stripes of {limit} servers are full",
                "add a stripe, or raise servers_per_stripe if the leaves have the ports",
            )
            return []
        members[home].append((server, group, nics))
    placed: list[PlacedServer] = []
    for stripe, servers in members.items():
        for server, _, _ in servers:
            context.lock.move(server, f"{name}/servers/{stripe}", f"{name}/servers/")
        slots = context.lock.allot(f"{name}/servers/{stripe}", [server for server, _, _ in servers])
        placed += [PlacedServer(s, stripe, slots[s], group.model, nics) for s, group, nics in servers]
    order = {s: n for n, s in enumerate(s for _, group, _ in groups for s in group.names)}
    return sorted(placed, key=lambda server: order[server.name])


def _check_oversubscription(context: Context, layout: Layout) -> None:
    if not layout.spines:
        return
    up = layout.uplinks * layout.spec.topology.link_speed
    fullest = max(Counter(server.stripe for server in layout.servers).values(), default=0)
    down = fullest * len(layout.leaves[0].rails) * layout.nic_speed_gbps
    asked = layout.spec.topology.oversubscription
    if up and down / up > asked + 1e-9:
        context.problem(
            (*_at(layout.name), "topology", "oversubscription"),
            f"oversubscription is {down / up:.2f}:1 ({down} Gb/s of servers over {up} Gb/s of uplinks on a leaf), "
            f"more than the {asked:g}:1 asked for",
            "add spines or links_per_spine, put fewer servers in a stripe, or accept it with `oversubscription:`",
        )
    if layout.super_spines:
        speed, links = layout.spec.topology.link_speed, layout.spec.topology.links_per_spine
        below = max(leaf.place for leaf in layout.leaves) * links * speed
        above = layout.spine_uplinks * speed
        if below / above > asked + 1e-9:
            context.problem(
                (*_at(layout.name), "topology", "oversubscription"),
                f"oversubscription is {below / above:.2f}:1 ({below} Gb/s of leaves over {above} Gb/s of super-spines on a "
                f"spine), more than the {asked:g}:1 asked for",
                "add super_spines or links_per_super_spine, put fewer stripes in a pod, or accept it with `oversubscription:`",
            )
