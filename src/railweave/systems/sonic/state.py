"""The state of a SONiC switch: its databases, its Linux and its FRRouting are asked, and what the answers say.

Tables and fields are those of SONiC's own public test data (sonic-utilities, ``tests/mock_tables``). Every value of a database is a text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.device_state import Alarm, DeviceState, Identity, Pool, Watchdog
from railweave.model.state.host_state import lldp
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
from railweave.model.state.question import CONFIGURATION, Question
from railweave.systems.frr.state import routing_questions, vtysh
from railweave.systems.frr.state.linux import clock, forwarding_questions, ipv6_neighbors, links, not_forwarding
from railweave.systems.frr.state.protocols import adjacencies, bfd_sessions, evpn, routes, sessions, vnis, vrfs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.model.state.values import Answers, Value


Tables = dict[str, "Value"]
"""Fields by key, as ``PORT_TABLE:Ethernet0``."""


def tables(answer: Value | None) -> Tables | None:
    """The keys of a dump with their fields, which stand under ``value`` beside the type of the key, or by themselves."""
    if answer is None:
        return None
    return {
        key: one.get("value") if "value" in one.keys and one.get("value").keys else one for key, one in answer.entries()
    }


def under(found: Tables | None, prefix: str) -> list[tuple[str, Value]]:
    """The rows of one table, by the rest of their key."""
    return [(key[len(prefix) :], one) for key, one in (found or {}).items() if key.startswith(prefix)]


def objects(names: Tables | None, table: str, counters: Tables | None, prefix: str) -> list[tuple[str, Value]]:
    """What counters there are of each named thing: names lead to object ids, and these to counters."""
    if names is None or counters is None or table not in names:
        return []
    found: list[tuple[str, Value]] = []
    for name, oid in names[table].entries():
        row = counters.get(f"{prefix}:{oid.text()}")
        if row is not None:
            found.append((name, row))
    return found


def numbered(name: str) -> tuple[str, int] | None:
    """Port and number of ``Ethernet0:3``."""
    port, _, number = name.rpartition(":")
    return (port, int(number)) if port and number.isascii() and number.isdecimal() and len(number) < 4 else None


_PFC = re.compile(r"SAI_PORT_STAT_PFC_([0-7])_RX_PKTS")
_GROUP = "SAI_INGRESS_PRIORITY_GROUP_STAT"


def pfc(names: Tables | None, counters: Tables | None) -> dict[str, dict[int, PfcCounters]] | None:
    """PFC frames by port and priority."""
    if counters is None or names is None:
        return None
    found: dict[str, dict[int, PfcCounters]] = {}
    for port, row in objects(names, "COUNTERS_PORT_NAME_MAP", counters, "COUNTERS"):
        for priority in sorted(int(one[1]) for key in row.keys if (one := _PFC.fullmatch(key))):
            found.setdefault(port, {})[priority] = PfcCounters(
                row.get(f"SAI_PORT_STAT_PFC_{priority}_RX_PKTS").integer(),
                row.get(f"SAI_PORT_STAT_PFC_{priority}_TX_PKTS").integer(),
            )
    return found


def queues(names: Tables | None, counters: Tables | None, watermarks: Tables | None) -> dict[str, PortQueues] | None:
    """Queues and priority groups by port, with the peaks that they reached since somebody cleared them."""
    if names is None or (counters is None and watermarks is None):
        return None
    egress: dict[str, dict[int, Queue]] = {}
    ingress: dict[str, dict[int, PriorityGroup]] = {}
    for name, row in objects(names, "COUNTERS_QUEUE_NAME_MAP", counters, "COUNTERS"):
        if (at := numbered(name)) is not None:
            egress.setdefault(at[0], {})[at[1]] = Queue(
                None,
                row.get("SAI_QUEUE_STAT_PACKETS").integer(),
                row.get("SAI_QUEUE_STAT_DROPPED_PACKETS").integer(),
                row.get("SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS").integer(),
            )
    for name, row in objects(names, "COUNTERS_QUEUE_NAME_MAP", watermarks, "USER_WATERMARKS"):
        if (at := numbered(name)) is not None:
            here = egress.setdefault(at[0], {})
            peak = row.get("SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES").integer()
            here[at[1]] = replace(here.get(at[1], Queue()), peak_bytes=peak)
    for name, row in objects(names, "COUNTERS_PG_NAME_MAP", counters, "COUNTERS"):
        if (at := numbered(name)) is not None:
            ingress.setdefault(at[0], {})[at[1]] = PriorityGroup(row.get(f"{_GROUP}_DROPPED_PACKETS").integer())
    for name, row in objects(names, "COUNTERS_PG_NAME_MAP", watermarks, "USER_WATERMARKS"):
        if (at := numbered(name)) is not None:
            groups = ingress.setdefault(at[0], {})
            groups[at[1]] = replace(
                groups.get(at[1], PriorityGroup()),
                peak_bytes=row.get(f"{_GROUP}_SHARED_WATERMARK_BYTES").integer(),
                peak_headroom_bytes=row.get(f"{_GROUP}_XOFF_ROOM_WATERMARK_BYTES").integer(),
            )
    return {port: PortQueues(egress.get(port, {}), ingress.get(port, {})) for port in sorted({*egress, *ingress})}


def pools(names: Tables | None, watermarks: Tables | None) -> dict[str, Pool] | None:
    """The most that was used of each pool of the packet buffer."""
    if names is None or watermarks is None or "COUNTERS_BUFFER_POOL_NAME_MAP" not in names:
        return None
    rows = objects(names, "COUNTERS_BUFFER_POOL_NAME_MAP", watermarks, "USER_WATERMARKS")
    return {name: Pool(peak_bytes=row.get("SAI_BUFFER_POOL_STAT_WATERMARK_BYTES").integer()) for name, row in rows}


def watchdog(names: Tables | None, counters: Tables | None) -> dict[str, dict[int, Watchdog]] | None:
    """The PFC watchdog by port and queue, of those queues that it watches."""
    if names is None or counters is None:
        return None
    found: dict[str, dict[int, Watchdog]] = {}
    for name, row in objects(names, "COUNTERS_QUEUE_NAME_MAP", counters, "COUNTERS"):
        at = numbered(name)
        if at is not None and "PFC_WD_STATUS" in row.keys:
            found.setdefault(at[0], {})[at[1]] = Watchdog(
                row.get("PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED").integer(),
                row.get("PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED").integer(),
                row.get("PFC_WD_STATUS").lower() == "stormed",
            )
    return found


def interfaces(
    ports: Tables | None, state: Tables | None, names: Tables | None, counters: Tables | None
) -> dict[str, InterfaceState] | None:
    """Ports of ``PORT_TABLE`` with their counters."""
    if ports is None:
        return None
    counts = dict(objects(names, "COUNTERS_PORT_NAME_MAP", counters, "COUNTERS"))
    negotiated = dict(under(state, "PORT_TABLE|"))
    found: dict[str, InterfaceState] = {}
    for name, one in under(ports, "PORT_TABLE:"):
        if "admin_status" not in one.keys and "oper_status" not in one.keys:  # PortConfigDone, PortInitDone
            continue
        now = negotiated.get(name)
        speed = (now.get("speed").integer() if now else None) or one.get("speed").integer()
        lanes = one.get("lanes").text()
        up = one.get("oper_status").flag()
        found[name] = InterfaceState(
            name,
            admin_up=one.get("admin_status").flag(),
            oper_up=up,
            description=one.get("description").text(),
            speed_gbps=speed / 1000 if speed else None,
            lanes=lanes.count(",") + 1 if lanes else None,
            mtu=one.get("mtu").integer(),
            flaps=one.get("flap_count").integer(),
            errors=_errors(counts[name]) if name in counts else Errors(),
            fec=_fec(one, now, counts.get(name)),
            in_bytes=counts[name].get("SAI_PORT_STAT_IF_IN_OCTETS").integer() if name in counts else None,
            out_bytes=counts[name].get("SAI_PORT_STAT_IF_OUT_OCTETS").integer() if name in counts else None,
        )
    return found


def with_addresses(
    ports: dict[str, InterfaceState] | None, kernel: dict[str, InterfaceState] | None
) -> dict[str, InterfaceState] | None:
    """Ports with the addresses that the kernel has on them, and the kernel's other interfaces, as those of VLANs."""
    if kernel is None:
        return ports
    found = dict(ports or {})
    for name, one in kernel.items():
        found[name] = replace(found[name], addresses=one.addresses) if name in found else one
    return found


