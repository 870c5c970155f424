"""Checks of routes and their ports, and of server-facing interfaces and their router advertisements."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from railweave.live.check.living import OF_PREFIX, OF_ROUTE, OVERRIDING, Deviation, NetworkStates, Part, some
from railweave.live.check.ports import of_port, without_unit
from railweave.live.check.sessions import carried
from railweave.model.config.addresses import WORDS, Family
from railweave.model.device.build import device_config
from railweave.model.findings.registry import Rule
from railweave.model.state.ports import NO_MAC
from railweave.model.state.question import DEFAULT_VRF
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import Gateway, Route
    from railweave.model.device.timers import RouterAdvertisements
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.protocols import Route as Said
    from railweave.model.state.protocols import RouterAdvertising

ROUTE_MISSING = Rule(
    "route-missing",
    "error",
    "living",
    "A device lacks a route of the design.",
    why="the device drops packets to the route's prefix",
    fix="check the sessions from which the device should learn the route, then the policies: `railweave drift`",
    asked=OF_ROUTE,
)
ROUTE_PORTS = Rule(
    "route-ports-differ",
    "error",
    "living",
    "A route uses other ports than designed.",
    why="queue pairs share links that the design separates, or take a longer path",
    fix="check the sessions on the missing ports, then the policies: `railweave drift`",
    asked=("colors?.colors", ".underlay.maximum_ecmp"),
)
ROUTE_DROPS = Rule(
    "route-drops",
    "error",
    "living",
    (
        "A device drops all packets to a prefix of the design: the next hop of its route is blackhole, "
        "unreachable, Null0, discard or reject."
    ),
    why="sessions stay up, so the other switches continue to send packets to this device",
    fix=(
        "remove the route that drops the packets: `railweave drift` shows configured routes; on Linux, `ip route` "
        "shows the others"
    ),
    asked=OF_ROUTE,
)
ROUTE_PROTOCOL = Rule(
    "route-protocol-differs",
    "error",
    "living",
    "A route from a different protocol replaces a designed route, or covers a part of its prefix.",
    why="the route stays when links fail, and sends packets elsewhere; BGP's routes are not used",
    fix="remove the route: `railweave drift` shows configured routes; on Linux, `ip route` shows the others",
    asked=(".underlay.protocol",),
)
NOT_FORWARDING = Rule(
    "forwarding-off",
    "error",
    "living",
    "A device does not forward packets of an address family, on one port or on all ports.",
    why="sessions and routes stay up, so the other switches continue to send packets to this device, which drops them",
    fix=(
        "enable forwarding (`ip forwarding`, `ip routing`, net.ipv6.conf.all.forwarding); on Linux, also check "
        "`ip rule`"
    ),
    asked=OF_PREFIX,
)
KERNEL = Rule(
    "kernel-setting-differs",
    "error",
    "living",
    "The kernel of a switch spreads packets over equal routes by their addresses only, or drops packets that come in by another port than it would send by.",
    why="all queue pairs between two NICs take one path, or those of a backup path are dropped; routes and sessions look right",
    fix="set the value (`sysctl -w`), and in a file of /etc/sysctl.d so that it stays",
    sometimes="warning",
    asked=(".load_balancing.mode",),
)
ROUTE_NOT_INSTALLED = Rule(
    "route-not-installed",
    "error",
    "living",
    "A device has a route in its routing table, but not in its forwarding table.",
    why="the routing protocol shows the path, but packets are dropped or sent elsewhere",
    fix="check the size of the forwarding table and the device's log",
    asked=OF_ROUTE,
)
ROUTE_WEIGHTS = Rule(
    "route-weights-differ",
    "error",
    "living",
    "The next hops of a route have unequal weights.",
    why="links that should carry equal shares do not: some are full while others are idle",
    fix="look for a weight or a link bandwidth community in the policies: `railweave drift`",
    asked=(".underlay.maximum_ecmp",),
)
ROUTE_COUNT = Rule(
    "route-count-differs",
    "error",
    "living",
    "The number of learned routes in a device's forwarding table differs from the design.",
    why="routes are missing, or there are extra routes, although the example routes that were compared are right",
    fix="compare all routes: `railweave check --all-routes`, with a capture of `railweave collect --all-routes`",
    asked=OF_PREFIX,
)
FILTER = Rule(
    "filter-stray",
    "error",
    "living",
    "A device has a packet filter that is not in the design.",
    why="sessions may stay up while packets of servers are dropped, or go down while packets of servers pass",
    fix=(
        "remove the filter: on Linux, see `nft list ruleset`; on other systems, the access lists or firewall "
        "filters of the ports"
    ),
    asked=("management.security",),
)
NEIGHBOR_MAC = Rule(
    "neighbor-mac-differs",
    "error",
    "living",
    "The neighbor table of a leaf maps a NIC's address to a different MAC address than the inventory.",
    why="packets for this NIC are sent to a different NIC",
    fix=(
        "find the device that answers for the address; if the NIC was replaced, record its new MAC address with "
        "`railweave inventory fill`"
    ),
    asked=("inventory.mac.{server}.{interface}",),
)
NEIGHBOR_FIXED = Rule(
    "neighbor-fixed",
    "error",
    "living",
    "A device has a permanent neighbor entry on a port or gateway of the design.",
    why="the device never refreshes the entry: packets to the address may be lost after a NIC or switch is replaced",
    fix="delete the entry (`ip neigh del` on Linux), so that the device learns the neighbor",
    asked=(".addressing.server_mode",),
)
GATEWAY_ADDRESS = Rule(
    "gateway-address-differs",
    "error",
    "living",
    "A server-facing interface lacks an address of the design.",
    why="servers have no gateway for paths with this address",
    fix="restore the designed configuration",
    asked=OF_PREFIX,
)
GATEWAY_DOWN = Rule(
    "gateway-down",
    "error",
    "living",
    "A server-facing interface is down, although a server port of this interface should be up.",
    why="the prefixes of this interface are not advertised",
    fix="check the server ports of this interface",
    asked=(".addressing.server_link",),
)
GATEWAY_MAC = Rule(
    "gateway-mac-absent",
    "error",
    "living",
    "A server-facing interface has no MAC address.",
    why="servers send nothing to their gateway: no neighbor entry leads to it",
    fix="give the interface a MAC address (on Linux, `ip link set dev BRIDGE address MAC`)",
    asked=(".addressing.server_link",),
)
NO_ADVERTISEMENTS = Rule(
    "advertisements-not-sent",
    "error",
    "living",
    "A server-facing interface sends no router advertisements.",
    why="servers get no SLAAC addresses and no gateway",
    fix="restore the designed configuration",
    asked=(".addressing.server_mode",),
)
ADVERTISEMENTS = Rule(
    "advertisements-differ",
    "error",
    "living",
    "The router advertisements of a server-facing interface differ from the design.",
    why="servers use other addresses or gateways than designed, or keep them for a shorter or longer time",
    fix="restore the designed configuration",
    asked=(".router_advertisements.{field}",),
)


def forwarding(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about routes and gateways. ``living`` has the expected and the reported states."""
    for expected, state in living.pairs():
        differences = [
            difference
            for route, reported in living.routes(expected.device)
            for difference in _route(living, expected, route, reported)
        ]
        for deviation in _together(living, expected.device, differences):
            yield replace(deviation, breaks=_cut(expected, deviation)) if deviation.rule is ROUTE_DROPS else deviation
        yield from _counts(expected, state)
        yield from _neighbors(living, expected, state)
        yield from _filters(living, expected, state)
        yield from _strays(living, expected, state)
        yield from _forwarding(expected, state)
        yield from _kernel(expected, state)
        for gateway in expected.gateways:
            yield from _gateway(gateway, state, used=any(port.kind == "server" for port in expected.ports))


