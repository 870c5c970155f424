"""Faults of a running network, drawn by a seeded die: each changes one field of what a device says that an expectation reads."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from railweave.analysis.expect import Expected
from railweave.live.check import NetworkStates
from railweave.model.device.expected import Port
from railweave.model.state.device_state import Alarm, Clock, DeviceState, Watchdog
from railweave.model.state.ports import (
    NO_MAC,
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
    HeardAdvertisement,
    IsisAdjacency,
    LldpNeighbor,
    NextHop,
    Route,
    RouterAdvertising,
    VrfState,
)


@dataclass(frozen=True)
class Fault:
    """``states`` are those of the devices that it changes; ``rules`` the findings that name it right, at ``device`` and ``port``.

    ``counted``: it is a counter that rose since an earlier capture.
    """

    device: str
    port: str
    rules: frozenset[str]
    states: dict[str, DeviceState]
    counted: bool = False


Value = TypeVar("Value")


def _with(table: Mapping[str, Value], key: str, new: Value | None) -> dict[str, Value]:
    """A table with one entry changed in its place, or without it: nothing else of an answer may differ."""
    changed = ((name, new if name == key else one) for name, one in table.items())
    return {name: one for name, one in changed if one is not None}


Draw = Callable[[random.Random, NetworkStates], Fault | None]
KINDS: dict[str, Draw] = {}
"""Every kind of fault by the field that it changes."""


def kind(name: str) -> Callable[[Draw], Draw]:
    def add(draw: Draw) -> Draw:
        KINDS[name] = draw
        return draw

    return add


def _device(dice: random.Random, living: NetworkStates) -> tuple[Expected, DeviceState]:
    name = dice.choice(list(living.expected))
    return living.expected[name], living.states[name]


def _fault(one: DeviceState, port: str, rules: str, *, counted: bool = False, **fields: Any) -> Fault:
    return Fault(one.device, port, frozenset(rules.split()), {one.device: replace(one, **fields)}, counted)


def _of_identity(field: str, rule: str, value: Callable[[Expected], str]) -> None:
    @kind(f"identity.{field}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        wanted, state = _device(dice, living)
        if state.identity is None or (field == "serial" and not wanted.identity.serial):
            return None
        return _fault(state, "", rule, identity=replace(state.identity, **{field: value(wanted)}))


_of_identity("host_name", "host-name-differs", lambda one: f"{one.device}-old")
_of_identity("model", "model-differs", lambda _: "AB-1234-XY")
_of_identity("serial", "serial-differs", lambda _: "ZZ999")
_of_identity("version", "release-differs", lambda _: "3.1.4")


@kind("clock.synchronized")
def _clock(dice: random.Random, living: NetworkStates) -> Fault | None:
    wanted, state = _device(dice, living)
    return _fault(state, "", "clock-not-synchronized", clock=Clock(0.0, synchronized=False)) if wanted.clock else None


@kind("alarms")
def _alarm(dice: random.Random, living: NetworkStates) -> Fault:
    _, state = _device(dice, living)
    return _fault(state, "", "alarm", alarms=(Alarm("major", "PSU 1 Not Powered"),))


def _cabled(dice: random.Random, wanted: Expected, *kinds: str) -> Port | None:
    ports = [one for one in wanted.ports if one.kind in kinds]
    return dice.choice(ports) if ports else None


@kind("neighbors: silent")
def _unheard(dice: random.Random, living: NetworkStates) -> Fault | None:
    wanted, state = _device(dice, living)
    port = _cabled(dice, wanted, "fabric")
    if port is None or state.neighbors is None:
        return None
    rest = {name: heard for name, heard in state.neighbors.items() if name != port.name}
    return _fault(state, port.name, "neighbor-missing", neighbors=rest)


@kind("neighbors.port")
def _other_port(dice: random.Random, living: NetworkStates) -> Fault | None:
    """The far end of another cable to the same device, or a port that the design does not use."""
    wanted, state = _device(dice, living)
    port = _cabled(dice, wanted, "fabric")
    if port is None or state.neighbors is None:
        return None
    heard = (LldpNeighbor(port.peer, "unused-1/9"),)
    return _fault(state, port.name, "cable-wrong", neighbors=state.neighbors | {port.name: heard})


@kind("neighbors.system")
def _other_device(dice: random.Random, living: NetworkStates) -> Fault | None:
    wanted, state = _device(dice, living)
    port = _cabled(dice, wanted, "fabric", "server")
    if port is None or state.neighbors is None:
        return None
    heard = (LldpNeighbor("somebody-else", port.peer_port),)
    return _fault(state, port.name, "cable-wrong", neighbors=state.neighbors | {port.name: heard})


@kind("neighbors: two cables swapped")
def _swapped(dice: random.Random, living: NetworkStates) -> Fault | None:
    """At one device, as both far ends hear it too."""
    wanted, state = _device(dice, living)
    ports = [one for one in wanted.cabled if one.kind == "fabric"]
    first, second = dice.sample(ports, 2) if len(ports) > 1 else (None, None)
    if first is None or second is None or state.neighbors is None:
        return None
    neighbors = state.neighbors | {
        first.name: state.neighbors[second.name],
        second.name: state.neighbors[first.name],
    }
    states = {state.device: replace(state, neighbors=neighbors)}
    for one, other in ((first, second), (second, first)):
        far = states.get(one.peer, living.states[one.peer])
        heard = (far.neighbors or {}) | {one.peer_port: (LldpNeighbor(state.device, other.name),)}
        states[one.peer] = replace(far, neighbors=heard)
    # Two cables to the same device are swapped as well at its end.
    return Fault(state.device, first.name, frozenset({"cables-swapped"}), states)


def _of_port(
    name: str, rules: str, change: Callable[[InterfaceState], InterfaceState | None], *kinds: str, counted: bool = False
) -> None:
    @kind(f"interfaces{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        wanted, state = _device(dice, living)
        port = _cabled(dice, wanted, *(kinds or ("fabric", "server")))
        if port is None or state.interfaces is None or (name == ".fec.mode" and port.fec is None):
            return None
        new = change(state.interfaces[port.name])
        if new == state.interfaces[port.name]:
            return None
        return _fault(state, port.name, rules, counted=counted, interfaces=_with(state.interfaces, port.name, new))


_of_port(": absent", "port-absent", lambda _: None)
_of_port(".admin_up", "port-shut", lambda one: replace(one, admin_up=False, oper_up=False))
_of_port(".oper_up", "port-down", lambda one: replace(one, oper_up=False))
_of_port(".speed_gbps", "port-speed-differs", lambda one: replace(one, speed_gbps=(one.speed_gbps or 0) / 2))
_of_port(".mtu", "port-mtu-differs", lambda one: replace(one, mtu=1500))
_of_port(".bridged", "port-not-bridged", lambda one: replace(one, bridged=False) if one.bridged else one, "server")
_of_port(".fec.mode", "port-fec-differs", lambda one: replace(one, fec=replace(one.fec, mode="none")))
_of_port(".flaps", "link-flaps", lambda one: replace(one, flaps=(one.flaps or 0) + 4), counted=True)
_of_port(
    ".errors.in_crc",
    "bit-errors",
    lambda one: replace(one, errors=replace(one.errors, in_crc=17, in_errors=17)),
    counted=True,
)
_of_port(".fec.uncorrected", "bit-errors", lambda one: replace(one, fec=replace(one.fec, uncorrected=17)), counted=True)
_of_port(
    ".errors.in_resource",
    "resource-errors",
    lambda one: replace(one, errors=replace(one.errors, in_resource=9)),
    counted=True,
)


def _of_gateway(name: str, rules: str, change: Callable[[InterfaceState], InterfaceState]) -> None:
    @kind(name)
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        wanted, state = _device(dice, living)
        ports = {one.name for one in wanted.ports}
        gateways = [one for one in wanted.gateways if one.addresses and (one.name not in ports or ".oper" not in name)]
        if not gateways or state.interfaces is None:
            return None
        one = dice.choice(gateways)
        interfaces = state.interfaces | {one.name: change(state.interfaces[one.name])}
        return _fault(state, one.name, rules, interfaces=interfaces)


_of_gateway(
    "interfaces.addresses",
    "gateway-address-differs",
    lambda one: replace(one, addresses=("fc00:dead::1/64", *(one.addresses or ())[1:])),
)
_of_gateway("interfaces.oper_up of a gateway", "gateway-down", lambda one: replace(one, oper_up=False))
_of_gateway("interfaces.mac of a gateway", "gateway-mac-absent", lambda one: replace(one, mac=NO_MAC))


def _of_optic(name: str, rules: str, change: Callable[[Optic], Optic]) -> None:
    @kind(f"optics{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        wanted, state = _device(dice, living)
        port = _cabled(dice, wanted, "fabric", "server")
        if port is None or state.optics is None:
            return None
        # A module is that of all channels of its port.
        cage = port.name.partition(":")[0] if name == ".present" else port.name
        optics = {
            key: change(one) if key in {port.name, cage} or key.startswith(f"{cage}:") else one
            for key, one in state.optics.items()
        }
        first = next(key for key, one in optics.items() if one != state.optics[key])
        return _fault(state, first, rules, optics=optics)


_of_optic(".present", "module-absent", lambda one: replace(one, present=False, kind=None, lanes=()))
_of_optic(
    ".lanes: dark", "optic-dark optic-alarm", lambda one: replace(one, lanes=(Lane(1, 0.5, float("-inf"), 60.0),))
)
_of_optic(".lanes.rx_dbm", "optic-alarm", lambda one: replace(one, lanes=(Lane(1, 0.5, -12.5, 60.0),)))
_of_optic(".lanes.tx_dbm", "optic-alarm", lambda one: replace(one, lanes=(Lane(1, -9.5, -1.0, 60.0),)))
_of_optic(".alarms", "optic-alarm", lambda one: replace(one, alarms=("laser-bias-current-high-alarm",)))


@kind("advertising.sent")
def _not_advertising(dice: random.Random, living: NetworkStates) -> Fault | None:
    _, state = _device(dice, living)
    if not state.advertising:
        return None
    name = dice.choice(list(state.advertising))
    none = replace(state.advertising[name], sent=0)
    return _fault(state, name, "advertisements-not-sent", advertising=state.advertising | {name: none})


def _of_advertising(name: str, change: Callable[[RouterAdvertising], RouterAdvertising]) -> None:
    @kind(f"advertising{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        _, state = _device(dice, living)
        if not state.advertising:
            return None
        one = dice.choice(list(state.advertising))
        changed = _with(state.advertising, one, change(state.advertising[one]))
        return _fault(state, one, "advertisements-differ", advertising=changed)


_of_advertising(".interval_s", lambda one: replace(one, interval_s=7))
_of_advertising(".lifetime_s", lambda one: replace(one, lifetime_s=0))
_of_advertising(".hop_limit", lambda one: replace(one, hop_limit=1))
_of_advertising(".reachable_ms", lambda one: replace(one, reachable_ms=30))
_of_advertising(".retransmit_ms", lambda one: replace(one, retransmit_ms=31))
_of_advertising(
    ".heard.conflicts", lambda one: replace(one, heard=(HeardAdvertisement("fe80::5", conflicts=("ipv6-ra-mtu",)),))
)


def _of_session(name: str, rules: str, change: Callable[[BgpSession, random.Random], BgpSession | None]) -> None:
    @kind(f"bgp{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        wanted, state = _device(dice, living)
        sessions = list(state.bgp or ())
        places = [place for place, one in enumerate(sessions) if one.families or ".families" not in name]
        if not places:
            return None
        place = dice.choice(places)
        port = (sessions[place].interface or "") if place < len(wanted.sessions) else ""
        new = change(sessions[place], dice)
        sessions[place : place + 1] = [new] if new else []
        return _fault(state, port, rules, bgp=tuple(sessions))


def _carrying(one: BgpSession, **fields: int) -> BgpSession:
    return replace(one, families={name: replace(each, **fields) for name, each in one.families.items()})


_of_session(": absent", "session-missing", lambda _, __: None)
_of_session(
    ".state",
    "session-not-established",
    lambda one, dice: replace(one, state=dice.choice(["idle", "active", "connect", "opensent"])),
)
_of_session(".peer_as", "session-as-differs", lambda one, _: replace(one, peer_as=4_200_009_999))
_of_session(".families.received", "prefixes-differ", lambda one, _: _carrying(one, received=1, accepted=1))
_of_session(".families.sent", "prefixes-differ", lambda one, _: _carrying(one, sent=99_999))


def _of_bfd(name: str, rules: str, change: Callable[[BfdSession], BfdSession | None]) -> None:
    @kind(f"bfd{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        _, state = _device(dice, living)
        sessions = list(state.bfd or ())
        if not sessions:
            return None
        place = dice.randrange(len(sessions))
        port = sessions[place].interface or ""
        new = change(sessions[place])
        sessions[place : place + 1] = [new] if new else []
        return _fault(state, port, rules, bfd=tuple(sessions))


_of_bfd(": absent", "bfd-down", lambda _: None)
_of_bfd(".state", "bfd-down", lambda one: replace(one, state="down"))
_of_bfd(".tx_ms", "bfd-timers-differ", lambda one: replace(one, tx_ms=50))
_of_bfd(".multiplier", "bfd-timers-differ", lambda one: replace(one, multiplier=9))


def _of_isis(name: str, change: Callable[[IsisAdjacency], IsisAdjacency | None]) -> None:
    @kind(f"isis{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        running = [one for one in living.states.values() if one.isis]
        if not running:
            return None
        state = dice.choice(running)
        adjacencies = list(state.isis or ())
        place = dice.randrange(len(adjacencies))
        port = adjacencies[place].interface
        new = change(adjacencies[place])
        adjacencies[place : place + 1] = [new] if new else []
        return _fault(state, port, "adjacency-not-up", isis=tuple(adjacencies))


_of_isis(": absent", lambda _: None)
_of_isis(".state", lambda one: replace(one, state="initializing"))
_of_isis(".level", lambda one: replace(one, level=1))


def _of_route(name: str, rules: str, change: Callable[[Route], Route]) -> None:
    @kind(f"routes{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        _, state = _device(dice, living)
        routes = list(state.routes or ())
        places = [
            place
            for place, one in enumerate(routes)
            if one.next_hops and ("hops" not in name or one.next_hops[0].interface != "tunnel" or "absent" in name)
        ]
        if not places:
            return None
        place = dice.choice(places)
        routes[place] = change(routes[place])
        return _fault(state, "", rules, routes=tuple(routes))


_of_route(": absent", "route-missing", lambda one: replace(one, next_hops=()))
_of_route(
    ".next_hops.interface",
    "route-ports-differ",
    lambda one: replace(one, next_hops=(NextHop("fe80::9", "Management0"), *one.next_hops[1:])),
)
_of_route(
    ".next_hops: one more",
    "route-ports-differ",
    lambda one: replace(one, next_hops=(*one.next_hops, NextHop("fe80::9", "Management0"))),
)
_of_route(".installed", "route-not-installed", lambda one: replace(one, installed=False))


def _of_vrf(name: str, rules: str, change: Callable[[VrfState], VrfState | None]) -> None:
    @kind(f"vrfs{name}")
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        _, state = _device(dice, living)
        if not state.vrfs:
            return None
        vrf = dice.choice(list(state.vrfs))
        new = change(state.vrfs[vrf])
        return _fault(state, "", rules, vrfs=_with(state.vrfs, vrf, new))


_of_vrf(": absent", "vrf-missing", lambda _: None)
_of_vrf(".vni", "vrf-differs", lambda one: replace(one, vni=9_999))
_of_vrf(".route_distinguisher", "vrf-differs", lambda one: replace(one, route_distinguisher="10.9.9.9:9"))
_of_vrf(".import_targets", "vrf-differs", lambda one: replace(one, import_targets=("64999:9",)))
_of_vrf(
    ".export_targets", "vrf-differs", lambda one: replace(one, export_targets=("64999:9", *(one.export_targets or ())))
)
_of_vrf(".up", "vrf-differs", lambda one: replace(one, up=False))


@kind("vnis: absent")
def _no_vni(dice: random.Random, living: NetworkStates) -> Fault | None:
    _, state = _device(dice, living)
    if not state.vnis:
        return None
    vni = dice.choice(list(state.vnis))
    return _fault(state, "", "vrf-differs", vnis={key: one for key, one in state.vnis.items() if key != vni})


@kind("vnis.router_mac")
def _no_router_mac(dice: random.Random, living: NetworkStates) -> Fault | None:
    _, state = _device(dice, living)
    if not state.vnis:
        return None
    vni = dice.choice(list(state.vnis))
    wrong = replace(state.vnis[vni], router_mac=NO_MAC)
    return _fault(state, "", "tenant-mac-differs", vnis={**state.vnis, vni: wrong})


@kind("evpn.type5_prefixes: another tenant's")
def _foreign_in_overlay(dice: random.Random, living: NetworkStates) -> Fault | None:
    wanted, state = _device(dice, living)
    if state.evpn is None or not state.evpn.type5_prefixes:
        return None
    vrf = dice.choice(list(state.evpn.type5_prefixes))
    own = {one for tenant in wanted.tenants if tenant.vrf == vrf for one in (*tenant.own_prefixes, *tenant.learned)}
    others = sorted(
        {one for each in living.expected.values() for tenant in each.tenants for one in tenant.own_prefixes} - own
    )
    if not others:
        return None
    prefixes = state.evpn.type5_prefixes | {vrf: (*state.evpn.type5_prefixes[vrf], str(dice.choice(others)))}
    return _fault(state, "", "foreign-prefix", evpn=replace(state.evpn, type5_prefixes=prefixes))


@kind("routes: another tenant's")
def _foreign(dice: random.Random, living: NetworkStates) -> Fault | None:
    wanted, state = _device(dice, living)
    if not wanted.tenants or state.routes is None:
        return None
    tenant = dice.choice(wanted.tenants)
    own = {*tenant.own_prefixes, *tenant.learned}
    others = sorted(
        {one for each in living.expected.values() for other in each.tenants for one in other.own_prefixes} - own
    )
    if not others:
        return None
    leaked = Route(str(dice.choice(others)), tenant.vrf, "bgp", True, (NextHop("fe80::9", "tunnel"),))
    return _fault(state, "", "foreign-prefix", routes=(*state.routes, leaked))


def _lossless(
    dice: random.Random, living: NetworkStates, *kinds: str
) -> tuple[Expected, DeviceState, str, int, int] | None:
    wanted, state = _device(dice, living)
    of_kind = {one.name for one in wanted.ports if one.kind in kinds}
    ports = [one for one in wanted.queues if one.lossless and one.port in of_kind]
    if not ports or state.queues is None or state.pfc is None:
        return None
    one = dice.choice(ports)
    number, priority = dice.choice(list(one.lossless.items()))
    return wanted, state, one.port, number, priority


@kind("queues: absent")
def _no_queue(dice: random.Random, living: NetworkStates) -> Fault | None:
    wanted, state = _device(dice, living)
    ports = [one for one in wanted.queues if len({*one.lossless, *one.marked}) > 1]
    ports = ports or [one for one in wanted.queues if one.lossless or one.marked]
    if not ports or state.queues is None:
        return None
    one = dice.choice(ports)
    gone = dice.choice(sorted({*one.lossless, *one.marked}))
    egress = {number: each for number, each in state.queues[one.port].egress.items() if number != gone} or {
        0: Queue(None, 0, 0, 0)
    }
    queues = state.queues | {one.port: replace(state.queues[one.port], egress=egress)}
    return _fault(state, one.port, "queue-absent", queues=queues)


@kind("pfc: another priority")
def _other_priority(dice: random.Random, living: NetworkStates) -> Fault | None:
    found = _lossless(dice, living, "fabric", "server")
    if found is None:
        return None
    _, state, port, _, priority = found
    return _fault(state, port, "pfc-not-running", pfc=(state.pfc or {}) | {port: {priority + 1: PfcCounters(0, 0)}})


def _of_queue(
    name: str,
    rules: str,
    egress: Mapping[str, int],
    pfc: PfcCounters | None = None,
    ingress: int | None = None,
    ports: tuple[str, ...] = ("fabric", "server"),
) -> None:
    @kind(name)
    def draw(dice: random.Random, living: NetworkStates) -> Fault | None:
        found = _lossless(dice, living, *ports)
        if found is None:
            return None
        _, state, port, number, priority = found
        queues = state.queues or {}
        here = queues[port]
        new = PortQueues(
            here.egress | {number: replace(here.egress[number], **egress)},
            here.ingress | ({priority: PriorityGroup(ingress)} if ingress else {}),
        )
        counted = (state.pfc or {}) | ({port: {priority: pfc}} if pfc else {})
        return _fault(state, port, rules, counted=True, queues=queues | {port: new}, pfc=counted)


_of_queue("queues.dropped", "lossless-drops", {"dropped": 12})
_of_queue("queues.ingress.dropped", "lossless-input-drops", {}, ingress=12)
_of_queue("queues.ecn_marked", "ecn-without-pfc", {"ecn_marked": 500})
_of_queue("pfc.received of a server", "server-pauses", {}, PfcCounters(44, 0), ports=("server",))
_of_queue("pfc.received", "pfc-without-ecn", {}, PfcCounters(44, 0), ports=("fabric",))
_of_queue("pfc.sent", "pfc-without-ecn", {}, PfcCounters(0, 44), ports=("fabric",))


@kind("watchdog.detected")
def _storm(dice: random.Random, living: NetworkStates) -> Fault | None:
    found = _lossless(dice, living, "fabric", "server")
    if found is None:
        return None
    _, state, port, number, _ = found
    dogs = (state.watchdog or {}) | {port: {number: Watchdog(2, 2, storming=False)}}
    return _fault(state, port, "watchdog-storm", counted=True, watchdog=dogs)


@kind("watchdog.storming")
def _storming(dice: random.Random, living: NetworkStates) -> Fault | None:
    found = _lossless(dice, living, "fabric", "server")
    if found is None:
        return None
    _, state, port, number, _ = found
    dogs = (state.watchdog or {}) | {port: {number: Watchdog(1, 0, storming=True)}}
    return _fault(state, port, "watchdog-storm", watchdog=dogs)


@kind("queues.sent: one color")
def _one_color(dice: random.Random, living: NetworkStates) -> Fault | None:
    """All load leaves by the links of one path color."""
    wanted, state = _device(dice, living)
    colors = {one.session.interface: one.color for one in wanted.sessions if one.color}
    lossless = {one.port: next(iter(one.lossless)) for one in wanted.queues if one.lossless}
    if len(set(colors.values())) < 2 or state.queues is None:
        return None
    color = dice.choice(sorted(set(colors.values())))
    queues = dict(state.queues)
    for port, number in lossless.items():
        if colors.get(port) == color:
            here = queues[port]
            queues[port] = replace(here, egress=here.egress | {number: replace(here.egress[number], sent=900_000)})
    return _fault(state, "", "colors-unequal", counted=True, queues=queues)
