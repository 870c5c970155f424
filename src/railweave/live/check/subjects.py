"""The subjects of a check: kinds of expected state, such as port speeds.

Each subject has a function that lists its expected objects, and a function that tests if a device's answers show an object.
A check without findings proves nothing about objects that no device reported. Expected objects that the answers do not
show therefore give a separate finding (``counting``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from railweave.live.check import (
    cabling,
    counters,
    diagnosis,
    forwarding,
    identity,
    ports,
    servers,
    sessions,
    strangers,
    tenants,
)
from railweave.live.check.ports import of_port
from railweave.live.check.sessions import by_end, far_end
from railweave.model.state.question import DEFAULT_VRF, asked_about

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from railweave.analysis.expect import Expected
    from railweave.analysis.expect.hosts import ExpectedHost, Nic
    from railweave.live.check.counters import Counter
    from railweave.live.check.living import NetworkStates
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.expected import Gateway, OverlaySession, Port, Queues, Session, Tenant
    from railweave.model.findings.registry import Rule
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState
    from railweave.model.state.ports import InterfaceState
    from railweave.model.state.protocols import BfdSession, BgpSession, VrfState


@dataclass(frozen=True)
class Subject:
    """A kind of expected state.

    - ``name``: the name for ``--allow-unseen`` and JSON. ``text`` is the name in printed text, in the plural.
    - ``expected``: a function that returns the expected objects of a device.
    - ``seen``: a function that returns True if the device's answers show an object, right or wrong. It returns None if
      the object cannot be seen because of another fault, for example the speed of a port that is down.
    - ``rules``: the rules whose findings are about these objects.
    - ``field``: the field of ``DeviceState`` that shows these objects. If the reader of a system does not fill the
      field (``NOT_READ``), the subject is not expected on that system.
    """

    name: str
    text: str
    expected: Callable[[Any], Iterable[Any]]
    seen: Callable[[Any, Any], bool | None]
    rules: tuple[Rule, ...] = ()
    field: str = ""


class SwitchAnswers:
    """The answers of a switch, in the form in which the functions in ``Subject.seen`` need them."""

    def __init__(self, living: NetworkStates, expected: Expected, state: DeviceState) -> None:
        self.living, self.expected, self.state = living, expected, state

    def interface(self, name: str) -> InterfaceState | None:
        """Return an interface by its designed name, or None if the device did not report it."""
        return of_port(self.state.interfaces or {}, name)

    @cached_property
    def unread(self) -> frozenset[str]:
        """The queries whose answer could not be read at all."""
        return frozenset(note.question for note in self.state.notes if not note.place)

    @cached_property
    def bgp(self) -> dict[str, BgpSession]:
        """The reported BGP sessions by end (``sessions.by_end``): the neighbor's address or the port."""
        return by_end(self.state.bgp or ())

    @cached_property
    def bfd(self) -> dict[str, BfdSession]:
        """The reported BFD sessions by end (``sessions.by_end``): the neighbor's address or the port."""
        return by_end(self.state.bfd or ())

    @cached_property
    def paths(self) -> sessions.SeenPaths:
        """The reported BGP paths to the example prefixes."""
        return sessions.SeenPaths(self.expected, self.state)

    def vrf_routes(self, tenant: Tenant) -> Mapping[Prefix, object]:
        """Return the routes in a tenant's VRF that the answers show, by prefix."""
        if tenant.vrf not in self._vrf_routes:
            self._vrf_routes[tenant.vrf] = tenants.vrf_routes(tenant, self.state)
        return self._vrf_routes[tenant.vrf]

    @cached_property
    def _vrf_routes(self) -> dict[str, Mapping[Prefix, object]]:
        return {}

    def traced(self, tenant: Tenant) -> bool | None:
        """Return True if the answers show where the packets of a tenant's example path end, and False if they do not.

        Return None if there is no path to follow, because no other leaf has a prefix of the tenant, or because this switch lacks the route.
        """
        example = tenants.traced(self.living, tenant)
        if example is None:
            return None
        missing = self.vrf_routes(tenant).get(example[0], self) is None
        return None if missing else bool(example[2]) or example[3]

    def statics(self, vrf: str, family: str) -> bool | None:
        """Return True if the answers show the static routes of a VRF and an address family; None if no query asks for them."""
        questions = [question.name for question in self.living.questions.get(self.expected.device, ())]
        about = [
            name for kind in STATICS for name in (f"{kind}-{family}", f"{kind}-{family}@{vrf}") if name in questions
        ]
        table = f"routes-{family}@{vrf}"
        return answered(table, self) or all(answered(name, self) for name in about) if about else None

    @cached_property
    def required(self) -> list[str]:
        """The names of the queries that the switch must answer."""
        return [
            question.name for question in self.living.questions.get(self.expected.device, ()) if not question.optional
        ]

    @cached_property
    def routes(self) -> dict[str, bool | None]:
        """For each expected route, by prefix: True if the answers show its ports, False if not, None if no query asks for the route.

        If a separate query asks for a route, this query must be answered, because only its answer has the route's paths. A complete table
        that shows the route is then not enough.

        None can occur during ``deploy``: queries follow from the design, but expected routes from the running configurations.
        """
        names = [question.name for question in self.living.questions.get(self.expected.device, ())]
        asked = {about[2]: name for name in names if (about := asked_about(name)) is not None and about[0] == "route"}
        every = not names or any(name.startswith("routes-") for name in names)
        seen: dict[str, bool | None] = {}
        for route, reported in self.living.routes(self.expected.device):
            prefix = str(route.prefix)
            if every or reported is not None or prefix in asked:
                by_itself = prefix not in asked or answered(asked[prefix], self)
                seen[prefix] = by_itself and forwarding.shows(route, reported)
            else:
                seen[prefix] = None
        return seen