def _cut(expected: Expected, drops: Deviation) -> frozenset[Part]:
    """Return the overlay sessions that the device ``expected`` interrupts by dropping packets.

    ``drops`` is the finding about these packets. The sessions lead to loopbacks inside the prefixes of this finding.
    """
    nets = [ip_network(prefix) for prefix in drops.prefixes]
    ends = ((carried(each.session), each.session.peer_address) for each in expected.overlay_sessions)
    return frozenset(
        part for part, address in ends if address is not None and any(ip_address(str(address)) in net for net in nets)
    )


def shows(wanted: Route, reported: Said | None) -> bool:
    """Return True if a reported route tells how the device treats its packets: the route names ports, drops packets, or is reported as absent.

    If the designed route ``wanted`` has no ports, the reported route needs none. ``reported`` is None if no query asked for the route.
    """
    if reported is None:
        return False
    if reported.drops or not reported.next_hops or reported.vrf != DEFAULT_VRF or not wanted.ports:
        return True
    return any(next_hop.interface for next_hop in reported.next_hops)


@dataclass(frozen=True, slots=True)
class _Difference:
    """A difference between a reported and a designed route.

    ``before`` and ``after`` are the parts of the finding's text before and after the prefix. ``needs`` has the parts of the
    network that the route depends on.
    """

    rule: Rule
    route: Route
    before: str
    after: str
    needs: frozenset[Part] = frozenset()


