"""Derivation of a fabric's structure: switch roles, stripes, rails, spines and pods. Their order determines their numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.analysis.adopt.draft import as_number, numbering
from railweave.analysis.adopt.equipment import Place, places_of
from railweave.analysis.adopt.servers import rails, rails_of
from railweave.analysis.adopt.sites import Interconnection, across_sites
from railweave.analysis.adopt.wiring import End, Wiring
from railweave.counting import counted
from railweave.errors import InputError, NetworkPart, Problem
from railweave.model.config.number_ranges import natural

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import RoleName


def upper_order(
    lower: Sequence[str],
    upper: Sequence[str],
    wiring: Wiring,
    places: Mapping[tuple[str, str], Place],
    configs: Mapping[str, DeviceConfig],
) -> list[str]:
    """Return the switches of the tier ``upper``, sorted by the port of the tier below (``lower``) that is connected to each switch.

    If several ports are connected to a switch, the lowest counts. Switches with equal ports are sorted by AS number, then by name.
    ``places`` holds the position of each port on its switch, by (switch, port).
    """
    first: dict[str, tuple[int, int]] = {}
    for end, there in wiring.between(lower, upper):
        place = places.get((end.device, end.port))
        if place:
            first[there.device] = min(first.get(there.device, place.key), place.key)
    return sorted(upper, key=lambda name: (first.get(name, (0, 0)), numbering(configs[name]), natural(name)))


def pods_of(
    stripes: Sequence[Stripe], spines: Sequence[str], wiring: Wiring, configs: Mapping[str, DeviceConfig]
) -> list[list[str]]:
    """Return the spines of each pod, one list per pod. Also set each stripe's ``pod``, from 0.

    Pods are sorted by their leaves' AS numbers. A pod consists of the spines to which a stripe's leaves have links.
    """
    pods: list[list[str]] = []
    for stripe in sorted(
        stripes, key=lambda member: (min(numbering(configs[leaf]) for leaf in member.leaves), natural(member.leaves[0]))
    ):
        above = sorted({there.device for _, there in wiring.between(stripe.leaves, spines)})
        if above not in pods:
            pods.append(above)
        stripe.pod = pods.index(above)
    return pods


def by_plane(supers: Sequence[str], wiring: Wiring, spines: Sequence[str], pods: int) -> list[str]:
    """Return the super-spines (``supers``) in the order of the spines below them.

    The super-spines with links to the first spine of each pod come first. ``spines`` holds all spines, pod by pod, and ``pods`` is the
    number of pods.
    """
    each = max(1, len(spines) // pods)
    number = {name: at % each for at, name in enumerate(spines)}
    plane = {end.device: number[there.device] for end, there in wiring.between(supers, spines)}
    return sorted(supers, key=lambda name: plane.get(name, 0))


def unlike_pods(stripes: Sequence[Stripe], pods: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield notes on differences between pods that a design cannot express. ``pods`` holds the spines of each pod.

    In a design, all pods are equal in size. The stripes of a pod have consecutive numbers, because stripe numbers
    determine pod numbers.
    """
    if len(pods) < 2:
        return
    sizes = {sum(stripe.pod == at for stripe in stripes) for at in range(len(pods))}
    if len({len(pod) for pod in pods}) > 1 or len(sizes) > 1:
        yield "pods have different numbers of stripes or spines; in the file, all pods are equal"
    each = max(sizes)
    if [stripe.pod for stripe in stripes] != [at // each for at in range(len(stripes))]:
        yield "the stripes of a pod do not have consecutive numbers; the file has different pods"


def parallel(wiring: Wiring, lower: Iterable[str], upper: Iterable[str]) -> int:
    """Return the most common number of parallel links between a switch of the lower tier and a switch of the upper tier."""
    pairs = Counter((end.device, there.device) for end, there in wiring.between(lower, upper))
    common = Counter(pairs.values()).most_common(1)
    return common[0][0] if common else 1


MOST_GAPS = 4
"""The largest stripe number for which gaps between AS numbers are kept, as a multiple of the number of stripes (at least 16).

If the AS numbers of the leaves would give a larger stripe number, the stripes are numbered without gaps.
"""


@dataclass(slots=True)
class Stripe:
    """Leaves that share servers, in the order of their rails.

    - ``slot``: the number of the stripe, from which the design computes AS numbers and addresses.
    - ``servers``: the number of each server in the stripe, by name.
    - ``described``: the name of the stripe in gateway descriptions, or an empty string.
    """

    slot: int
    leaves: list[str]
    servers: dict[str, int] = field(default_factory=dict[str, int])
    described: str = ""
    name: str = ""
    pod: int = 0


def stripes_of(leaves: Sequence[str], servers: Mapping[End, End], configs: Mapping[str, DeviceConfig]) -> list[Stripe]:
    """Return the stripes that these leaves form, unsorted and without numbers. ``servers`` maps leaf ports to NICs."""
    stripes = [Stripe(0, members) for members in _sharing(leaves, servers)]
    first = _first_rail(servers)
    for stripe in stripes:
        stripe.leaves.sort(key=lambda leaf: (first.get(leaf, 0), numbering(configs[leaf]), natural(leaf)))
        stripe.described = _described(configs[leaf] for leaf in stripe.leaves)
    return stripes


def _sharing(leaves: Sequence[str], servers: Mapping[End, End]) -> list[list[str]]:
    """Return groups of leaves that have servers in common, directly or through other leaves.

    ``servers`` maps leaf ports to NICs. A leaf whose servers have no names forms its own group.
    """
    home = {leaf: {leaf} for leaf in leaves}
    ends_of: dict[str, set[str]] = defaultdict(set)
    for end, nic in servers.items():
        if nic.device:
            ends_of[nic.device].add(end.device)
    for ends in ends_of.values():
        whole = set[str]().union(*(home[leaf] for leaf in ends))
        for leaf in whole:
            home[leaf] = whole
    groups: list[list[str]] = []
    for leaf in leaves:
        if not any(leaf in group for group in groups):
            groups.append([other for other in leaves if other in home[leaf]])
    return groups


def _first_rail(servers: Mapping[End, End]) -> dict[str, int]:
    rail_of = rails_of(servers.values())
    first_rails: dict[str, int] = {}
    for end, nic in servers.items():
        if nic in rail_of:
            first_rails[end.device] = min(first_rails.get(end.device, 1 << 16), rail_of[nic])
    return first_rails


def _described(configs: Iterable[DeviceConfig]) -> str:
    """Return the stripe that all gateway descriptions name in railweave's form ``STRIPE rail N``, or "" if they name no common stripe."""
    names = {
        text.partition(" rail ")[0] if " rail " in text else ""
        for config in configs
        for text in (g.description for g in config.gateways)
    }
    return names.pop() if len(names) == 1 else ""


def number(
    stripes: list[Stripe],
    configs: Mapping[str, DeviceConfig],
    wiring: Wiring,
    spines: Iterable[str],
    places: Mapping[tuple[str, str], Place],
) -> None:
    """Sort stripes and set their numbers (``slot``): first by pod, then by their ports on the spines.

    Gaps between the stripes' AS numbers become gaps between their numbers. ``places`` holds the position of each port on its
    switch, by (switch, port).
    """
    leaves = [leaf for stripe in stripes for leaf in stripe.leaves]
    on_spines: dict[str, tuple[int, int]] = {}
    for end, there in wiring.between(leaves, spines):
        place = places.get((there.device, there.port))
        if place:
            on_spines[end.device] = min(on_spines.get(end.device, place.key), place.key)
    each = max(len(stripe.leaves) for stripe in stripes)
    stripes.sort(
        key=lambda stripe: (
            stripe.pod,
            min(on_spines.get(leaf, (0, 0)) for leaf in stripe.leaves),
            min(numbering(configs[leaf]) for leaf in stripe.leaves),
            natural(stripe.leaves[0]),
        ),
    )
    asns = [as_number(configs[stripe.leaves[0]]) for stripe in stripes]
    steps = [asn - asns[0] for asn in asns]
    by_asn = (
        all(asns)
        and all(step % each == 0 for step in steps)
        and steps == sorted(set(steps))
        and steps[-1] < each * MOST_GAPS * max(16, len(stripes))
    )
    for rank, stripe in enumerate(stripes, 1):
        stripe.slot = steps[rank - 1] // each + 1 if by_asn else rank


def place_servers(
    stripes: Iterable[Stripe], servers: Mapping[End, End], places: Mapping[tuple[str, str], Place]
) -> None:
    """Number the servers of each stripe, in the order of their ports on the stripe's first leaf.

    ``servers`` maps leaf ports to NICs. ``places`` holds the position of each port on its switch, by (switch, port).
    """
    for stripe in stripes:
        keys: dict[str, tuple[int, int]] = {}
        for end, nic in servers.items():
            place = places.get((end.device, end.port))
            if end.device in stripe.leaves and nic.device:
                key = place.key if place else (0, 0)
                keys[nic.device] = min(keys.get(nic.device, key), key)
        order = sorted(keys, key=lambda name: (keys[name], natural(name)))
        stripe.servers = {name: slot for slot, name in enumerate(order, 1)}


def routed(configs: Mapping[str, DeviceConfig]) -> tuple[dict[str, DeviceConfig], tuple[str, ...]]:
    """Return (the switches that run BGP or IS-IS, notes on the other switches). A fabric file allows only switches with routing.

    If no switch runs BGP or IS-IS, all switches are returned, because their routing may be in a file that was not saved.
    """
    routing = {name: config for name, config in configs.items() if config.bgp or config.isis}
    if not routing or len(routing) == len(configs):
        return dict(configs), ()
    left = ", ".join(name for name in configs if name not in routing)
    return routing, (f"{left}: left out, because a fabric file has only switches that run BGP or IS-IS",)


def neighbors(configs: Mapping[str, DeviceConfig], wiring: Wiring) -> dict[str, set[str]]:
    """Return the names of each switch's neighbors, by switch name."""
    adjacent: dict[str, set[str]] = {name: set() for name in configs}
    for end, other in wiring.links:
        adjacent[end.device].add(other.device)
        adjacent[other.device].add(end.device)
    return adjacent


def roles(configs: Mapping[str, DeviceConfig], wiring: Wiring, near: Mapping[str, set[str]]) -> dict[str, RoleName]:
    """Return the role of each switch. ``near`` holds the neighbors of each switch.

    - A leaf has servers, gateways or tenants, or all its neighbors have more links than it has.
    - A spine has links to leaves.
    - A super-spine has links to spines only.
    """
    with_servers = {end.device for end in wiring.servers}
    role_of: dict[str, RoleName] = {
        name: "leaf"
        for name, config in configs.items()
        if name in with_servers or config.gateways or config.mac_vrf or config.vrfs or not near[name]
    }
    for component in fabrics(near):
        if not any(
            name in role_of for name in component
        ):  # nothing with servers: those with the fewest links are the lowest
            least = min(len(near[name]) for name in component)
            lowest = [name for name in component if len(near[name]) == least]
            named = [name for name in lowest if "spine" not in name.casefold()]
            role_of |= dict.fromkeys(named if len(lowest) == len(component) and named else lowest, "leaf")
    below: set[str] = set(role_of)
    tiers: tuple[RoleName, ...] = ("spine", "super-spine", "dci")
    for tier in tiers:
        here = {name for lower in below for name in near[lower]} - set(role_of)
        role_of |= dict.fromkeys(here, tier)
        below = here
    for name in configs:
        role_of.setdefault(name, "spine")
    for name in _between_sites(near, role_of):
        role_of[name] = "dci"
    return role_of


def _between_sites(near: Mapping[str, set[str]], role: Mapping[str, RoleName]) -> set[str]:
    """Return the switches above spines that connect sites. ``near`` holds the neighbors of each switch, and ``role`` its role.

    These switches have links to each other, and two linked switches share no spine.
    """
    below = {
        name: {far for far in near[name] if role[far] == "spine"}
        for name, role_name in role.items()
        if role_name == "super-spine"
    }
    pairs = [(switch, far) for switch in below for far in near[switch] if far in below]
    return (
        set() if any(below[switch] & below[far] for switch, far in pairs) else {name for pair in pairs for name in pair}
    )


def between_tiers(wiring: Wiring, role: Mapping[str, RoleName]) -> tuple[Wiring, tuple[str, ...]]:
    """Return (the wiring without links between switches of the same role, notes). A leaf-spine fabric has no such links.

    Links between sites remain: they connect routers above the spines, or leaves if there are no spines.
    """
    alike = [role[end.device] == role[other.device] for end, other in wiring.links]
    above = {end.device for pair, same in zip(wiring.links, alike, strict=True) if not same for end in pair}
    left = [
        pair
        for pair, same in zip(wiring.links, alike, strict=True)
        if same and role[pair[0].device] != "dci" and above.intersection(end.device for end in pair)
    ]
    if not left:
        return wiring, ()
    gone = set(left)
    kept = tuple(pair for pair in wiring.links if pair not in gone)
    pairs = dict.fromkeys(f"{end.device} and {other.device}" for end, other in left)
    shown = f"{'; '.join(list(pairs)[:4])}{'; …' if len(pairs) > 4 else ''}"
    note = f"{counted(len(left), 'link')} between switches of the same role left out ({shown})"
    return Wiring(kept, wiring.servers, wiring.notes), (note,)


def joined(near: Mapping[str, set[str]]) -> tuple[list[str], tuple[str, ...]]:
    """Return (the switches that have links, notes on the switches without links). A single switch needs no link.

    ``near`` holds the neighbors of each switch. Raises ``InputError`` if there are several switches and none of them has a link.
    """
    linked = [name for name, others in near.items() if others]
    if len(near) == 1 or len(linked) == len(near):
        return list(near), ()
    if not linked:
        message = f"no link between the {len(near)} switches was found in descriptions, addresses or LLDP"
        raise InputError(
            [Problem(NetworkPart(next(iter(near))), message, "save lldp.json of each device next to its configuration")]
        )
    alone = ", ".join(name for name in near if name not in linked)
    return linked, (f"{alone}: left out, because no description, address or LLDP shows any of their links",)


def fabrics(near: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of connected switches. ``near`` holds the neighbors of each switch."""
    left, components = dict.fromkeys(near), list[list[str]]()
    while left:
        reached, edge = set[str](), {next(iter(left))}
        while edge:
            reached |= edge
            edge = {far for switch in edge for far in near[switch]} - reached
        components.append([switch for switch in left if switch in reached])
        for switch in reached:
            del left[switch]
    return components


def by_role(names: list[str], role: Mapping[str, RoleName]) -> dict[RoleName, list[str]]:
    """Return the switches in ``names``, grouped by role. ``role`` holds the role of each switch."""
    switches: dict[RoleName, list[str]] = defaultdict(list)
    for name in names:
        switches[role[name]].append(name)
    return switches


@dataclass(slots=True)
class Shape:
    """The structure of a fabric.

    - ``rails``: the number of rails of a server.
    - ``spines`` and ``super_spines``: in the order of their numbers, pod by pod.
    - ``links``: the number of parallel links from a leaf to each spine.
    - ``super_links``: the number of parallel links from a spine to each switch above it.
    - ``link_speed``: the most common speed of links between leaves and spines, in Gb/s.
    - ``places``: the position of each port on its switch, by (switch, port).
    - ``pods``: the number of pods.
    - ``routers`` and ``across``: the routers that connect sites, and the links between sites. With such links, the
      spines of each site are a pod.
    - ``notes``: sentences about facts that a design cannot express.
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
    across: Interconnection | None = None
    notes: list[str] = field(default_factory=list[str])

    @property
    def leaves(self) -> list[str]:
        """The leaves, stripe by stripe."""
        return [leaf for stripe in self.stripes for leaf in stripe.leaves]

    @property
    def per_stripe(self) -> int:
        """The number of leaves in the largest stripe."""
        return max(len(stripe.leaves) for stripe in self.stripes)

    @property
    def stripes_per_pod(self) -> int:
        """The number of stripes divided by the number of pods, rounded up. The stripes of a pod share one set of spines."""
        return -(-len(self.stripes) // self.pods)

    @property
    def leaf_places(self) -> dict[str, int]:
        """The position of each leaf among the leaves with the same spines, from 1.

        The position determines the leaf's ports on the spines.
        """
        around = self.stripes_per_pod if self.super_spines else max(stripe.slot for stripe in self.stripes)
        before = {
            stripe.name: [other for other in self.stripes if other.pod == stripe.pod].index(stripe)
            if self.routers
            else (stripe.slot - 1) % around
            for stripe in self.stripes
        }
        return {
            leaf: before[stripe.name] * self.per_stripe + at
            for stripe in self.stripes
            for at, leaf in enumerate(stripe.leaves, 1)
        }

    @property
    def spine_places(self) -> dict[str, int]:
        """The position of each spine among the spines of a leaf, from 1.

        The position determines the spine's ports on the leaves.
        """
        each = max(1, len(self.spines) // self.pods)
        return {name: at % each + 1 for at, name in enumerate(self.spines)}

    @property
    def numbers(self) -> dict[str, int]:
        """The number of each leaf, from 1. The number determines the leaf's AS number."""
        each = self.per_stripe
        return {
            leaf: (stripe.slot - 1) * each + at for stripe in self.stripes for at, leaf in enumerate(stripe.leaves, 1)
        }


def shape(
    configs: Mapping[str, DeviceConfig],
    wiring: Wiring,
    tiers: Mapping[RoleName, Sequence[str]],
    model: Mapping[str, str],
) -> Shape:
    """Return the structure of one fabric. ``tiers`` has the switches by role, and ``model`` the model of each switch."""
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
    spine_order = [spine for pod in pods or [spines] for spine in upper_order(leaves, pod, wiring, places, configs)]
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
    if len({len(stripe.leaves) for stripe in stripes}) > 1:
        notes.append(
            f"stripes have {sorted({len(stripe.leaves) for stripe in stripes})} leaves; in the file, each stripe has the largest number"
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
    """Return the largest number of rails that a server has, or 0 if there are no servers. ``nics`` are the NICs of all servers."""
    ports: dict[str, list[str]] = defaultdict(list)
    for nic in nics:
        if nic.device:
            ports[nic.device].append(nic.port)
    return max(map(rails, ports.values()), default=0)
