"""The placement of servers: the stripe of each server, and its number (slot) in the stripe."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.cabling.ports import capacity
from railweave.model.catalog.optics import breakout_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.design.shape.tiers import Leaf
    from railweave.model.catalog.hardware import NicGroup
    from railweave.model.intent.fabric import Fabric, ServerGroup


@dataclass(frozen=True, slots=True)
class PlacedServer:
    """A server on a fabric with its stripe and its NICs.

    ``slot`` is the server's number in the stripe, which determines its switch ports.
    """

    name: str
    stripe: str
    slot: int
    model: str
    nics: NicGroup


def room_of(
    fabric: Fabric, leaves: Sequence[Leaf], equipment: Mapping[str, Equipment], speeds: Mapping[str, int]
) -> dict[str, int]:
    """Return the number of servers that fit in each stripe. ``speeds`` is the NIC speed of each stripe in Gb/s.

    This is ``servers_per_stripe``, or the number that fits on the stripe's leaf with the fewest ports. ``equipment`` has the model and
    software of each switch.
    """
    asked = fabric.topology.servers_per_stripe
    room: dict[str, int] = {}
    for leaf in leaves:
        leaf_equipment = equipment[leaf.name]
        breakout = breakout_of(leaf_equipment.model, leaf_equipment.role.server_ports, speeds[leaf.stripe])
        ports = (
            capacity(leaf_equipment.model, leaf_equipment.role.server_ports, breakout, fabric.topology)
            if breakout
            else 0
        )
        servers = asked or max(1, ports // len(leaf.rails))
        room[leaf.stripe] = min(servers, room.get(leaf.stripe, servers))
    return room


def _stripes_of(room: dict[str, int]) -> str:
    """Return text with the stripes grouped by the number of servers that they hold (``room``): ``2 stripes of 16 and 1 stripe of 8``."""
    return " and ".join(f"{counted(count, 'stripe')} of {servers}" for servers, count in Counter(room.values()).items())


def place(
    context: Context,
    name: str,
    groups: list[tuple[int, ServerGroup, NicGroup]],
    stripes: dict[str, int],
    room: dict[str, int],
) -> list[PlacedServer]:
    """Return the servers, each with a stripe and a number in it. ``room`` is the number of servers that fit in each stripe.

    ``groups`` are the server groups of fabric ``name``, as (index in the file, group, its NICs); ``stripes`` has the names of the stripes
    as keys. The server's group can name a stripe; otherwise the lock may hold the server's stripe. All other servers are spread
    evenly over the stripes, in order. If the file sets ``servers_per_stripe``, they instead fill one stripe after
    another up to that number. Records a problem for an unknown stripe, and if a server does not fit.
    """
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
    floating = [unplaced for unplaced in floating if homes.get(unplaced[1]) not in members]
    _check_lock(context, name, members, homes)
    count = sum(map(len, members.values())) + len(floating)
    asked = context.source.spec.fabrics[name].topology.servers_per_stripe
    shares = dict.fromkeys(members, asked or -(-count // len(members)))
    if not asked and 0 < len(members) <= count and -(-count // max(shares.values())) < len(members):
        # Filling one after another would leave the last stripes empty: each of them has one less.
        shares = {
            stripe: count // len(members) + (number < count % len(members)) for number, stripe in enumerate(members)
        }
    for index, server, group, nics in floating:
        there = _fitting(context, name, group, nics, members)
        home = next((stripe for stripe in there if len(members[stripe]) < min(room[stripe], shares[stripe])), None)
        home = home or next((stripe for stripe in there if len(members[stripe]) < room[stripe]), None)
        if home is None:
            context.problem(
                ("servers", index, "names"),
                f"no place for server {server!r}: {_stripes_of(room)} servers are full",
                "add a stripe, or increase servers_per_stripe if the leaves have enough ports",
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


def _fitting(
    context: Context,
    name: str,
    group: ServerGroup,
    nics: NicGroup,
    members: Mapping[str, list[tuple[str, ServerGroup, NicGroup]]],
) -> list[str]:
    """Return the stripes that can take servers of a group: stripes at the group's site and, if possible, with NICs of the same speed.

    ``nics`` are the group's NICs on this fabric. ``members`` lists the servers that each stripe already has, as (name, group, NICs).
    """
    across = context.source.spec.fabrics[name].topology.interconnect
    here = [
        member for member in members if across is None or group.site is None or across.site_of(member) == group.site
    ]
    known, speed = context.catalog.nics, context.catalog.nics[nics.nic].speed_gbps
    alike = [stripe for stripe in here if not members[stripe] or known[members[stripe][0][2].nic].speed_gbps == speed]
    return alike or here


def _check_lock(
    context: Context,
    name: str,
    members: Mapping[str, list[tuple[str, ServerGroup, NicGroup]]],
    homes: Mapping[str, str],
) -> None:
    """Record a problem if servers keep their stripe from the lock, and a stripe then has more than ``servers_per_stripe`` allows.

    ``members`` lists the servers of each stripe, as (name, group, NICs). ``homes`` gives the stripe in the lock by server name.
    """
    asked = context.source.spec.fabrics[name].topology.servers_per_stripe
    lock = context.source.path.with_suffix(".lock").name
    for stripe, servers in members.items():
        kept = [server for server, _, _ in servers if homes.get(server) == stripe]
        if asked and len(servers) > asked and kept:
            context.problem(
                ("fabrics", name, "topology", "servers_per_stripe"),
                f"servers_per_stripe is {asked}, but {lock} keeps {len(kept)} earlier servers in {stripe!r}",
                f"choose one: leave them there (servers_per_stripe: {len(servers)}, or remove it); move some with a group that has `stripe:`; or "
                f'delete the pools "{name}/servers/…" from {lock}, so that all servers are placed again, with other ports and addresses '
                "(docs/day-two.md#change-the-design-diff-lock-status)",
            )