_MOST_NAMED = 4
"""The largest number of equal differences that get a finding each. More differences share one finding. A leaf rarely has more prefixes."""


def _together(living: NetworkStates, device: str, differences: Sequence[_Difference]) -> Iterator[Deviation]:
    """Yield a finding for each difference of a device. More than ``_MOST_NAMED`` equal ones share a finding.

    ``living`` has the expected and the reported states.
    """
    alike: dict[tuple[Rule, str, str, bool], list[_Difference]] = {}
    for each in differences:
        rerouted = living.rerouted(device, str(each.route.prefix))
        alike.setdefault((each.rule, each.before, each.after, rerouted), []).append(each)
    for (rule, before, after, _), group in alike.items():
        if len(group) <= _MOST_NAMED:
            for each in group:
                description = f"{before}{_which(each.route)}{after}"
                about = (str(each.route.prefix),)
                yield Deviation(rule, device, description, each.route.because, needs=each.needs, prefixes=about)
            continue
        leaves = list(dict.fromkeys(each.route.leaf for each in group))
        which = f"{len(group)} prefixes ({some(each.route.prefix for each in group)}) of {some(leaves)}"
        needs = frozenset[Part]().union(*(each.needs for each in group))
        description = f"{before}{which}{after}"
        about = tuple(str(each.route.prefix) for each in group)
        yield Deviation(
            rule, device, description, group[0].route.because, needs=needs, objects=len(group), prefixes=about
        )


def _which(wanted: Route) -> str:
    return f"{wanted.prefix}{f', path color {wanted.color},' if wanted.color else ''} of {wanted.leaf}"


def _route(living: NetworkStates, device: Expected, wanted: Route, reported: Said | None) -> Iterator[_Difference]:
    if reported is None:
        return  # it was not asked for
    have = sorted(
        {
            without_unit(next_hop.interface)
            for next_hop in reported.next_hops
            if next_hop.interface and next_hop.active is not False
        }
    )
    if reported.drops:
        yield _Difference(ROUTE_DROPS, wanted, "packets to ", f" are dropped{_by(reported)} ({reported.drops})")
        return
    if not reported.next_hops:
        if wanted.ports and not (reported.vrf != DEFAULT_VRF and wanted.prefix in living.tenant_prefixes):
            yield _Difference(
                ROUTE_MISSING, wanted, "no route to ", "", _way(living, device, wanted)
            )  # those of tenants: tenants.py
        return
    if wanted.ports and reported.protocol and (kind := _kind(reported.protocol)) not in (usual := _protocols(device)):
        after = f" is a route of {kind}, the design has {' or '.join(sorted(usual - {'evpn'}))}"
        yield _Difference(ROUTE_PROTOCOL, wanted, "", after)
        return
    # In a tenant's VRF a route leaves by the tunnel; which links that takes, the route to the far leaf's loopback says.
    if have and reported.vrf == DEFAULT_VRF and set(have) != set(wanted.ports):
        should = " and ".join(wanted.ports) or "no port"
        after = f" leaves by {' and '.join(have)}, the design has {should}"
        yield _Difference(ROUTE_PORTS, wanted, "", after, _way(living, device, wanted))
    elif len(weights := _weights(reported)) > 1:
        yield _Difference(ROUTE_WEIGHTS, wanted, "", f" has next hops of weight {', '.join(map(str, weights))}")
    if reported.installed is False:
        yield _Difference(ROUTE_NOT_INSTALLED, wanted, "", " is not in the forwarding table")


