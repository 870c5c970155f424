"""The network that remains after a drain: its capacity, its losses, and the leaves that would still use drained links."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from railweave.analysis.routing.candidates import originated
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.table import UNREACHABLE, Routes
from railweave.counting import counted
from railweave.model.network.status import present, reachable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

SHOWN = 3
"""The largest number of device, link or NIC names in a line of this module. Further names are only counted."""


def capacity(before: Network, after: Network) -> Iterator[str]:
    """Yield a line for each capacity that is smaller in ``after`` than in ``before``: uplinks of leaves and spines, path colors, NICs of servers."""
    for role, plural in (("leaf", "leaves"), ("spine", "spines")):
        old, new = (_uplinks(present(network), role) for network in (before, after))
        for fabric in before.fabrics:
            shares = {
                name: sum(new.get(name, {}).values()) / sum(colors.values())
                for name, colors in old.items()
                if before.switch(name).fabric == fabric.name and name not in after.drained
            }
            less = {name: share for name, share in shares.items() if share < 1}
            if less:
                worst = min(less, key=lambda name: less[name])
                yield (
                    f"fabric {fabric.name}: {len(less)} of {counted(len(shares), role, plural)} lose uplinks; "
                    f"{worst} keeps least, {less[worst]:.0%} of {sum(old[worst].values()):,} Gb/s"
                )
            for color in fabric.colors if role == "leaf" else ():
                was, now = (
                    sum(colors.get(color.index, 0) for name, colors in uplinks.items() if name in shares)
                    for uplinks in (old, new)
                )
                if now < was:
                    yield f"path color {color.name} keeps {now / was:.0%} of {was:,} Gb/s"
    nics = [sum(len(server.nics) for server in present(network).servers) for network in (before, after)]
    if nics[1] < nics[0]:
        yield f"{counted(nics[1], 'NIC')} of {nics[0]} can be reached"


def lost_parts(before: Network, after: Network, configs: Mapping[str, DeviceConfig]) -> Iterator[str]:
    """Yield a line for each kind of loss in the network ``after``, compared with the network ``before``.

    The kinds are: path colors of leaves, all uplinks of leaves, rail planes, tenants, NICs of servers, and routes. ``configs`` has the
    configurations of ``after``.
    """
    old, new = (_uplinks(present(network), "leaf") for network in (before, after))
    stay = [leaf for leaf in old if leaf not in after.absent]
    lost: dict[str, list[str]] = {}
    for leaf in stay:
        if not new.get(leaf):
            lost.setdefault("every uplink", []).append(leaf)
            continue
        fabric = before.fabric(before.switch(leaf).fabric)
        for color in old[leaf].keys() - new[leaf].keys() - {None}:
            lost.setdefault(f"path color {fabric.color_name(color)}", []).append(leaf)
    for loss, leaves in sorted(lost.items()):
        yield f"{loss} would be gone on {_listed(leaves)}"
    yield from _planes(before, after)
    yield from _tenants(before, after)
    if cut := _cut(before, after):
        yield f"{counted(len(cut), 'NIC')} would be cut off: {_listed(cut)}"
    plane = ControlPlane(configs.values(), before.absent)
    was, now = plane.routes(), plane.routes(after.absent - before.absent)
    own_prefixes = {prefix for leaf in stay if leaf in configs for prefix in originated(configs[leaf])}
    others = np.array([prefix in own_prefixes for prefix in now.prefixes], dtype=np.bool_)
    route_count = sum(
        int(((now.fibs[leaf].group == UNREACHABLE) & (was.fibs[leaf].group != UNREACHABLE) & others).sum())
        for leaf in stay
        if leaf in now.fibs
    )
    if route_count and not cut:
        yield f"{counted(route_count, 'route')} of leaves would be gone"


def still_used(network: Network, configs: Mapping[str, DeviceConfig], links: frozenset[str]) -> Iterator[str]:
    """Yield a line for each leaf whose packets would still cross drained links although another path exists.

    ``network`` includes the drained parts. ``configs`` are the configurations that announce the drain to routing.
    Drained leaves are left out.
    """
    now = ControlPlane(configs.values(), reachable(network).absent).routes()
    without = ControlPlane(configs.values(), network.absent).routes()
    crossing = _crossing(network, now, links)
    for switch in network.switches:
        if switch.role != "leaf" or switch.name in network.drained or switch.name not in without.fibs:
            continue
        bad = crossing[switch.name] & (without.fibs[switch.name].group >= 0)
        if bad.any():
            prefixes = [now.prefixes[place] for place in np.flatnonzero(bad).tolist()]
            yield f"{switch.name} would still send {_listed(prefixes)} that way: the drain does not beat what it prefers"


def _crossing(network: Network, routes: Routes, links: frozenset[str]) -> dict[str, NDArray[np.bool_]]:
    """Return, for each device, a mask over all prefixes: True if the device's packets to a prefix may cross one of ``links``."""
    far: dict[tuple[str, str], str] = {}
    for cable in network.cables:
        far[cable.a.device, cable.name], far[cable.b.device, cable.name] = cable.b.device, cable.a.device
    crossing = {name: np.zeros(len(routes.prefixes), dtype=np.bool_) for name in routes.fibs}
    changed = True
    while changed:
        changed = False
        for name, fib in routes.fibs.items():
            over = np.zeros(len(routes.prefixes), dtype=np.bool_)
            for group in cast("list[int]", np.unique(fib.group[fib.group >= 0]).tolist()):
                members, mine = set(routes.groups[group]), fib.group == group
                if links & members:
                    over |= mine
                    continue
                for link in members:
                    beyond = crossing.get(far.get((name, link), ""))
                    if beyond is not None:
                        over |= mine & beyond
            if (over & ~crossing[name]).any():
                crossing[name] |= over
                changed = True
    return crossing


def _uplinks(network: Network, role: str) -> dict[str, dict[int | None, int]]:
    """Return the uplink capacity in Gb/s of the switches with a role: by switch, then by path color."""
    names = {switch.name for switch in network.switches if switch.role == role}
    by_switch: dict[str, dict[int | None, int]] = {}
    for cable in network.cables:
        if cable.kind == "fabric" and cable.a.device in names:
            by_color = by_switch.setdefault(cable.a.device, {})
            by_color[cable.color] = by_color.get(cable.color, 0) + cable.speed_gbps
    return by_switch


def _planes(before: Network, after: Network) -> Iterator[str]:
    for role in ("spine", "super-spine"):
        old, new = (
            {
                (switch.fabric, switch.plane)
                for switch in present(network).switches
                if switch.role == role and switch.plane
            }
            for network in (before, after)
        )
        for fabric, plane in sorted(old - new):
            yield f"plane {plane} of fabric {fabric} would have no {role} left"


def _tenants(before: Network, after: Network) -> Iterator[str]:
    old, new = (
        {nic.tenant for server in present(network).servers for nic in server.nics if nic.tenant}
        for network in (before, after)
    )
    for tenant in sorted(old - new):
        yield f"tenant {tenant} would have no NIC left"


def _cut(before: Network, after: Network) -> list[str]:
    """Return the NICs of the network ``before`` that lose their connection in ``after``, as ``SERVER:NIC``.

    NICs whose server or own link is drained are left out.
    """
    old, new = (
        {f"{server.name}:{nic.name}" for server in present(network).servers for nic in server.nics}
        for network in (before, after)
    )
    meant = {
        f"{cable.a.device}:{cable.a.port}"
        for cable in after.cables
        if cable.kind == "server" and (cable.a.device in after.drained or cable.name in after.drained)
    }
    return sorted(old - new - meant)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
