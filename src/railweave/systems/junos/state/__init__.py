"""The state of a Junos Evolved switch: what is asked of it, and what the answers say.

Forms are those of Juniper's published models of 24.4 (``junos-rpc-*``) and of NAPALM's and SuzieQ's public data, read from XML or from
Junos' own JSON. Of what deterministic path forwarding added in 25.4 no form is published: its sessions are read as any others.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Alarm, Clock, Commit, DeviceState, Identity, Watchdog
from railweave.model.state.ports import Errors, Fec, InterfaceState, Lane, Optic, PfcCounters, PortQueues, Queue
from railweave.model.state.question import CONFIGURATION, DEFAULT_VRF, Protocol, Question, about
from railweave.systems.junos.state import protocols

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.values import Answers, Value


_SPEED = re.compile(r"(\d{1,5})\s*([mMgG])bps")
_PORT = re.compile(r"(?:et|xe|ge)-(\d{1,3})/(\d{1,3})/(\d{1,3})(?::\d{1,2})?")
_DEGREES = re.compile(r"(-?\d{1,4}(?:\.\d{1,4})?)\s*degrees C")


def _ports(answer: Value) -> Iterator[tuple[str, Value]]:
    for one in answer.find("physical-interface"):
        name = one.get("name").text()
        if name is not None:
            yield name, one


def _digits(value: Value) -> int | None:
    """A number where there is one: words as ``Unlimited`` stand in its place."""
    text = value.text()
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else None


def interfaces(answer: Value | None, now: float | None) -> dict[str, InterfaceState] | None:
    """Physical and logical interfaces of ``show interfaces extensive``; ``now`` is the device's clock, for it tells how long ago."""
    if answer is None:
        return None
    found: dict[str, InterfaceState] = {}
    for name, one in _ports(answer):
        speed = _SPEED.search(one.get("speed").text() or "")
        ago = one.get("interface-flapped").attribute("seconds").number()
        up = _up(one.get("oper-status"))
        reasons = [key for key in (one.get("if-device-flags")).keys if key.startswith("ifdf-") and key not in _GOOD]
        found[name] = InterfaceState(
            name,
            admin_up=_up(one.get("admin-status")),
            oper_up=up,
            reason=", ".join(sorted(reasons)) or None if up is False else None,
            description=one.get("description").text(),
            speed_gbps=int(speed[1]) / (1 if speed[2] in "gG" else 1000) if speed else None,
            mtu=_digits(one.get("mtu")),
            mac=one.first("current-physical-address", "hardware-physical-address").mac(),
            flaps=one.get("output-error-list", "carrier-transitions").integer(),
            last_change=now - ago if now is not None and ago is not None else None,
            errors=_errors(one),
            fec=_fec(one),
            in_bytes=one.get("traffic-statistics", "input-bytes").integer(),
            out_bytes=one.get("traffic-statistics", "output-bytes").integer(),
        )
        for unit in one.all("logical-interface"):
            inner = unit.get("name").text()
            if inner is not None:
                found[inner] = _unit(inner, unit, found[name])
        routed = found.get(f"{name}.0")
        if routed is not None:  # a port that routes by itself has its addresses there
            found[name] = replace(found[name], addresses=routed.addresses)
    return found


_GOOD = {"ifdf-present", "ifdf-running"}


def _up(value: Value) -> bool | None:
    return {"up": True, "down": False}.get(value.lower() or "")


def _unit(name: str, unit: Value, port: InterfaceState) -> InterfaceState:
    admin, up = _up(unit.get("admin-status")), _up(unit.get("oper-status"))
    families = unit.all("address-family")
    mtus = [mtu for family in families if (mtu := _digits(family.get("mtu"))) is not None]
    addresses = [address.get("ifa-local").text() for family in families for address in family.all("interface-address")]
    return InterfaceState(
        name,
        admin_up=port.admin_up if admin is None else admin,
        oper_up=port.oper_up if up is None else up,
        description=unit.get("description").text(),
        mtu=min(mtus, default=None),
        addresses=tuple(one for one in addresses if one),
    )


def _errors(port: Value) -> Errors:
    received, sent, mac = (
        port.get("input-error-list"),
        port.get("output-error-list"),
        port.get("ethernet-mac-statistics"),
    )
    return Errors(
        in_errors=received.get("input-errors").integer(),
        out_errors=sent.get("output-errors").integer(),
        in_discards=received.get("input-drops").integer(),
        out_discards=sent.get("output-drops").integer(),
        in_crc=mac.get("input-crc-errors").integer(),
        in_resource=received.get("input-resource-errors").integer(),
        out_mtu=sent.get("mtu-errors").integer(),
        ecn_marked=sent.get("ecn-marked-packets").integer(),
    )


