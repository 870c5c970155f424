"""Checks for addresses, originated prefixes and routers that the design does not have. The routers are those that advertise to servers."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.check.living import OF_PREFIX, Deviation, NetworkStates, Part
from railweave.live.check.ports import of_port, without_unit
from railweave.live.check.sessions import carried
from railweave.model.findings.registry import Rule
from railweave.model.state.question import DEFAULT_VRF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.analysis.expect import Expected
    from railweave.analysis.expect.hosts import ExpectedHost
    from railweave.model.device.expected import Route as WantedRoute
    from railweave.model.network.devices import Nic
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState
    from railweave.model.state.protocols import Route

DUPLICATE = Rule(
    "address-duplicate",
    "error",
    "living",
    "An interface of a switch has an address that the design gives to a different device.",
    why="packets for the other device may reach this switch, and two devices advertise the prefix",
    fix="remove the address from the interface to which the design does not give it",
    asked=OF_PREFIX,
)
STRAY = Rule(
    "address-stray",
    "warning",
    "living",
    "An interface of a switch has an address that is not in the design.",
    why="the switch answers for this address, and may advertise its prefix",
    fix="remove the address, or add it to the fabric file",
    sometimes="error",
    asked=OF_PREFIX,
)
MISSING = Rule(
    "port-address-missing",
    "error",
    "living",
    "A port between switches or a loopback interface lacks an address of the design.",
    why="sessions that use this address are not established",
    fix="restore the designed configuration",
    asked=("overlay?.pools.router_id", ".pools.fabric_link", ".pools.fabric_links"),
)
NIC_STRAY = Rule(
    "nic-address-stray",
    "error",
    "living",
    "A NIC of the design has an address that the design does not give it.",
    why=(
        "the RDMA device has a GID for this address: libraries may choose it, and their packets leave by an "
        "unplanned path"
    ),
    fix="remove the address, and find its origin: a router advertisement, DHCP, or a file on the server",
    asked=OF_PREFIX,
)
ROGUE = Rule(
    "advertisements-rogue",
    "error",
    "living",
    "Servers get addresses or routes from the router advertisements of a device that is not a gateway of the design.",
    why="packets to other prefixes leave through this device, and servers have unplanned addresses",
    fix=(
        "stop the program that sends the advertisements, and let the leaf drop router advertisements from servers "
        "(RA guard, RFC 6105)"
    ),
    asked=(".addressing.server_mode",),
)
ORIGIN = Rule(
    "prefix-originated-elsewhere",
    "error",
    "living",
    "A device originates a prefix, or a part of a prefix, that the design gives to a different device.",
    why="packets to the prefix reach this device instead of the designed one",
    fix="look for `network` statements, static routes, redistribution and addresses on this device: `railweave drift`",
    asked=OF_PREFIX,
)
_MOST_NAMED = 3
"""The most devices or addresses that one finding names."""


def strangers(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about addresses, prefixes and routers that the design does not have.

    ``living`` has the expected and the reported states.
    """
    owners = _owners(living)
    for expected, state in living.pairs():
        yield from _addresses(expected, state, owners)
        yield from _lacking(expected, state)
    yield from _on_nics(living)
    yield from origins(living)


def _owners(living: NetworkStates) -> dict[str, dict[str, str]]:
    """Return the designed owners of each address: for each address, the interface by device.

    ``living`` has the expected and the reported states.
    """
    owners: dict[str, dict[str, str]] = {}
    for device, expected in living.expected.items():
        for gateway in expected.gateways:
            for address in gateway.addresses:
                owners.setdefault(_plain(str(address)), {})[device] = gateway.name
        for session in expected.sessions:
            if session.session.local_address is not None:
                owners.setdefault(_plain(str(session.session.local_address)), {})[device] = session.session.interface
    for switch in living.network.switches:
        for address in (switch.loopback, *(endpoint.address for endpoint in switch.endpoints)):
            if address:
                owners.setdefault(_plain(str(address)), {})[switch.name] = "loopback"
    for server in living.network.servers:
        for nic in server.nics:
            for address in nic.addresses:
                owners.setdefault(_plain(address.address), {})[server.name] = nic.name
    return owners


def _plain(text: str) -> str:
    """Return an address in its usual form without a prefix length; empty if the text is not an address."""
    try:
        return str(ipaddress.ip_address(text.partition("/")[0].partition("%")[0]))
    except ValueError:
        return ""


def _is_link_local(text: str) -> bool:
    return ":" in text and bool(address := _plain(text)) and ipaddress.ip_address(address).is_link_local


