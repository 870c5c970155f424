"""The cabling of a fabric file, derived from the links of an existing network.

It consists of the port ranges of each role, the cables outside these ranges, the link addresses, and the cable lengths.
"""

from __future__ import annotations

import ipaddress
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from railweave.analysis.adopt.equipment import Place, free_ports
from railweave.analysis.adopt.servers import rails_of
from railweave.design.cabling.ports import Range
from railweave.model.catalog import catalog
from railweave.model.catalog.optics import breakout_of
from railweave.model.intent.topology import PortRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape
    from railweave.analysis.adopt.wiring import End
    from railweave.model.device.model import DeviceConfig


_Port = tuple[str, str]


def link_addresses(
    draft: Draft,
    shape: Shape,
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    lower: Sequence[_Port],
) -> set[_Port]:
    """Write the pool of link addresses into the draft (the reconstructed fabric file), if links have addresses.

    Return the link ports whose addresses the pool does not produce, as (switch, port). ``lower`` holds the lower ends of all
    links, also as (switch, port), and ``model`` the model of each switch. A link's addresses follow from the pool, the number of
    its lower switch, and the port there. Links from spines to higher tiers use the second half of the pool. Links between
    routers of two sites use the last quarter.
    """
    tiers = [
        shape.numbers,
        *({name: at for at, name in enumerate(names, 1)} for names in (shape.spines, shape.routers)),
    ]
    addresses = {
        (name, interface.name): interface.addresses[0]
        for tier in tiers
        for name in tier
        for interface in configs[name].interfaces
        if interface.addresses
    }
    known = [end for end in lower if end in addresses and end in shape.places]
    below = tiers if shape.super_spines or shape.routers else tiers[:1]
    groups = [
        catalog().switches[model_name].ports[0]
        for model_name in {model[name] for tier in below for name in tier} | {draft.at("leaf")["device"]}
    ]
    widest = max(mode.channels for group in groups for mode in group.modes())
    stride = 1 << (max(group.count for group in groups) * widest - 1).bit_length()

    def start(end: _Port, number: int) -> int:
        place = shape.places[end]
        at = (number - 1) * stride + place.physical * widest + (place.channel or 0)
        return int(ipaddress.ip_address(str(addresses[end].address))) - 2 * at

    starts = [{end: start(end, tier[end[0]]) for end in known if end[0] in tier} for tier in tiers]
    of_leaves = list(starts[0].values())
    first = max(dict.fromkeys(of_leaves), key=of_leaves.count, default=0)
    if first <= 0 or 2 * of_leaves.count(first) <= len(of_leaves):  # no rule of ours: each link has its addresses given
        return set(known)
    needed = 2 * max(shape.numbers.values()) * stride * (2 if len(below) > 1 else 1)
    of_spines = list(starts[1].values())
    half = max(dict.fromkeys(of_spines), key=of_spines.count, default=0) - first
    size = 2 * half if half > 0 and not half & (half - 1) and first % (2 * half) == 0 else 1
    while first % (2 * size) == 0 and size < needed:
        size *= 2
    six = addresses[next(iter(starts[0]))].family == "ipv6"
    address, bits = (ipaddress.IPv6Address(first), 128) if six else (ipaddress.IPv4Address(first), 32)
    draft.at("pools")["fabric_links"] = f"{address}/{bits - size.bit_length() + 1}"
    expected = (first, first + size // 2, first + size // 2 + size // 4)
    return {end for tier, begin in zip(starts, expected, strict=True) for end, given in tier.items() if given != begin}


@dataclass(frozen=True, slots=True)
class LinkPort:
    """A switch port with a link.

    ``slot`` is the number of the neighbor among the neighbors of the switch, from 1. ``link`` is the number of the link among
    the parallel links to this neighbor, from 0. ``place`` is the position of the port on the switch.
    """

    device: str
    slot: int
    link: int
    place: Place


def port_range(model: str, taken: Sequence[LinkPort], links: int) -> tuple[dict[str, object], list[LinkPort]]:
    """Return (the port range that covers as many of the ports as possible, the ports outside this range).

    The port range has the keys of the fabric file. ``taken`` are the ports with links, all of one switch ``model``. ``links`` is the
    number of parallel links to each neighbor.
    """
    if not taken:
        return {}, []
    best: tuple[int, dict[str, object], list[LinkPort]] | None = None
    for given in _candidates(model, taken, links):
        wrong = [taken_port for taken_port in taken if not _gives(model, given, taken_port, links)]
        if best is None or len(wrong) < best[0]:
            best = (len(wrong), given, wrong)
        if not wrong:
            break
    return (best[1], best[2]) if best else ({}, list(taken))


def _candidates(model: str, taken: Sequence[LinkPort], links: int) -> Iterator[dict[str, object]]:
    """Yield possible port ranges, with the keys of the fabric file, for the ports with links (``taken``) of a switch model.

    Each of the eight lowest ports gives up to two ranges in which its link would get this port: first a range whose ports are filled
    without gaps, then a range in which neighbors share no port. ``links`` is the number of parallel links to each neighbor.
    """
    hardware = catalog().switches[model]
    for taken_port in sorted(taken, key=lambda each: each.place.key)[:8]:
        channels = taken_port.place.channels
        group = hardware.group_of(taken_port.place.physical)
        if group is None:
            continue
        for spread in (False, True):
            each = -(-links // channels)
            index = (taken_port.slot - 1) * links + taken_port.link
            before = (taken_port.slot - 1) * each + taken_port.link // channels if spread else index // channels
            first = taken_port.place.physical - before
            if first < group.first:
                continue
            given: dict[str, object] = {"first": first}
            if spread:
                given["fill"] = "spread"
            usual = breakout_of(hardware, PortRange(first=first), taken_port.place.speed_gbps)
            if usual is None or usual.channels != channels:
                given["breakout"] = f"{channels}x{taken_port.place.speed_gbps}G"
            yield given


def _gives(model: str, given: dict[str, object], taken_port: LinkPort, links: int) -> bool:
    """Return True if the design would give the link of ``taken_port`` this same port and breakout channel.

    The design uses the port range ``given``, with the keys of the fabric file. ``links`` is the number of parallel links to each
    neighbor.
    """
    hardware = catalog().switches[model]
    ports = PortRange.model_validate(given)
    group = hardware.group_of(ports.first or 0)
    mode = breakout_of(hardware, ports, taken_port.place.speed_gbps)
    if group is None or mode is None:
        return False
    made = Range(group, ports.first or 0, group.last, mode.channels, ports.fill == "spread", mode.speed_gbps)
    port = made.port(taken_port.slot, taken_port.link, links)
    return port is not None and (port.physical, port.channel, port.channels) == (
        taken_port.place.physical,
        taken_port.place.channel,
        taken_port.place.channels,
    )


def cabling(
    draft: Draft,
    shape: Shape,
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    lengths: dict[tuple[str, str], int],
) -> None:
    """Write the port ranges into the draft (the reconstructed fabric file), and overrides for the cables that no range covers.

    ``model`` is the model of each switch. Unusual cable lengths, in meters, are added to ``lengths``, by (switch, port).
    """
    wrong: dict[tuple[str, str, int], dict[str, str]] = defaultdict(dict)
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for tier in _tiers(shape):
        pairs |= _ports(draft, shape, model, tier, wrong)
    _server_ports(draft, shape, configs, model)
    given = link_addresses(
        draft, shape, configs, model, [(lower, here) for (lower, _), ports in pairs.items() for here, _ in ports]
    )
    fixed_addresses: dict[tuple[str, str, int], dict[str, str]] = {}
    for (lower, upper), ports in pairs.items():
        for link, (here, there) in enumerate(ports, 1):
            addresses = {switch: _address(configs[switch], port) for switch, port in ((lower, here), (upper, there))}
            if (lower, here) in given and all(addresses.values()):
                fixed_addresses[lower, upper, link] = addresses
    for lower, upper, link in sorted({*wrong, *fixed_addresses}):
        ports, addresses = (part.get((lower, upper, link), {}) for part in (wrong, fixed_addresses))
        cable: dict[str, Any] = {"between": [lower, upper]} | ({"link": link} if link > 1 else {})
        cable |= ({"ports": dict(sorted(ports.items()))} if ports else {}) | (
            {"addresses": addresses} if addresses else {}
        )
        draft.whole.setdefault("overrides", {}).setdefault("cables", []).append(cable)
    _lengths(shape, configs, lengths)


class _Tier(NamedTuple):
    """The links between two tiers. ``ends`` holds the links as (lower end, upper end).

    ``lower`` and ``upper`` are (role, name of the port range) for the two ends. ``place(switch, neighbor)`` returns the
    neighbor's number among the neighbors of the switch, from 1.
    """

    ends: Iterable[tuple[End, End]]
    lower: tuple[str, str]
    upper: tuple[str, str]
    place: Callable[[str, str], int]


def _tiers(shape: Shape) -> Iterator[_Tier]:
    def among(*places: Mapping[str, int]) -> Callable[[str, str], int]:
        return lambda _, far: next(place[far] for place in places if far in place)

    leaves, spines, wiring = shape.leaf_places, shape.spine_places, shape.wiring
    yield _Tier(
        wiring.between(leaves, spines), ("leaf", "uplink_ports"), ("spine", "leaf_ports"), among(leaves, spines)
    )
    if shape.super_spines:
        each = max(1, len(shape.super_spines) * shape.pods // max(1, len(shape.spines)))
        pod = {name: at * shape.pods // len(shape.spines) + 1 for at, name in enumerate(shape.spines)}
        supers = {name: at % each + 1 for at, name in enumerate(shape.super_spines)}
        ends = wiring.between(spines, supers)
        yield _Tier(ends, ("spine", "uplink_ports"), ("super_spine", "leaf_ports"), among(pod, supers))
    if shape.across:
        routers = {name: number for name, (_, number) in shape.across.borders.items()}
        if shape.routers:
            ends = wiring.between(spines, routers)
            yield _Tier(ends, ("spine", "uplink_ports"), ("dci", "leaf_ports"), among(spines, routers))
        border_ports = ("dci" if shape.routers else "leaf", "uplink_ports")
        yield _Tier(shape.across.ends(wiring), border_ports, border_ports, shape.across.place)


def _ports(
    draft: Draft,
    shape: Shape,
    model: Mapping[str, str],
    tier: _Tier,
    wrong: dict[tuple[str, str, int], dict[str, str]],
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Write the port ranges of the links between two tiers, and return the ports of each cable.

    The result lists (lower port, upper port) by (lower switch, upper switch), in port order. ``tier`` holds these links, and ``model``
    the model of each switch. Each link with a port outside all ranges is added to ``wrong``: the key is (lower switch, upper switch,
    link number), the value its ports by switch.
    """
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for end, there in tier.ends:
        pairs[end.device, there.device].append((end.port, there.port))
    links = max((len(pair) for pair in pairs.values()), default=1)
    taken: dict[tuple[str, str], dict[str, list[LinkPort]]] = {
        tier_end: defaultdict(list) for tier_end in (tier.lower, tier.upper)
    }
    owner: dict[tuple[str, tuple[int, int]], tuple[str, str, int, str]] = {}
    for (below, above), ports in pairs.items():
        ports.sort(key=lambda pair: shape.places[below, pair[0]].key)
        for link, names in enumerate(ports):
            for kind, near, far, port in zip(
                (tier.lower, tier.upper), (below, above), (above, below), names, strict=True
            ):
                place = shape.places[near, port]
                taken[kind][near].append(LinkPort(near, tier.place(near, far), link, place))
                owner[near, place.key] = (below, above, link + 1, port)
    for (role, kind), of_role in taken.items():
        for taken_port in _ranges(draft, role, kind, of_role, model, links):
            below, above, link, port = owner[taken_port.device, taken_port.place.key]
            wrong[below, above, link][taken_port.device] = port
    return pairs


def _ranges(
    draft: Draft, role: str, kind: str, taken: Mapping[str, list[LinkPort]], model: Mapping[str, str], links: int
) -> list[LinkPort]:
    """Write the port range of a role, and overrides for switches that differ from it. Return the ports that no range covers.

    ``kind`` is the range's key in the fabric file. ``taken`` holds the ports with links, by switch. ``model`` is the model of each
    switch. ``links`` is the number of parallel links to each neighbor.
    """
    by_model: dict[str, list[LinkPort]] = defaultdict(list)
    for device, device_ports in taken.items():
        by_model[model[device]] += device_ports
    wrong: list[LinkPort] = []
    for name, model_ports in by_model.items():
        given, others = port_range(name, model_ports, links)
        _write(draft, role, kind, name, [switch for switch in taken if model[switch] == name], given)
        for device in dict.fromkeys(other.device for other in others):
            single, left = port_range(name, taken[device], links)
            before = [other for other in others if other.device == device]
            if len(left) < len(before):
                draft.override(device)[kind] = single
            wrong += left if len(left) < len(before) else before
    return wrong


def _write(draft: Draft, role: str, kind: str, model: str, devices: Sequence[str], given: dict[str, Any]) -> None:
    part = draft.at(role)
    if part.get("device") == model:
        part[kind] = given
    else:
        for device in devices:
            draft.override(device)[kind] = given


def _server_ports(draft: Draft, shape: Shape, configs: Mapping[str, DeviceConfig], model: Mapping[str, str]) -> None:
    """Write the port range of servers, and overrides for server ports outside the range.

    Then assign free ports to NICs whose port is unknown.
    """
    rail_of = rails_of(shape.wiring.servers.values())
    each = max(1, shape.rails // shape.per_stripe)
    taken: dict[str, list[LinkPort]] = defaultdict(list)
    names: dict[tuple[str, int, int], tuple[str, str, str]] = {}
    for stripe in shape.stripes:
        for end, nic in shape.wiring.servers.items():
            place = shape.places.get((end.device, end.port))
            if end.device in stripe.leaves and nic.device in stripe.servers and place:
                slot, link = stripe.servers[nic.device], (rail_of[nic] - 1) % each
                taken[end.device].append(LinkPort(end.device, slot, link, place))
                names[end.device, slot, link] = (f"{nic.device}:{nic.port}", end.device, end.port)
    wrong = _ranges(draft, "leaf", "server_ports", taken, model, each)
    if wrong:
        cables = draft.whole.setdefault("overrides", {}).setdefault("cables", [])
        for taken_port in wrong:
            nic, leaf, port = names[taken_port.device, taken_port.slot, taken_port.link]
            cables.append({"between": [nic, leaf], "ports": {leaf: port}})
        for stripe in shape.stripes:
            for at, leaf in enumerate(stripe.leaves):
                taken_here = {place.physical for (device, _), place in shape.places.items() if device == leaf}
                free = free_ports(configs[leaf], model[leaf], taken_here)
                for server, slot in stripe.servers.items():
                    for link in range(each):
                        port = "" if (leaf, slot, link) in names else next(free, "")
                        if port:
                            nic = f"{server}:gpu{at * each + link}_eth"
                            cables.append({"between": [nic, leaf], "ports": {leaf: port}})


def _address(config: DeviceConfig, port: str) -> str:
    return next(
        (
            str(interface.addresses[0])
            for interface in config.interfaces
            if interface.name == port and interface.addresses
        ),
        "",
    )


def _lengths(shape: Shape, configs: Mapping[str, DeviceConfig], lengths: dict[tuple[str, str], int]) -> None:
    """Record in ``lengths``, by (switch, port), each cable length that differs from the usual length of cables of the same kind.

    There are two kinds: cables between switches, and cables to servers.
    """
    far = shape.wiring.far()
    of: dict[str, dict[tuple[str, str], int]] = {"fabric": {}, "server": {}}
    ends = {(end.device, end.port): "fabric" for end in far} | {
        (end.device, end.port): "server" for end in shape.wiring.servers
    }
    for name in (*shape.leaves, *shape.spines, *shape.super_spines, *shape.routers):
        qos = configs[name].qos
        for profile in qos.profiles if qos else ():
            for port in profile.ports:
                if (name, port) in ends and profile.cable_length_m:
                    of[ends[name, port]][name, port] = profile.cable_length_m
    for known in of.values():
        if known:
            usual = Counter(known.values()).most_common(1)[0][0]
            lengths |= {end: metres for end, metres in known.items() if metres != usual}
