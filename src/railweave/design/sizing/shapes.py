"""Sizing of a fabric for a number of GPUs and a switch model.

This module compares all shapes (kinds of topology), chooses a shape, and computes its growth. It only calculates with
numbers from the catalog. Except for ``one-leaf``, shapes are rail-optimised with one leaf per rail and stripe:

- ``port-planes``: only for NICs with several ports. The first ports of all NICs form one network (plane), the second
  ports another, and so on. Each plane has two tiers, or one leaf if all its ports fit.
- ``one-leaf``: every NIC on one switch.
- ``two-tier``: one set of spines connects all leaves. The fabric is full when a spine has no port for another leaf.
- ``rail-planes``: each rail has its own spines. So the fabric can have more leaves than ``two-tier``, by a factor of
  the number of rails. There is no path from rail to rail. A rail of one leaf needs no spines, and all its ports may go
  to servers.
- ``super-spine``: pods of stripes have their own spines. Half of each spine's ports go up to super-spines.

The servers are divided equally among as few stripes as the ports allow. The number of spines is the smallest that
carries the traffic of the stripes at the requested oversubscription. Each spine has the same number of links to every
leaf below it. This number is chosen so that the spine's ports also suffice after growth, so growth up to the requested size
moves no cable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.sizing.size import SHAPES, Ports, RefusedShape, Size, default_server_first, shared, spread
from railweave.model.catalog.optics import breakout_of
from railweave.model.intent.addresses import Pools
from railweave.model.intent.topology import PortRange, Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.sizing.size import Shape, SizeRequest
    from railweave.model.catalog.models import Catalog


def ports_of(catalog: Catalog, wanted: SizeRequest) -> Ports:
    """Return the numbers of a switch's ports that can go to servers and to spines, for the request ``wanted``.

    Ports are counted at the speed of the requested server's NICs. Raises ``ValueError`` if the switch and the NICs have no speed in common.
    """
    server, model = catalog.servers[wanted.server], catalog.switches[wanted.switch]
    nics = server.nics["gpu"]
    speed = catalog.nics[nics.nic].speed_gbps
    breakout = breakout_of(model, PortRange(), speed)
    if breakout is None:
        raise ValueError(f"{wanted.switch} has no {speed}G ports for {nics.nic}")
    group = model.ports[0]
    before = default_server_first(model, Topology(spines=1, oversubscription=float(wanted.ratio))) - group.first
    widest = model.limits.ecmp_members or group.count * breakout.channels
    most = min(before * breakout.channels, widest)
    up = next((count for count in range(most, 0, -1) if shared(count)), 0)
    down = (group.count - before) * breakout.channels
    most_down, unit = min(down, math.floor(up * wanted.ratio)), server.domain_servers
    return Ports(
        speed_gbps=speed,
        total=group.count * breakout.channels,
        down_built=down,
        down=most_down // unit * unit or most_down,
        up=up,
        per_module=breakout.channels,
        rails=len(nics.names),
        gpus_per_server=server.gpus,
        group=widest,
        nic_ports=nics.ports,
        unit=unit if most_down >= unit else 1,
    )


def size(catalog: Catalog, wanted: SizeRequest, shape: Shape, there: Size | None = None) -> Size | RefusedShape:
    """Return the size of a fabric with one shape (kind of topology) for the request ``wanted``, or the reason why the shape does not fit.

    ``there`` is the existing fabric to grow from, or None. The result keeps the stripes with their servers, the number
    of uplinks, and the pods of the existing fabric.
    """
    ports = ports_of(catalog, wanted)
    servers = -(-wanted.gpus // ports.gpus_per_server)
    grown = wanted.grown(servers)
    if shape == "rail-planes" and ports.nic_ports > 1:
        return RefusedShape(shape, f"NICs with {ports.nic_ports} ports need one plane per port")
    if wanted.stripes > 1 and shape == "one-leaf":
        return RefusedShape(shape, f"it has one stripe, but {wanted.stripes} are requested")
    if shape == "one-leaf":
        need = grown * ports.rails
        if need > ports.total:
            return RefusedShape(
                shape,
                f"{need:,} {'NICs' if ports.nic_ports == 1 else 'ports of NICs'}{_grown(wanted)} on a switch of {ports.total} ports",
            )
        return Size(shape, wanted, ports, servers, 1, servers)
    if there and not there.spines:
        there = None  # its servers have ports that uplinks then take: they are laid again
    on_a_leaf = {"rail-planes": grown, "port-planes": grown * ports.nics}.get(shape)
    if on_a_leaf is not None and on_a_leaf <= ports.total and not there and wanted.stripes <= 1:
        return Size(shape, wanted, ports, servers, 1, servers)  # one leaf a rail, or a plane, joins all its NICs
    if not ports.down:
        return RefusedShape(shape, f"at {wanted.oversubscription:g}:1 a leaf has no port left for uplinks")
    asked = max(wanted.stripes, there.stripes if there else 1)
    later = max(-(-grown // ports.down), asked)
    each = max(ports.whole(-(-grown // later)), there.servers_per_stripe if there else 1)
    stripes = max(-(-servers // each), asked)
    fullest = max(ports.whole(-(-servers // stripes)), there.servers_per_stripe if there else 1)
    fullest = min(fullest, servers)
    need = max(1, math.ceil(each / wanted.ratio), there.uplinks if there else 1)
    base = Size(shape, wanted, ports, servers, stripes, fullest)
    first, last = Pools().vlan
    if later * ports.rails > last - first + 1:
        vlans = (
            f"{later:,} stripes{_grown(wanted)} of {counted(ports.rails, 'rail')} need {later * ports.rails:,} VLANs"
        )
        return RefusedShape(shape, f"{vlans}, and there are {last - first + 1:,}")
    if wanted.stripes and (wanted.stripes != stripes or -(-servers // fullest) != stripes):
        return RefusedShape(shape, _other_stripes(base, ports.down))
    if shape == "super-spine":
        return _super_spine(base, later, need, there)
    leaves = later * replace(base, spines=1).leaves_of_block
    if leaves > ports.total:
        gpus = grown * ports.gpus_per_server
        most = _most(ports, shape)
        why = (
            f"{gpus:,} GPUs{_grown(wanted)} need {leaves:,} leaves on a spine with {ports.total} ports; the limit "
            f"of this shape is {most:,}"
        )
        return RefusedShape(shape, why)
    spine_spread = spread(need, ports.up, ports.total // leaves)
    return replace(base, spines=spine_spread[0], links_per_spine=spine_spread[1])


def sizes(catalog: Catalog, wanted: SizeRequest) -> dict[Shape, Size | RefusedShape]:
    """Return the size of the fabric for the request, by shape (kind of topology). A shape that does not fit has the reason instead.

    ``port-planes`` is included only if the NICs have several ports.
    """
    planes = catalog.servers[wanted.server].nics["gpu"].ports > 1
    return {shape: size(catalog, wanted, shape) for shape in SHAPES if planes or shape != "port-planes"}


def choose(candidates: dict[Shape, Size | RefusedShape]) -> Size | None:
    """Return the preferred size among the shapes (kinds of topology) in ``candidates`` that fit, or None if no shape fits.

    NICs with several ports get a plane for each port, because only with planes do jobs survive the failure of a whole plane. Otherwise
    the first shape that fits is chosen. Each later shape costs more, or guarantees less, than the shape before.
    """
    return next((candidate for candidate in candidates.values() if isinstance(candidate, Size)), None)


def _grown(wanted: SizeRequest) -> str:
    return f" (grown {wanted.growth:g}x)" if wanted.growth > 1 else ""


def _other_stripes(base: Size, down: int) -> str:
    """Return the reason why the servers cannot be spread over the requested number of stripes.

    ``base`` is the size with the stripes that the servers need. ``down`` is the largest number of servers in a stripe; the server ports
    of the stripe's leaves limit this number.
    """
    servers, asked = counted(base.servers, "server"), base.wanted.stripes
    if asked < base.stripes:
        return f"{servers} need {base.stripes} stripes: the leaves of a stripe have ports for {down}"
    return f"{servers} with {base.servers_per_stripe} per stripe leave one of the {asked} stripes empty"


def _most(ports: Ports, shape: Shape) -> int:
    """Return the largest number of GPUs that a two-tier shape can connect, at the requested oversubscription."""
    leaves = ports.total * {"rail-planes": ports.rails, "port-planes": ports.nic_ports}.get(shape, 1)
    return leaves // ports.rails * ports.down * ports.gpus_per_server


def _super_spine(base: Size, later: int, need: int, there: Size | None) -> Size | RefusedShape:
    """Return the cheapest size with super-spines: the fewest switches above the leaves, then the fewest pods, then the fewest cables.

    - ``base``: the size without spines and super-spines.
    - ``later``: the number of stripes after growth.
    - ``need``: the number of uplinks that a leaf needs.
    - ``there``: the fabric to grow from, or None.
    """
    ports = base.ports
    per_pod = ports.half // ports.rails
    if per_pod == 0:
        return RefusedShape(
            "super-spine", f"half of a spine's ports, {ports.half}, is not enough for a stripe of {ports.rails} leaves"
        )
    same = there.stripes_per_pod if there and there.shape == "super-spine" else 0
    if later <= per_pod and not same:
        few = f"one pod has room for {per_pod} stripes, but there {'is' if later == 1 else 'are'} {later}"
        return RefusedShape("super-spine", f"{few}: super-spines would have only one pod")
    candidates = list(_pods(base, later, need, range(same or 1, (same or per_pod) + 1)))
    if not candidates:
        pods = -(-later // per_pod)
        return RefusedShape("super-spine", f"{pods:,} pods on super-spines with {ports.total} ports")
    return min(
        candidates,
        key=lambda candidate: (
            candidate[0].spine_switches + candidate[0].super_spine_switches,
            candidate[0].pods,
            candidate[1],
        ),
    )[2]


def _pods(base: Size, later: int, need: int, sizes_of_pods: range) -> Iterator[tuple[Size, int, Size]]:
    """Yield (fabric after growth, number of its cables, fabric now) for each pod size that fits.

    - ``base``: the size without spines and super-spines.
    - ``later``: the number of stripes after growth.
    - ``need``: the number of uplinks that a leaf needs.
    - ``sizes_of_pods``: the numbers of stripes per pod to try.
    """
    ports = base.ports
    for per_pod in sizes_of_pods:
        pods, down = -(-later // per_pod), per_pod * ports.rails
        if pods > ports.total:
            continue
        spines, links = spread(need, ports.up, ports.half // down)
        below = down * links
        if below > min(ports.half, ports.group):
            continue
        above, each = spread(below, min(ports.half, ports.group), ports.total // pods, colored=False)
        now = replace(
            base,
            spines=spines,
            links_per_spine=links,
            stripes_per_pod=per_pod,
            super_spines=above,
            links_per_super_spine=each,
        )
        grown = replace(now, stripes=later)
        yield grown, grown.fabric_cables, now


@dataclass(frozen=True, slots=True)
class RelaidCables:
    """The numbers of existing cables that growth moves.

    ``elsewhere`` counts cables that move to another switch, ``ports`` cables that move to other ports of the same
    switch.
    """

    elsewhere: int = 0
    ports: int = 0

    def __add__(self, other: RelaidCables) -> RelaidCables:
        return RelaidCables(self.elsewhere + other.elsewhere, self.ports + other.ports)


@dataclass(frozen=True, slots=True)
class Step:
    """The cost of growth: switches, cables and optics to add (also for the new servers), and cables to move.

    - ``before`` and ``size``: the sizes before and after growth. ``gpus`` is the number of GPUs after growth.
    - ``cables``: the new cables between switches. ``modules``: the new optics.
    - ``laid``: the existing cables between switches that must move.
    - ``servers_laid``: the existing server cables that must move.
    """

    before: Size
    gpus: int
    size: Size | RefusedShape
    switches: int = 0
    server_cables: int = 0
    cables: int = 0
    modules: int = 0
    laid: RelaidCables = RelaidCables()
    servers_laid: int = 0

    @property
    def moved(self) -> int:
        """The number of existing cables that growth moves."""
        return self.laid.elsewhere + self.laid.ports + self.servers_laid


def grow(catalog: Catalog, before: Size, factor: float, shape: Shape | None = None) -> Step:
    """Return the cost of growing a fabric (``before``) to ``factor`` times its servers.

    ``shape`` is the kind of topology after growth; None keeps the present kind. If the grown fabric does not fit, ``size`` of the result
    has the reason.
    """
    servers = replace(before.wanted, growth=factor).grown(before.servers)
    gpus = servers * before.ports.gpus_per_server
    room = max(1.0, before.wanted.growth / factor)
    after = size(catalog, replace(before.wanted, gpus=gpus, growth=room, stripes=0), shape or before.shape, before)
    if isinstance(after, RefusedShape):
        return Step(before, gpus, after)
    return Step(
        before,
        gpus,
        after,
        after.switches - before.switches,
        after.server_cables - before.server_cables,
        after.fabric_cables - before.fabric_cables,
        after.modules - before.modules,
        _laid(before, after),
        # servers stay where they are, unless uplinks take their ports, or other leaves their place
        before.server_cables if not before.spines and (after.spines or after.shape != before.shape) else 0,
    )


def growth_steps(catalog: Catalog, current: Size, factor: float, *, every: bool = False) -> list[Step]:
    """Return the growth step to ``factor`` times the servers with the present shape (kind of topology).

    If the grown fabric does not fit this shape, or if ``every`` is True, add a step for each other shape that fits.
    """
    first = grow(catalog, current, factor)
    if isinstance(first.size, Size) and not every:
        return [first]
    steps = [grow(catalog, current, factor, shape) for shape in SHAPES[SHAPES.index(current.shape) + 1 :]]
    return [first, *(step for step in steps if isinstance(step.size, Size))]


def default_growth(current: Size) -> float:
    """Return the growth factor to compute: the requested factor, or else 2.0 (twice the servers)."""
    return current.wanted.growth if current.wanted.growth > 1 else 2.0


def _laid(before: Size, after: Size) -> RelaidCables:
    """Return the numbers of cables between switches that must move when the fabric grows from the size ``before`` to ``after``.

    A switch's ports are determined by its own number, its neighbor's number and the number of links to each neighbor. If the number
    of links changes, the ports change.
    """
    if {"rail-planes", "port-planes"} & {before.shape, after.shape} and before.shape != after.shape:
        return RelaidCables(before.fabric_cables)  # other spines for every leaf of a plane
    links = before.links_per_spine, after.links_per_spine
    laid = RelaidCables()
    for stripe in range(before.stripes):
        pod, slot = _place(before, stripe)
        stays = pod == _place(after, stripe)[0]
        for rail in range(before.leaves_per_stripe):
            place = slot * before.leaves_of_block + rail % before.leaves_of_block
            same = slot == _place(after, stripe)[1]
            laid += _of_one(place, links, (before.spines, after.spines if stays else 0), same=same)
    up = before.links_per_super_spine, after.links_per_super_spine
    for pod in range(before.pods if before.super_spines else 0):
        pod_laid = _of_one(pod, up, (before.super_spines, after.super_spines), same=True)
        kept, gone = min(before.spines, after.spines), max(0, before.spines - after.spines)
        laid += RelaidCables(kept * pod_laid.elsewhere + gone * before.spine_uplinks, kept * pod_laid.ports)
    return laid


def _place(size: Size, stripe: int) -> tuple[int, int]:
    """Return (pod of a stripe, position of the stripe in that pod), both counted from 0."""
    return divmod(stripe, size.stripes_per_pod) if size.stripes_per_pod else (0, stripe)


def _of_one(place: int, links: tuple[int, int], uppers: tuple[int, int], *, same: bool) -> RelaidCables:
    """Return the numbers of links that must move on one switch when the fabric grows.

    ``place`` is the number of the switch among the switches with the same upper switches, from 0. ``links`` (per upper switch) and
    ``uppers`` (number of upper switches) are pairs: before and after growth. ``same`` is True if the switch keeps its number. Link n
    to upper switch u has port u x links + n on this switch, and port place x links + n on the upper switch.
    """
    total, both = links[0] * uppers[0], min(uppers)
    between = both * min(links)
    if not same:
        unmoved = 0
    elif links[0] == links[1]:
        unmoved = between
    else:  # both ports are the same only where u = place
        unmoved = max(0, min(links) - place * abs(links[0] - links[1])) if place < both else 0
    return RelaidCables(total - between, between - unmoved)