def _errors(counts: Value) -> Errors:
    return Errors(
        in_errors=counts.get("SAI_PORT_STAT_IF_IN_ERRORS").integer(),
        out_errors=counts.get("SAI_PORT_STAT_IF_OUT_ERRORS").integer(),
        in_discards=counts.get("SAI_PORT_STAT_IF_IN_DISCARDS").integer(),
        out_discards=counts.get("SAI_PORT_STAT_IF_OUT_DISCARDS").integer(),
    )


def _fec(port: Value, now: Value | None, counts: Value | None) -> Fec:
    mode = (now.get("fec").lower() if now else None) or port.get("fec").lower()
    mode = None if mode == "n/a" else mode
    if counts is None:
        return Fec(mode)
    return Fec(
        mode,
        counts.get("SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES").integer(),
        counts.get("SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES").integer(),
    )


def optics(answer: Tables | None, ports: Tables | None = None) -> dict[str, Optic] | None:
    """Optics by port, of ``TRANSCEIVER_INFO``, ``TRANSCEIVER_DOM_SENSOR`` and ``TRANSCEIVER_DOM_THRESHOLD``.

    Where any port has one, those of ``ports`` (``PORT_TABLE``) that are not in ``TRANSCEIVER_INFO`` have none.
    """
    if answer is None:
        return None
    sensors = dict(under(answer, "TRANSCEIVER_DOM_SENSOR|"))
    limits = dict(under(answer, "TRANSCEIVER_DOM_THRESHOLD|"))
    found: dict[str, Optic] = {}
    for name, one in under(answer, "TRANSCEIVER_INFO|"):
        sensor, limit = sensors.get(name), limits.get(name)
        found[name] = Optic(
            present=True,
            kind=one.get("type").text(),
            vendor=one.first("manufacturer", "vendor_name").text(),
            part=one.get("model").text(),
            serial=one.get("serial").text(),
            temperature_c=_number(sensor, "temperature"),
            voltage_v=_number(sensor, "voltage"),
            lanes=_lanes(sensor),
            rx_low_dbm=_number(limit, "rxpowerlowalarm"),
            tx_low_dbm=_number(limit, "txpowerlowalarm"),
            cable_m=_cable(one),
        )
    for name, one in under(ports, "PORT_TABLE:") if found else ():
        if name not in found and "oper_status" in one.keys:
            found[name] = Optic(present=False)
    return found