def _weights(reported: Said) -> list[int]:
    """Return the distinct weights of the active next hops of the route ``reported``. Weights that the device does not report are left out."""
    active = (next_hop.weight for next_hop in reported.next_hops if next_hop.active is not False)
    return sorted({weight for weight in active if weight is not None})


def _counts(device: Expected, state: DeviceState) -> Iterator[Deviation]:
    """Yield a finding if a device has more or fewer routes than designed. Only devices whose routes are not compared one by one are checked."""
    reported = (state.route_counts or {}).get(DEFAULT_VRF, {})
    for family, number in (device.route_counts or {}).items():
        if family in reported and reported[family] != number:
            description = f"{reported[family]:,} {WORDS[family]} routes of BGP or IS-IS, the design has {number:,}"
            yield Deviation(ROUTE_COUNT, device.device, description, device.identity.because)


def _filters(living: NetworkStates, device: Expected, state: DeviceState) -> Iterator[Deviation]:
    """Yield a finding for each packet filter that a device has, but its designed configuration does not.

    ``living`` has the expected and the reported states.
    """
    if not state.filters:
        return
    files = system(state.system).files(device_config(living.network, device.device, state.system))
    text = "\n".join(files.values())
    for each in state.filters:
        if all(re.search(rf"(?<![\w-]){re.escape(part)}(?![\w-])", text) for part in each.name.split(", ")):
            continue
        on = f" on {some(each.ports)}" if len(each.ports) > 1 else ""
        port = next((port.name for port in device.ports if [port.name] == [*map(without_unit, each.ports)]), "")
        description = f"packets are filtered{on} by {each.name}, which the design does not have"
        ends = [each.session for each in (*device.sessions, *device.overlay_sessions)]
        cut = frozenset(carried(session) for session in ends if not port or session.interface == port)
        yield Deviation(FILTER, device.device, description, device.identity.because, port, breaks=cut)


_IPV4_OVER_IPV6 = "169.254.0.1"
"""The address that FRRouting's zebra enters in the neighbor table for IPv4 routes over IPv6, with the MAC address of the next hop (RFC 8950)."""


def _neighbors(living: NetworkStates, device: Expected, state: DeviceState) -> Iterator[Deviation]:
    """Yield a finding for each wrong entry of a device's neighbor tables.

    An entry is wrong if it is permanent, or if it shows a NIC's address with a MAC address that is not the NIC's. ``living`` has the
    expected and the reported states.
    """
    places = {port.name: port.because for port in device.ports} | {each.name: each.because for each in device.gateways}
    for entry in (*(state.ipv6_neighbors or ()), *(state.ipv4_neighbors or ())):
        name = without_unit(entry.interface) if entry.interface else ""
        name = name if name in places else entry.interface or ""
        if entry.state == "permanent" and name in places and entry.address != _IPV4_OVER_IPV6:
            description = f"{entry.address} is fixed to {entry.mac or 'no MAC address'} on {name}"
            port = name if any(each.name == name for each in device.ports) else ""
            yield Deviation(NEIGHBOR_FIXED, device.device, description, places[name], port)
        nic = living.nics_by_address.get(entry.address)
        if nic is not None and nic[1] and entry.mac is not None and entry.mac != nic[1]:
            other = living.nics_by_mac.get(entry.mac)
            whose = f", that of {other}" if other else ""
            description = f"{entry.address} of {nic[0]} has MAC address {entry.mac}{whose}, the inventory has {nic[1]}"
            yield Deviation(NEIGHBOR_MAC, device.device, description, ("servers",), peer=nic[0])


