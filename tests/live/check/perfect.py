"""What a device says on which everything is as expected: made field by field from the expectations."""

from __future__ import annotations

from dataclasses import replace

from railweave.analysis.expect import Expected
from railweave.model.state.device_state import Clock, DeviceState, Identity, Watchdog
from railweave.model.state.ports import (
    Errors,
    Fec,
    InterfaceState,
    Lane,
    Optic,
    PfcCounters,
    PortQueues,
    PriorityGroup,
    Queue,
)
from railweave.model.state.protocols import (
    BfdSession,
    BgpSession,
    EvpnRoutes,
    FamilyState,
    IsisAdjacency,
    LldpNeighbor,
    NextHop,
    Path,
    Route,
    RouterAdvertising,
    VniState,
    VrfState,
)


def perfect(one: Expected) -> DeviceState:
    """The state that fulfils every expectation of a switch."""
    interfaces = {
        port.name: InterfaceState(
            port.name,
            admin_up=True,
            oper_up=True,
            speed_gbps=port.speed_gbps,
            mtu=port.ip_mtu or port.mtu,
            flaps=1,
            errors=Errors(in_errors=0, in_crc=0, in_resource=0, in_discards=0, out_discards=0),
            fec=Fec("rs-544" if port.fec else None, uncorrected=0),
            in_bytes=9_000,
            out_bytes=9_000,
            bridged=port.switched,
        )
        for port in one.ports
    }
    for gateway in one.gateways:
        known = interfaces.get(gateway.name, InterfaceState(gateway.name))
        addresses = tuple(str(address) for address in gateway.addresses)
        interfaces[gateway.name] = InterfaceState(
            gateway.name,
            admin_up=True,
            oper_up=True,
            speed_gbps=known.speed_gbps,
            mtu=known.mtu,
            addresses=addresses,
            flaps=known.flaps,
            errors=known.errors,
            fec=known.fec,
        )
    for session in (each.session for each in one.sessions if each.session.local_address is not None):
        if session.interface in interfaces:
            known = interfaces[session.interface]
            length = 127 if ":" in str(session.local_address) else 31
            interfaces[session.interface] = replace(
                known, addresses=(*(known.addresses or ()), f"{session.local_address}/{length}")
            )
    tenants = {prefix: each.vrf for each in one.tenants for prefix in (*each.own_prefixes, *each.learned)}
    peerings = [(each.session, each.bfd, each) for each in one.sessions]
    overlay = [(each.session, each.bfd, None) for each in one.overlay_sessions]
    return DeviceState(
        one.device,
        one.identity.nos,
        identity=Identity(one.device, one.identity.model, one.identity.serial or "X1", one.identity.release),
        clock=Clock(0.0, synchronized=True),
        alarms=(),
        neighbors={port.name: (LldpNeighbor(f"{port.peer}.example.net", port.peer_port),) for port in one.cabled},
        interfaces=interfaces,
        optics={
            port.name: Optic(True, port.optic, lanes=(Lane(1, 0.5, -1.0, 60.0),), rx_low_dbm=-10.0, tx_low_dbm=-6.0)
            for port in one.ports
        },
        advertising={
            each.name: RouterAdvertising(
                3,
                0,
                (),
                each.advertisements.max_interval,
                each.advertisements.router_lifetime,
                each.advertisements.hop_limit,
                each.advertisements.reachable_time,
                each.advertisements.retransmit_timer,
            )
            for each in one.gateways
            if each.advertisements
        },
        bgp=tuple(
            BgpSession(
                str(peering.peer_address) if peering.peer_address else "fe80::1",
                peering.interface or None,
                state="established",
                peer_as=peering.peer_as,
                families={"ipv6": FamilyState(each.received, each.accepted, each.sent)} if each else {},
            )
            for peering, _, each in (*peerings, *overlay)
        ),
        bfd=(
            *(
                BfdSession(
                    str(peering.peer_address) if peering.peer_address else "fe80::1",
                    peering.interface or None,
                    state="up",
                    tx_ms=bfd.minimum_interval,
                    multiplier=bfd.multiplier,
                )
                for peering, bfd, _ in (*peerings, *overlay)
                if bfd
            ),
            *(
                BfdSession(
                    "fe80::1",
                    each.interface,
                    state="up",
                    tx_ms=each.bfd.minimum_interval,
                    multiplier=each.bfd.multiplier,
                )
                for each in one.adjacencies
                if each.bfd
            ),
        ),
        isis=tuple(IsisAdjacency(each.interface, each.peer, "up", 2) for each in one.adjacencies)
        if one.adjacencies
        else None,
        routes=tuple(
            Route(
                str(route.prefix),
                tenants.get(route.prefix, "default"),
                "bgp" if one.sessions else "isis",
                True,
                tuple(NextHop("fe80::1", port) for port in (["tunnel"] if route.prefix in tenants else route.ports)),
                paths(one, str(route.prefix))
                if route.leaf == one.routes[0].leaf
                else None,  # the examples are asked about by themselves
            )
            for route in one.routes
        )
        + tuple(
            Route(str(prefix), each.vrf, "bgp", True, (NextHop("fe80::1", "tunnel"),))
            for each in one.tenants
            for prefix in each.learned
            if one.tables and prefix not in {route.prefix for route in one.routes}
        )
        + tuple(
            Route(str(prefix), each.vrf, "connected", True, (NextHop(None, "gateway"),))
            for each in one.tenants
            for prefix in each.own_prefixes
            if one.tables
        ),
        not_forwarding={"ipv4": (), "ipv6": ()},
        route_counts={"default": dict(one.route_counts)} if one.route_counts is not None else None,
        kernel={f"net.{family}.fib_multipath_hash_policy": "1" for family in ("ipv4", "ipv6")},
        filters=(),
        ipv6_neighbors=(),
        ipv4_neighbors=(),
        vrfs={
            each.vrf: VrfState(
                each.vrf,
                each.route_distinguisher,
                each.vni,
                True,
                import_targets=tuple(target.removeprefix("target:") for target in each.import_targets),
                export_targets=tuple(target.removeprefix("target:") for target in each.export_targets),
            )
            for each in one.tenants
        },
        vnis={each.vni: VniState(each.vni, 3, each.vrf) for each in one.tenants},
        queues={
            each.port: PortQueues(
                {number: Queue(None, 0, 0, 0) for number in {*each.lossless, *each.marked}},
                {priority: PriorityGroup(0) for priority in each.lossless.values()},
            )
            for each in one.queues
        },
        evpn=EvpnRoutes(0, 0, _overlay(one)) if one.tenants else None,
        watchdog={
            each.port: {number: Watchdog(0, 0, storming=False) for number in each.lossless} for each in one.queues
        },
        pfc={each.port: {priority: PfcCounters(0, 0) for priority in each.lossless.values()} for each in one.queues},
    )


def _overlay(one: Expected) -> dict[str, tuple[str, ...]]:
    """The prefixes of tenants that the overlay brings: Junos shows them by VRF, the others by the sender's route distinguisher."""
    if one.identity.nos == "junos":
        return {each.vrf: tuple(map(str, each.learned)) for each in one.tenants}
    return {"192.0.2.1:1": tuple(str(prefix) for each in one.tenants for prefix in each.learned)}


def paths(expected: Expected, prefix: str) -> tuple[Path, ...]:
    """The BGP paths to an example prefix, with the marks of path colors."""
    return tuple(
        Path(
            str(wanted.session.peer_address or wanted.session.interface),
            aigp=wanted.aigp,
            local_preference=wanted.local_preference,
            large_communities=tuple(wanted.communities),
        )
        for wanted in expected.color_paths
        if wanted.prefix == prefix
    )