def _global(addresses: Iterable[str]) -> list[str]:
    """Return addresses in their usual form, without link-local ones."""
    plain = [_plain(address) for address in addresses]
    return [address for address in plain if address and not ipaddress.ip_address(address).is_link_local]


def _addresses(expected: Expected, state: DeviceState, owners: dict[str, dict[str, str]]) -> Iterator[Deviation]:
    """Yield findings about addresses that the design does not have, on gateways and on ports between switches.

    ``expected`` is the designed state of the device. ``owners`` has, for each designed address, the interface by device.
    """
    device = expected.device
    designed: dict[str, set[str]] = {
        gateway.name: {_plain(str(address)) for address in gateway.addresses} for gateway in expected.gateways
    }
    for session in expected.sessions:
        if session.session.interface:
            designed.setdefault(session.session.interface, set()).add(_plain(str(session.session.local_address or "")))
    because = {gateway.name: gateway.because for gateway in expected.gateways}
    for name, right in designed.items():
        interface = of_port(state.interfaces or {}, name)
        for address in _global((interface.addresses if interface else None) or ()):
            owner = owners.get(address, {})
            if address in right or device in owner:
                continue
            parts: frozenset[Part] = frozenset(
                [("statics", device), ("routing", ""), ("tenants", ""), ("gateways", device)]
            )
            keys = because.get(name, expected.identity.because)
            if owner:
                other, interface_name = next(iter(owner.items()))
                text = f"{name} has {address}, which is that of {other} {interface_name}"
                yield Deviation(DUPLICATE, device, text, keys, name, breaks=parts)
            else:
                text = f"{name} has {address}, which the design does not have"
                yield Deviation(STRAY, device, text, keys, name, breaks=parts)


def _lacking(expected: Expected, state: DeviceState) -> Iterator[Deviation]:
    """Yield a finding for each address of a designed session, on a link or between loopbacks, that no interface of the device has.

    ``expected`` is the designed, ``state`` the reported state of the device.
    """
    interfaces = state.interfaces or {}
    known = [interface.addresses for interface in interfaces.values() if interface.addresses is not None]
    everywhere = {address for addresses in known for address in map(_plain, addresses)}
    linked = any(map(_is_link_local, everywhere))  # not every system lists them
    for each in expected.sessions:
        session = each.session
        interface = of_port(interfaces, session.interface)
        if interface is None or interface.addresses is None or False in (interface.oper_up, interface.admin_up):
            continue
        if session.local_address is None:
            lost = linked and not any(map(_is_link_local, interface.addresses))
            text = f"{session.interface} has no IPv6 link-local address: IPv6 is off there"
        else:
            lost = _plain(str(session.local_address)) not in everywhere
            text = f"{session.interface} lacks {session.local_address}"
        if lost:
            breaks: frozenset[Part] = frozenset([carried(session)])
            needs: frozenset[Part] = frozenset([("link", session.link)])
            yield Deviation(MISSING, expected.device, text, each.because, session.interface, breaks=breaks, needs=needs)
    loopbacks = [
        name
        for name, interface in interfaces.items()
        if re.match(r"lo(opback)?\d*(\.\d+)?$", name, re.IGNORECASE) and interface.addresses is not None
    ]
    overlay = [each for each in expected.overlay_sessions if each.session.local_address is not None]
    for address in dict.fromkeys(str(each.session.local_address) for each in overlay) if loopbacks else ():
        if _plain(address) not in everywhere:
            parts = frozenset(carried(each.session) for each in overlay if str(each.session.local_address) == address)
            text = f"no interface has {address}, the address of its loopback"
            prefix = str(ipaddress.ip_network(_plain(address)))
            more: frozenset[Part] = frozenset([("routing", ""), ("tenants", ""), ("prefix", prefix)])
            yield Deviation(MISSING, expected.device, text, overlay[0].because, breaks=parts | more)