_ASSEMBLY = "length cable assembly(m)"
_LONGEST_M = 255
"""What modules of SFF-8636 write for lengths that do not fit into a byte."""


def _cable(module: Value) -> float | None:
    """The length of the cable that a module is part of; the lengths of other types of cable are how far light reaches."""
    length = _number(module, "cable_length") if module.get("cable_type").lower() == _ASSEMBLY else None
    return length if length is not None and 0 < length < _LONGEST_M else None


def _lanes(sensor: Value | None) -> tuple[Lane, ...]:
    numbers = sorted(
        {int(one[1]) for key in (sensor.keys if sensor else ()) if (one := re.fullmatch(r"rx(\d{1,2})power", key))}
    )
    return tuple(
        Lane(
            number,
            _number(sensor, f"tx{number}power"),
            _number(sensor, f"rx{number}power"),
            _number(sensor, f"tx{number}bias"),
        )
        for number in numbers
    )


def _number(row: Value | None, field: str) -> float | None:
    """A number of a sensor; ``N/A`` is absent, and no light is minus infinity."""
    text = row.get(field).lower() if row else None
    if row is None or text is None or text in {"n/a", "none"}:
        return None
    return float("-inf") if text == "-inf" else row.get(field).number()


NOT_READ = {
    "clock.synchronized": "it is not in SONiC's databases",
    "interfaces.*.errors.in_resource": "drops for want of a buffer are counted by priority alone",
    "advertising": "`show ipv6 nd ra-interfaces` of FRRouting is text without numbers",
    "commit": "SONiC does not record who changed its configuration",
    "dynamic load balancing": "its state has a design document and no published table",
}


def _database(name: str, database: str, keys: str, *, optional: bool = False) -> Question:
    return Question(name, "json", {"ssh": f"sonic-db-dump -n {database} -k '{keys}' -y"}, optional)


