"""Routes with their ports, server-facing interfaces with what they advertise, and the VRFs of tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.live.check.living import Living, Part, Seen
from railweave.live.check.ports import of_port, without_unit
from railweave.model.config.addresses import WORDS, Family, Prefix
from railweave.model.findings.registry import Rule
from railweave.model.state.protocols import Route as Said
from railweave.model.state.protocols import RouterAdvertising
from railweave.model.state.question import DEFAULT_VRF

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import Gateway, Route, Tenant
    from railweave.model.device.timers import RouterAdvertisements
    from railweave.model.state.device_state import DeviceState

ROUTE_MISSING = Rule(
    "route-missing",
    "error",
    "living",
    "A device lacks a route of the design.",
    why="packets to it are dropped here",
    fix="look at the sessions that should bring it, then at the policies: `railweave drift`",
)
ROUTE_PORTS = Rule(
    "route-ports-differ",
    "error",
    "living",
    "A route leaves by other ports than the design has.",
    why="queue pairs share links that were meant to be apart, or cross a longer path",
    fix="look at the sessions of the ports that are missing, then at the policies: `railweave drift`",
)
ROUTE_DROPS = Rule(
    "route-drops",
    "error",
    "living",
    "A device drops every packet to a prefix of the design: the route's next hop is blackhole, unreachable, Null0, discard or reject.",
    why="sessions stay up, so the other switches go on sending packets here",
    fix="take the route away that drops them: `railweave drift` shows what is configured; on Linux `ip route` shows the others",
)
ROUTE_PROTOCOL = Rule(
    "route-protocol-differs",
    "error",
    "living",
    "A route of another protocol is selected in place of the designed one, or inside a prefix of the design.",
    why="it stays when links go down and sends packets elsewhere: BGP's own routes are not used",
    fix="take the route away: `railweave drift` shows what is configured; on Linux `ip route` shows the others",
)
NOT_FORWARDING = Rule(
    "forwarding-off",
    "error",
    "living",
    "A device forwards no packets of an address family, from any port or from one.",
    why="sessions stay up and routes are there, so the other switches go on sending packets here; all are dropped",
    fix="turn forwarding on (`ip forwarding`, `ip routing`, net.ipv6.conf.all.forwarding), and look at `ip rule` on Linux",
)
ROUTE_NOT_INSTALLED = Rule(
    "route-not-installed",
    "error",
    "living",
    "A device knows a route, and does not forward by it.",
    why="the routing protocol shows the path, but packets are dropped or go elsewhere",
    fix="look at the size of the forwarding table and at the device's log",
)
GATEWAY_ADDRESS = Rule(
    "gateway-address-differs",
    "error",
    "living",
    "A server-facing interface lacks an address of the design.",
    why="servers have no gateway on that path",
    fix="load the designed configuration again",
)
GATEWAY_DOWN = Rule(
    "gateway-down",
    "error",
    "living",
    "A server-facing interface is down while a server port behind it should be up.",
    why="its prefixes are not advertised",
    fix="look at the server ports behind it",
)
NO_ADVERTISEMENTS = Rule(
    "advertisements-not-sent",
    "error",
    "living",
    "A server-facing interface sends no router advertisements.",
    why="servers get no addresses (SLAAC) and no gateway",
    fix="load the designed configuration again",
)
ADVERTISEMENTS = Rule(
    "advertisements-differ",
    "error",
    "living",
    "The router advertisements of a server-facing interface differ from the design.",
    why="servers keep their gateway or addresses for longer or shorter than designed, or use other ones",
    fix="load the designed configuration again",
)
VRF_MISSING = Rule(
    "vrf-missing",
    "error",
    "living",
    "A leaf lacks the VRF of a tenant.",
    why="the tenant's servers behind this leaf reach nobody",
    fix="load the designed configuration again",
)
VRF_DIFFERS = Rule(
    "vrf-differs",
    "error",
    "living",
    "The VRF of a tenant has another VNI, route distinguisher or route target than the design, or is down.",
    why="its routes do not reach other leaves, or reach another tenant",
    fix="load the designed configuration again",
)
FOREIGN = Rule(
    "foreign-prefix",
    "error",
    "living",
    "The VRF of a tenant holds a prefix of another tenant.",
    why="the tenants reach each other: isolation is broken",
    fix="compare the route targets of both VRFs with the designed ones, and look for static routes: `railweave drift`",
)


def forwarding(living: Living) -> Iterator[Seen]:
    """Routes, gateways, VRFs."""
    owners = {
        str(prefix): tenant.vrf for one in living.expected.values() for tenant in one.tenants for prefix in tenant.own
    }
    of_tenants = {prefix for one in living.expected.values() for prefix in _vrfs(one)}
    for one, state in living.pairs():
        said: dict[str, list[Said]] = {}
        for each in state.routes or ():
            said.setdefault(each.prefix, []).append(each)
        vrfs = _vrfs(one)
        for route in one.routes:
            vrf = vrfs.get(route.prefix, None if route.prefix in of_tenants else DEFAULT_VRF)
            found = _said(said.get(str(route.prefix), []), vrf)
            if vrf is not None and (found is None or found.vrf != vrf) and _has_table(state, vrf, route.prefix):
                found = Said(str(route.prefix), vrf)
            yield from _route(living, one, route, found)
        yield from _strays(living, one, state)
        yield from _forwarding(one, state)
        for gateway in one.gateways:
            yield from _gateway(gateway, state, used=any(port.kind == "server" for port in one.ports))
        for tenant in one.tenants:
            yield from _tenant(tenant, state)
            yield from _foreign(tenant, state, owners)


def _said(routes: Sequence[Said], vrf: str | None) -> Said | None:
    """The route of a VRF to a prefix, among those of all VRFs; where the design does not tell the VRF, the one that was asked for."""
    here = [route for route in routes if route.vrf == vrf]
    return next(iter(here or [route for route in routes if route.protocol not in OVERRIDING]), None)


def _vrfs(one: Expected) -> dict[Prefix, str]:
    """The VRF in which a device has the prefixes of its tenants."""
    return {prefix: tenant.vrf for tenant in one.tenants for prefix in (*tenant.own, *tenant.learned)}


def _has_table(state: DeviceState, vrf: str, prefix: Prefix) -> bool:
    """Return whether the device gave the whole table of a prefix and the table was read.

    A route that is absent from such a table does not exist on the device.
    """
    return state.routes is not None and f"routes-{'ipv6' if ':' in prefix else 'ipv4'}@{vrf}" in state.answered


def _route(living: Living, device: Expected, wanted: Route, said: Said | None) -> Iterator[Seen]:
    if said is None:
        return  # it was not asked for
    needs = _way(living, device, wanted)
    which = f"{wanted.prefix}{f', path color {wanted.color},' if wanted.color else ''} of {wanted.leaf}"
    have = sorted(
        {
            without_unit(next_hop.interface)
            for next_hop in said.next_hops
            if next_hop.interface and next_hop.active is not False
        }
    )
    if said.drops:
        what = f"packets to {which} are dropped{_by(said)} ({said.drops})"
        yield Seen(ROUTE_DROPS, wanted.device, what, wanted.because)
        return
    if not said.next_hops:
        if wanted.ports:
            yield Seen(ROUTE_MISSING, wanted.device, f"no route to {which}", wanted.because, needs=needs)
        return
    if wanted.ports and said.protocol and (kind := _kind(said.protocol)) not in (usual := _protocols(device)):
        what = f"{which} is a route of {kind}, the design has {' or '.join(sorted(usual - {'evpn'}))}"
        yield Seen(ROUTE_PROTOCOL, wanted.device, what, wanted.because)
        return
    # In a tenant's VRF a route leaves by the tunnel; which links that takes, the route to the far leaf's loopback says.
    if have and said.vrf == DEFAULT_VRF and set(have) != set(wanted.ports):
        should = " and ".join(wanted.ports) or "no port"
        what = f"{which} leaves by {' and '.join(have)}, the design has {should}"
        yield Seen(ROUTE_PORTS, wanted.device, what, wanted.because, needs=needs)
    if said.installed is False:
        yield Seen(ROUTE_NOT_INSTALLED, wanted.device, f"{which} is not in the forwarding table", wanted.because)


def _kind(protocol: str) -> str:
    """The protocol of a route by the name that it has here: systems call the same by several."""
    plain = protocol.lower().replace("-", "")
    return "isis" if plain.startswith("isis") else "bgp" if plain in {"bgp", "ebgp", "ibgp"} else plain


def _by(said: Said) -> str:
    return f" by a route of {said.protocol}" if said.protocol else ""


def _protocols(device: Expected) -> frozenset[str]:
    """The protocols that bring a switch the prefixes of others."""
    return frozenset(
        {
            "evpn",
            *(["bgp"] if device.sessions or device.overlay_sessions else []),
            *(["isis"] if device.adjacencies else []),
        }
    )


OVERRIDING = {"static", "kernel", "aggregate"}
"""Protocols of routes that no design has inside its prefixes."""


def _strays(living: Living, device: Expected, state: DeviceState) -> Iterator[Seen]:
    """Routes besides those expected that lead a part of the design's prefixes elsewhere, or nowhere."""
    wanted = {route.prefix for route in device.routes}
    for said in state.routes or ():
        overrides = said.protocol is not None and _kind(said.protocol) in OVERRIDING
        if said.prefix in wanted or not (said.drops or overrides) or not living.has_prefix(said.prefix):
            continue
        where = f"{said.prefix}{f' in VRF {said.vrf}' if said.vrf != DEFAULT_VRF else ''}"
        if said.drops:
            what = f"packets to {where} are dropped{_by(said)} ({said.drops})"
            yield Seen(ROUTE_DROPS, device.device, what, device.identity.because)
        else:
            yield Seen(
                ROUTE_PROTOCOL,
                device.device,
                f"{where} is a route of {said.protocol}, which no design has",
                device.identity.because,
            )


