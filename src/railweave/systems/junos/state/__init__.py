"""The state of a Junos Evolved switch: the queries, and the conversion of the switch's answers.

The layout of the answers is known from Juniper's published models of 24.4 (``junos-rpc-*``), and from the public test
data of NAPALM and SuzieQ. Answers are read from XML or from Junos's own JSON. Deterministic path forwarding in 25.4 adds
fields that are not published, so its sessions are read as ordinary sessions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from railweave.model.state.device_state import Alarm, Clock, Commit, Identity, Watchdog
from railweave.model.state.field_maps import Fields, choice, column, digits, listed
from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic, PfcCounters, PortQueues, Queue
from railweave.model.state.question import CONFIGURATION
from railweave.systems.junos.state import protocols
from railweave.systems.state_table import Ask, Forms, Part, StateTable, asks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.model.state.protocols import BgpSession
    from railweave.model.state.values import Value

T = TypeVar("T")

PROBES: dict[str, str] = {}
NOT_READ = {
    "kernel": "the switching chip spreads packets over routes, not the kernel",
    "interfaces.*.bridged": "no question asks for the VLANs of ports; `drift` compares what is configured",
    "queues.*.ingress": "drops are counted by queue, not by priority on input",
    "ipv4_neighbors.*.state": "`show arp` shows no state",
    "pools": "`show class-of-service shared-buffer` and the buffer occupancy commands have no published form",
    "dynamic load balancing": "no public document shows a command for the quality of ports or the table of flows",
    "bgp.*.color": "no form is published for the color of a session, or for `show bgp summary autodiscovered` beyond its peers",
    "not_forwarding": "Junos forwards between its routed interfaces; no statement turns that off",
    "routes.*.installed": "`show route forwarding-table` has no published form of its groups of next hops",
}

FORMS: Forms = {
    "json": ("xml", {"ssh": "{} | display xml | no-more", "netconf": "{}"}),
    "set": ("text", {"ssh": "{} | display set | no-more", "netconf": "get-configuration set"}),
}

ASKED = (
    Ask("version", "show version"),
    Ask("system?", "show system information"),
    Ask("hardware", "show chassis hardware"),
    Ask("uptime", "show system uptime"),
    Ask("alarms?", "show chassis alarms"),
    Ask("alarms-system?", "show system alarms"),
    Ask("filters?", "show firewall"),
    Ask("commit", "show system commit"),
    Ask("lldp-neighbors?", "show lldp neighbors"),
    Ask("interfaces", "show interfaces extensive"),
    Ask("optics?", "show interfaces diagnostics optics"),
    Ask("neighbors", "show ipv6 neighbors"),
    Ask("neighbors-ipv4", "show arp no-resolve"),
    Ask("advertising?", "show ipv6 router-advertisement"),
    *asks(
        "bgp",
        "",
        ("bgp", "show bgp summary"),
        # In the source, this is one word; in the published model, it is two.
        ("bgp-discovered?", "show bgp summary autodiscovered"),
        ("bgp-auto-discovered?", "show bgp summary auto-discovered"),
        ("bgp-neighbors", "show bgp neighbor"),
    ),
    Ask("bfd?", "show bfd session extensive", "bfd"),
    Ask("isis", "show isis adjacency", "isis"),
    Ask("queues?", "show interfaces queue", "qos"),
    *asks(
        "overlay",
        "",
        ("vrfs?", "show evpn l3-context extensive"),
        ("instances?", "show route instance detail"),
        ("evpn-prefixes?", "show evpn ip-prefix-database extensive"),
        ("evpn-macs?", "show evpn database"),
    ),
    Ask("route{about}?", "show route table {table} {prefix} exact detail", each="route"),
    *(
        Ask(f"{protocol}-{family}@{{vrf}}?", f"show route protocol {protocol} table {{{table}}}", each="vrf")
        for protocol in ("static", "aggregate")
        for family, table in (("ipv6", "inet6"), ("ipv4", "inet"))
    ),
    Ask("routes-{family}@{vrf}", "show route table {table}", each="tables"),
    Ask("route-counts", "show route summary", each="counts"),
    Ask(CONFIGURATION, "show configuration", by="set"),
)


_SPEED = re.compile(r"(\d{1,5})\s*([mMgG])bps")
_PORT = re.compile(r"(?:et|xe|ge)-(\d{1,3})/(\d{1,3})/(\d{1,3})(?::\d{1,2})?")
_DEGREES = re.compile(r"(-?\d{1,4}(?:\.\d{1,4})?)\s*degrees C")


def _ports(answer: Value) -> Iterator[tuple[str, Value]]:
    for port in answer.find("physical-interface"):
        if (name := port.get("name").text()) is not None:
            yield name, port


def _gigabits(speed: Value) -> float | None:
    match = _SPEED.search(speed.text() or "")
    return int(match[1]) / (1 if match[2] in "gG" else 1000) if match else None


def _reasons(flags: Value) -> str | None:
    """Return the flags that show why a port is down, separated by commas, or None if no flag does."""
    bad = {key for key in flags.keys if key.startswith("ifdf-")} - {"ifdf-present", "ifdf-running"}
    return ", ".join(sorted(bad)) or None


def _least_mtu(families: Value) -> int | None:
    return min((mtu for family in families.each() if (mtu := digits(family.get("mtu"))) is not None), default=None)


_UP = choice({"up": True, "down": False})
_INTERFACE = Fields(
    InterfaceState,
    "admin_up=admin-status:up oper_up=oper-status:up reason=if-device-flags description speed_gbps=speed mtu:digits "
    "mac=current-physical-address|hardware-physical-address:mac flaps=output-error-list/carrier-transitions "
    "in_bytes=traffic-statistics/input-bytes out_bytes=traffic-statistics/output-bytes",
    up=_UP,
    reason=_reasons,
    speed_gbps=_gigabits,
    errors=Fields(
        Errors,
        "in_errors=input-error-list/input-errors out_errors=output-error-list/output-errors "
        "in_discards=input-error-list/input-drops out_discards=output-error-list/output-drops "
        "in_crc=ethernet-mac-statistics/input-crc-errors in_resource=input-error-list/input-resource-errors "
        "out_mtu=output-error-list/mtu-errors ecn_marked=output-error-list/ecn-marked-packets",
    ),
    fec=Fields(
        Fec,
        "mode=ethernet-fec-mode/enabled_fec_mode corrected=ethernet-fec-statistics/fec_ccw_count "
        "uncorrected=ethernet-fec-statistics/fec_nccw_count",
    ),
)
_UNIT = Fields(
    InterfaceState,
    "admin_up=admin-status oper_up=oper-status description mtu=address-family",
    admin_up=_UP,
    oper_up=_UP,
    mtu=_least_mtu,
    addresses=column("address-family[]/interface-address[]/ifa-local"),
)


def _interfaces(answer: Value, uptime: Value) -> dict[str, InterfaceState]:
    """Return the physical and logical interfaces in ``show interfaces extensive`` (``answer``), by name.

    ``uptime`` has the device's clock. Times in ``answer`` are relative to this clock.
    """
    now = _clock(uptime).time
    made: dict[str, InterfaceState] = {}
    for name, row in _ports(answer):
        ago = row.get("interface-flapped").attribute("seconds").number()
        port = _INTERFACE(row, name=name, last_change=now - ago if now is not None and ago is not None else None)
        made[name] = port = port if port.oper_up is False else replace(port, reason=None)
        for unit in row.all("logical-interface"):
            if (inner := unit.get("name").text()) is not None:
                logical = _UNIT(unit, name=inner)
                made[inner] = replace(
                    logical,
                    admin_up=port.admin_up if logical.admin_up is None else logical.admin_up,
                    oper_up=port.oper_up if logical.oper_up is None else logical.oper_up,
                )
        if routed := made.get(f"{name}.0"):  # a routed port has its addresses on its unit 0
            made[name] = replace(made[name], addresses=routed.addresses)
    return made


def _loose(value: Value) -> float | None:
    """Return the number at the beginning of a text, or None if the text begins with something else (``N/A``)."""
    match = re.match(r"-?\d{1,6}(?:\.\d{1,6})?", value.text() or "")
    return float(match[0]) if match else None


def _dbm(value: Value) -> float | None:
    """Return the optical power in dBm. ``- Inf`` and ``-Inf`` mean that the lane receives no light."""
    text = (value.text() or "").replace(" ", "").lower()
    return float("-inf") if text.startswith("-inf") else _loose(value)


def _celsius(value: Value) -> float | None:
    match = _DEGREES.search(value.text() or "")
    return float(match[1]) if match else None


_LANE = Fields(
    Lane,
    "number=lane-index tx_dbm=laser-output-power-dbm:dbm "
    "rx_dbm=laser-rx-optical-power-dbm|rx-signal-avg-optical-power-dbm:dbm bias_ma=laser-bias-current",
    number=lambda index: digits(index) or 0,
    dbm=_dbm,
    bias_ma=_loose,
)
_LANES = "optics-diagnostics-lane-values"


def _active(module: Value) -> tuple[str, ...]:
    """Return the names of the active alarms of a module and of its lanes."""
    parts = (module, *module.all(_LANES))
    on = {key for part in parts for key, alarm in part.entries() if key.endswith("-alarm") and alarm.lower() == "on"}
    return tuple(sorted(on))


_OPTIC = Fields(
    Optic,
    "temperature_c=module-temperature voltage_v=module-voltage "
    "rx_low_dbm=laser-rx-power-low-alarm-threshold-dbm:dbm tx_low_dbm=laser-tx-power-low-alarm-threshold-dbm:dbm",
    temperature_c=_celsius,
    voltage_v=_loose,
    lanes=lambda module: tuple(map(_LANE, module.all(_LANES) or [module])),
    dbm=_dbm,
    alarms=_active,
)
_MODULE = Fields(Optic, "kind=description part=model-number|part-number serial=serial-number")


def _optics(answer: Value, hardware: Value, extensive: Value) -> dict[str, Optic]:
    """Return the optics by port.

    - ``answer``: the light (``show interfaces diagnostics optics``).
    - ``hardware``: the type and serial number of every optical module (``show chassis hardware``).
    - ``extensive``: the ports. A port without a module in ``hardware`` counts as empty.
    """
    modules = dict(_modules(hardware))
    made = {name: _OPTIC(port.get("optics-diagnostics"), present=True) for name, port in _ports(answer)}
    cages = {_cage(name) for name in made}
    for name in {*made, *(modules.keys() - cages)}:
        if (module := modules.get(_cage(name))) is not None:
            read = _MODULE(module)
            known = made.get(name, Optic(present=True))
            made[name] = replace(known, kind=read.kind, part=read.part, serial=read.serial)
    for name, port in _ports(extensive) if modules else ():
        units = (unit.get("name").text() for unit in port.all("logical-interface"))
        for place in (name, *units):
            if place and _PORT.fullmatch(place) and place not in made and _cage(place) not in modules:
                made[place] = Optic(present=False)
    return made


def _modules(hardware: Value) -> Iterator[tuple[str, Value]]:
    """Yield (port, module) from ``show chassis hardware`` (``hardware``).

    The position of a module gives the port's name: ``Xcvr 5`` of ``PIC 0`` of ``FPC 0`` is in ``et-0/0/5``.
    """
    for fpc in hardware.find("chassis-module"):
        slot = _slot(fpc, "FPC")
        for pic in fpc.all("chassis-sub-module") if slot else ():
            place = _slot(pic, "PIC")
            for module in pic.all("chassis-sub-sub-module") if place else ():
                if number := _slot(module, "Xcvr"):
                    yield f"et-{slot}/{place}/{number}", module


def _slot(module: Value, kind: str) -> str | None:
    words = (module.get("name").text() or "").split()
    return words[1] if len(words) == 2 and words[0] == kind and words[1].isdecimal() else None


def _cage(name: str) -> str:
    match = _PORT.fullmatch(name)
    return f"et-{match[1]}/{match[2]}/{match[3]}" if match else name


def _repeated(
    container: str, tags: tuple[str, ...], made: Callable[..., T]
) -> Callable[[Value], dict[str, dict[int, T]]]:
    """Return a function that reads counters, by port and by number (of a queue or a priority).

    In the answer, no element surrounds a set of counters. Instead, ``container`` repeats the elements ``tags``: the number, then the
    counters of this number. ``made`` builds a value from the counters.
    """

    def read(answer: Value) -> dict[str, dict[int, T]]:
        states: dict[str, dict[int, T]] = {}
        for name, port in _ports(answer):
            for here in port.all(container):
                columns = [here.all(tag) for tag in tags]
                if len({len(column) for column in columns}) > 1:
                    here.note("its elements do not come in equal numbers")
                for number, *counters in zip(*columns, strict=False):
                    if (key := digits(number)) is not None:
                        states.setdefault(name, {})[key] = made(*(counter.integer() for counter in counters))
        return states

    return read


def _watched(detected: int | None, recovered: int | None) -> Watchdog:
    storming = detected > recovered if detected is not None and recovered is not None else None
    return Watchdog(detected, recovered, storming)


_PFC = ("mac-pfc-dot1p", "input-mac-pfc-frames", "output-mac-pfc-frames")
_QUEUE = Fields(
    Queue,
    "name=forwarding-class-name sent=queue-counters-trans-packets dropped=queue-counters-total-drop-packets "
    "ecn_marked=queue-counters-ecn-ce-packets peak_bytes=queue-counters-depth-peak",
)


def _queues(*answers: Value) -> dict[str, PortQueues]:
    """Return the egress queues by port. Values from ``show interfaces queue`` replace those from ``show interfaces extensive``."""
    made: dict[str, PortQueues] = {}
    for answer in answers:
        for name, port in _ports(answer):
            for row in port.find("queue"):
                if (number := digits(row.get("queue-number"))) is not None:
                    egress = made.setdefault(name, PortQueues({}, {})).egress
                    egress[number] = _QUEUE.onto(egress.get(number, Queue()), row)
    return made


def _identity(system: Value, version: Value, hardware: Value, uptime: Value) -> Identity:
    def first(*tags: str) -> str | None:
        return next((text for value in (system, version) for tag in tags for text in column(f"..{tag}")(value)), None)

    chassis = next(iter(hardware.find("chassis")), hardware.made(None))
    booted = [
        value.get("date-time") for tag in ("node-booted-time", "system-booted-time") for value in uptime.find(tag)
    ]
    return Identity(
        first("host-name"),
        first("hardware-model", "product-model"),
        first("serial-number") or chassis.get("serial-number").text(),
        first("os-version", "junos-version"),
        booted[0].attribute("seconds").number() if booted else None,
    )


def _clock(uptime: Value) -> Clock:
    now = next((value.get("date-time").attribute("seconds").number() for value in uptime.find("current-time")), None)
    source = next((text for value in uptime.find("time-source") if (text := value.lower())), None)
    return Clock(now, None if source is None else "ntp" in source or "ptp" in source)


_COMMIT = Fields(
    Commit,
    "time=date-time:seconds user revision=configuration-revision comment=comment|log pending=commit-confirmed:there",
)


def _commit(answer: Value) -> Commit:
    """Return the newest commit in the commit history (``answer``). If it waits for confirmation, its comment contains the rollback time."""
    newest = next(iter(answer.find("commit-history")), None)
    if newest is None:
        return Commit()
    commit = _COMMIT(newest)
    return replace(commit, pending=commit.pending or "rollback in" in (commit.comment or ""))


_ALARMS = listed(
    "..alarm-detail",
    Fields(
        Alarm, "severity=alarm-class:lower text!=alarm-description|alarm-short-description since=alarm-time:seconds"
    ),
)


def _sessions(uptime: Value, *answers: Value) -> tuple[BgpSession, ...]:
    return protocols.sessions(answers, _clock(uptime).time)


PARTS: dict[str, Part] = {
    "identity": (_identity, "system version hardware uptime+"),
    "clock": (_clock, "uptime"),
    "commit": (_commit, "commit"),
    "alarms": (
        lambda *answers: tuple(alarm for answer in answers for alarm in _ALARMS(answer)),
        "alarms! alarms-system!",
    ),
    "neighbors": (protocols.lldp, "lldp-neighbors"),
    "interfaces": (_interfaces, "interfaces uptime+"),
    "optics": (_optics, "optics hardware interfaces+"),
    "ipv6_neighbors": (protocols.ipv6_neighbors, "neighbors"),
    "ipv4_neighbors": (protocols.ipv4_neighbors, "neighbors-ipv4"),
    "advertising": (protocols.advertising, "advertising"),
    "bgp": (_sessions, "uptime+ bgp bgp-discovered bgp-auto-discovered bgp-neighbors"),
    "bfd": (protocols.bfd_sessions, "bfd"),
    "isis": (protocols.adjacencies, "isis"),
    "routes": (protocols.routes, ""),
    "route_counts": (protocols.route_counts, "route-counts"),
    "filters": (protocols.filters, "filters"),
    "vrfs": (protocols.vrfs, "vrfs instances+"),
    "vnis": (protocols.vnis, "vrfs"),
    "evpn": (protocols.evpn, "evpn-prefixes evpn-macs"),
    "queues": (_queues, "interfaces queues"),
    "pfc": (_repeated("ethernet-mac-pfc-statistics", _PFC, PfcCounters), "interfaces"),
    "watchdog": (
        _repeated("ethernet-pfcwd-statistics", ("queue-number", "detected", "recovered"), _watched),
        "interfaces",
    ),
}

_TABLE = StateTable("junos", FORMS, ASKED, PARTS, NOT_READ)
questions, read = _TABLE.questions, _TABLE.read