def _fec(port: Value) -> Fec:
    statistics = port.get("ethernet-fec-statistics")
    return Fec(
        port.get("ethernet-fec-mode", "enabled_fec_mode").text(),
        statistics.get("fec_ccw_count").integer(),
        statistics.get("fec_nccw_count").integer(),
    )


def optics(answer: Value | None, hardware: Value | None, ports: Iterable[str] = ()) -> dict[str, Optic] | None:
    """Optics of ``show interfaces diagnostics optics`` by port, with what ``show chassis hardware`` says of each module.

    That one lists every module, so a port of ``ports`` whose cage is not in it has none.
    """
    if answer is None and hardware is None:
        return None
    modules = dict(_modules(hardware)) if hardware else {}
    found: dict[str, Optic] = {}
    for name, port in _ports(answer) if answer else ():
        said = port.get("optics-diagnostics")
        warm = _DEGREES.search(said.get("module-temperature").text() or "")
        lanes = tuple(
            Lane(
                _digits(one.get("lane-index")) or 0,
                _dbm(one.get("laser-output-power-dbm")),
                _dbm(one.first("laser-rx-optical-power-dbm", "rx-signal-avg-optical-power-dbm")),
                _loose(one.get("laser-bias-current")),
            )
            for one in said.all("optics-diagnostics-lane-values") or [said]
        )
        alarms = tuple(
            sorted(
                {
                    key
                    for part in (said, *said.all("optics-diagnostics-lane-values"))
                    for key, one in part.entries()
                    if key.endswith("-alarm") and one.lower() == "on"
                }
            )
        )
        found[name] = Optic(
            present=True,
            temperature_c=float(warm[1]) if warm else None,
            voltage_v=_loose(said.get("module-voltage")),
            lanes=lanes,
            rx_low_dbm=_dbm(said.get("laser-rx-power-low-alarm-threshold-dbm")),
            tx_low_dbm=_dbm(said.get("laser-tx-power-low-alarm-threshold-dbm")),
            alarms=alarms,
        )
    for name in {*found, *(place for place in modules if place not in {_cage(one) for one in found})}:
        module = modules.get(_cage(name))
        if module is not None:
            found[name] = replace(
                found.get(name, Optic(present=True)),
                kind=module.get("description").text(),
                part=module.first("model-number", "part-number").text(),
                serial=module.get("serial-number").text(),
            )
    for name in ports if modules else ():
        if _PORT.fullmatch(name) and name not in found and _cage(name) not in modules:
            found[name] = Optic(present=False)
    return found


def _modules(hardware: Value) -> Iterator[tuple[str, Value]]:
    """Modules by the port whose cage they are in: ``Xcvr 5`` of ``PIC 0`` of ``FPC 0`` is in ``et-0/0/5``."""
    for fpc in hardware.find("chassis-module"):
        slot = _slot(fpc, "FPC")
        for pic in fpc.all("chassis-sub-module") if slot else ():
            place = _slot(pic, "PIC")
            for module in pic.all("chassis-sub-sub-module") if place else ():
                number = _slot(module, "Xcvr")
                if number:
                    yield f"et-{slot}/{place}/{number}", module


def _slot(module: Value, kind: str) -> str | None:
    words = (module.get("name").text() or "").split()
    return words[1] if len(words) == 2 and words[0] == kind and words[1].isdecimal() else None


def _cage(name: str) -> str:
    found = _PORT.fullmatch(name)
    return f"et-{found[1]}/{found[2]}/{found[3]}" if found else name


def _dbm(value: Value) -> float | None:
    """Light in dBm: a dark lane reads ``- Inf`` or ``-Inf``."""
    text = (value.text() or "").replace(" ", "").lower()
    return float("-inf") if text.startswith("-inf") else _loose(value)


def _loose(value: Value) -> float | None:
    """The number that a text begins with; what has none, as ``N/A``, is absent."""
    found = re.match(r"-?\d{1,6}(?:\.\d{1,6})?", value.text() or "")
    return float(found[0]) if found else None


def _rows(container: Value, *tags: str) -> Iterator[tuple[Value, ...]]:
    """The rows of a container that repeats its elements in order, without one around each row."""
    columns = [container.all(tag) for tag in tags]
    if len({len(one) for one in columns}) > 1:
        container.note("its elements do not come in equal numbers")
    yield from zip(*columns, strict=False)


def pfc(answer: Value | None) -> dict[str, dict[int, PfcCounters]] | None:
    """PFC frames by port and priority, of those ports that count any."""
    if answer is None:
        return None
    found: dict[str, dict[int, PfcCounters]] = {}
    for name, port in _ports(answer):
        for container in port.all("ethernet-mac-pfc-statistics"):
            for row in _rows(container, "mac-pfc-dot1p", "input-mac-pfc-frames", "output-mac-pfc-frames"):
                priority = _digits(row[0])
                if priority is not None:
                    found.setdefault(name, {})[priority] = PfcCounters(row[1].integer(), row[2].integer())
    return found