def _forwarding(device: Expected, state: DeviceState) -> Iterator[Seen]:
    if state.not_forwarding is None:
        return
    prefixes = [route.prefix for route in device.routes] + [
        prefix for gateway in device.gateways for prefix in gateway.prefixes
    ]
    families: set[Family] = {prefix.family for prefix in prefixes}
    ports = [*(port.name for port in device.ports), *(gateway.name for gateway in device.gateways)]
    for family in sorted(families):
        off = {without_unit(one) for one in state.not_forwarding.get(family, ())}
        if "all" in off:
            yield Seen(NOT_FORWARDING, device.device, f"it forwards no {WORDS[family]}", device.identity.because)
            continue
        for port in ports:
            if port in off:
                what = f"it forwards no {WORDS[family]} that comes from there"
                yield Seen(NOT_FORWARDING, device.device, what, device.identity.because, port)


def _way(living: Living, device: Expected, wanted: Route) -> frozenset[Part]:
    """Return the parts that a route depends on: the far leaf, and the sessions that bring its prefixes over the designed ports."""
    needs: set[Part] = {("device", wanted.leaf), ("gateways", wanted.leaf)}
    near = {session.session.interface: session for session in device.sessions}
    for port in wanted.ports:
        if port in near:
            session = near[port].session
            needs |= {("link", session.link), ("session", session.link), ("device", session.peer)}
            beyond = living.expected.get(session.peer)
            for one in beyond.sessions if beyond else ():
                needs |= {("link", one.session.link), ("session", one.session.link)}
    return frozenset(needs)


