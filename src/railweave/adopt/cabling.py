"""Port ranges of each role, cables that they do not give, link addresses, and lengths of single cables."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from railweave.adopt.equipment import free_ports
from railweave.adopt.numbers import link_pool
from railweave.adopt.port_ranges import Taken, port_range
from railweave.adopt.server_models import rails_of
from railweave.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.adopt.draft import Draft
    from railweave.adopt.shape import Shape
    from railweave.device.model import DeviceConfig


def cabling(
    draft: Draft,
    found: Shape,
    configs: Mapping[str, DeviceConfig],
    model: Mapping[str, str],
    lengths: dict[tuple[str, str], int],
) -> None:
    """Write the port ranges, and the cables that no range gives."""
    supers = max(1, len(found.super_spines) * found.pods // max(1, len(found.spines)))
    pod = {name: at * found.pods // len(found.spines) + 1 for at, name in enumerate(found.spines)}
    above = {name: at % supers + 1 for at, name in enumerate(found.super_spines)}
    wrong: dict[tuple[str, str, int], dict[str, str]] = defaultdict(dict)
    pairs = _tier(draft, found, model, ("leaf", found.leaf_places), ("spine", found.spine_places), wrong)
    if found.super_spines:
        _tier(draft, found, model, ("spine", pod), ("super_spine", above), wrong)
    _server_ports(draft, found, configs, model)
    addresses = _addresses(draft, found, configs, model)
    for (leaf, name), ports in pairs.items():
        for link, (here, there) in enumerate(ports, 1):
            if (leaf, here) in addresses and there:
                own = {one: _address(configs[one], port) for one, port in ((leaf, here), (name, there))}
                wrong[leaf, name, link].update(
                    {} if not all(own.values()) else {f"@{one}": text for one, text in own.items()}
                )
    for (leaf, name, link), fixed in sorted(wrong.items()):
        ports = {one: port for one, port in sorted(fixed.items()) if not one.startswith("@")}
        pair = {one[1:]: address for one, address in fixed.items() if one.startswith("@")}
        cable: dict[str, Any] = {"between": [leaf, name]} | ({"link": link} if link > 1 else {})
        cable |= ({"ports": ports} if ports else {}) | ({"addresses": pair} if pair else {})
        draft.whole.setdefault("overrides", {}).setdefault("cables", []).append(cable)
    _lengths(found, configs, lengths)


def _tier(
    draft: Draft,
    found: Shape,
    model: Mapping[str, str],
    lower: tuple[str, Mapping[str, int]],
    upper: tuple[str, Mapping[str, int]],
    wrong: dict[tuple[str, str, int], dict[str, str]],
) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """Write the port ranges between two tiers, each a role with the places of its switches. The ports of each pair's links, in order.

    ``wrong`` gets the ports that no range gives, by the two switches and the number of the link.
    """
    pairs: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for end, there in found.wiring.far().items():
        if end.device in lower[1] and there.device in upper[1]:
            pairs[end.device, there.device].append((end.port, there.port))
    links = max((len(one) for one in pairs.values()), default=1)
    up: dict[str, list[Taken]] = defaultdict(list)
    down: dict[str, list[Taken]] = defaultdict(list)
    owner: dict[tuple[str, tuple[int, int]], tuple[str, str, int, str]] = {}
    for (below, above), ports in pairs.items():
        ports.sort(key=lambda pair: found.places[below, pair[0]].key)
        for link, (here, there) in enumerate(ports):
            one, other = found.places[below, here], found.places[above, there]
            up[below].append(Taken(below, upper[1][above], link, one))
            down[above].append(Taken(above, lower[1][below], link, other))
            owner[below, one.key] = (below, above, link + 1, here)
            owner[above, other.key] = (below, above, link + 1, there)
    for role, kind, taken in ((lower[0], "uplink_ports", up), (upper[0], "leaf_ports", down)):
        for one in _ranges(draft, role, kind, taken, model, links):
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


def _addresses(
    draft: Draft, found: Shape, configs: Mapping[str, DeviceConfig], model: Mapping[str, str]
) -> set[tuple[str, str]]:
    """The pool of link addresses, where links have addresses. The ports of leaves whose links have others."""
    own = {
        (name, one.name): one.addresses[0] for name in found.leaves for one in configs[name].interfaces if one.addresses
    }
    lower: dict[tuple[str, int, int], str] = {}
    ports: dict[tuple[str, int, int], str] = {}
    for end in found.wiring.far():
        address = own.get((end.device, end.port))
        place = found.places.get((end.device, end.port))
        if address is not None and place is not None and end.device in draft.leaf_numbers:
            key = (end.device, place.physical, place.channel or 0)
            lower[key], ports[key] = str(address.address), end.port
    if not lower:
        return set()
    groups = [
        catalog().switches[one].ports[0]
        for one in {model[leaf] for leaf in found.leaves} | {draft.at("leaf")["device"]}
    ]
    widest = max(mode.channels for group in groups for mode in group.modes())
    stride = 1 << (max(group.count for group in groups) * widest - 1).bit_length()
    return {(key[0], ports[key]) for key in link_pool(draft, lower, stride, widest)}


def _lengths(found: Shape, configs: Mapping[str, DeviceConfig], lengths: dict[tuple[str, str], int]) -> None:
    """Lengths of cables that are not those of most of their kind, by switch and port."""
    far = found.wiring.far()
    of: dict[str, dict[tuple[str, str], int]] = {"fabric": {}, "server": {}}
    ends = {(end.device, end.port): "fabric" for end in far} | {
        (end.device, end.port): "server" for end in found.wiring.servers
    }
    for name in (*found.leaves, *found.spines, *found.super_spines):
        qos = configs[name].qos
        for profile in qos.profiles if qos else ():
            for port in profile.ports:
                if (name, port) in ends and profile.cable_length_m:
                    of[ends[name, port]][name, port] = profile.cable_length_m
    for known in of.values():
        if known:
            usual = Counter(known.values()).most_common(1)[0][0]
            lengths |= {end: metres for end, metres in known.items() if metres != usual}