def watchdog(answer: Value | None) -> dict[str, dict[int, Watchdog]] | None:
    """The PFC watchdog by port and queue, of those ports that have it."""
    if answer is None:
        return None
    found: dict[str, dict[int, Watchdog]] = {}
    for name, port in _ports(answer):
        for container in port.all("ethernet-pfcwd-statistics"):
            for row in _rows(container, "queue-number", "detected", "recovered"):
                queue, detected, recovered = _digits(row[0]), row[1].integer(), row[2].integer()
                if queue is not None:
                    storming = detected > recovered if detected is not None and recovered is not None else None
                    found.setdefault(name, {})[queue] = Watchdog(detected, recovered, storming)
    return found


def queues(answers: Iterable[Value]) -> dict[str, PortQueues] | None:
    """Egress queues by port: of ``show interfaces extensive``, and of ``show interfaces queue``, which says more."""
    found: dict[str, dict[int, Queue]] = {}
    asked = list(answers)
    for answer in asked:
        for name, port in _ports(answer):
            for one in port.find("queue"):
                number = _digits(one.get("queue-number"))
                if number is None:
                    continue
                here = Queue(
                    one.get("forwarding-class-name").text(),
                    one.get("queue-counters-trans-packets").integer(),
                    one.get("queue-counters-total-drop-packets").integer(),
                    one.get("queue-counters-ecn-ce-packets").integer(),
                    one.get("queue-counters-depth-peak").integer(),
                )
                known = found.setdefault(name, {}).get(number, Queue())
                found[name][number] = Queue(
                    here.name or known.name,
                    known.sent if here.sent is None else here.sent,
                    known.dropped if here.dropped is None else here.dropped,
                    known.ecn_marked if here.ecn_marked is None else here.ecn_marked,
                    known.peak_bytes if here.peak_bytes is None else here.peak_bytes,
                )
    return {name: PortQueues(egress, {}) for name, egress in found.items()} if asked else None


NOT_READ = {
    "queues.*.ingress": "drops are counted by queue, not by priority on input",
    "pools": "`show class-of-service shared-buffer` and the buffer occupancy commands have no published form",
    "dynamic load balancing": "no public document shows a command for the quality of ports or the table of flows",
    "bgp.*.color": "no form is published for the color of a session, or for `show bgp summary autodiscovered` beyond its peers",
    "not_forwarding": "Junos forwards between its routed interfaces; no statement turns that off",
    "routes.*.installed": "`show route forwarding-table` has no published form of its groups of next hops",
}


def _xml(name: str, command: str, *, optional: bool = False) -> Question:
    return Question(name, "xml", {"ssh": f"{command} | display xml | no-more", "netconf": command}, optional)


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
    found = [
        _xml("version", "show version"),
        _xml("system", "show system information", optional=True),
        _xml("hardware", "show chassis hardware"),
        _xml("uptime", "show system uptime"),
        _xml("alarms", "show chassis alarms", optional=True),
        _xml("alarms-system", "show system alarms", optional=True),
        _xml("commit", "show system commit"),
        _xml("lldp-neighbors", "show lldp neighbors", optional=True),
        _xml("interfaces", "show interfaces extensive"),
        _xml("optics", "show interfaces diagnostics optics", optional=True),
        _xml("neighbors", "show ipv6 neighbors"),
        _xml("advertising", "show ipv6 router-advertisement", optional=True),
    ]
    if config.bgp is not None:
        found += [
            _xml("bgp", "show bgp summary"),
            # The source writes one word, the published model two.
            _xml("bgp-discovered", "show bgp summary autodiscovered", optional=True),
            _xml("bgp-auto-discovered", "show bgp summary auto-discovered", optional=True),
            _xml("bgp-neighbors", "show bgp neighbor"),
            _xml("bfd", "show bfd session extensive", optional=True),
        ]
    if config.isis is not None:
        found.append(_xml("isis", "show isis adjacency"))
    if config.qos is not None:
        found.append(_xml("queues", "show interfaces queue", optional=True))
    if config.overlay is not None:
        found += [
            _xml("vrfs", "show evpn l3-context extensive", optional=True),
            _xml("instances", "show route instance detail", optional=True),
            _xml("evpn-prefixes", "show evpn ip-prefix-database extensive", optional=True),
            _xml("evpn-macs", "show evpn database", optional=True),
        ]
    for vrf, prefix in asked:
        found.append(
            _xml(
                about("route", vrf, prefix),
                f"show route table {_table(vrf, prefix)} {prefix} exact detail",
                optional=True,
            )
        )
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)):
        found += [
            _xml(
                f"{protocol}-{family}@{vrf}",
                f"show route protocol {protocol} table {_table(vrf, prefix)}",
                optional=True,
            )
            for protocol in ("static", "aggregate")
            for family, prefix in (("ipv6", "::"), ("ipv4", ""))
        ]
    for vrf in (DEFAULT_VRF, *(one.name for one in config.vrfs)) if tables else ():
        found.append(_xml(f"routes-ipv6@{vrf}", f"show route table {_table(vrf, '::')}", optional=True))
        found.append(_xml(f"routes-ipv4@{vrf}", f"show route table {_table(vrf, '')}", optional=True))
    running: dict[Protocol, str] = {
        "ssh": "show configuration | display set | no-more",
        "netconf": "get-configuration set",
    }
    return [*found, Question(CONFIGURATION, "text", running)]