def _gateway(wanted: Gateway, state: DeviceState, *, used: bool) -> Iterator[Seen]:
    """``used``: servers are there behind gateways of this device; without any, gateways are down by right."""
    found = of_port(state.interfaces or {}, wanted.name)
    broken: frozenset[Part] = frozenset([("gateways", wanted.device)])
    if state.interfaces is not None and found is not None:
        if found.addresses is not None:
            have = {address.partition("/")[0] for address in found.addresses}
            missing = [str(address) for address in wanted.addresses if str(address).partition("/")[0] not in have]
            if missing:
                what = f"{wanted.name} lacks {', '.join(missing)}"
                yield Seen(GATEWAY_ADDRESS, wanted.device, what, wanted.because, wanted.name, breaks=broken)
        if found.oper_up is False and used:
            yield Seen(
                GATEWAY_DOWN, wanted.device, f"{wanted.name} is down", wanted.because, wanted.name, breaks=broken
            )
    if wanted.advertisements is not None and state.advertising is not None:
        sending = of_port(state.advertising, wanted.name)
        if sending is None or sending.sent == 0:
            what = f"{wanted.name} sends no router advertisements"
            yield Seen(NO_ADVERTISEMENTS, wanted.device, what, wanted.because, wanted.name)
        elif wrong := _advertised(wanted.advertisements, sending):
            what = f"{wanted.name} advertises {', '.join(wrong)}"
            yield Seen(ADVERTISEMENTS, wanted.device, what, wanted.because, wanted.name)


