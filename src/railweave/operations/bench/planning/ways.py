"""What the packets of a pair of NICs cross, there and back, and which pairs are alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import ways
from railweave.model.device.build import device_config
from railweave.prediction.simulation.model.wiring import delay_ps

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.operations.bench.planning.places import Place

ALIKE_PS = 10_000_000
"""Cables whose delays differ by less are alike: inside a building no cable makes a pair faster or slower."""


@dataclass(frozen=True)
class Routed:
    """A network with what its control plane settles on."""

    network: Network
    plane: ControlPlane
    routes: Routes
    kinds: dict[str, tuple[int, int, bool]] = field(default_factory=dict[str, tuple[int, int, bool]])
    """Of each link that was asked about: speed, delay in units of ``ALIKE_PS``, and whether it is between sites."""

    @classmethod
    def of(cls, network: Network) -> Routed:
        """Work it out."""
        configs: Mapping[str, DeviceConfig] = {one.name: device_config(network, one.name) for one in network.switches}
        plane = ControlPlane(configs.values(), network.absent)
        return cls(network, plane, plane.routes())

    def kind(self, link: str) -> tuple[int, int, bool]:
        """What makes a link faster or slower than another."""
        found = self.kinds.get(link)
        if found is None:
            cable = self.network.cable(link)
            found = cable.speed_gbps, delay_ps(cable) // ALIKE_PS, self.network.between_sites(cable)
            self.kinds[link] = found
        return found


@dataclass(frozen=True, slots=True)
class Way:
    """The way of a pair of NICs, both directions together.

    - ``links``: what its packets cross, in order; empty where a hash or a load decides on any of it.
    - ``possible``: every link that they may cross.
    - ``widest``: between how many links the widest choice is.
    - ``alike``: equal where nothing makes one pair faster than another: speeds, long cables and choices of every hop.
    - ``far``: whether it leads from a site to another.
    """

    links: tuple[str, ...]
    possible: frozenset[str]
    widest: int
    alike: Hashable
    far: bool


def way(routed: Routed, one: Place, other: Place, places: tuple[int, int]) -> Way | None:
    """The way between the addresses in these places of two NICs; None where packets do not arrive, there or back."""
    network, routes = routed.network, routed.routes
    here, there = (one.server.name, one.nic), (other.server.name, other.nic)
    to, back = other.nic.addresses[places[1]].address, one.nic.addresses[places[0]].address
    both = ways(network, routes, here, there, to), ways(network, routes, there, here, back)
    if not all(both):
        return None
    hops = [hop for hops in both for hop in hops]
    kinds = [tuple((len(hop), frozenset(routed.kind(share.link) for share in hop)) for hop in hops) for hops in both]
    pinned = all(len(hop) == 1 for hop in hops)
    return Way(
        tuple(dict.fromkeys(hop[0].link for hop in hops)) if pinned else (),
        frozenset(share.link for hop in hops for share in hop),
        max(map(len, hops)),
        (one.model, other.model, *kinds),
        any(far for hops in kinds for _, own in hops for _, _, far in own),
    )