STATICS = ("static", "kernel", "aggregate")
"""The kinds of queries about routes that a switch does not learn from a neighbor. The kind is the first word of a query's name."""


def _routed(expected: Expected) -> list[tuple[str, str]]:
    """Return (VRF, address family) for each routing table in which the switch ``expected`` has designed prefixes."""
    of_tenants = {prefix for tenant in expected.tenants for prefix in (*tenant.own_prefixes, *tenant.learned)}
    tables: list[tuple[str, str]] = [
        (tenant.vrf, prefix.family) for tenant in expected.tenants for prefix in (*tenant.own_prefixes, *tenant.learned)
    ]
    tables += [(DEFAULT_VRF, route.prefix.family) for route in expected.routes if route.prefix not in of_tenants]
    return list(dict.fromkeys(tables))


def _reports(field: str) -> Callable[[object, SwitchAnswers], bool]:
    """Return a function for ``Subject.seen``: it returns True if a device reports ``field`` of its identity, such as the model."""
    return lambda _, answers: bool(getattr(answers.state.identity, field, None))


def _port(port: Port, answers: SwitchAnswers) -> bool:
    interface = answers.interface(port.name)
    if interface is None:
        return answers.state.interfaces is not None  # a table without the port shows that the port is absent
    return interface.admin_up is False or interface.oper_up is not None


def _while_up(
    interface: InterfaceState | None, value: Callable[[InterfaceState], object], *, reported: bool
) -> bool | None:
    """Return True if the answers have a value of an interface, such as its MTU, and False if not. Return None if the interface is absent or down.

    ``value`` returns the interface's value, or None if it is not shown. ``reported`` is False if the device reported no interfaces; the
    result is then False.
    """
    if not reported:
        return False
    return value(interface) is not None if interface is not None and interface.oper_up else None


def _running(value: Callable[[InterfaceState], object]) -> Callable[[Port, SwitchAnswers], bool | None]:
    """Return a function for ``Subject.seen`` that tests if a device's answers have a value of a port, such as its MTU.

    The returned function returns None if the port is absent or down. ``value`` returns the value of a reported interface, or None if it is
    not shown.
    """

    def seen(port: Port, answers: SwitchAnswers) -> bool | None:
        return _while_up(answers.interface(port.name), value, reported=answers.state.interfaces is not None)

    return seen