def _kind(protocol: str) -> str:
    """Return the common name of a route's protocol, such as ``bgp`` for ``ebgp``. Systems use several names for one protocol."""
    plain = protocol.lower().replace("-", "")
    return "isis" if plain.startswith("isis") else "bgp" if plain in {"bgp", "ebgp", "ibgp"} else plain


def _by(reported: Said) -> str:
    return f" by a route of {reported.protocol}" if reported.protocol else ""


def _protocols(device: Expected) -> frozenset[str]:
    """Return the protocols by which a switch learns the prefixes of other devices."""
    return frozenset(
        {
            "evpn",
            *(["bgp"] if device.sessions or device.overlay_sessions else []),
            *(["isis"] if device.adjacencies else []),
        }
    )


def _strays(living: NetworkStates, device: Expected, state: DeviceState) -> Iterator[Deviation]:
    """Yield a finding for unexpected routes within the design's prefixes that drop packets or override the designed routes.

    ``living`` has the expected and the reported states.
    """
    wanted = {route.prefix for route in device.routes}
    for reported in state.routes or ():
        overrides = reported.protocol is not None and _kind(reported.protocol) in OVERRIDING
        if reported.prefix in wanted or not (reported.drops or overrides) or not living.has_prefix(reported.prefix):
            continue
        where = f"{reported.prefix}{f' in VRF {reported.vrf}' if reported.vrf != DEFAULT_VRF else ''}"
        if reported.drops:
            description = f"packets to {where} are dropped{_by(reported)} ({reported.drops})"
            yield Deviation(ROUTE_DROPS, device.device, description, device.identity.because)
        else:
            yield Deviation(
                ROUTE_PROTOCOL,
                device.device,
                f"{where} is a route of {reported.protocol}, which no design has",
                device.identity.because,
            )


def _forwarding(device: Expected, state: DeviceState) -> Iterator[Deviation]:
    if state.not_forwarding is None:
        return
    ports = [*(port.name for port in device.ports), *(gateway.name for gateway in device.gateways)]
    for family in families(device):
        off = {without_unit(interface) for interface in state.not_forwarding.get(family, ())}
        if "all" in off:
            yield Deviation(NOT_FORWARDING, device.device, f"it forwards no {WORDS[family]}", device.identity.because)
            continue
        for port in ports:
            if port in off:
                description = f"it forwards no {WORDS[family]} that comes from there"
                yield Deviation(NOT_FORWARDING, device.device, description, device.identity.because, port)


HASHED = "1"
"""The value of ``fib_multipath_hash_policy`` with which the hash includes UDP and TCP ports (Linux, Documentation/networking/ip-sysctl.rst)."""
_STRICT = "1"


def families(device: Expected) -> list[Family]:
    """Return the address families that a switch forwards."""
    prefixes = [route.prefix for route in device.routes]
    prefixes += [prefix for gateway in device.gateways for prefix in gateway.prefixes]
    return sorted({prefix.family for prefix in prefixes})


def policy_of(family: Family) -> str:
    """Return the name of the kernel parameter that selects the hash by which packets of an address family are spread over links."""
    return f"net.{family}.fib_multipath_hash_policy"


def _kernel(device: Expected, state: DeviceState) -> Iterator[Deviation]:
    if state.kernel is None:
        return
    for family in families(device):
        value = state.kernel.get(policy_of(family), HASHED)
        if value != HASHED:
            description = f"{policy_of(family)} is {value}: packets are hashed by their addresses, not by their ports; the design needs {HASHED}"
            yield Deviation(KERNEL, device.device, description, device.identity.because)
    values = {
        name: state.kernel.get(f"net.ipv4.conf.{name}.rp_filter")
        for name in ("all", *(port.name for port in device.ports))
    }
    strict = [name for name, value in values.items() if value == _STRICT and values["all"] in {"0", _STRICT}]
    if strict and any(route.prefix.family == "ipv4" for route in device.routes):
        ports = "every port" if "all" in strict else some(strict)
        description = f"rp_filter is strict on {ports}: packets that come back by another port are dropped"
        yield Deviation(KERNEL, device.device, description, device.identity.because, severity="warning")


