"""The subjects of a check: how much of the expected state of each kind the devices reported.

A check that finds nothing wrong says nothing of what no device reported. So each subject counts the expected objects, such as BGP
sessions, and those that the answers show. What they do not show is a finding of its own.
"""

from __future__ import annotations

import collections
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from railweave.json_values import JsonObject
from railweave.live.check import cabling, counters, diagnosis, forwarding, identity, ports, servers, sessions, tenants
from railweave.live.check.living import Deviation, NetworkStates, Part, Visibility
from railweave.live.check.ports import of_port
from railweave.live.check.sessions import by_end, far_end
from railweave.model.findings.registry import Rule
from railweave.model.state.question import DEFAULT_VRF, asked_about, not_running
from railweave.pages.table import Column, Table
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from railweave.analysis.expect import Expected
    from railweave.analysis.expect.hosts import ExpectedHost, Nic
    from railweave.live.check.counters import Counter
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.expected import Gateway, Keys, OverlaySession, Port, Queues, Session, Tenant
    from railweave.model.findings import Finding
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState
    from railweave.model.state.ports import InterfaceState
    from railweave.model.state.protocols import BfdSession, BgpSession, VrfState

NOT_SEEN = Rule(
    "not-seen",
    "error",
    "living",
    "A device that answered did not report a part of the state that the design expects.",
    why="nobody knows whether this part is right",
    fix="collect again with a login that may run these commands; `--allow-unseen SUBJECT` accepts that a subject is not seen",
)


@dataclass(frozen=True)
class Subject:
    """A kind of expected state.

    - ``name``: the name for ``--allow-unseen`` and JSON. ``text`` is the name for people, in the plural.
    - ``expected``: the expected objects of a device.
    - ``seen``: whether the device's answers show an object, right or wrong. None if the object cannot show now because something
      else is wrong, for example the speed of a port that is down.
    - ``rules``: the rules whose findings are about these objects.
    - ``field``: the part of ``DeviceState`` that shows them. If the reader of a system does not fill it (``NOT_READ``), the subject
      is not expected on that system.
    """

    name: str
    text: str
    expected: Callable[[Any], Iterable[Any]]
    seen: Callable[[Any, Any], bool | None]
    rules: tuple[Rule, ...] = ()
    field: str = ""


class SwitchAnswers:
    """The answers of a switch in the form in which subjects look for expected objects."""

    def __init__(self, living: NetworkStates, expected: Expected, state: DeviceState) -> None:
        self.living, self.expected, self.state = living, expected, state

    def interface(self, name: str) -> InterfaceState | None:
        """Return an interface by its designed name, or None if the device did not report it."""
        return of_port(self.state.interfaces or {}, name)

    @cached_property
    def unread(self) -> frozenset[str]:
        """The questions whose answer as a whole could not be read."""
        return frozenset(note.question for note in self.state.notes if not note.place)

    @cached_property
    def bgp(self) -> dict[str, BgpSession]:
        """The BGP sessions by neighbor address and by port."""
        return by_end(self.state.bgp or ())

    @cached_property
    def bfd(self) -> dict[str, BfdSession]:
        """The BFD sessions by neighbor address and by port."""
        return by_end(self.state.bfd or ())

    def vrf_routes(self, tenant: Tenant) -> Mapping[Prefix, object]:
        """Return the routes in a tenant's VRF that the answers show, by prefix."""
        if tenant.vrf not in self._vrf_routes:
            self._vrf_routes[tenant.vrf] = tenants.vrf_routes(tenant, self.state)
        return self._vrf_routes[tenant.vrf]

    @cached_property
    def _vrf_routes(self) -> dict[str, Mapping[Prefix, object]]:
        return {}

    def traced(self, tenant: Tenant) -> bool | None:
        """Return whether the example path of a tenant is known from end to end; None if it cannot be, for a route that is missing."""
        example = tenants.traced(self.living, tenant)
        if example is None:
            return None
        missing = self.vrf_routes(tenant).get(example[0], self) is None
        return None if missing else bool(example[1]) or example[3]

    @cached_property
    def required(self) -> list[str]:
        """The names of the questions that the switch must answer."""
        return [
            question.name for question in self.living.questions.get(self.expected.device, ()) if not question.optional
        ]

    @cached_property
    def routes(self) -> dict[str, bool | None]:
        """For each expected route, by prefix: True if the answers show its ports, None if no question is about it.

        Questions follow from the design. The expected routes may follow from what the switches run instead (``deploy``). A route that
        was asked for by itself must have an answer, also if a whole table shows it: the answer has its paths.
        """
        names = [question.name for question in self.living.questions.get(self.expected.device, ())]
        asked = {about[2]: name for name in names if (about := asked_about(name)) is not None and about[0] == "route"}
        every = not names or any(name.startswith("routes-") for name in names)
        seen: dict[str, bool | None] = {}
        for route, reported in self.living.routes(self.expected.device):
            prefix = str(route.prefix)
            if every or reported is not None or prefix in asked:
                answered = prefix not in asked or _answered(asked[prefix], self)
                seen[prefix] = answered and forwarding.shows(route, reported)
            else:
                seen[prefix] = None
        return seen