def _table(vrf: str, prefix: str) -> str:
    table = "inet6.0" if ":" in prefix else "inet.0"
    return table if vrf == DEFAULT_VRF else f"{vrf}.{table}"


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    clock = _clock(answers)
    extensive, queued = answers.tree("interfaces"), answers.tree("queues")
    ports = interfaces(extensive, clock.time if clock else None)
    summaries = [answers.tree(name) for name in ("bgp", "bgp-discovered", "bgp-auto-discovered", "bgp-neighbors")]
    return DeviceState(
        answers.device,
        "junos",
        frozenset(answers.texts),
        identity=_identity(answers),
        clock=clock,
        commit=_commit(answers),
        alarms=_alarms(answers),
        neighbors=protocols.lldp(answers.tree("lldp-neighbors")),
        interfaces=ports,
        optics=optics(answers.tree("optics"), answers.tree("hardware"), ports or ()),
        ipv6_neighbors=protocols.ipv6_neighbors(answers.tree("neighbors")),
        advertising=protocols.advertising(answers.tree("advertising")),
        bgp=protocols.sessions([one for one in summaries if one is not None], clock.time if clock else None),
        bfd=protocols.bfd_sessions(answers.tree("bfd")),
        isis=protocols.adjacencies(answers.tree("isis")),
        routes=protocols.routes(answers),
        vrfs=protocols.vrfs(answers.tree("vrfs"), answers.tree("instances")),
        vnis=protocols.vnis(answers.tree("vrfs")),
        evpn=protocols.evpn(answers.tree("evpn-prefixes"), answers.tree("evpn-macs")),
        queues=queues([one for one in (extensive, queued) if one is not None]),
        pfc=pfc(extensive),
        watchdog=watchdog(extensive),
        notes=answers.notes,
    )


def _identity(answers: Answers) -> Identity | None:
    version, system = answers.tree("version"), answers.tree("system")
    hardware, uptime = answers.tree("hardware"), answers.tree("uptime")
    said = [one for one in (system, version) if one is not None]
    if not said and hardware is None:
        return None

    def first(*tags: str) -> str | None:
        return next((text for one in said for tag in tags for value in one.find(tag) if (text := value.text())), None)

    chassis = next(iter(hardware.find("chassis")), None) if hardware else None
    booted = (
        next(
            (one.get("date-time") for tag in ("node-booted-time", "system-booted-time") for one in uptime.find(tag)),
            None,
        )
        if uptime
        else None
    )
    return Identity(
        first("host-name"),
        first("hardware-model", "product-model"),
        first("serial-number") or (chassis.get("serial-number").text() if chassis else None),
        first("os-version", "junos-version"),
        booted.attribute("seconds").number() if booted else None,
    )


def _clock(answers: Answers) -> Clock | None:
    uptime = answers.tree("uptime")
    if uptime is None:
        return None
    now = next((one.get("date-time").attribute("seconds").number() for one in uptime.find("current-time")), None)
    source = next((text for one in uptime.find("time-source") if (text := one.lower())), None)
    return Clock(now, None if source is None else "ntp" in source or "ptp" in source)


def _commit(answers: Answers) -> Commit | None:
    """The newest entry of the history; one that goes back by itself says so in its comment."""
    answer = answers.tree("commit")
    if answer is None:
        return None
    newest = next(iter(answer.find("commit-history")), None)
    if newest is None:
        return Commit()
    comment = newest.first("comment", "log").text()
    pending = newest.get("commit-confirmed").there or "rollback in" in (comment or "")
    return Commit(
        newest.get("date-time").attribute("seconds").number(),
        newest.get("user").text(),
        newest.get("configuration-revision").text(),
        comment,
        pending,
    )


def _alarms(answers: Answers) -> tuple[Alarm, ...] | None:
    both = [one for one in (answers.tree("alarms"), answers.tree("alarms-system")) if one is not None]
    if not both:
        return None
    return tuple(
        Alarm(one.get("alarm-class").lower(), text, one.get("alarm-time").attribute("seconds").number())
        for answer in both
        for one in answer.find("alarm-detail")
        if (text := one.first("alarm-description", "alarm-short-description").text()) is not None
    )