def _module(port: Port, answers: SwitchAnswers) -> bool | None:
    if answers.state.interfaces is not None and answers.interface(port.name) is None:
        return None
    optic = (answers.state.optics or {}).get(port.name)
    return optic is not None and optic.present is not None


def _light(port: Port, answers: SwitchAnswers) -> bool | None:
    """Return True if a module shows the received light and its limit. Return None for copper, and for a module that is absent."""
    optic = (answers.state.optics or {}).get(port.name)
    model = answers.living.network.catalog.optics.get(port.optic)
    if optic is None or optic.present is False or model is None or model.copper:
        return None
    return optic.rx_low_dbm is not None and any(lane.rx_dbm is not None for lane in optic.lanes)


def _cable(port: Port, answers: SwitchAnswers) -> bool | None:
    """Return True if LLDP shows the far end of a cable, or shows for certain that a port which is up has no neighbor.

    Return None for a port that is down, and for a port to a server without LLDP, because servers need not send LLDP.
    """
    if answers.state.neighbors is None:
        return False
    if of_port(answers.state.neighbors, port.name):
        return True
    interface = answers.interface(port.name)
    if port.kind == "server" or (interface is not None and interface.oper_up is False):
        return None
    return interface is not None  # no neighbor is a finding only if the port is known to be up


def _sessions(expected: Expected) -> list[Session | OverlaySession]:
    return [*expected.sessions, *expected.overlay_sessions]


def _session(wanted: Session | OverlaySession, answers: SwitchAnswers) -> bool:
    session = answers.bgp.get(far_end(wanted.session))
    return answers.state.bgp is not None and (session is None or session.established is not None)


def _established(
    value: Callable[[BgpSession], bool],
) -> Callable[[Session | OverlaySession, SwitchAnswers], bool | None]:
    """Return a function for ``Subject.seen`` that tests if a device's answers have a value of a BGP session, such as the neighbor's AS number.

    The returned function returns None if the session is not established. ``value`` returns True if the reported session has the value.
    """

    def seen(wanted: Session | OverlaySession, answers: SwitchAnswers) -> bool | None:
        if answers.state.bgp is None:
            return False
        session = answers.bgp.get(far_end(wanted.session))
        return value(session) if session is not None and session.established else None

    return seen


def _has_counts(session: BgpSession) -> bool:
    families = [family for name, family in session.families.items() if name in {"ipv4", "ipv6"}]
    counts = [family.accepted if family.received is None else family.received for family in families]
    return bool(counts) and None not in counts


def _watched(expected: Expected) -> list[tuple[str]]:
    """Return the ends (neighbor address or port) of the expected BFD sessions, each as a tuple with one member."""
    ends = [far_end(each.session) for each in _sessions(expected) if each.bfd is not None]
    return [(end,) for end in (*ends, *(each.interface for each in expected.adjacencies if each.bfd is not None))]


def _bfd(wanted: tuple[str], answers: SwitchAnswers) -> bool:
    session = answers.bfd.get(wanted[0])
    return answers.state.bfd is not None and (session is None or session.state is not None)


def _bfd_timers(wanted: tuple[str], answers: SwitchAnswers) -> bool | None:
    if answers.state.bfd is None:
        return False
    session = answers.bfd.get(wanted[0])
    if session is None or session.state != "up":
        return None
    return session.tx_ms is not None and session.multiplier is not None


def _counted(family: str, answers: SwitchAnswers) -> bool:
    counts = answers.state.route_counts or {}
    return family in counts.get(DEFAULT_VRF, {})


def _counted_families(expected: Expected) -> list[str]:
    return list(expected.route_counts or {})


def _gateway(gateway: Gateway, answers: SwitchAnswers) -> bool:
    interface = answers.interface(gateway.name)
    return interface is not None and interface.addresses is not None and interface.oper_up is not None


def _addressed(wanted: Session, answers: SwitchAnswers) -> bool | None:
    """Return True if the switch reports the addresses of the port on which the session ``wanted`` runs, and False if it does not report them.

    Return None if the session does not run on a port, or if the switch reports its ports without this port.
    """
    if answers.state.interfaces is None:
        return False
    interface = answers.interface(wanted.session.interface) if wanted.session.interface else None
    return None if interface is None else interface.addresses is not None