def _says(field: str) -> Callable[[object, SwitchAnswers], bool]:
    """Return the function that tells whether a device reports a part of its identity."""
    return lambda _, answers: bool(getattr(answers.state.identity, field, None))


def _port(port: Port, answers: SwitchAnswers) -> bool:
    interface = answers.interface(port.name)
    if interface is None:
        return answers.state.interfaces is not None  # a table without the port shows that the port is absent
    return interface.admin_up is False or interface.oper_up is not None


def _while_up(
    interface: InterfaceState | None, value: Callable[[InterfaceState], object], *, reported: bool
) -> bool | None:
    """Return whether an interface shows a value. None if it is absent or down. ``reported``: True if the device reported interfaces."""
    if not reported:
        return False
    return value(interface) is not None if interface is not None and interface.oper_up else None


def _running(value: Callable[[InterfaceState], object]) -> Callable[[Port, SwitchAnswers], bool | None]:
    """Return the function that tells whether a port reports a value. It returns None for a port that is absent or down."""

    def seen(port: Port, answers: SwitchAnswers) -> bool | None:
        return _while_up(answers.interface(port.name), value, reported=answers.state.interfaces is not None)

    return seen


def _module(port: Port, answers: SwitchAnswers) -> bool | None:
    if answers.state.interfaces is not None and answers.interface(port.name) is None:
        return None
    optic = (answers.state.optics or {}).get(port.name)
    return optic is not None and optic.present is not None


def _light(port: Port, answers: SwitchAnswers) -> bool | None:
    """Return whether a module shows the light that it receives, and the limit. None for copper, and for a module that is absent."""
    optic = (answers.state.optics or {}).get(port.name)
    model = answers.living.network.catalog.optics.get(port.optic)
    if optic is None or optic.present is False or model is None or model.copper:
        return None
    return optic.rx_low_dbm is not None and any(lane.rx_dbm is not None for lane in optic.lanes)


def _cable(port: Port, answers: SwitchAnswers) -> bool | None:
    """Return whether LLDP shows the far end of a cable. A server does not have to run LLDP."""
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
    """Return the function that tells whether an established session shows a value; None if the session is not established."""

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
    """Return the ends of the expected BFD sessions, each in a tuple."""
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


def _families(expected: Expected) -> list[str]:
    prefixes = [route.prefix for route in expected.routes]
    prefixes += [prefix for gateway in expected.gateways for prefix in gateway.prefixes]
    return sorted({prefix.family for prefix in prefixes})


def _gateway(gateway: Gateway, answers: SwitchAnswers) -> bool:
    interface = answers.interface(gateway.name)
    return interface is not None and interface.addresses is not None and interface.oper_up is not None


def _advertising(gateway: Gateway, answers: SwitchAnswers) -> bool:
    if answers.state.advertising is None:
        return False
    sending = of_port(answers.state.advertising, gateway.name)
    return sending is None or sending.sent is not None


def _of_vrf(value: Callable[[VrfState], object]) -> Callable[[Tenant, SwitchAnswers], bool | None]:
    """Return the function that tells whether a VRF shows a value; None if the device lacks the VRF."""

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


def _answered(question: str, answers: SwitchAnswers) -> bool:
    return question in answers.state.answered and question not in answers.unread


ANSWERS = Subject("answers", "answers", lambda questions: questions, _answered, (identity.UNANSWERED,))
"""The questions that a switch must answer. Their objects come from ``NetworkStates.questions``."""