def _way(living: NetworkStates, device: Expected, wanted: Route) -> frozenset[Part]:
    """Return the parts of the network on which the designed route ``wanted`` of a device depends.

    These are the leaf that has the prefix and its gateways, and the neighbors, links and sessions through which the route reaches this
    device. ``living`` has the expected and the reported states.
    """
    needs: set[Part] = {("device", wanted.leaf), ("gateways", wanted.leaf)}
    near = {session.session.interface: session for session in device.sessions}
    for port in wanted.ports:
        if port in near:
            session = near[port].session
            needs |= {("link", session.link), ("session", session.link), ("device", session.peer)}
            beyond = living.expected.get(session.peer)
            for far_session in beyond.sessions if beyond else ():
                needs |= {("link", far_session.session.link), ("session", far_session.session.link)}
    return frozenset(needs)


def _gateway(wanted: Gateway, state: DeviceState, *, used: bool) -> Iterator[Deviation]:
    """Yield findings about the addresses, state and advertisements of the designed gateway ``wanted``.

    ``used`` is True if servers are behind gateways of this device. If not, a gateway that is down is not a fault.
    """
    interface = of_port(state.interfaces or {}, wanted.name)
    broken: frozenset[Part] = frozenset([("gateways", wanted.device)])
    if state.interfaces is not None and interface is not None:
        if interface.addresses is not None:
            have = {address.partition("/")[0] for address in interface.addresses}
            missing = [str(address) for address in wanted.addresses if str(address).partition("/")[0] not in have]
            if missing:
                description = f"{wanted.name} lacks {', '.join(missing)}"
                yield Deviation(GATEWAY_ADDRESS, wanted.device, description, wanted.because, wanted.name, breaks=broken)
        if interface.oper_up is False and used:
            yield Deviation(
                GATEWAY_DOWN, wanted.device, f"{wanted.name} is down", wanted.because, wanted.name, breaks=broken
            )
        elif interface.mac == NO_MAC and used:
            description = f"{wanted.name} has no MAC address"
            yield Deviation(GATEWAY_MAC, wanted.device, description, wanted.because, wanted.name, breaks=broken)
    if wanted.advertisements is not None and state.advertising is not None:
        sending = of_port(state.advertising, wanted.name)
        if sending is None or sending.sent == 0:
            description = f"{wanted.name} sends no router advertisements"
            yield Deviation(NO_ADVERTISEMENTS, wanted.device, description, wanted.because, wanted.name)
        elif wrong := _advertised(wanted.advertisements, sending):
            description = f"{wanted.name} advertises {', '.join(text for _, text in wrong)}"
            yield Deviation(ADVERTISEMENTS, wanted.device, description, wanted.because, wanted.name, field=wrong[0][0])


def _advertised(wanted: RouterAdvertisements, reported: RouterAdvertising) -> list[tuple[str, str]]:
    """Return (field of the fabric file, sentence) for each difference of the router advertisements ``reported`` from the designed ones, ``wanted``.

    If the device reports that a neighbor's advertisement has a different value, that is a difference, too.
    """
    fields = (
        ("max_interval", "an interval of {} s", reported.interval_s),
        ("router_lifetime", "a router lifetime of {} s", reported.lifetime_s),
        ("hop_limit", "a hop limit of {}", reported.hop_limit),
        ("reachable_time", "a reachable time of {} ms", reported.reachable_ms),
        ("retransmit_timer", "a retransmit timer of {} ms", reported.retransmit_ms),
    )
    differences = [
        (field, f"{words.format(has)}, the design has {should}")
        for field, words, has in fields
        if has is not None and has != (should := getattr(wanted, field))
    ]
    return differences + [
        ("max_interval", f"another {name} than {advertisement.source}")
        for advertisement in reported.heard
        for name in advertisement.conflicts
    ]