def _advertising(gateway: Gateway, answers: SwitchAnswers) -> bool:
    if answers.state.advertising is None:
        return False
    sending = of_port(answers.state.advertising, gateway.name)
    return sending is None or sending.sent is not None


def _of_vrf(value: Callable[[VrfState], object]) -> Callable[[Tenant, SwitchAnswers], bool | None]:
    """Return a function for ``Subject.seen`` that tests if a device's answers have a value of a tenant's VRF, such as its route targets.

    The returned function returns None if the device lacks the VRF. ``value`` returns the value of a reported VRF, or None if it is not
    shown.
    """

    def seen(tenant: Tenant, answers: SwitchAnswers) -> bool | None:
        if answers.state.vrfs is None:
            return False
        vrf = answers.state.vrfs.get(tenant.vrf)
        return None if vrf is None else value(vrf) is not None

    return seen


def _queue(port: Queues, answers: SwitchAnswers) -> bool:
    there = of_port(answers.state.queues or {}, port.port)
    return there is not None and bool(there.egress)


def _lossless(expected: Expected) -> list[Queues]:
    return [port for port in expected.queues if port.lossless]


def answered(question: str, answers: SwitchAnswers) -> bool:
    """Return True if a switch answered the query ``question``, and the answer could be read."""
    return question in answers.state.answered and question not in answers.unread


ANSWERS = Subject("answers", "answers", lambda questions: questions, answered, (identity.UNANSWERED,))
"""The subject (kind of expected state) for queries that a switch must answer. Its objects come from ``NetworkStates.questions``."""
CONFIGURATIONS = Subject(
    "configurations", "running configurations", lambda _: (), lambda _, __: None, (identity.CONFIGURATION,)
)
"""The subject (kind of expected state) for the files or parts of running configurations.

Its objects come from ``NetworkStates.configuration_parts``.
"""