def _on_nics(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about addresses of NICs outside the designed prefixes.

    Addresses that come from the advertisements of an unexpected router share one finding; any other address has its own. ``living`` has the
    expected and the reported states.
    """
    taken: dict[tuple[str, str], list[tuple[ExpectedHost, str, str]]] = {}
    macs = _macs(living)
    for wanted, state in living.servers():
        nics = {nic.netdev: nic for nic in wanted.nics}
        for assigned in state.addresses or ():
            nic = nics.get(assigned.interface)
            if nic is None:
                continue
            prefixes = [ipaddress.ip_network(str(path.prefix)) for path in nic.addresses]
            for address in _global([assigned.address]):
                if any(ipaddress.ip_address(address) in prefix for prefix in prefixes):
                    continue
                routers = _routers(state, assigned.interface)
                router = next((router for router in routers if _mac_of(living, nic.peer, router) in macs), "")
                prefix = str(ipaddress.ip_network(f"{address}/{assigned.prefix_length or 64}", strict=False))
                if router:
                    taken.setdefault((prefix, router), []).append((wanted, nic.name, address))
                    continue
                # The gateway may advertise another prefix; a server that advertises one has an address of it, too.
                parts: frozenset[Part] = frozenset([("gateways", nic.peer), ("prefix", prefix)])
                text = f"{nic.name} has {address}, which the design does not have"
                yield Deviation(NIC_STRAY, wanted.device, text, wanted.because, nic.name, needs=parts)
    for (prefix, router), holders in taken.items():
        wanted, name, address = holders[0]
        leaf = next(nic.peer for nic in wanted.nics if nic.name == name)
        server, nic = macs[_mac_of(living, leaf, router)]
        more = f" and {counted(len(holders) - 1, 'more NIC')}" if len(holders) > 1 else ""
        text = (
            f"router advertisements of {prefix} come in from {server} {nic.name} ({router}); "
            f"by them {wanted.device} {name} has {address}{more}"
        )
        breaks: set[Part] = {("nic", f"{host.device} {port} {given}") for host, port, given in holders}
        breaks.add(("prefix", prefix))
        because = living.expected[nic.leaf].identity.because if nic.leaf in living.expected else ()
        yield Deviation(ROGUE, nic.leaf, text, because, nic.leaf_port, breaks=frozenset(breaks))


def _macs(living: NetworkStates) -> dict[str, tuple[str, Nic]]:
    """Return (server, NIC) by MAC address, from the answers of servers or else from the inventory.

    ``living`` has the expected and the reported states.
    """
    macs = {
        nic.mac.lower(): (server.name, nic)
        for server in living.network.servers
        for nic in server.nics
        if not nic.mac_is_placeholder
    }
    for server in living.network.servers:
        interfaces = (host.interfaces if (host := living.hosts.get(server.name)) else None) or {}
        for nic in server.nics:
            if (interface := interfaces.get(nic.netdev)) is not None and interface.mac:
                macs[interface.mac.lower()] = (server.name, nic)
    return macs


def _routers(state: HostState, interface: str) -> list[str]:
    """Return the link-local addresses of the routers to which a server's default routes on an interface lead.

    The kernel does not record which router advertisement an address came from. But the same advertisement also created
    a default route in the main table, and that route names the router.
    """
    routes = [
        route
        for route in state.routes or ()
        if route.to in {"default", "::/0"} and route.interface == interface and route.table in {None, 254}
    ]
    vias = [route.via.rpartition(" ")[2] for route in routes]
    return [via for via in vias if via.lower().startswith("fe80:")]


def _mac_of(living: NetworkStates, leaf: str, router: str) -> str:
    """Return the MAC address that belongs to a router's link-local address.

    The MAC address comes from the leaf's neighbor cache, or else from the modified EUI-64 at the end of the address. ``living`` has the
    expected and the reported states.
    """
    state = living.states.get(leaf)
    for neighbor in (state.ipv6_neighbors if state is not None else None) or ():
        if neighbor.address == router and neighbor.mac:
            return neighbor.mac.lower()
    packed = ipaddress.IPv6Address(router).packed[8:]
    if packed[3:5] != b"\xff\xfe":
        return ""
    octets = bytes([packed[0] ^ 2, *packed[1:3], *packed[5:8]])
    return ":".join(f"{octet:02x}" for octet in octets)


def origins(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for each device that originates prefixes inside the prefixes of other devices.

    The finding is reported once, however many devices learn these prefixes. ``living`` has the expected and the reported states.
    """
    originated: dict[tuple[str, str], dict[str, list[str]]] = {}
    homes = {
        str(prefix): expected.device
        for expected in living.expected.values()
        for gateway in expected.gateways
        if not gateway.vrf or gateway.vrf == DEFAULT_VRF
        for prefix in gateway.prefixes
    }
    homes |= {str(switch.loopback): switch.name for switch in living.network.switches if switch.loopback}
    wanted = {str(route.prefix): route for expected in living.expected.values() for route in expected.routes}
    shared = {str(prefix) for prefix in living.tenant_prefixes}
    for prefix, holders in _tables(living).items():
        if prefix in shared:
            continue
        home = homes.get(prefix) or _home(prefix, homes)
        if not home:
            continue
        for device in _sources(living, prefix, home, holders, wanted.get(prefix)):
            learnt = [name for name, route in holders.items() if name != device and route.next_hops]
            originated.setdefault((device, home), {}).setdefault(prefix, []).extend(learnt)
    for (device, home), prefixes in originated.items():
        names = list(prefixes)
        heard = list(dict.fromkeys(name for learnt in prefixes.values() for name in learnt if name != home))
        to = f"; {_some(heard)} {'sends' if len(heard) == 1 else 'send'} packets there" if heard else ""
        text = f"{device} originates {_some(names)}, which {'is' if len(names) == 1 else 'are'} that of {home}{to}"
        parts: frozenset[Part] = frozenset([("routing", "")])
        because = living.expected[device].identity.because if device in living.expected else ()
        yield Deviation(ORIGIN, device, text, because, breaks=parts, objects=len(names))


def _tables(living: NetworkStates) -> dict[str, dict[str, Route]]:
    """Return the reported routes outside VRFs: for each prefix, the route by device.

    ``living`` has the expected and the reported states.
    """
    tables: dict[str, dict[str, Route]] = {}
    for expected, state in living.pairs():
        for route in state.routes or ():
            if route.vrf == DEFAULT_VRF:
                tables.setdefault(route.prefix, {})[expected.device] = route
    return tables


def _home(prefix: str, homes: dict[str, str]) -> str:
    """Return the owner of the smallest designed prefix that contains ``prefix``; empty if no designed prefix contains it.

    ``homes`` has the owner of each designed prefix.
    """
    try:
        net = ipaddress.ip_network(prefix)
    except ValueError:
        return ""
    shorter = (str(net.supernet(new_prefix=length)) for length in range(net.prefixlen - 1, 7, -1))
    return next((homes[text] for text in shorter if text in homes), "")


def _sources(
    living: NetworkStates, prefix: str, home: str, holders: dict[str, Route], wanted: WantedRoute | None
) -> list[str]:
    """Return the devices that announce a prefix without being its owner.

    - ``home``: the owner of the designed prefix that contains the prefix.
    - ``holders``: the reported route to the prefix, by device.
    - ``wanted``: the designed route to the prefix; None if the design has no such route.

    A device is returned in two cases:

    - Other devices send packets for the prefix to this device, although this device has no BGP route to the prefix.
    - A reported path to the prefix ends with the device's AS number, and this is not the owner's AS number.

    ``living`` has the expected and the reported states.
    """
    sources: list[str] = []
    by_as = {
        str(expected.sessions[0].group.local_as): device
        for device, expected in living.expected.items()
        if expected.sessions
    }
    for device, route in holders.items():
        for path in route.paths or ():
            last = (path.as_path or "").split()[-1:] if path.best or path.multipath else []
            origin = by_as.get(last[0]) if last else None
            if origin is not None and origin != home and list(by_as.values()).count(origin) == 1:
                sources.append(origin)
        if (
            wanted is not None
            or not route.next_hops
            or (route.protocol or "bgp").lower() not in {"bgp", "ebgp", "ibgp"}
        ):
            continue
        peers = {port.name: port.peer for port in living.expected[device].ports if port.kind == "fabric"}
        for hop in route.next_hops:
            peer = peers.get(without_unit(hop.interface or ""))
            beyond = holders.get(peer) if peer is not None else None
            learnt = (
                beyond is not None and (beyond.protocol or "").lower() in {"bgp", "ebgp", "ibgp"} and beyond.next_hops
            )
            if peer is not None and peer != home and not learnt and _has_table(living, peer, prefix):
                sources.append(peer)
    return list(dict.fromkeys(sources))


def _has_table(living: NetworkStates, device: str, prefix: str) -> bool:
    """Return True if a device reported its whole routing table. Only such a table proves that the device lacks a route to a prefix.

    ``living`` has the expected and the reported states.
    """
    state = living.states.get(device)
    return state is not None and f"routes-{'ipv6' if ':' in prefix else 'ipv4'}@{DEFAULT_VRF}" in state.answered


def _some(names: list[str]) -> str:
    """Return the first names of a list, separated by commas, with the number of further names."""
    more = [counted(len(names) - _MOST_NAMED, "more", "more")] if len(names) > _MOST_NAMED else []
    return ", ".join([*names[:_MOST_NAMED], *more])
