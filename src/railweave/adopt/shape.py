"""Stripes, rails, spines and pods of a fabric, each in the order that its numbers follow from."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.adopt.equipment import places_of
from railweave.adopt.order import natural
from railweave.adopt.server_models import rails, rails_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.adopt.equipment import Place
    from railweave.adopt.wiring import End, Wiring
    from railweave.device.model import DeviceConfig
    from railweave.network.fabric import RoleName


MOST_GAPS = 4
"""AS numbers may leave out so many times as many stripes as there are; other steps between them count nothing."""


@dataclass(slots=True)
class Stripe:
    """Leaves that share servers, in the order of their rails; ``slot`` is the number that allocations follow from.

    ``servers`` are their names by slot; ``described`` is what gateways call the stripe, where they do.
    """

    slot: int
    leaves: list[str]
    servers: dict[str, int] = field(default_factory=dict[str, int])
    described: str = ""
    name: str = ""
    pod: int = 0


@dataclass(slots=True)
class Shape:
    """What a fabric is made of. ``rails`` are those of a server, ``links`` the parallel links of a leaf to each spine.

    ``spines`` and ``super_spines`` are by number; those of a pod stand together, ``pods`` says how many pods there are.
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
        return {
            leaf: ((one.slot - 1) % around) * self.per_stripe + at
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
    leaves, spines = tiers.get("leaf", ()), tiers.get("spine", ())
    supers = tiers.get("super-spine", ())
    notes: list[str] = []
    servers = {end: far for end, far in wiring.servers.items() if end.device in leaves}
    rail_of = rails_of(servers.values())
    stripes = [Stripe(0, one) for one in _sharing(leaves, servers)]
    for one in stripes:
        first = _first_rail(servers, rail_of)
        one.leaves.sort(key=lambda leaf: (first.get(leaf, 0), _asn(configs[leaf]), natural(leaf)))
        one.described = _described(configs[leaf] for leaf in one.leaves)
    far = wiring.far()
    pods = _pods(stripes, far, set(spines), configs) if supers else []
    _number(stripes, configs, _spine_places(far, places, set(leaves)))
    stripes.sort(key=lambda one: one.slot)
    spine_order = [one for pod in pods or [spines] for one in _upper_order(leaves, pod, far, places, configs)]
    super_order = _by_plane(
        _upper_order(spine_order, supers, far, places, configs), far, spine_order, max(1, len(pods))
    )
    above = set(spines)
    speed = Counter(
        places[end.device, end.port].speed_gbps
        for end, there in far.items()
        if end.device in leaves and there.device in above and (end.device, end.port) in places
    )
    found = Shape(
        stripes=stripes,
        rails=max(
            (rails(nic.port for nic in nics) for nics in _by_server(servers).values()),
            default=len(stripes[0].leaves),
        ),
        spines=spine_order,
        super_spines=super_order,
        links=_parallel(far, leaves, spines),
        super_links=_parallel(far, spines, supers),
        link_speed=speed.most_common(1)[0][0] if speed else 400,
        places=places,
        wiring=wiring,
        pods=max(1, len(pods)),
        notes=notes,
    )
    _check_pods(found, pods)
    if len({len(one.leaves) for one in stripes}) > 1:
        found.notes.append(
            f"stripes have {sorted({len(one.leaves) for one in stripes})} leaves; the file has the most in each"
        )
    _place_servers(found, servers)
    return found


def _sharing(leaves: Sequence[str], servers: Mapping[End, End]) -> list[list[str]]:
    """Leaves that have servers in common, in sets; those whose servers have no names are a set each."""
    home = {leaf: {leaf} for leaf in leaves}
    for ends in _leaves_of(servers).values():
        whole = set[str]().union(*(home[leaf] for leaf in ends))
        for leaf in whole:
            home[leaf] = whole
    found: list[list[str]] = []
    for leaf in leaves:
        if not any(leaf in one for one in found):
            found.append([one for one in leaves if one in home[leaf]])
    return found


def _leaves_of(servers: Mapping[End, End]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for end, nic in servers.items():
        if nic.device:
            found[nic.device].add(end.device)
    return found


def _by_server(servers: Mapping[End, End]) -> dict[str, list[End]]:
    found: dict[str, list[End]] = defaultdict(list)
    for nic in servers.values():
        if nic.device:
            found[nic.device].append(nic)
    return found


def _first_rail(servers: Mapping[End, End], rail_of: Mapping[End, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for end, nic in servers.items():
        if nic in rail_of:
            found[end.device] = min(found.get(end.device, 1 << 16), rail_of[nic])
    return found


def _asn(config: DeviceConfig) -> int:
    return config.bgp.asn if config.bgp else 0


def _described(configs: Iterable[DeviceConfig]) -> str:
    """The stripe that all gateways name in the form of our own descriptions, ``STRIPE rail N``."""
    found = {
        text.partition(" rail ")[0] if " rail " in text else ""
        for one in configs
        for text in (g.description for g in one.gateways)
    }
    return found.pop() if len(found) == 1 else ""


def _spine_places(
    far: Mapping[End, End], places: Mapping[tuple[str, str], Place], leaves: set[str]
) -> dict[str, tuple[int, int]]:
    """Where on its spines each leaf comes first."""
    found: dict[str, tuple[int, int]] = {}
    for end, there in far.items():
        place = places.get((there.device, there.port))
        if end.device in leaves and there.device not in leaves and place:
            found[end.device] = min(found.get(end.device, place.key), place.key)
    return found


def _number(
    stripes: list[Stripe], configs: Mapping[str, DeviceConfig], on_spines: Mapping[str, tuple[int, int]]
) -> None:
    """Give stripes their slots: in the order of their ports on the spines, with the gaps that AS numbers show."""
    each = max(len(one.leaves) for one in stripes)
    ordered = sorted(
        stripes,
        key=lambda one: (
            one.pod,
            min(on_spines.get(leaf, (0, 0)) for leaf in one.leaves),
            min(_asn(configs[leaf]) for leaf in one.leaves),
            natural(one.leaves[0]),
        ),
    )
    asns = [_asn(configs[one.leaves[0]]) for one in ordered]
    steps = [asn - asns[0] for asn in asns]
    by_asn = (
        all(asns)
        and all(step % each == 0 for step in steps)
        and steps == sorted(set(steps))
        and steps[-1] < each * MOST_GAPS * max(16, len(ordered))
    )
    for rank, one in enumerate(ordered, 1):
        one.slot = steps[rank - 1] // each + 1 if by_asn else rank


def _upper_order(
    lower: Sequence[str],
    upper: Sequence[str],
    far: Mapping[End, End],
    places: Mapping[tuple[str, str], Place],
    configs: Mapping[str, DeviceConfig],
) -> list[str]:
    """Switches of a tier in the order of the ports of those below them, then of their AS numbers."""
    first: dict[str, tuple[int, int]] = {}
    below, above = set(lower), set(upper)
    for end, there in far.items():
        place = places.get((end.device, end.port))
        if end.device in below and there.device in above and place:
            first[there.device] = min(first.get(there.device, place.key), place.key)
    return sorted(upper, key=lambda name: (first.get(name, (0, 0)), _asn(configs[name]), natural(name)))


def _pods(
    stripes: Sequence[Stripe], far: Mapping[End, End], spines: set[str], configs: Mapping[str, DeviceConfig]
) -> list[list[str]]:
    """The spines of each pod, which are those that a stripe's leaves have links to, in the order of the leaves' AS numbers."""
    found: list[list[str]] = []
    for stripe in sorted(
        stripes, key=lambda one: (min(_asn(configs[leaf]) for leaf in one.leaves), natural(one.leaves[0]))
    ):
        above = sorted(
            {there.device for end, there in far.items() if end.device in stripe.leaves and there.device in spines}
        )
        if above not in found:
            found.append(above)
        stripe.pod = found.index(above)
    return found


def _by_plane(supers: Sequence[str], far: Mapping[End, End], spines: Sequence[str], pods: int) -> list[str]:
    """Super-spines by plane: that of the spines that each joins, which have one number in all pods."""
    each = max(1, len(spines) // pods)
    number = {name: at % each for at, name in enumerate(spines)}
    plane = {end.device: number[there.device] for end, there in far.items() if there.device in number}
    return sorted(supers, key=lambda name: plane.get(name, 0))


def _check_pods(found: Shape, pods: Sequence[Sequence[str]]) -> None:
    """Pods are alike, and their stripes stand together: their numbers follow from those of stripes."""
    if len(pods) < 2:
        return
    sizes = {sum(one.pod == at for one in found.stripes) for at in range(len(pods))}
    if len({len(one) for one in pods}) > 1 or len(sizes) > 1:
        found.notes.append("pods have different numbers of stripes or spines: the file has them alike")
    each = max(sizes)
    if [one.pod for one in found.stripes] != [at // each for at in range(len(found.stripes))]:
        found.notes.append(
            "stripes of a pod do not stand together in the order of their numbers: pods are not as they were"
        )


def _parallel(far: Mapping[End, End], lower: Sequence[str], upper: Sequence[str]) -> int:
    """The links that most pairs of two tiers have."""
    above, below = set(upper), set(lower)
    pairs = Counter(
        (end.device, there.device) for end, there in far.items() if end.device in below and there.device in above
    )
    common = Counter(pairs.values()).most_common(1)
    return common[0][0] if common else 1


def _place_servers(found: Shape, servers: Mapping[End, End]) -> None:
    """Slots of servers in their stripe, by the order of their ports on its first leaf."""
    for stripe in found.stripes:
        keys: dict[str, tuple[int, int]] = {}
        for end, nic in servers.items():
            place = found.places.get((end.device, end.port))
            if end.device in stripe.leaves and nic.device:
                key = place.key if place else (0, 0)
                keys[nic.device] = min(keys.get(nic.device, key), key)
        order = sorted(keys, key=lambda name: (keys[name], natural(name)))
        stripe.servers = {name: slot for slot, name in enumerate(order, 1)}