def questions(config: DeviceConfig, asked: Iterable[tuple[str, str]] = (), *, tables: bool = False) -> list[Question]:
    """What is asked of a switch: ``asked`` are routes by VRF and prefix, ``tables`` asks for whole tables of routes too."""
    return [
        Question("version", "text", {"ssh": "show version"}),
        Question("clock", "text", {"ssh": "date -u +%s"}),
        _database("ports", "APPL_DB", "PORT_TABLE:*"),
        _database("ports-state", "STATE_DB", "PORT_TABLE|*", optional=True),
        _database("optics", "STATE_DB", "TRANSCEIVER_*"),
        _database("health", "STATE_DB", "SYSTEM_READY|*", optional=True),
        _database("counter-names", "COUNTERS_DB", "COUNTERS_*_MAP"),
        _database("counters", "COUNTERS_DB", "COUNTERS:*"),
        _database("watermarks", "COUNTERS_DB", "USER_WATERMARKS:*", optional=True),
        Question("lldp-neighbors", "json", {"ssh": "docker exec lldp lldpctl -f json"}, optional=True),
        Question("addresses", "json", {"ssh": "ip -j address"}),
        Question("neighbors", "json", {"ssh": "ip -j -6 neigh"}),
        *forwarding_questions(),
        *routing_questions(config, asked, tables=tables),
        Question(CONFIGURATION, "json", {"ssh": "sonic-cfggen -d --print-data"}),
        vtysh(f"{CONFIGURATION}-frr", "show running-config", "text"),
    ]


def read(answers: Answers) -> DeviceState:
    """What the answers of a switch say. Nothing is raised: what cannot be read is noted."""
    names = tables(answers.tree("counter-names"))
    counters = tables(answers.tree("counters"))
    watermarks = tables(answers.tree("watermarks"))
    return DeviceState(
        answers.device,
        "sonic",
        frozenset(answers.texts),
        identity=_identity(answers),
        clock=clock(answers),
        alarms=_alarms(answers),
        neighbors=lldp(answers.tree("lldp-neighbors")),
        interfaces=with_addresses(
            interfaces(tables(answers.tree("ports")), tables(answers.tree("ports-state")), names, counters),
            links(answers.tree("addresses")),
        ),
        optics=optics(tables(answers.tree("optics")), tables(answers.tree("ports"))),
        ipv6_neighbors=ipv6_neighbors(answers.tree("neighbors")),
        bgp=sessions(answers.tree("bgp"), answers.tree("bgp-neighbors")),
        bfd=bfd_sessions(answers.tree("bfd")),
        isis=adjacencies(answers.tree("isis")),
        routes=routes(answers),
        not_forwarding=not_forwarding(answers),
        vrfs=vrfs(answers.tree("vrfs"), answers.tree("evpn-vnis")),
        vnis=vnis(answers.tree("vnis")),
        evpn=evpn(answers.tree("evpn-prefixes"), answers.tree("evpn-macs")),
        queues=queues(names, counters, watermarks),
        pfc=pfc(names, counters),
        pools=pools(names, watermarks),
        watchdog=watchdog(names, counters),
        notes=answers.notes,
    )


_LINES = {"model": "HwSKU", "serial": "Serial Number", "version": "SONiC Software Version"}


def _identity(answers: Answers) -> Identity | None:
    text = answers.text("version")
    if text is None:
        return None
    found = {
        field: re.search(rf"^{label}:[ \t]*(\S[^\n]{{0,100}})", text, re.MULTILINE) for field, label in _LINES.items()
    }
    if not any(found.values()):
        answers.note("version", "", "no line with `SONiC Software Version:` is in it")
        return None
    words = {field: one[1].strip() if one else None for field, one in found.items()}
    return Identity(
        model=words["model"], serial=words["serial"], version=(words["version"] or "").removeprefix("SONiC.") or None
    )


def _alarms(answers: Answers) -> tuple[Alarm, ...] | None:
    """That the system is not ready, where it says so."""
    ready = tables(answers.tree("health"))
    if ready is None:
        return None
    states = [(key, one.get("Status").text()) for key, one in ready.items()]
    return tuple(Alarm(None, f"{key}: {state}") for key, state in states if state not in {None, "UP"})
