"""The state of a SONiC switch: the queries to its databases, Linux and FRRouting, and the conversion of their answers.

Tables and fields are those in SONiC's public test data (sonic-utilities, ``tests/mock_tables``). Every value of a
database is a text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from railweave.model.state.device_state import Alarm, Identity, Pool, Watchdog
from railweave.model.state.field_maps import Fields, texts
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
from railweave.model.state.protocols import PacketFilter
from railweave.model.state.question import CONFIGURATION
from railweave.systems.frr import state as frr
from railweave.systems.frr.state.linux import FORWARDING, clock, links, neighbors
from railweave.systems.state_table import Ask, Forms, Part, StateTable

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value

T = TypeVar("T")

PROBES = frr.PROBES
NOT_READ = {
    "kernel": "the switching chip spreads packets over routes, not the kernel",
    "clock.synchronized": "it is not in SONiC's databases",
    "interfaces.*.bridged": "no question asks for the VLANs of ports; `drift` compares what is configured",
    "interfaces.*.errors.in_resource": "drops for want of a buffer are counted by priority alone",
    "advertising": "`show ipv6 nd ra-interfaces` of FRRouting is text without numbers",
    "commit": "SONiC does not record who changed its configuration",
    "dynamic load balancing": "its state has a design document and no published table",
}

FORMS: Forms = {
    **frr.FORMS,
    **{
        name: ("json", {"ssh": f"sonic-db-dump -n {name} -k '{{}}' -y"})
        for name in ("APPL_DB", "STATE_DB", "COUNTERS_DB", "CONFIG_DB")
    },
}

ASKED = (
    Ask("version", "show version", by="shell text"),
    Ask("clock", "date -u +%s", by="shell text"),
    Ask("ports", "PORT_TABLE:*", by="APPL_DB"),
    Ask("ports-state?", "PORT_TABLE|*", by="STATE_DB"),
    Ask("optics", "TRANSCEIVER_*", by="STATE_DB"),
    Ask("health?", "SYSTEM_READY|*", by="STATE_DB"),
    Ask("counter-names", "COUNTERS_*_MAP", by="COUNTERS_DB"),
    Ask("counters", "COUNTERS:*", by="COUNTERS_DB"),
    Ask("watermarks?", "USER_WATERMARKS:*", by="COUNTERS_DB"),
    Ask("lldp-neighbors?", "docker exec lldp lldpctl -f json", by="shell"),
    Ask("addresses", "ip -j address", by="shell"),
    Ask("neighbors", "ip -j -6 neigh", by="shell"),
    Ask("neighbors-ipv4", "ip -j -4 neigh", by="shell"),
    Ask("filters", "ACL_TABLE|*", by="CONFIG_DB"),
    *FORWARDING,
    *frr.ROUTING,
    Ask(CONFIGURATION, "sonic-cfggen -d --print-data", by="shell"),
    Ask(f"{CONFIGURATION}-frr", "show running-config", by="text"),
)


def _fields(row: Value) -> Value:
    """Return the fields of a row in a database dump. A row has its fields under the key ``value``, or directly."""
    return row.get("value") if "value" in row.keys and row.get("value").keys else row


def _under(answer: Value, prefix: str) -> dict[str, Value]:
    """Return the rows of a database dump (``answer``) whose key begins with ``prefix``, the name of a table.

    In the result, keys have no prefix.
    """
    return {key[len(prefix) :]: _fields(row) for key, row in answer.entries() if key.startswith(prefix)}


def _objects(names: Value, kind: str, counters: Value, prefix: str = "COUNTERS") -> list[tuple[str, Value]]:
    """Return (name, counters) of each object of a kind, such as ``PORT``.

    SONiC has one table that maps names to object ids (``names``), and another that maps ids to counters (``counters``). The keys of the
    second table begin with ``prefix``.
    """
    ids = _fields(names.get(f"COUNTERS_{kind}_NAME_MAP")).entries()
    rows = dict(counters.entries())
    return [(name, _fields(rows[key])) for name, oid in ids if (key := f"{prefix}:{oid.text()}") in rows]


_NUMBERED = re.compile(r"(.+):(\d{1,3})", re.ASCII)
"""A pattern of the name of a queue or priority group: the port and the number, as in ``Ethernet0:3``."""

_PFC = re.compile(r"SAI_PORT_STAT_PFC_([0-7])_RX_PKTS")


def _pfc(names: Value, counters: Value) -> dict[str, dict[int, PfcCounters]]:
    """Return the counters of received and sent PFC frames, by port and priority.

    ``names`` maps port names to object ids, ``counters`` these ids to counters.
    """
    made: dict[str, dict[int, PfcCounters]] = {}
    for port, row in _objects(names, "PORT", counters):
        for priority in sorted(int(match[1]) for key in row.keys if (match := _PFC.fullmatch(key))):
            counts = (row.get(f"SAI_PORT_STAT_PFC_{priority}_{way}_PKTS").integer() for way in ("RX", "TX"))
            made.setdefault(port, {})[priority] = PfcCounters(*counts)
    return made


_QUEUE = Fields(
    Queue,
    "sent=SAI_QUEUE_STAT_PACKETS dropped=SAI_QUEUE_STAT_DROPPED_PACKETS "
    "ecn_marked=SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS",
)
_QUEUE_PEAK = Fields(Queue, "peak_bytes=SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES")
_GROUP = Fields(PriorityGroup, "dropped=SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS")
_GROUP_PEAK = Fields(
    PriorityGroup,
    "peak_bytes=SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES "
    "peak_headroom_bytes=SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
)


def _queues(names: Value, counters: Value, watermarks: Value) -> dict[str, PortQueues]:
    """Return the counters and peak lengths of queues and priority groups, by port.

    - ``names``: the object ids by name of the queue or priority group.
    - ``counters``: the counters by object id.
    - ``watermarks``: the peaks by object id. A peak is the highest level since the operator cleared the watermarks.
    """

    def counted(kind: str, plain: T, counts: Fields[T], peaks: Fields[T]) -> dict[str, dict[int, T]]:
        made: dict[str, dict[int, T]] = {}
        for fields, rows in (
            (counts, _objects(names, kind, counters)),
            (peaks, _objects(names, kind, watermarks, "USER_WATERMARKS")),
        ):
            for name, row in rows:
                if match := _NUMBERED.fullmatch(name):
                    here, number = made.setdefault(match[1], {}), int(match[2])
                    here[number] = fields.onto(here.get(number, plain), row)
        return made

    egress = counted("QUEUE", Queue(), _QUEUE, _QUEUE_PEAK)
    ingress = counted("PG", PriorityGroup(), _GROUP, _GROUP_PEAK)
    return {port: PortQueues(egress.get(port, {}), ingress.get(port, {})) for port in sorted({*egress, *ingress})}


_POOL = Fields(Pool, "peak_bytes=SAI_BUFFER_POOL_STAT_WATERMARK_BYTES")


def _pools(names: Value, watermarks: Value) -> dict[str, Pool] | None:
    """Return the peak use of each pool of the packet buffer, by the pool's name, or None if the switch does not list its pools.

    ``names`` maps pool names to object ids, ``watermarks`` these ids to peaks.
    """
    if "COUNTERS_BUFFER_POOL_NAME_MAP" not in names.keys:
        return None
    return {name: _POOL(row) for name, row in _objects(names, "BUFFER_POOL", watermarks, "USER_WATERMARKS")}


_WATCHDOG = Fields(
    Watchdog,
    "detected=PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED recovered=PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED "
    "storming=PFC_WD_STATUS",
    storming=lambda status: status.lower() == "stormed",
)


def _watchdog(names: Value, counters: Value) -> dict[str, dict[int, Watchdog]]:
    """Return the state of the PFC watchdog for each queue that it monitors, by port and queue.

    ``names`` maps queue names to object ids, ``counters`` these ids to the watchdog's fields.
    """
    made: dict[str, dict[int, Watchdog]] = {}
    for name, row in _objects(names, "QUEUE", counters):
        if (match := _NUMBERED.fullmatch(name)) and "PFC_WD_STATUS" in row.keys:
            made.setdefault(match[1], {})[int(match[2])] = _WATCHDOG(row)
    return made


_PORT = Fields(
    InterfaceState,
    "admin_up=admin_status oper_up=oper_status description lanes mtu flaps=flap_count",
    lanes=lambda lanes: text.count(",") + 1 if (text := lanes.text()) else None,
)
_COUNTS = Fields(
    InterfaceState,
    "in_bytes=SAI_PORT_STAT_IF_IN_OCTETS out_bytes=SAI_PORT_STAT_IF_OUT_OCTETS",
    errors=Fields(
        Errors,
        "in_errors=SAI_PORT_STAT_IF_IN_ERRORS out_errors=SAI_PORT_STAT_IF_OUT_ERRORS "
        "in_discards=SAI_PORT_STAT_IF_IN_DISCARDS out_discards=SAI_PORT_STAT_IF_OUT_DISCARDS",
    ),
)
_FEC = Fields(
    Fec,
    "corrected=SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES uncorrected=SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES",
)


def _interfaces(
    ports: Value, state: Value, names: Value, counters: Value, addresses: Value
) -> dict[str, InterfaceState]:
    """Return the state of interfaces, by name. All addresses are those in the kernel.

    The interfaces are the ports in ``PORT_TABLE``, with their counters, and the kernel's other interfaces, such as VLANs.
    """
    counts, negotiated = dict(_objects(names, "PORT", counters)), _under(state, "PORT_TABLE|")
    made: dict[str, InterfaceState] = {}
    for name, row in _under(ports, "PORT_TABLE:").items():
        if not {"admin_status", "oper_status"} & row.keys:  # PortConfigDone and PortInitDone, which are not ports
            continue
        now, counted = negotiated.get(name, row.made(None)), counts.get(name, row.made(None))
        speed = now.get("speed").integer() or row.get("speed").integer()
        mode = now.get("fec").lower() or row.get("fec").lower()
        fec = _FEC(counted, mode=None if mode == "n/a" else mode)
        port = _PORT(row, name=name, speed_gbps=speed / 1000 if speed else None, fec=fec)
        made[name] = _COUNTS.onto(port, counted)
    for name, link in links(addresses).items():
        made[name] = replace(made[name], addresses=link.addresses) if name in made else link
    return made


def _reading(sensor: Value) -> float | None:
    """Return the value of a sensor. ``N/A`` becomes None, and ``-inf``, which means no light, becomes minus infinity."""
    text = sensor.lower()
    if text in {None, "n/a", "none"}:
        return None
    return float("-inf") if text == "-inf" else sensor.number()


_ASSEMBLY = "length cable assembly(m)"
_LONGEST_M = 255
"""The cable length in metres that modules of SFF-8636 report if the real length does not fit into one byte."""


def _cable(module: Value) -> float | None:
    """Return the cable length in metres if the module is fixed to its cable, otherwise None.

    Other modules report their reach in the same field.
    """
    length = _reading(module.get("cable_length")) if module.get("cable_type").lower() == _ASSEMBLY else None
    return length if length is not None and 0 < length < _LONGEST_M else None


def _light(sensor: Value) -> tuple[Lane, ...]:
    """Return the sent light, received light and bias current of each lane of a module. ``sensor`` is the module's row."""
    numbers = {int(match[1]) for key in sensor.keys if (match := re.fullmatch(r"rx(\d{1,2})power", key))}
    return tuple(
        Lane(number, *(_reading(sensor.get(f"{way.format(number)}")) for way in ("tx{}power", "rx{}power", "tx{}bias")))
        for number in sorted(numbers)
    )


