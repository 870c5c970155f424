"""The state of an Enterprise SONiC switch by Dell: its OpenConfig data by RESTCONF, and what the answers say.

Paths and leaves are those that a public reader of Broadcom's Enterprise SONiC uses, on which Dell's is built, and that Dell's Ansible
collection fetches; they were not tried on a switch of Dell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.device_state import DeviceState, Identity
from railweave.model.state.ports import Errors, Fec, InterfaceState, PortQueues, Queue
from railweave.model.state.protocols import BgpSession, FamilyState, LldpNeighbor, NextHop, Route
from railweave.model.state.question import CONFIGURATION, DEFAULT_VRF, Question

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.values import Answers, Value

NOT_READ = {
    "interfaces.*.speed_gbps": "no public document shows the leaf of the running speed",
    "interfaces.*.addresses": "no public document shows the form of addresses in the state of interfaces",
    "interfaces.*.fec.uncorrected": "no public document shows where codewords are counted",
    "interfaces.*.errors.in_resource": "no public document shows such a counter",
    "queues.*.ingress": "no public document shows where drops by priority on input are counted",
    "pfc": "no public document shows where PFC frames are counted",
    "watchdog": "no public document shows where it is counted",
    "pools": "no public document shows where they are counted",
    "optics": "`/transceiver-dom` is named by public readers, its leaves are not",
    "bfd": "the sessions' list has no published form",
    "isis": "no public document shows that it has IS-IS",
    "routes.*.protocol": "no public document shows the form of the routing table: of routes only static ones are read, with those that drop packets",
    "not_forwarding": "no public document shows which command prints it",
    "vrfs": "only the running configuration shows them",
    "vnis": "only the running configuration shows them",
    "evpn": "no public document shows the form of its routes",
    "ipv6_neighbors": "no public document shows the form of the neighbor cache",
    "advertising": "no public document shows their counters",
    "alarms": "no public document shows their form",
    "commit": "no public document shows a command for who changed the configuration",
    "clock": "no public document shows its form",
    "dynamic load balancing": "adaptive routing has published configuration and no state",
}


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch. Routes cannot be: see ``NOT_READ``."""
    del asked, tables

    def data(name: str, path: str, *, optional: bool = False) -> Question:
        return Question(name, "json", {"restconf": path}, optional)

    found = [
        data("system", "openconfig-system:system/state"),
        data("components", "openconfig-platform:components", optional=True),
        data("lldp-neighbors", "openconfig-lldp:lldp/interfaces"),
        data("interfaces", "openconfig-interfaces:interfaces"),
    ]
    if config.bgp is not None:
        found.append(data("bgp", "openconfig-network-instance:network-instances"))
    if config.qos is not None:
        found.append(data("queues", "openconfig-qos:qos/interfaces", optional=True))
    return [*found, Question(CONFIGURATION, "text", {"ssh": "sonic-cli -c 'show running-configuration | no-more'"})]


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    return DeviceState(
        answers.device,
        "dell_sonic",
        frozenset(answers.texts),
        identity=_identity(answers.tree("system"), answers.tree("components")),
        neighbors=_lldp(answers.tree("lldp-neighbors")),
        interfaces=_interfaces(answers.tree("interfaces")),
        bgp=_sessions(answers.tree("bgp")),
        routes=_static(answers.tree("bgp")),
        queues=_queues(answers.tree("queues")),
        notes=answers.notes,
    )


def _plain(name: str) -> str:
    """A leaf without the name of its module (RFC 7951): ``openconfig-lldp:name``."""
    return name.rpartition(":")[2]


def _leaf(one: Value, name: str) -> Value:
    """A leaf of data, with or without the name of its module."""
    return one.get(next((key for key in sorted(one.keys) if _plain(key) == name), name))


def _at(one: Value, *names: str) -> Value:
    for name in names:
        one = _leaf(one, name)
    return one


def _identity(system: Value | None, components: Value | None) -> Identity | None:
    if system is None and components is None:
        return None
    state = next((one for _, one in system.entries()), None) if system else None
    said = [_leaf(one, "state") for one in components.find("component")] if components else []

    def first(name: str) -> str | None:
        return next((text for one in said if (text := _leaf(one, name).text()) is not None), None)

    return Identity(
        _leaf(state, "hostname").text() if state else None,
        first("part-no"),
        first("serial-no"),
        _leaf(state, "software-version").text() if state else None,
    )


def _lldp(answer: Value | None) -> dict[str, tuple[LldpNeighbor, ...]] | None:
    if answer is None:
        return None
    found: dict[str, tuple[LldpNeighbor, ...]] = {}
    for port in answer.find("interface"):
        name = _leaf(port, "name").text()
        heard = [_leaf(one, "state") for one in _at(port, "neighbors", "neighbor").each()]
        if name is not None and heard:
            found[name] = tuple(
                LldpNeighbor(
                    _leaf(one, "system-name").text(),
                    _leaf(one, "port-id").text(),
                    _leaf(one, "port-id-type").lower(),
                    _leaf(one, "port-description").text(),
                    _leaf(one, "chassis-id").text(),
                )
                for one in heard
            )
    return found


