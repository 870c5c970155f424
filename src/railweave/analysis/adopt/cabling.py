"""Port ranges of each role, cables that they do not give, link addresses, and lengths of single cables."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from railweave.analysis.adopt.equipment import free_ports
from railweave.analysis.adopt.link_addresses import link_addresses
from railweave.analysis.adopt.port_ranges import Taken, port_range
from railweave.analysis.adopt.server_models import rails_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape
    from railweave.analysis.adopt.wiring import End
    from railweave.model.device.model import DeviceConfig


def cabling(
    draft: Draft,
    found: Shape,
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    lengths: dict[tuple[str, str], int],
) -> None:
    """Write the port ranges, and the cables that no range gives."""
    wrong: dict[tuple[str, str, int], dict[str, str]] = defaultdict(dict)
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for tier in _tiers(found):
        pairs |= _ports(draft, found, model, tier, wrong)
    _server_ports(draft, found, configs, model)
    given = link_addresses(
        draft, found, configs, model, [(lower, here) for (lower, _), ports in pairs.items() for here, _ in ports]
    )
    fixed_addresses: dict[tuple[str, str, int], dict[str, str]] = {}
    for (lower, upper), ports in pairs.items():
        for link, (here, there) in enumerate(ports, 1):
            own = {one: _address(configs[one], port) for one, port in ((lower, here), (upper, there))}
            if (lower, here) in given and all(own.values()):
                fixed_addresses[lower, upper, link] = own
    for lower, upper, link in sorted({*wrong, *fixed_addresses}):
        ports, own = (part.get((lower, upper, link), {}) for part in (wrong, fixed_addresses))
        cable: dict[str, Any] = {"between": [lower, upper]} | ({"link": link} if link > 1 else {})
        cable |= ({"ports": dict(sorted(ports.items()))} if ports else {}) | ({"addresses": own} if own else {})
        draft.whole.setdefault("overrides", {}).setdefault("cables", []).append(cable)
    _lengths(found, configs, lengths)


class _Tier(NamedTuple):
    """Links of one kind, each from the lower switch to the upper, with role and port range of both ends.

    ``place`` is the place of a far switch among the neighbors of a switch.
    """

    ends: Iterable[tuple[End, End]]
    lower: tuple[str, str]
    upper: tuple[str, str]
    place: Callable[[str, str], int]


def _tiers(found: Shape) -> Iterator[_Tier]:
    def among(*places: Mapping[str, int]) -> Callable[[str, str], int]:
        return lambda _, far: next(one[far] for one in places if far in one)

    leaves, spines, wiring = found.leaf_places, found.spine_places, found.wiring
    yield _Tier(
        wiring.between(leaves, spines), ("leaf", "uplink_ports"), ("spine", "leaf_ports"), among(leaves, spines)
    )
    if found.super_spines:
        each = max(1, len(found.super_spines) * found.pods // max(1, len(found.spines)))
        pod = {name: at * found.pods // len(found.spines) + 1 for at, name in enumerate(found.spines)}
        supers = {name: at % each + 1 for at, name in enumerate(found.super_spines)}
        ends = wiring.between(spines, supers)
        yield _Tier(ends, ("spine", "uplink_ports"), ("super_spine", "leaf_ports"), among(pod, supers))
    if found.across:
        routers = {name: number for name, (_, number) in found.across.borders.items()}
        if found.routers:
            ends = wiring.between(spines, routers)
            yield _Tier(ends, ("spine", "uplink_ports"), ("dci", "leaf_ports"), among(spines, routers))
        own = ("dci" if found.routers else "leaf", "uplink_ports")
        yield _Tier(found.across.ends(wiring), own, own, found.across.place)


def _ports(
    draft: Draft,
    found: Shape,
    model: Mapping[str, str],
    tier: _Tier,
    wrong: dict[tuple[str, str, int], dict[str, str]],
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Write the port ranges of links of one kind. The ports of each pair's links, in order.

    ``wrong`` gets the ports that no range gives, by the two switches and the number of the link.
    """
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for end, there in tier.ends:
        pairs[end.device, there.device].append((end.port, there.port))
    links = max((len(one) for one in pairs.values()), default=1)
    taken: dict[tuple[str, str], dict[str, list[Taken]]] = {one: defaultdict(list) for one in (tier.lower, tier.upper)}
    owner: dict[tuple[str, tuple[int, int]], tuple[str, str, int, str]] = {}
    for (below, above), ports in pairs.items():
        ports.sort(key=lambda pair: found.places[below, pair[0]].key)
        for link, names in enumerate(ports):
            for kind, own, far, port in zip(
                (tier.lower, tier.upper), (below, above), (above, below), names, strict=True
            ):
                place = found.places[own, port]
                taken[kind][own].append(Taken(own, tier.place(own, far), link, place))
                owner[own, place.key] = (below, above, link + 1, port)
    for (role, kind), of_role in taken.items():
        for one in _ranges(draft, role, kind, of_role, model, links):
            below, above, link, port = owner[one.device, one.place.key]
            wrong[below, above, link][one.device] = port
    return pairs


