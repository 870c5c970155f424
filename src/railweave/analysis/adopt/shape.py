"""Stripes, rails, spines and pods of a fabric, each in the order that its numbers follow from."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.analysis.adopt.equipment import places_of
from railweave.analysis.adopt.server_models import rails
from railweave.analysis.adopt.sites import across_sites
from railweave.analysis.adopt.stripes import number, place_servers, stripes_of
from railweave.analysis.adopt.upper_tiers import by_plane, parallel, pods_of, unlike_pods, upper_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.analysis.adopt.equipment import Place
    from railweave.analysis.adopt.sites import Across
    from railweave.analysis.adopt.stripes import Stripe
    from railweave.analysis.adopt.wiring import End, Wiring
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.fabric import RoleName


@dataclass(slots=True)
class Shape:
    """What a fabric is made of. ``rails`` are those of a server, ``links`` the parallel links of a leaf to each spine.

    ``spines`` and ``super_spines`` are by number; those of a pod stand together, ``pods`` says how many pods there are. Where
    ``routers`` join sites, or leaves do, ``across`` says how, and the spines of each site are a pod.
    """

    stripes: list[Stripe]
    rails: int
    spines: list[str]
    super_spines: list[str]
    links: int
    super_links: int
    link_speed: int
    places: dict[tuple[str, str], Place]
    wiring: Wiring
    pods: int = 1
    routers: list[str] = field(default_factory=list[str])
    across: Across | None = None
    notes: list[str] = field(default_factory=list[str])

    @property
    def leaves(self) -> list[str]:
        """The leaves, stripe by stripe."""
        return [leaf for stripe in self.stripes for leaf in stripe.leaves]

    @property
    def per_stripe(self) -> int:
        """Leaves of a stripe."""
        return max(len(one.leaves) for one in self.stripes)

    @property
    def stripes_per_pod(self) -> int:
        """Stripes that share one set of spines."""
        return -(-len(self.stripes) // self.pods)

    @property
    def leaf_places(self) -> dict[str, int]:
        """The place of each leaf among those that share its spines, which decides the spines' ports."""
        around = self.stripes_per_pod if self.super_spines else max(one.slot for one in self.stripes)
        before = {
            one.name: [other for other in self.stripes if other.pod == one.pod].index(one)
            if self.routers
            else (one.slot - 1) % around
            for one in self.stripes
        }
        return {
            leaf: before[one.name] * self.per_stripe + at
            for one in self.stripes
            for at, leaf in enumerate(one.leaves, 1)
        }

    @property
    def spine_places(self) -> dict[str, int]:
        """The place of each spine among those that a leaf has links to, which decides the leaves' ports."""
        each = max(1, len(self.spines) // self.pods)
        return {name: at % each + 1 for at, name in enumerate(self.spines)}

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each leaf, which AS numbers follow from."""
        each = self.per_stripe
        return {leaf: (one.slot - 1) * each + at for one in self.stripes for at, leaf in enumerate(one.leaves, 1)}


def shape(
    configs: Mapping[str, DeviceConfig],
    wiring: Wiring,
    tiers: Mapping[RoleName, Sequence[str]],
    model: Mapping[str, str],
) -> Shape:
    """The shape of one fabric, whose switches ``tiers`` has by role; ``model`` is the model of each."""
    places = {
        (name, port): there
        for tier in tiers.values()
        for name in tier
        for port, there in places_of(configs[name], model[name]).items()
    }
    roles: tuple[RoleName, ...] = ("leaf", "spine", "super-spine", "dci")
    leaves, spines, supers, routers = (list(tiers.get(role, ())) for role in roles)
    servers = {end: far for end, far in wiring.servers.items() if end.device in leaves}
    stripes = stripes_of(leaves, servers, configs)
    pods = pods_of(stripes, spines, wiring, configs) if supers or routers else []
    number(stripes, configs, wiring, [*spines, *supers], places)
    spine_order = [one for pod in pods or [spines] for one in upper_order(leaves, pod, wiring, places, configs)]
    super_order = upper_order(spine_order, supers, wiring, places, configs)
    router_order = upper_order(spine_order, routers, wiring, places, configs)
    across = across_sites(stripes, pods, router_order, wiring, places) if routers or not spines else None
    speed = Counter(
        place.speed_gbps
        for end, _ in wiring.between(leaves, spines)
        if (place := places.get((end.device, end.port))) is not None
    )
    place_servers(stripes, servers, places)
    notes = [] if routers else list(unlike_pods(stripes, pods))
    if len({len(one.leaves) for one in stripes}) > 1:
        notes.append(
            f"stripes have {sorted({len(one.leaves) for one in stripes})} leaves; the file has the most in each"
        )
    return Shape(
        stripes=stripes,
        rails=_rails(servers.values()) or len(stripes[0].leaves),
        spines=spine_order,
        super_spines=by_plane(super_order, wiring, spine_order, max(1, len(pods))),
        links=parallel(wiring, leaves, spines),
        super_links=parallel(wiring, spines, [*supers, *routers]),
        link_speed=speed.most_common(1)[0][0] if speed else 400,
        places=places,
        wiring=wiring,
        pods=max(1, len(pods)),
        routers=list(across.borders) if routers and across else [],
        across=across,
        notes=notes,
    )


def _rails(nics: Iterable[End]) -> int:
    """The rails of the server with the most; 0 where there is none."""
    ports: dict[str, list[str]] = defaultdict(list)
    for one in nics:
        if one.device:
            ports[one.device].append(one.port)
    return max(map(rails, ports.values()), default=0)