_MODULE = Fields(Optic, "kind=type vendor=manufacturer|vendor_name part=model serial", cable_m=_cable)
_SENSOR = Fields(Optic, "temperature_c=temperature:reading voltage_v=voltage:reading", lanes=_light, reading=_reading)
_LIMIT = Fields(Optic, "rx_low_dbm=rxpowerlowalarm:reading tx_low_dbm=txpowerlowalarm:reading", reading=_reading)


def _optics(answer: Value, ports: Value) -> dict[str, Optic]:
    """Return the optics by port, from ``TRANSCEIVER_INFO``, ``TRANSCEIVER_DOM_SENSOR`` and ``TRANSCEIVER_DOM_THRESHOLD`` (``answer``).

    If any port has an optic, then a port of ``PORT_TABLE`` (``ports``) without a row in ``TRANSCEIVER_INFO`` counts as empty.
    """
    sensors, limits = _under(answer, "TRANSCEIVER_DOM_SENSOR|"), _under(answer, "TRANSCEIVER_DOM_THRESHOLD|")
    made: dict[str, Optic] = {}
    for name, row in _under(answer, "TRANSCEIVER_INFO|").items():
        module = _SENSOR.onto(_MODULE(row, present=True), sensors.get(name, row.made(None)))
        made[name] = _LIMIT.onto(module, limits.get(name, row.made(None)))
    for name, row in _under(ports, "PORT_TABLE:").items() if made else ():
        if name not in made and "oper_status" in row.keys:
            made[name] = Optic(present=False)
    return made