SWITCH = (
    Subject(
        "models",
        "models",
        lambda expected: (expected.identity,),
        _reports("model"),
        (identity.MODEL,),
        field="identity.model",
    ),
    Subject(
        "releases",
        "releases",
        lambda expected: (expected.identity,) if expected.identity.release else (),
        _reports("version"),
        (identity.RELEASE,),
        field="identity.version",
    ),
    Subject(
        "serial-numbers",
        "serial numbers",
        lambda expected: (expected.identity,) if expected.identity.serial else (),
        _reports("serial"),
        (identity.SERIAL,),
        field="identity.serial",
    ),
    Subject(
        "clocks",
        "clocks",
        lambda expected: (expected.clock,) if expected.clock else (),
        lambda _, answers: answers.state.clock is not None and answers.state.clock.synchronized is not None,
        (identity.CLOCK,),
        field="clock.synchronized",
    ),
    Subject(
        "alarms",
        "lists of alarms",
        lambda expected: (expected.identity,),
        lambda _, answers: answers.state.alarms is not None,
        (identity.ALARM,),
        field="alarms",
    ),
    Subject("ports", "ports", lambda expected: expected.ports, _port, (ports.ABSENT, ports.SHUT, ports.DOWN)),
    Subject(
        "port-speeds",
        "port speeds",
        lambda expected: expected.ports,
        _running(lambda each: each.speed_gbps),
        (ports.SPEED,),
        field="interfaces.*.speed_gbps",
    ),
    Subject("port-mtus", "port MTUs", lambda expected: expected.ports, _running(lambda each: each.mtu), (ports.MTU,)),
    Subject(
        "port-vlans",
        "ports of VLANs",
        lambda expected: [port for port in expected.ports if port.switched],
        _running(lambda each: each.bridged),
        (ports.NOT_BRIDGED,),
        field="interfaces.*.bridged",
    ),
    Subject(
        "error-correction",
        "error corrections of ports",
        lambda expected: [port for port in expected.ports if port.fec is not None],
        _running(lambda each: each.fec.mode),
        (ports.FEC,),
        field="interfaces.*.fec.mode",
    ),
    Subject(
        "modules",
        "modules",
        lambda expected: [port for port in expected.ports if port.optic],
        _module,
        (ports.NO_OPTIC,),
        field="optics",
    ),
    Subject(
        "module-light",
        "modules with light levels",
        lambda expected: expected.ports,
        _light,
        (ports.OPTIC, ports.DARK),
        field="optics",
    ),
    Subject(
        "cables",
        "ends of cables",
        lambda expected: expected.cabled,
        _cable,
        (cabling.SWAPPED, cabling.WRONG, cabling.MISSING, cabling.UNCLEAR),
    ),
    Subject("bgp-sessions", "BGP sessions", _sessions, _session, (sessions.MISSING, sessions.DOWN)),
    Subject(
        "as-numbers",
        "AS numbers of neighbors",
        _sessions,
        _established(lambda session: bool(session.peer_as)),
        (sessions.AS,),
    ),
    Subject(
        "prefix-counts",
        "numbers of prefixes",
        lambda expected: expected.sessions,
        _established(_has_counts),
        (diagnosis.PREFIXES,),
    ),
    Subject(
        "bfd-sessions",
        "BFD sessions",
        _watched,
        _bfd,
        (sessions.BFD_DOWN,),
        field="bfd",
    ),
    Subject(
        "bfd-timers",
        "BFD timers",
        _watched,
        _bfd_timers,
        (sessions.BFD_TIMERS,),
        field="bfd",
    ),
    Subject(
        "isis-adjacencies",
        "IS-IS adjacencies",
        lambda expected: expected.adjacencies,
        lambda _, answers: answers.state.isis is not None,
        (diagnosis.ADJACENCY,),
        field="isis",
    ),
    Subject(
        "path-colors",
        "BGP paths with the marks of path colors",
        lambda expected: expected.color_paths,
        lambda wanted, answers: answers.paths.shows(wanted),
        (sessions.PATH_MARKS, sessions.PATH_MISSING, sessions.PATH_STRAY),
        field="routes.*.protocol",
    ),
    Subject(
        "routes",
        "routes",
        lambda expected: expected.routes,
        lambda route, answers: answers.routes[str(route.prefix)],
        (
            forwarding.ROUTE_MISSING,
            forwarding.ROUTE_PORTS,
            forwarding.ROUTE_DROPS,
            forwarding.ROUTE_PROTOCOL,
            forwarding.ROUTE_NOT_INSTALLED,
            forwarding.ROUTE_WEIGHTS,
        ),
        field="routes.*.protocol",
    ),
    Subject(
        "route-tables",
        "whole tables of routes",
        lambda expected: expected.tables,
        lambda table, answers: answered(f"routes-{table[1]}@{table[0]}", answers),
        field="routes.*.protocol",
    ),
    Subject(
        "route-counts",
        "numbers of routes",
        _counted_families,
        _counted,
        (forwarding.ROUTE_COUNT,),
        field="route_counts",
    ),
    Subject(
        "packet-filters",
        "lists of packet filters",
        lambda expected: (expected.identity,),
        lambda _, answers: answers.state.filters is not None,
        (forwarding.FILTER,),
        field="filters",
    ),
    Subject(
        "forwarding",
        "address families to forward",
        forwarding.families,
        lambda _, answers: answers.state.not_forwarding is not None,
        (forwarding.NOT_FORWARDING,),
        field="not_forwarding",
    ),
    Subject("static-routes", "tables of static routes", _routed, lambda table, answers: answers.statics(*table)),
    Subject(
        "kernel-settings",
        "kernel settings that spread packets",
        forwarding.families,
        lambda family, answers: forwarding.policy_of(family) in (answers.state.kernel or {}),
        (forwarding.KERNEL,),
        field="kernel",
    ),
    Subject(
        "neighbor-tables",
        "neighbor tables of gateways",
        lambda expected: sorted({prefix.family for gateway in expected.gateways for prefix in gateway.prefixes}),
        lambda family, answers: getattr(answers.state, f"{family}_neighbors") is not None,
        (forwarding.NEIGHBOR_MAC, forwarding.NEIGHBOR_FIXED),
        field="ipv6_neighbors",
    ),
    Subject(
        "gateways",
        "gateways of servers",
        lambda expected: expected.gateways,
        _gateway,
        (forwarding.GATEWAY_ADDRESS, forwarding.GATEWAY_DOWN, forwarding.GATEWAY_MAC),
        field="interfaces.*.addresses",
    ),
    Subject(
        "session-addresses",
        "addresses of ports with sessions",
        lambda expected: [each for each in expected.sessions if each.session.local_address is not None],
        _addressed,
        (strangers.MISSING,),
        field="interfaces.*.addresses",
    ),
    Subject(
        "router-advertisements",
        "router advertisements",
        lambda expected: [gateway for gateway in expected.gateways if gateway.advertisements is not None],
        _advertising,
        (forwarding.NO_ADVERTISEMENTS, forwarding.ADVERTISEMENTS),
        field="advertising.*.sent",
    ),
    Subject(
        "vrfs",
        "VRFs",
        lambda expected: expected.tenants,
        lambda _, answers: answers.state.vrfs is not None,
        (tenants.VRF_MISSING, tenants.FOREIGN),
        field="vrfs",
    ),
    Subject(
        "route-targets",
        "route targets of VRFs",
        lambda expected: expected.tenants,
        _of_vrf(lambda vrf: None if vrf.import_targets is None else vrf.export_targets),
        (tenants.VRF_DIFFERS,),
        field="vrfs.*.targets",
    ),
    Subject(
        "route-distinguishers",
        "route distinguishers of VRFs",
        lambda expected: expected.tenants,
        _of_vrf(lambda vrf: vrf.route_distinguisher),
        field="vrfs",
    ),
    Subject(
        "vnis",
        "VNIs of VRFs",
        lambda expected: expected.tenants,
        lambda _, answers: answers.state.vnis is not None,
        (tenants.TENANT_MAC,),
        field="vnis",
    ),
    Subject(
        "overlay-prefixes",
        "prefixes of tenants in the overlay",
        lambda expected: [(tenant.vrf, prefix) for tenant in expected.tenants for prefix in tenant.learned],
        lambda _, answers: answers.state.evpn is not None and answers.state.evpn.type5_prefixes is not None,
        (tenants.LOST,),
        field="evpn",
    ),
    Subject(
        "vrf-prefixes",
        "prefixes of tenants in the tables of VRFs",
        lambda expected: (
            [(tenant, prefix) for tenant in expected.tenants for prefix in tenant.learned] if expected.tables else ()
        ),
        lambda wanted, answers: wanted[1] in answers.vrf_routes(wanted[0]),
        (tenants.NOT_IN_VRF, tenants.TUNNEL),
        field="routes.*.protocol",
    ),
    Subject(
        "tenant-paths",
        "example paths of tenants between leaves",
        lambda expected: [tenant for tenant in expected.tenants if tenant.learned] if expected.tables else (),
        lambda tenant, answers: answers.traced(tenant),
        (tenants.PATH,),
        field="routes.*.protocol",
    ),
    Subject("queues", "ports with queues", lambda expected: expected.queues, _queue, (ports.QUEUE,)),
    Subject(
        "pfc",
        "ports with PFC",
        _lossless,
        lambda port, answers: bool(of_port(answers.state.pfc or {}, port.port)),
        (ports.PFC,),
        field="pfc",
    ),
    Subject(
        "pfc-watchdog",
        "ports with a PFC watchdog",
        lambda expected: [port for port in _lossless(expected) if port.watchdog is not None],
        lambda port, answers: of_port(answers.state.watchdog or {}, port.port) is not None,
        (counters.STORM,),
        field="watchdog",
    ),
)
"""The subjects (kinds of expected state) of switches, in the order of the checks."""


