"""What the model says of a turn: queue pairs that cross what breaks, those that keep a path, and the time of the scenario's job."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.operations.deploy.campaign.radius import down

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.operations.deploy.campaign.turns import Turn

MOST_PAIRS = 512
"""Pairs of NICs of one rail that are looked at."""


@dataclass(frozen=True)
class Predicted:
    """Of ``queue_pairs`` looked at, ``crossing`` use what breaks, and ``keep`` have a path while it lasts; None: not known."""

    queue_pairs: int
    crossing: int
    keep: int | None

    def line(self) -> str:
        """The same in a cell."""
        keep = (
            "not known how many keep a path"
            if self.keep is None
            else f"{self.keep:,} of {self.queue_pairs:,} keep a path"
        )
        return f"{keep}; {self.crossing:,} move"


def predicted(network: Network, configs: Mapping[str, DeviceConfig], turn: Turn) -> Predicted:
    """What routing does in a turn, once it has settled."""
    gone = [down(configs, network, one) for one in turn.targets]
    plane = ControlPlane(configs.values(), network.absent)
    before = _ways(network, plane.routes(network.absent))
    names = {name for one in gone for name in one or ()}
    cables = {one.name for one in network.cables if {one.name, one.a.device, one.b.device} & names}
    crossing = sum(bool(cables & links) for links in before.values())
    if None in gone:
        return Predicted(len(before), crossing, None)
    after = _ways(network, plane.routes(frozenset(network.absent) | names))
    return Predicted(len(before), crossing, len(after))


def _ways(network: Network, routes: Routes) -> dict[tuple[str, str, str], set[str]]:
    """The links of each queue pair that has a path, by source, destination and source address."""
    found: dict[tuple[str, str, str], set[str]] = {}
    nics = [
        (f"{server.name}:{nic.name}", nic)
        for server in network.servers
        if server.name not in network.absent
        for nic in server.nics
        if nic.addresses
    ]
    pairs = [
        (src, dst, near)
        for (src, near), (dst, far) in permutations(nics, 2)
        if src.partition(":")[0] != dst.partition(":")[0]
        and (near.fabric, near.rail, near.tenant) == (far.fabric, far.rail, far.tenant)
        and network.plane_of(near) == network.plane_of(far)
        and not {one.family for one in near.addresses}.isdisjoint(one.family for one in far.addresses)
    ]
    step = max(len(pairs) // MOST_PAIRS, 1)
    for src, dst, near in pairs[::step]:
        for path in queue_pair_paths(network, routes, src, dst, len(near.addresses_of(near.addresses[0].family))):
            if path.hops:
                found[src, dst, path.src_gid] = {one.link for hop in path.hops for one in hop}
    return found