_LINES = {"model": "HwSKU", "serial": "Serial Number", "version": "SONiC Software Version"}


def _identity(answers: Answers) -> Identity | None:
    text = answers.text("version")
    if text is None:
        return None
    words = {
        field: match[1].strip()
        for field, label in _LINES.items()
        if (match := re.search(rf"^{label}:[ \t]*(\S[^\n]{{0,100}})", text, re.MULTILINE))
    }
    if not words:
        answers.note("version", "", "no line with `SONiC Software Version:` is in it")
        return None
    version = words.get("version", "").removeprefix("SONiC.") or None
    return Identity(model=words.get("model"), serial=words.get("serial"), version=version)


def _alarms(health: Value) -> tuple[Alarm, ...]:
    """Return an alarm for each component whose row in ``SYSTEM_READY`` (``health``) shows a state other than ``UP``."""
    states = [(key, row.get("Status").text()) for key, row in _under(health, "").items()]
    return tuple(Alarm(None, f"{key}: {state}") for key, state in states if state not in {None, "UP"})


def _filters(answer: Value) -> tuple[PacketFilter, ...]:
    """Return the access lists in ``ACL_TABLE`` with their ports. Lists of type ``CTRLPLANE`` filter packets to the switch itself."""
    filters: list[PacketFilter] = []
    for name, row in _under(answer, "ACL_TABLE|").items():
        ports = row.first("ports@", "ports")
        names = texts(ports) if isinstance(ports.raw, list) else tuple(filter(None, (ports.text() or "").split(",")))
        filters.append(PacketFilter(name, names))
    return tuple(filters)


PARTS: dict[str, Part] = {
    "identity": (_identity, ""),
    "clock": (clock, ""),
    "alarms": (_alarms, "health"),
    "neighbors": (lldp, "lldp-neighbors"),
    "interfaces": (_interfaces, "ports ports-state+ counter-names+ counters+ addresses"),
    "optics": (_optics, "optics ports+"),
    "ipv6_neighbors": (neighbors, "neighbors"),
    "ipv4_neighbors": (neighbors, "neighbors-ipv4"),
    **frr.DAEMONS,
    "filters": (_filters, "filters"),
    "queues": (_queues, "counter-names! counters watermarks"),
    "pfc": (_pfc, "counter-names! counters!"),
    "pools": (_pools, "counter-names! watermarks!"),
    "watchdog": (_watchdog, "counter-names! counters!"),
}

_TABLE = StateTable("sonic", FORMS, ASKED, PARTS, NOT_READ)
questions, read = _TABLE.questions, _TABLE.read