def _of_nic(value: Callable[[InterfaceState], object]) -> Callable[[Nic, HostState], bool | None]:
    """Return a function for ``Subject.seen`` that tests if a server's answers have a value of a NIC, such as its MTU.

    The returned function returns None if the NIC is absent or down. ``value`` returns the value of a reported interface, or None if it is
    not shown.
    """

    def seen(nic: Nic, state: HostState) -> bool | None:
        return _while_up((state.interfaces or {}).get(nic.netdev), value, reported=state.interfaces is not None)

    return seen


def _nic(nic: Nic, state: HostState) -> bool:
    interface = (state.interfaces or {}).get(nic.netdev)
    return state.interfaces is not None and (interface is None or interface.oper_up is not None)


def _paths(expected: ExpectedHost) -> list[object]:
    return [address for nic in expected.nics for address in nic.addresses]


SERVER = (
    Subject("nics", "NICs", lambda expected: expected.nics, _nic, (servers.ABSENT, servers.DOWN)),
    Subject(
        "nic-speeds",
        "NIC speeds",
        lambda expected: expected.nics,
        _of_nic(lambda each: each.speed_gbps),
        (servers.SPEED,),
    ),
    Subject("nic-mtus", "NIC MTUs", lambda expected: expected.nics, _of_nic(lambda each: each.mtu), (servers.MTU,)),
    Subject(
        "nic-macs",
        "MAC addresses of NICs",
        lambda expected: [nic for nic in expected.nics if nic.mac],
        _of_nic(lambda each: each.mac),
        (servers.MAC,),
    ),
    Subject(
        "nic-addresses",
        "addresses of NICs",
        _paths,
        lambda _, state: state.addresses is not None,
        (servers.ADDRESS, servers.DUPLICATE),
    ),
    Subject("gids", "GIDs", _paths, lambda _, state: state.gids is not None, (servers.GID,)),
    Subject(
        "server-rules",
        "rules of servers",
        lambda expected: expected.rules,
        lambda _, state: state.rules is not None,
        (servers.RULE, servers.STRAY_RULE),
    ),
    Subject(
        "server-routes",
        "routes of servers",
        lambda expected: expected.routes,
        lambda _, state: state.routes is not None,
        (servers.ROUTE, servers.STRAY_ROUTE),
    ),
    Subject(
        "server-neighbors",
        "tables of permanent neighbors",
        lambda expected: expected.nics[:1],
        lambda _, state: state.permanent is not None,
        (servers.NEIGHBOR,),
    ),
    Subject(
        "server-firewalls",
        "firewalls of servers",
        lambda expected: expected.nics[:1],
        lambda _, state: state.firewall is not None,
        (servers.FIREWALL,),
    ),
)
"""The subjects (kinds of expected state) of servers."""