def _ranges(
    draft: Draft, role: str, kind: str, taken: Mapping[str, list[Taken]], model: Mapping[str, str], links: int
) -> list[Taken]:
    """Write the range of a role, and those of switches of other models; the ports that they do not give."""
    by_model: dict[str, list[Taken]] = defaultdict(list)
    for device, own in taken.items():
        by_model[model[device]] += own
    wrong: list[Taken] = []
    for name, own in by_model.items():
        given, others = port_range(name, own, links)
        _write(draft, role, kind, name, [one for one in taken if model[one] == name], given)
        for device in dict.fromkeys(one.device for one in others):
            single, left = port_range(name, taken[device], links)
            before = [one for one in others if one.device == device]
            if len(left) < len(before):
                draft.override(device)[kind] = single
            wrong += left if len(left) < len(before) else before
    return wrong


def _write(draft: Draft, role: str, kind: str, model: str, devices: Sequence[str], given: dict[str, Any]) -> None:
    part = draft.at(role)
    if part.get("device") == model:
        part[kind] = given
    else:
        for one in devices:
            draft.override(one)[kind] = given


def _server_ports(draft: Draft, found: Shape, configs: Mapping[str, DeviceConfig], model: Mapping[str, str]) -> None:
    """Write the port range of servers, and the ports that it does not give; NICs of which no port was read get free ones then."""
    rail_of = rails_of(found.wiring.servers.values())
    each = max(1, found.rails // found.per_stripe)
    taken: dict[str, list[Taken]] = defaultdict(list)
    names: dict[tuple[str, int, int], tuple[str, str, str]] = {}
    for stripe in found.stripes:
        for end, nic in found.wiring.servers.items():
            place = found.places.get((end.device, end.port))
            if end.device in stripe.leaves and nic.device in stripe.servers and place:
                slot, link = stripe.servers[nic.device], (rail_of[nic] - 1) % each
                taken[end.device].append(Taken(end.device, slot, link, place))
                names[end.device, slot, link] = (f"{nic.device}:{nic.port}", end.device, end.port)
    wrong = _ranges(draft, "leaf", "server_ports", taken, model, each)
    if wrong:
        cables = draft.whole.setdefault("overrides", {}).setdefault("cables", [])
        for one in wrong:
            nic, leaf, port = names[one.device, one.slot, one.link]
            cables.append({"between": [nic, leaf], "ports": {leaf: port}})
        for stripe in found.stripes:
            for at, leaf in enumerate(stripe.leaves):
                taken_here = {place.physical for (device, _), place in found.places.items() if device == leaf}
                free = free_ports(configs[leaf], model[leaf], taken_here)
                for server, slot in stripe.servers.items():
                    for link in range(each):
                        port = "" if (leaf, slot, link) in names else next(free, "")
                        if port:
                            nic = f"{server}:gpu{at * each + link}_eth"
                            cables.append({"between": [nic, leaf], "ports": {leaf: port}})


def _address(config: DeviceConfig, port: str) -> str:
    return next((str(one.addresses[0]) for one in config.interfaces if one.name == port and one.addresses), "")


def _lengths(found: Shape, configs: Mapping[str, DeviceConfig], lengths: dict[tuple[str, str], int]) -> None:
    """Lengths of cables that are not those of most of their kind, by switch and port."""
    far = found.wiring.far()
    of: dict[str, dict[tuple[str, str], int]] = {"fabric": {}, "server": {}}
    ends = {(end.device, end.port): "fabric" for end in far} | {
        (end.device, end.port): "server" for end in found.wiring.servers
    }
    for name in (*found.leaves, *found.spines, *found.super_spines, *found.routers):
        qos = configs[name].qos
        for profile in qos.profiles if qos else ():
            for port in profile.ports:
                if (name, port) in ends and profile.cable_length_m:
                    of[ends[name, port]][name, port] = profile.cable_length_m
    for known in of.values():
        if known:
            usual = Counter(known.values()).most_common(1)[0][0]
            lengths |= {end: metres for end, metres in known.items() if metres != usual}
