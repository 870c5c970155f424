"""From "I have so many GPUs and these switches" to a fabric: every shape counted, and the one to take.

Arithmetic on the catalog alone. But for ``one-leaf``, shapes are rail-optimised with one leaf a rail and stripe:

- ``port-planes``: NICs of several ports alone; the first ports of all NICs are on a network of their own, so are the second ones. Each of
  these planes is two tiers, or one leaf where all its ports fit.
- ``one-leaf``: every NIC on one switch.
- ``two-tier``: one set of spines joins all leaves. It ends where a spine has a port for every leaf.
- ``rail-planes``: each rail has spines of its own, so there are as many times more leaves as rails; no path from rail to
  rail. A rail of one leaf needs no spines, and servers may have all of its ports.
- ``super-spine``: pods of stripes with spines of their own, half of whose ports go up to super-spines.

Stripes are as few as the ports allow and as full as each other. Spines are the fewest whose links carry them at the
oversubscription asked for; each takes the same number of links from every leaf it joins, no more than its ports allow
once grown: then growth up to the size asked for moves no cable.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.design.sizing.size import SHAPES, Ports, Refused, Size
from railweave.design.sizing.uplinks import default_server_first, shared, spread
from railweave.model.catalog.breakouts import breakout_of
from railweave.model.intent.pools import Pools
from railweave.model.intent.topology import PortRange, Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.sizing.size import Shape, Wanted
    from railweave.model.catalog.models import Catalog


def ports_of(catalog: Catalog, wanted: Wanted) -> Ports:
    """How a switch's ports serve a server's NICs. Raises ``ValueError`` where they have no speed in common."""
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
    return Ports(
        speed_gbps=speed,
        total=group.count * breakout.channels,
        down_built=down,
        down=min(down, math.floor(up * wanted.ratio)),
        up=up,
        per_module=breakout.channels,
        rails=len(nics.names),
        gpus_per_server=server.gpus,
        group=widest,
        nic_ports=nics.ports,
    )


def size(catalog: Catalog, wanted: Wanted, shape: Shape, there: Size | None = None) -> Size | Refused:
    """The fabric of one shape for what is wanted, or why there is none.

    ``there`` is what it grows from: it keeps its stripes with their servers, as many uplinks, and its pods.
    """
    ports = ports_of(catalog, wanted)
    servers = -(-wanted.gpus // ports.gpus_per_server)
    grown = wanted.grown(servers)
    if shape == "rail-planes" and ports.nic_ports > 1:
        return Refused(shape, f"NICs of {ports.nic_ports} ports take a plane for each port")
    if wanted.stripes > 1 and shape == "one-leaf":
        return Refused(shape, f"it is one stripe, and {wanted.stripes} are asked for")
    if shape == "one-leaf":
        need = grown * ports.rails
        if need > ports.total:
            return Refused(
                shape,
                f"{need:,} {'NICs' if ports.nic_ports == 1 else 'ports of NICs'}{_grown(wanted)} on a switch of {ports.total} ports",
            )
        return Size(shape, wanted, ports, servers, 1, servers)
    if there and not there.spines:
        there = None  # its servers have ports that uplinks then take: they are laid anew
    on_a_leaf = {"rail-planes": grown, "port-planes": grown * ports.nics}.get(shape)
    if on_a_leaf is not None and on_a_leaf <= ports.total and not there and wanted.stripes <= 1:
        return Size(shape, wanted, ports, servers, 1, servers)  # one leaf a rail, or a plane, joins all its NICs
    if not ports.down:
        return Refused(shape, f"at {wanted.oversubscription:g}:1 no port of a leaf is left for uplinks")
    asked = max(wanted.stripes, there.stripes if there else 1)
    later = max(-(-grown // ports.down), asked)
    each = max(-(-grown // later), there.servers_per_stripe if there else 1)
    stripes = max(-(-servers // each), asked)
    fullest = max(-(-servers // stripes), there.servers_per_stripe if there else 1)
    need = max(1, math.ceil(each / wanted.ratio), there.uplinks if there else 1)
    base = Size(shape, wanted, ports, servers, stripes, fullest)
    first, last = Pools().vlan
    if later * ports.rails > last - first + 1:
        vlans = (
            f"{later:,} stripes{_grown(wanted)} of {counted(ports.rails, 'rail')} take {later * ports.rails:,} VLANs"
        )
        return Refused(shape, f"{vlans}, and there are {last - first + 1:,}")
    if wanted.stripes and (wanted.stripes != stripes or -(-servers // fullest) != stripes):
        return Refused(shape, _other_stripes(base, ports.down))
    if shape == "super-spine":
        return _super_spine(base, later, need, there)
    leaves = later * replace(base, spines=1).leaves_of_block
    if leaves > ports.total:
        gpus = grown * ports.gpus_per_server
        most = _most(ports, shape)
        why = f"{gpus:,} GPUs{_grown(wanted)} put {leaves:,} leaves on a spine of {ports.total} ports; it ends at {most:,}"
        return Refused(shape, why)
    found = spread(need, ports.up, ports.total // leaves)
    return replace(base, spines=found[0], links_per_spine=found[1])


def sizes(catalog: Catalog, wanted: Wanted) -> dict[Shape, Size | Refused]:
    """Every shape for what is wanted; planes of NIC ports only where NICs have several."""
    planes = catalog.servers[wanted.server].nics["gpu"].ports > 1
    return {shape: size(catalog, wanted, shape) for shape in SHAPES if planes or shape != "port-planes"}


def choose(found: dict[Shape, Size | Refused]) -> Size | None:
    """The shape to take: the first that fits; None: none does.

    NICs with several ports get a plane for each, for only then may a network fail and jobs go on. Of the others each costs more or
    promises less than the one before.
    """
    return next((one for one in found.values() if isinstance(one, Size)), None)


def _grown(wanted: Wanted) -> str:
    return f" (grown {wanted.growth:g}x)" if wanted.growth > 1 else ""


def _other_stripes(base: Size, down: int) -> str:
    """Why servers are not spread over as many stripes as asked for."""
    servers, asked = counted(base.servers, "server"), base.wanted.stripes
    if asked < base.stripes:
        return f"{servers} take {base.stripes} stripes: the leaves of a stripe have ports for {down}"
    return f"{servers} with {base.servers_per_stripe} in a stripe leave one of {asked} stripes without any"


def _most(ports: Ports, shape: Shape) -> int:
    """Most GPUs of a shape of two tiers, at its oversubscription."""
    leaves = ports.total * {"rail-planes": ports.rails, "port-planes": ports.nic_ports}.get(shape, 1)
    return leaves // ports.rails * ports.down * ports.gpus_per_server


def _super_spine(base: Size, later: int, need: int, there: Size | None) -> Size | Refused:
    """Pods of a size that costs the fewest spines and super-spines, the fewest pods among those, then the fewest cables."""
    ports = base.ports
    per_pod = ports.half // ports.rails
    if per_pod == 0:
        return Refused("super-spine", f"half a spine, {ports.half} ports, joins no stripe of {ports.rails} leaves")
    same = there.stripes_per_pod if there and there.shape == "super-spine" else 0
    if later <= per_pod and not same:
        few = f"one pod holds {per_pod} stripes, and there {'is' if later == 1 else 'are'} {later}"
        return Refused("super-spine", f"{few}: super-spines would have only one pod")
    found = list(_pods(base, later, need, range(same or 1, (same or per_pod) + 1)))
    if not found:
        pods = -(-later // per_pod)
        return Refused("super-spine", f"{pods:,} pods on super-spines of {ports.total} ports")
    return min(found, key=lambda one: (one[0].spine_switches + one[0].super_spine_switches, one[0].pods, one[1]))[2]


def _pods(base: Size, later: int, need: int, sizes_of_pods: range) -> Iterator[tuple[Size, int, Size]]:
    """Every size of pods that fits: the fabric once grown, its cables, and the fabric now."""
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