SWITCH = (
    Subject(
        "models",
        "models",
        lambda expected: (expected.identity,),
        _says("model"),
        (identity.MODEL,),
        field="identity.model",
    ),
    Subject(
        "releases",
        "releases",
        lambda expected: (expected.identity,) if expected.identity.release else (),
        _says("version"),
        (identity.RELEASE,),
        field="identity.version",
    ),
    Subject(
        "serial-numbers",
        "serial numbers",
        lambda expected: (expected.identity,) if expected.identity.serial else (),
        _says("serial"),
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
        lambda table, answers: _answered(f"routes-{table[1]}@{table[0]}", answers),
        field="routes.*.protocol",
    ),
    Subject(
        "route-counts",
        "numbers of routes",
        lambda expected: list(expected.route_counts or {}),
        lambda family, answers: family in (answers.state.route_counts or {}).get(DEFAULT_VRF, {}),
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
        _families,
        lambda _, answers: answers.state.not_forwarding is not None,
        (forwarding.NOT_FORWARDING,),
        field="not_forwarding",
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
        (forwarding.GATEWAY_ADDRESS, forwarding.GATEWAY_DOWN),
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
        (forwarding.VRF_MISSING, forwarding.FOREIGN),
        field="vrfs",
    ),
    Subject(
        "route-targets",
        "route targets of VRFs",
        lambda expected: expected.tenants,
        _of_vrf(lambda vrf: None if vrf.import_targets is None else vrf.export_targets),
        (forwarding.VRF_DIFFERS,),
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
"""The subjects of switches, in the order of the checks."""


def _of_nic(value: Callable[[InterfaceState], object]) -> Callable[[Nic, HostState], bool | None]:
    """Return the function that tells whether a NIC reports a value. It returns None for a NIC that is absent or down."""

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
)
"""The subjects of servers."""


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
"""The subjects of counters, which are compared only with an earlier capture. Their objects come from ``counters.rises``."""

SUBJECTS = {subject.name: subject for subject in (ANSWERS, *SWITCH, *SERVER, *COUNTERS.values())}
"""Every subject, by name."""


def not_asked(systems: Iterable[str], visible: Visibility) -> dict[str, dict[str, str]]:
    """Return the names of the subjects that are not expected, by operating system, each with the reason. Those of servers are under ""."""
    reasons: dict[str, dict[str, str]] = {"": dict(visible.not_asked)}
    for nos in systems:
        reader = system(nos).state
        not_read: Mapping[str, str] = reader.NOT_READ if reader is not None else {}
        reasons[nos] = {
            subject.name: why
            for subject in SUBJECTS.values()
            for field, why in not_read.items()
            if subject.field and f"{subject.field}.".startswith(f"{field}.")
        } | dict(visible.not_asked)
    return reasons


@dataclass(frozen=True, slots=True)
class SubjectCount(JsonObject):
    """The numbers of objects of a subject on a device: expected, right, wrong and not seen.

    Objects that cannot show because something else is wrong are not counted.
    """

    device: str
    subject: str
    expected: int
    wrong: int
    not_seen: int

    JSON = ("device", "subject", "expected", "right", "wrong", "not_seen")

    @property
    def right(self) -> int:
        """The number of objects that are as designed."""
        return self.expected - self.wrong - self.not_seen


def counts(
    living: NetworkStates, deviations: Iterable[Deviation], left_out: Mapping[str, Collection[str]]
) -> list[SubjectCount]:
    """Return the counts of every subject for each device that answered.

    - ``deviations``: what was found wrong.
    - ``left_out``: by operating system, the names of subjects that are not expected (``not_asked``), those of servers under "". Of such a
      subject, only what was seen counts.
    """
    wrong: dict[tuple[str, str], dict[str, int]] = {}
    for deviation in deviations:
        if deviation.severity != "info" and deviation.rule.severity != "info":
            key = deviation.device, deviation.rule.id
            wrong.setdefault(key, {})[deviation.port or deviation.what] = deviation.objects

    rows: list[SubjectCount] = []

    def add(device: str, subject: Subject, seen: Iterable[bool | None], hidden: Collection[str] = ()) -> None:
        objects = [each for each in seen if each or (each is not None and subject.name not in hidden)]
        if objects:
            faults: dict[str, int] = {}
            for rule in subject.rules:
                faults |= wrong.get((device, rule.id), {})
            shown = sum(objects)
            bad = min(sum(faults.values()), shown)
            rows.append(SubjectCount(device, subject.name, len(objects), bad, len(objects) - shown))

    for expected, state in living.pairs():
        hidden = left_out.get(state.system, ())
        answers = SwitchAnswers(living, expected, state)
        add(expected.device, ANSWERS, (_answered(question, answers) for question in answers.required))
        for subject in SWITCH:
            seen = (subject.seen(wanted, answers) for wanted in subject.expected(expected))
            add(expected.device, subject, seen, hidden)
        rises = _known_rises(living, expected, state) if living.before else {}
        for counter, known in rises.items():
            add(expected.device, COUNTERS[counter], known, hidden)
    for server, host in living.servers():
        for subject in SERVER:
            seen = (subject.seen(wanted, host) for wanted in subject.expected(server))
            add(server.device, subject, seen, left_out.get("", ()))
    return rows


def _known_rises(living: NetworkStates, expected: Expected, state: DeviceState) -> dict[Counter, list[bool]]:
    """Return, by counter, whether its rise on each port of a device since the earlier capture is known."""
    then = living.before.get(expected.device) or replace(state, interfaces=None, queues=None, pfc=None)
    known: dict[Counter, list[bool]] = {}
    for rise in counters.rises(expected, then, state):
        known.setdefault(rise.name, []).append(rise.count is not None)
    return known


def compared(
    living: NetworkStates,
    left_out: Mapping[str, Collection[str]],
    allowed: Collection[str] = (),
    line: Callable[[Keys], tuple[str, int]] = lambda _: ("", 0),
) -> tuple[list[Finding], list[SubjectCount]]:
    """Return the findings about everything that is wrong or not seen, and the counts of every subject.

    The parameters are those of ``counts``, ``unseen`` and ``diagnosis.explained``.
    """
    differences = diagnosis.deviations(living)
    rows = counts(living, differences, left_out)
    return diagnosis.explained([*differences, *unseen(living, rows, allowed)], line), rows


def unseen(living: NetworkStates, rows: Iterable[SubjectCount], allowed: Collection[str]) -> Iterator[Deviation]:
    """Yield a finding for each device that did not show all objects of a subject. Subjects in ``allowed`` may stay unseen."""
    of_device: dict[str, list[SubjectCount]] = {}
    for row in rows:
        if row.not_seen and row.subject not in allowed:
            of_device.setdefault(row.device, []).append(row)
    for device, missing in of_device.items():
        refused = _refused(living, device)
        parts = [f"{row.not_seen} of {row.expected} {SUBJECTS[row.subject].text}" for row in missing]
        questions = [f"{question}{f' ({why})' if why else ''}" for question, why in refused.items()]
        more = f"; not answered: {', '.join(questions)}" if questions else ""
        daemons = {name for why in refused.values() if (name := not_running(why))}
        needs: frozenset[Part] = frozenset([("answers", device), *(("daemon", f"{device} {name}") for name in daemons)])
        wanted = living.expected.get(device)
        because = wanted.identity.because if wanted else living.servers_expected[device].because
        yield Deviation(NOT_SEEN, device, f"not seen: {', '.join(parts)}{more}", because, needs=needs)


def _refused(living: NetworkStates, device: str) -> dict[str, str]:
    """Return the questions that a device did not answer, or whose answer could not be read, each with the reason if it is known."""
    refused = dict(living.unanswered.get(device, {}))
    state = living.states.get(device)
    if state is not None:
        refused |= {note.question: note.what for note in state.notes if note.question and not note.place}
        required = (question.name for question in living.questions.get(device, ()) if not question.optional)
        refused |= {name: refused.get(name, "") for name in required if name not in state.answered}
    return refused


COLUMNS = (
    Column("Subject", key="subject"),
    Column("Expected", "number", "expected"),
    Column("Right", "number", "right"),
    Column("Wrong", "number", "wrong"),
    Column("Not seen", "number", "not_seen"),
)


def summary(rows: Iterable[SubjectCount]) -> Table:
    """Return the table of subjects, with the numbers of all devices together."""
    sums: dict[str, collections.Counter[str]] = {}
    for row in rows:
        sums.setdefault(row.subject, collections.Counter()).update(
            expected=row.expected, right=row.right, wrong=row.wrong, not_seen=row.not_seen
        )
    columns = ("expected", "right", "wrong", "not_seen")
    return Table(COLUMNS, [(name, *(sums[name][column] for column in columns)) for name in SUBJECTS if name in sums])
