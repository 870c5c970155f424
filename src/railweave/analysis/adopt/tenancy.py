"""Tenants and overlay of a fabric, derived from the VRFs, VLANs and tunnels of its switches."""

from __future__ import annotations

import ipaddress
import re
from collections import defaultdict
from math import gcd
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.draft import Draft, common, given
from railweave.analysis.adopt.names import as_name
from railweave.analysis.adopt.wiring import End
from railweave.model.config.naming import target_value
from railweave.model.intent.base import host_lists
from railweave.model.intent.tenants import Overlay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.analysis.adopt.shape import Shape
    from railweave.model.device.model import BridgedVlan, DeviceConfig, Interface, Vrf


LEAST_STEP = 10
"""The value from which a common factor of the numbers in route distinguishers is taken as intended.

For example, 100, 200 and 300 have the common factor 100, so they belong to tenants 1, 2 and 3. If the greatest common factor is
smaller than this value, the numbers themselves are the tenants' numbers.
"""


def slots_of(numbers: Mapping[str, int], draft: Draft) -> dict[str, int]:
    """Return the number of each tenant by VRF, derived from ``numbers``, the numbers in the route distinguishers by VRF.

    If the numbers in the route distinguishers are multiples of the tenants' numbers (see ``LEAST_STEP``), the formula is written to
    ``overlay`` of the draft.
    """
    step = gcd(*numbers.values()) if numbers else 1
    if step < LEAST_STEP:
        return dict(numbers)
    draft.at("overlay")["route_distinguisher"] = f"{{router_id}}:{{tenant*{step}}}"
    return {name: number // step for name, number in numbers.items()}


def tenant_loopbacks(
    draft: Draft, made: Mapping[str, dict[str, Any]], leaves: Sequence[str], configs: Mapping[str, DeviceConfig]
) -> None:
    """Write the ``loopbacks`` formulas into the tenants' sections (``made``). A formula gives a leaf's address from the leaf's number.

    ``leaves`` are in the order of their numbers, from 1. A tenant whose loopbacks follow no formula gets a note instead.
    """
    addresses: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for number, leaf in enumerate(leaves, 1):
        for vrf in configs[leaf].vrfs:
            for loopback in vrf.loopbacks:
                address = ipaddress.ip_address(loopback.partition("/")[0])
                addresses[vrf.name, loopback.family][number] = int(address)
    for (tenant, family), by_leaf in addresses.items():
        bits = 32 if family == "ipv4" else 128
        width, form = (8, "d") if bits == 32 else (16, "x")
        heads = {value >> width for value in by_leaf.values()}
        offsets = {(value & ((1 << width) - 1)) - number for number, value in by_leaf.items()}
        if len(heads) > 1 or len(offsets) > 1 or tenant not in made:
            draft.note(f"loopbacks of tenant {tenant} cannot be derived from leaf numbers; they are left out")
            continue
        offset = offsets.pop()
        more = f"+{offset}" if offset > 0 else str(offset) if offset else ""
        whole = heads.pop() << width
        text = ipaddress.IPv4Address(whole) if bits == 32 else ipaddress.IPv6Address(whole)
        head = str(text) if bits == 32 else text.exploded
        mark = "." if bits == 32 else ":"
        parts = head.split(mark)[:-1]
        if bits == 128:
            parts = [format(int(part, 16), form) for part in parts]
        made[tenant].setdefault("loopbacks", []).append(f"{mark.join(parts)}{mark}{{leaf{more}}}/{bits}")


USUAL = Overlay()


def overlay(draft: Draft, shape: Shape, configs: Mapping[str, DeviceConfig]) -> bool:
    """Write the number pools and timers of ``overlay`` into the draft (the reconstructed fabric file).

    Return True if the fabric has an overlay.
    """
    there = {name: candidate for name in draft.switches if (candidate := configs[name].overlay)}
    if not there:
        return False
    part: dict[str, Any] = {}
    families, _ = common([instance.loopback.family for instance in there.values()])
    if families != USUAL.vtep:
        part["vtep"] = families
    if any(instance.links for instance in there.values()):
        draft.note("EVPN routes use the BGP sessions of links; a design uses sessions between loopbacks")
    bfds = [instance.bfd for instance in there.values()]
    bfd, others = common(bfds)
    bfd_part = {"enabled": False} if bfd is None else given(bfd, USUAL.bfd)
    if bfd_part:
        part["bfd"] = bfd_part
    if others:
        draft.note(f"{others} switches have different BFD settings in the overlay; they get the most common settings")
    macs = {gateway.mac for name in shape.leaves for gateway in configs[name].gateways if gateway.mac}
    if macs and macs != {USUAL.gateway_mac}:
        part["gateway_mac"] = min(macs)
    if len(macs) > 1:
        draft.note("gateways of layer-2 networks have different MAC addresses; all get the same one")
    targets = [target for name in shape.leaves for vrf in configs[name].vrfs for target in vrf.export_targets]
    heads = [
        int(target.split(":")[1]) for target in targets if target.count(":") == 2 and target.split(":")[1].isdecimal()
    ]
    if heads and common(list(heads))[0] != USUAL.route_target_as:
        part["route_target_as"] = common(list(heads))[0]
    draft.fabric["overlay"] = {**draft.at("overlay"), **part}
    return True


def loopbacks(draft: Draft, configs: Mapping[str, DeviceConfig], local: Sequence[str]) -> None:
    """Write the pools of IPv6 loopbacks and of the tunnel endpoints of path colors.

    The same number determines a switch's router ID and its addresses in these pools. ``local`` holds the prefixes that most
    switches accept.
    """
    slots = draft.slots("router-ids")
    part = draft.at("overlay")
    starts: list[int] = []
    ends: list[tuple[int, str]] = []
    for name in draft.switches:
        instance = configs[name].overlay
        if instance is None or name not in slots:
            continue
        if instance.loopback.family == "ipv6":
            starts.append(int(ipaddress.ip_address(str(instance.loopback))) - slots[name])
        colored = [end for end in instance.endpoints if end.address != instance.loopback]
        if len(instance.endpoints) == 1 and colored and colored[0].color is None:
            draft.note("each leaf has a separate address for its tunnels; a design uses the loopback", "overlay")
            continue
        for at, end in enumerate(colored, 1):
            start = int(ipaddress.ip_address(str(end.address))) - (slots[name] - 1) * 64 - at
            ends.append((start, end.address.family))
    if starts:
        start, wrong = common(list(starts))
        pool = _pool(start, "ipv6", local)
        if pool != USUAL.loopbacks:
            part["loopbacks"] = pool
        if wrong:
            draft.note(f"{wrong} IPv6 loopbacks are not numbered like the router IDs; they get different addresses")
    if ends:
        (start, family), wrong = common(list(ends))
        pool = _pool(start, family, local)
        if pool != USUAL.model_copy(update={"vtep": family}).endpoint_pool():
            part["color_endpoints"] = pool
        if wrong:
            draft.note(f"{wrong} tunnel endpoints are not numbered like the router IDs; they get different addresses")


def _pool(start: int, family: str, local: Sequence[str]) -> str:
    """Return the pool that starts at an address: a prefix of ``local`` with this start, or else a pool of the default length.

    ``start`` is the address as an integer, and ``family`` is ipv4 or ipv6. The pool is smaller than the default if ``start`` is not
    aligned to that length.
    """
    address = ipaddress.IPv4Address(start) if family == "ipv4" else ipaddress.IPv6Address(start)
    for text in local:
        net = ipaddress.ip_network(text)
        if net.network_address == address:
            return text
    length = 16 if family == "ipv4" else 64
    while start % (1 << (address.max_prefixlen - length)):
        length += 1
    return f"{address}/{length}"


DEFAULT_ROUTES = {"ipv4": ("0.0.0.0/0",), "ipv6": ("::/0",)}
_PURPOSE = "network "
"""The start of the descriptions that railweave gives to gateways."""


def tenant_slots(draft: Draft, configs: Mapping[str, DeviceConfig]) -> dict[str, int]:
    """Return the number of each tenant by VRF: from its route distinguishers, or else its position in the order of VNIs."""
    numbers: dict[str, set[str]] = defaultdict(set)
    vnis: dict[str, int] = {}
    for name in draft.switches:
        for vrf in configs[name].vrfs:
            numbers[vrf.name].add(vrf.route_distinguisher.rpartition(":")[2])
            vnis[vrf.name] = vrf.vni
    stated = {
        name: int(next(iter(ids))) for name, ids in numbers.items() if len(ids) == 1 and next(iter(ids)).isdecimal()
    }
    slots = slots_of(stated, draft) if len(stated) == len(numbers) else stated
    if (
        len(slots) < len(vnis)
        or len(set(slots.values())) < len(slots)
        or any(not 1 <= slot <= 4096 for slot in slots.values())
    ):
        slots = {name: at for at, name in enumerate(sorted(vnis, key=lambda name: (vnis[name], name)), 1)}
        if vnis:
            draft.note("route distinguishers of VRFs have no common numbering; they get different ones")
    if slots:
        draft.slots("tenants", per_fabric=True).update(dict(sorted(slots.items(), key=lambda item: item[1])))
    return slots


def tenants(draft: Draft, shape: Shape, configs: Mapping[str, DeviceConfig], slots: Mapping[str, int]) -> None:
    """Write ``tenants`` with members, networks and external routers, and the pools of VNIs, into the reconstructed fabric file.

    ``slots`` holds each tenant's number by VRF.
    """
    if not slots:
        return
    made: dict[str, dict[str, Any]] = {name: {} for name in sorted(slots, key=lambda tenant_name: slots[tenant_name])}
    nics_of: dict[str, list[End]] = defaultdict(list)
    on_network: dict[tuple[str, str], list[End]] = defaultdict(list)
    networks: dict[tuple[str, str], dict[str, Any]] = {}
    vnis: dict[str, int] = {}
    routers: dict[tuple[str, str], str] = {}
    for leaf in shape.leaves:
        config = configs[leaf]
        by_vlan = {gateway.vlan_name: gateway for gateway in config.gateways if gateway.vlan_name}
        by_port = {gateway.port: gateway for gateway in config.gateways if gateway.port}
        bridged = {vlan.vlan: vlan for vlan in config.mac_vrf.vlans} if config.mac_vrf else {}
        for vrf in config.vrfs:
            vnis[vrf.name] = vrf.vni
            _external(draft, made[vrf.name], leaf, vrf, config, routers)
        ports = {
            interface.name: by_port.get(interface.name) or by_vlan.get(interface.vlan or "")
            for interface in config.interfaces
        }
        for routed_gateway in config.gateways:  # of whose ports nothing else may be said
            ports.setdefault(routed_gateway.port or routed_gateway.name, routed_gateway)
        for port, gateway in ports.items():
            nic = shape.wiring.servers.get(End(leaf, port))
            if nic is None or gateway is None or gateway.vrf not in made or not nic.device:
                continue
            if gateway.vlan in bridged:
                name = _network_name(gateway.description, gateway.vlan or 0)
                networks.setdefault((gateway.vrf, name), _network(gateway, bridged[gateway.vlan]))
                on_network[gateway.vrf, name].append(nic)
            else:
                nics_of[gateway.vrf].append(nic)
    whole: dict[str, set[str]] = defaultdict(set)
    for nic in shape.wiring.servers.values():
        whole[nic.device].add(nic.port)
    for name, part in made.items():
        if nics_of[name]:
            part["members"] = members(nics_of[name], whole)
    order = {key: at for at, key in enumerate(_in_order(networks, shape, configs), 1)}
    for (tenant, name), network in sorted(networks.items(), key=lambda item: order[item[0]]):
        nics = on_network[tenant, name]
        made[tenant].setdefault("networks", {})[name] = {"members": members(nics, whole), **network}
    _targets(draft, made, vnis, configs, shape.leaves)
    tenant_loopbacks(draft, made, shape.leaves, configs)
    _vnis(draft, made, vnis, slots)
    _network_vnis(draft, made, {name: at for (_, name), at in order.items()})
    draft.fabric["tenants"] = _with_members(draft, made)


def _targets(
    draft: Draft,
    made: Mapping[str, dict[str, Any]],
    vnis: Mapping[str, int],
    configs: Mapping[str, DeviceConfig],
    leaves: Iterable[str],
) -> None:
    """Write the route target of each tenant if it cannot be derived from the VNI. Also write the tenant's ``leaks``.

    A VRF of one of the ``leaves`` counts only if the VRF imports its own routes. ``made`` holds the tenants' sections by VRF, and
    ``vnis`` their VNIs.
    """
    head = draft.at("overlay").get("route_target_as", USUAL.route_target_as)
    leaves = list(leaves)
    every = [vrf for leaf in leaves for vrf in configs[leaf].vrfs if len(vrf.export_targets) == 1]
    senders = {vrf.export_targets[0]: vrf for vrf in every}
    for leaf in leaves:
        for vrf in configs[leaf].vrfs:
            taken = set(vrf.import_targets)
            if len(vrf.export_targets) == 1 and taken >= set(vrf.export_targets) and vrf.name in made:
                _leaks(made, vrf, senders)
                target = target_value(vrf.export_targets[0])
                if target != f"{head}:{vnis[vrf.name]}" and target.count(":") == 1:
                    made[vrf.name].setdefault("route_target", target)


def _leaks(made: Mapping[str, dict[str, Any]], vrf: Vrf, senders: Mapping[str, Vrf]) -> None:
    """Write ``leaks`` of a tenant: the tenants with which it exchanges prefixes.

    Two tenants exchange prefixes if each imports the other tenant's routes. The pair is written only for the tenant with
    fewer import targets. ``made`` holds the tenants' sections. ``senders`` maps an export target to its VRF.
    """
    own_target = vrf.export_targets[0]
    for target in vrf.import_targets:
        other = senders.get(target)
        if other is None or other.name == vrf.name or own_target not in other.import_targets or other.name not in made:
            continue
        if (len(vrf.import_targets), vrf.name) < (len(other.import_targets), other.name):
            there = made[vrf.name].setdefault("leaks", [])
            there += [] if other.name in there else [other.name]


def _with_members(draft: Draft, made: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    for name, part in made.items():
        if "members" not in part and "networks" not in part:
            draft.note(f"VRF {name} has no servers; it is left out")
    return {
        name: {
            key: part[key]
            for key in ("members", "networks", "external", "vni", "route_target", "loopbacks", "leaks")
            if key in part
        }
        for name, part in made.items()
        if "members" in part or "networks" in part
    }


def _network_name(description: str, vlan: int) -> str:
    name = description.removeprefix(_PURPOSE)
    return name if name != description and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", name) else f"vlan{vlan}"


def _network(gateway: Any, bridged: BridgedVlan) -> dict[str, Any]:  # noqa: ANN401 - a Gateway
    prefix = gateway.prefixes[0]
    host = int(ipaddress.ip_address(str(gateway.addresses[0].address))) - int(
        ipaddress.ip_network(str(prefix)).network_address
    )
    return {
        "prefix": str(prefix),
        **({"gateway_host": host} if host != 1 else {}),
        "vlan": gateway.vlan,
        "vni": bridged.vni,
    }


def _in_order(
    networks: Mapping[tuple[str, str], dict[str, Any]], shape: Shape, configs: Mapping[str, DeviceConfig]
) -> list[tuple[str, str]]:
    """Return the networks, as (tenant, network name), in the order in which the leaves' MAC-VRF instances list their VLANs."""
    place: dict[int, int] = {}
    for leaf in shape.leaves:
        instance = configs[leaf].mac_vrf
        for vlan in instance.vlans if instance else ():
            place.setdefault(vlan.vlan, len(place))
    return sorted(networks, key=lambda key: place[networks[key]["vlan"]])


def _vnis(draft: Draft, made: dict[str, dict[str, Any]], vnis: Mapping[str, int], slots: Mapping[str, int]) -> None:
    starts = [vni - slots[name] + 1 for name, vni in vnis.items()]
    first = USUAL.vni[0] if USUAL.vni[0] in starts else max(dict.fromkeys(starts), key=starts.count)
    if first < 1:
        first = USUAL.vni[0]
    if first != USUAL.vni[0]:
        draft.at("overlay")["vni"] = f"{first}-{first + 9998}"
    for name, vni in vnis.items():
        if vni != first + slots[name] - 1:
            made[name]["vni"] = vni


def _network_vnis(draft: Draft, made: Mapping[str, dict[str, Any]], order: Mapping[str, int]) -> None:
    """Write the numbers of networks into the lock file. Then remove a network's VNI from its section if the network's number gives it.

    ``made`` holds the tenants' sections. ``order`` holds the number of each network by name. The default VNI pool gives network N its
    Nth VNI.
    """
    if order:
        draft.slots("networks", per_fabric=True).update(order)
    for part in made.values():
        for name, network in part.get("networks", {}).items():
            if network["vni"] == USUAL.network_vni[0] + order[name] - 1:
                del network["vni"]


def _external(
    draft: Draft, part: dict[str, Any], leaf: str, vrf: Vrf, config: DeviceConfig, routers: dict[tuple[str, str], str]
) -> None:
    """Write the external routers of a tenant at one leaf into ``part``, the tenant's section.

    ``routers`` maps (leaf, port) to the name of the router there; new routers are added.
    """
    ports: dict[str, Interface] = {interface.name: interface for interface in config.interfaces}
    for peer in vrf.external:
        name = as_name(peer.router or peer.session.peer or f"as{peer.session.peer_as}")
        interface, _, unit = peer.session.interface.partition(".")
        port = ports.get(interface) or ports.get(peer.session.interface)
        if port is None or not port.addresses:
            draft.note(f"{leaf}: the port of external router {name} is not known; the router is left out")
            continue
        # A port with several tags is one port of each: the session's is the one with its address.
        local = peer.session.local_address
        port = next(
            (each for each in port.parts() if any(address.address == local for address in each.addresses)), port
        )
        name = routers.setdefault((leaf, port.name), name)
        router = part.setdefault("external", {}).setdefault(name, {"asn": peer.session.peer_as, "links": []})
        link: dict[str, Any] = {"leaf": leaf, "port": port.name, "prefix": str(port.addresses[0].prefix)}
        if port.speed_gbps:
            link["speed"] = f"{port.speed_gbps}G"
        vlan = port.unit_vlan or (int(unit) if unit.isdecimal() and int(unit) else None)
        router["links"].append(link | ({"vlan": vlan} if vlan else {}))
        if tuple(map(str, peer.accept)) != DEFAULT_ROUTES[peer.session.local_address.family]:
            router["accept"] = [str(prefix) for prefix in peer.accept]
        router["advertise"] = [str(prefix) for prefix in peer.advertise]


def members(nics: Iterable[End], whole: Mapping[str, set[str]]) -> list[str]:
    """Return NICs as the fabric file lists a tenant's ``members``, for example ``H100-[01-04]`` or ``H100-05:gpu[0-3]_eth``.

    A server is listed without NICs if all its NICs are members. ``whole`` holds all NICs of each server.
    """
    ports_of: dict[str, list[str]] = defaultdict(list)
    for nic in nics:
        ports_of[nic.device].append(nic.port)
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for server, ports in ports_of.items():
        alike[() if set(ports) == whole[server] else tuple(ports)].append(server)
    return [
        f"{servers}:{ports}" if ports else servers
        for names, group in alike.items()
        for servers in host_lists(group)
        for ports in (_nic_lists(names) or [""])
    ]


_NIC = re.compile(r"(\D*)(\d+)(\D*)")


def _nic_lists(names: Sequence[str]) -> list[str]:
    """Return NIC names in short notation: gpu0_eth and gpu1_eth become gpu[0-1]_eth."""
    matches = [_NIC.fullmatch(name) for name in names]
    if len(names) > 1 and all(matches):
        parts = [match for match in matches if match]
        numbers = [int(match[2]) for match in parts]
        same = len({(match[1], match[3]) for match in parts}) == 1
        if (
            same
            and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
            and all(str(int(m[2])) == m[2] for m in parts)
        ):
            return [f"{parts[0][1]}[{numbers[0]}-{numbers[-1]}]{parts[0][3]}"]
    return list(names)