def _advertised(wanted: RouterAdvertisements, said: RouterAdvertising) -> list[str]:
    """Return what is advertised otherwise than designed.

    This includes the fields in which a neighbor's own advertisement disagrees, if the device reports them.
    """
    fields = (
        ("an interval of {} s", said.interval_s, wanted.max_interval),
        ("a router lifetime of {} s", said.lifetime_s, wanted.router_lifetime),
        ("a hop limit of {}", said.hop_limit, wanted.hop_limit),
        ("a reachable time of {} ms", said.reachable_ms, wanted.reachable_time),
        ("a retransmit timer of {} ms", said.retransmit_ms, wanted.retransmit_timer),
    )
    found = [
        f"{words.format(has)}, the design has {should}"
        for words, has, should in fields
        if has is not None and has != should
    ]
    return found + [f"another {name} than {one.source}" for one in said.heard for name in one.conflicts]


def _tenant(wanted: Tenant, state: DeviceState) -> Iterator[Seen]:
    if state.vrfs is not None:
        found = state.vrfs.get(wanted.vrf)
        if found is None:
            yield Seen(VRF_MISSING, wanted.device, f"there is no VRF {wanted.vrf}", wanted.because)
            return
        wrong = [
            f"{name} {has}, the design has {should}"
            for name, has, should in (
                ("VNI", found.vni, wanted.vni),
                ("route distinguisher", found.route_distinguisher, wanted.route_distinguisher),
            )
            if has is not None and has != should
        ]
        wrong += _targets("imports", found.import_targets, wanted.import_targets)
        wrong += _targets("exports", found.export_targets, wanted.export_targets)
        wrong += ["it is down"] if found.up is False else []
        if wrong:
            yield Seen(VRF_DIFFERS, wanted.device, f"VRF {wanted.vrf}: {'; '.join(wrong)}", wanted.because)
    if state.vnis is not None and wanted.vni not in state.vnis:
        what = f"VRF {wanted.vrf}: VNI {wanted.vni} is not among the device's"
        yield Seen(VRF_DIFFERS, wanted.device, what, wanted.because)


def _targets(verb: str, has: Sequence[str] | None, should: Sequence[str]) -> list[str]:
    """Return what is wrong with route targets, written as ``64512:20001`` or with ``target:`` before it."""
    names = sorted({one.removeprefix("target:") for one in should})
    if has is None or sorted(set(has)) == names:
        return []
    return [f"it {verb} route target {', '.join(sorted(set(has))) or 'none'}, the design has {', '.join(names)}"]


def _foreign(wanted: Tenant, state: DeviceState, owners: Mapping[str, str]) -> Iterator[Seen]:
    """Prefixes of other tenants: among the routes that were asked for, and those of type 5 where they are listed by VRF."""
    overlay = (state.evpn.type5_prefixes if state.evpn else None) or {}
    held = [route.prefix for route in state.routes or () if route.vrf == wanted.vrf and route.next_hops]
    allowed = {str(one) for one in (*wanted.own, *wanted.learned)}
    for prefix in dict.fromkeys((*held, *overlay.get(wanted.vrf, ()))):
        if prefix in owners and prefix not in allowed:
            what = f"VRF {wanted.vrf} holds {prefix} of VRF {owners[prefix]}"
            yield Seen(FOREIGN, wanted.device, what, wanted.because)