def _interfaces(answer: Value | None) -> dict[str, InterfaceState] | None:
    if answer is None:
        return None
    found: dict[str, InterfaceState] = {}
    for one in answer.find("interface"):
        name, state = _leaf(one, "name").text(), _leaf(one, "state")
        if name is None:
            continue
        counters = _leaf(state, "counters")
        ethernet = _at(one, "ethernet", "state")
        found[name] = InterfaceState(
            name,
            admin_up=_leaf(state, "admin-status").flag(),
            oper_up=_leaf(state, "oper-status").flag(),
            description=_leaf(state, "description").text(),
            mtu=_leaf(state, "mtu").integer(),
            mac=_leaf(ethernet, "hw-mac-address").mac(),
            errors=Errors(
                _leaf(counters, "in-errors").integer(),
                _leaf(counters, "out-errors").integer(),
                _leaf(counters, "in-discards").integer(),
                _leaf(counters, "out-discards").integer(),
            ),
            fec=Fec(_leaf(ethernet, "port-fec").text()),
        )
    return found


_FAMILIES = {"IPV4_UNICAST": "ipv4", "IPV6_UNICAST": "ipv6", "L2VPN_EVPN": "evpn"}


def _sessions(answer: Value | None) -> tuple[BgpSession, ...] | None:
    if answer is None:
        return None
    found: list[BgpSession] = []
    for instance in answer.find("network-instance"):
        vrf = _leaf(instance, "name").text()
        for protocol in _at(instance, "protocols", "protocol").each():
            for one in _at(protocol, "bgp", "neighbors", "neighbor").each():
                name, state = _leaf(one, "neighbor-address").text(), _leaf(one, "state")
                if name is not None:
                    found.append(_session(vrf, name, state, one))
    return tuple(found)


def _static(answer: Value | None) -> tuple[Route, ...] | None:
    """Static routes, as SONiC's management framework has them (sonic-net/SONiC, OpenConfig support for static routes).

    They stand in the same answer as BGP. Whether another route is preferred to one of them it does not say.
    """
    if answer is None:
        return None
    found: list[Route] = []
    for instance in answer.find("network-instance"):
        vrf = _leaf(instance, "name").text() or DEFAULT_VRF
        for protocol in _at(instance, "protocols", "protocol").each():
            for one in _at(protocol, "static-routes", "static").each():
                hops = [_leaf(hop, "state") for hop in _at(one, "next-hops", "next-hop").each()]
                drops = any(_leaf(hop, "blackhole").flag() for hop in hops)
                if prefix := _leaf(one, "prefix").text():
                    said = tuple(NextHop(_leaf(hop, "next-hop").text()) for hop in hops)
                    found.append(Route(prefix, vrf, "static", None, said, None, "blackhole" if drops else None))
    return tuple(found)


def _session(vrf: str | None, name: str, state: Value, one: Value) -> BgpSession:
    interface = None if ":" in name or name.replace(".", "").isdecimal() else name
    families: dict[str, FamilyState] = {}
    for family in _at(one, "afi-safis", "afi-safi").each():
        kind = _plain(_leaf(family, "afi-safi-name").text() or "")
        prefixes = _at(family, "state", "prefixes")
        families[_FAMILIES.get(kind, kind)] = FamilyState(
            received=_leaf(prefixes, "received-pre-policy").integer(),
            accepted=_leaf(prefixes, "received").integer(),
            sent=_leaf(prefixes, "sent").integer(),
        )
    return BgpSession(
        None if interface else name,
        interface,
        vrf,
        _leaf(state, "session-state").lower(),
        _leaf(state, "peer-as").integer(),
        _leaf(state, "local-as").integer(),
        description=_leaf(state, "description").text(),
        discovered=interface is not None,
        flaps=_leaf(state, "connections-dropped").integer(),
        last_error=_leaf(state, "last-reset-reason").text(),
        families=families,
    )


def _queues(answer: Value | None) -> dict[str, PortQueues] | None:
    if answer is None:
        return None
    found: dict[str, dict[int, Queue]] = {}
    for queue in answer.find("queue"):
        state = _leaf(queue, "state")
        name = _leaf(state, "name").text() or _leaf(queue, "name").text() or ""
        port, _, number = name.rpartition(":")
        if (
            (_leaf(state, "traffic-type").text() or "UC") != "UC"
            or not number.isdecimal()
            or len(number) > 3
            or not port
        ):
            continue
        found.setdefault(port, {})[int(number)] = Queue(
            None,
            _leaf(state, "transmit-pkts").integer(),
            _leaf(state, "dropped-pkts").integer(),
            _leaf(state, "ecn-marked-pkts").integer(),
            _leaf(state, "watermark").integer(),
        )
    return {port: PortQueues(queues, {}) for port, queues in found.items()}