def _never(expected: object, answers: object) -> None:
    del expected, answers


_COUNTERS: tuple[tuple[Counter, str, str, tuple[Rule, ...]], ...] = (
    ("queue-drops", "counters of packets dropped by queues", "queues", (counters.DROPS,)),
    ("input-drops", "counters of packets dropped on input", "queues.*.ingress", (counters.INPUT_DROPS,)),
    ("marks", "counters of ECN marks", "queues", (counters.ECN,)),
    ("pauses", "counters of PFC frames", "pfc", (counters.PFC, counters.SERVER)),
    ("damaged-frames", "counters of damaged frames", "interfaces", (counters.ERRORS,)),
    ("uncorrected-codewords", "counters of uncorrected codewords", "interfaces.*.fec.uncorrected", ()),
    ("resource-errors", "counters of resource errors", "interfaces.*.errors.in_resource", (counters.RESOURCE,)),
)
COUNTERS = {
    name: Subject(f"counters-{name}", text, lambda _: (), _never, rules, field)
    for name, text, field, rules in _COUNTERS
}
"""The subjects (kinds of expected state) of counters, by name. They need an earlier capture to compare with.

Their objects come from ``counters.rises``.
"""

SUBJECTS = {subject.name: subject for subject in (ANSWERS, CONFIGURATIONS, *SWITCH, *SERVER, *COUNTERS.values())}
"""Every subject (kind of expected state), by name."""
