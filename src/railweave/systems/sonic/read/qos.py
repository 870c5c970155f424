"""Derivation of QoS from tables: traffic classes by their queues, ECN marking, PFC, the PFC watchdog, and the packet buffer."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.device.model import Interface, Marking, QosConfig
from railweave.model.device.qos_model import Buffers, Ecn, PfcProfile, TrafficClass, Watchdog, pfc_profiles
from railweave.systems.frr.read.text import number
from railweave.systems.sonic.render.qos import EGRESS_LOSSLESS, EGRESS_LOSSY, LOSSLESS, LOSSY, NO_OFFSET, reserve_bytes
from railweave.systems.sonic.statements.management import WATERMARKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.systems.sonic.read.rows import Row, Rows


_PROFILE = re.compile(r"pg_lossless_(\d{1,7})_(\d{1,7})m(?:_(\d{1,6}))?_profile")
_OWN_THRESHOLD = re.compile(r"egress_queue\d+_profile")
_MOST_PERCENT = 100
SERVER_PORT = 9216
"""The MTU in bytes of a server port, including the frame header, if the fabric file does not set one."""


@dataclass
class Buffering:
    """The settings in buffer tables.

    - ``profiles``: groups of ports with the same cable length, MRU and speed, each with the headroom of its ports.
    - ``xon_offset_cells``: the number of cells below XOFF at which a pause ends; None if no profile sets it.
    - ``thresholds``: the threshold of each queue that does not use the default.
    - ``lossless_queues``: the numbers of the queues with lossless buffers.
    """

    buffers: Buffers
    profiles: tuple[PfcProfile, ...] = ()
    xon_offset_cells: int | None = None
    thresholds: dict[int, int] = field(default_factory=dict[int, int])
    lossless_queues: list[int] = field(default_factory=list[int])


def buffering(tables: Rows, interfaces: Sequence[Interface], model: SwitchModel | None) -> Buffering:
    """Return the settings in the buffer tables. ``model`` is the switch model, or None if it is unknown."""
    buffers = Buffering(_pools(tables, model))
    _queue_thresholds(tables, buffers)
    _groups(tables, interfaces, model, buffers)
    return buffers


def _pools(tables: Rows, model: SwitchModel | None) -> Buffers:
    """Return the partition of the buffer in percent.

    A size is marked as not understood unless it is a whole percentage of the model's buffer.
    """
    usual = Buffers()
    pool = {name: tables.row("BUFFER_POOL", name) for name in (LOSSLESS, LOSSY, EGRESS_LOSSLESS, EGRESS_LOSSY)}
    for name, row in pool.items():
        if not row.field_is("type", name.partition("_")[0]):
            row.mark_unknown("type")
        if not row.field_is("mode", "static" if name == EGRESS_LOSSLESS else "dynamic"):
            row.mark_unknown("mode")
    headroom = _percent(pool[LOSSLESS], "xoff", model) if "xoff" in pool[LOSSLESS].fields else 0
    with_headroom = _percent(pool[LOSSLESS], "size", model)
    lossy, lossless = _percent(pool[LOSSY], "size", model), _percent(pool[EGRESS_LOSSLESS], "size", model)
    egress = _percent(pool[EGRESS_LOSSY], "size", model)
    stands = pool[LOSSLESS].line > 0
    return replace(
        usual,
        lossless=usual.lossless if with_headroom is None or headroom is None else with_headroom - headroom,
        headroom=usual.headroom if headroom is None or not stands else headroom,
        lossy=usual.lossy if lossy is None else lossy,
        egress_lossless=usual.egress_lossless if lossless is None else lossless,
        egress_lossy=usual.egress_lossy if egress is None else max(0, egress - usual.egress_multicast),
    )


def _percent(row: Row, name: str, model: SwitchModel | None) -> int | None:
    size = row.number(name)
    if size is None or model is None:
        row.mark_unknown(name)
        return None
    total, cell = model.buffer.shared_mb * 1e6, model.buffer.cell_bytes
    percent = round(100 * size / total)
    if int(total * percent / 100) // cell * cell != size or percent > _MOST_PERCENT:
        row.mark_unknown(name)
    return percent


def _threshold(row: Row) -> int | None:
    """Return the index of a row's dynamic threshold (docs/fabric-file.md), or None if the row has no dynamic threshold."""
    try:
        return int(row.text("dynamic_th")) + NO_OFFSET if "dynamic_th" in row.fields else None
    except ValueError:
        row.mark_unknown("dynamic_th")
        return None


def _queue_thresholds(tables: Rows, buffers: Buffering) -> None:
    """Read the thresholds of queues, and the list of lossless queues, into ``buffers``.

    Both come from the buffer profile that most ports use for a queue.
    """
    for queue, rows in _by_queue(tables, "BUFFER_QUEUE"):
        (most,) = _usual(rows, "profile")
        profile = tables.row("BUFFER_PROFILE", most)
        _plain(profile)
        index = _threshold(profile)
        if index is not None and (index != NO_OFFSET or _OWN_THRESHOLD.fullmatch(most)):
            buffers.thresholds[queue] = index
        if _name(profile.text("pool")) == EGRESS_LOSSLESS:
            buffers.lossless_queues.append(queue)


def _usual(rows: Iterable[Row], *fields: str) -> tuple[str, ...]:
    """Return the most frequent values of the fields ``fields`` over the rows. A field with a different value is marked as not understood."""
    values = [(tuple(_name(row.text(name)) for name in fields), row) for row in rows]
    most = Counter(value for value, _ in values).most_common(1)[0][0]
    for value, row in values:
        for name, word, usual in zip(fields, value, most, strict=True):
            if word != usual:
                row.mark_unknown(name)
    return most


def _by_queue(tables: Rows, table: str) -> list[tuple[int, list[Row]]]:
    """Return (queue, rows of the table) for each queue. The last part of a row's key is a queue or a range, such as ``3`` or ``3-4``."""
    queues: dict[int, list[Row]] = {}
    for row in tables.rows(table):
        low, _, high = row.parts()[-1].partition("-")
        first, last = number(low), number(high or low)
        if first is not None and last is not None and last < _COUNTED:
            for queue in range(first, last + 1):
                queues.setdefault(queue, []).append(row)
    return sorted(queues.items())


def _plain(row: Row) -> None:
    """Mark three fields of a buffer profile as understood: ``static_th``, and ``pool`` and ``size`` if they have one of railweave's values.

    These are the names of railweave's pools, and the size 0.
    """
    if _name(row.text("pool")) not in {LOSSY, EGRESS_LOSSLESS, EGRESS_LOSSY, LOSSLESS}:
        row.mark_unknown("pool")
    row.text("static_th")
    if row.text("size") not in {"0", ""}:
        row.mark_unknown("size")


def _name(text: str) -> str:
    """Return the name of the row to which a field refers. Older releases write it as ``[TABLE|name]``."""
    return text.strip("[]").rpartition("|")[2]


@dataclass
class _Group:
    """Ports with the same cable length, MRU and speed, and their headroom."""

    headroom: int = 0
    ports: list[str] = field(default_factory=list[str])


def _groups(tables: Rows, interfaces: Sequence[Interface], model: SwitchModel | None, buffers: Buffering) -> None:
    """Read the headroom of lossless priority groups into ``buffers``, with the ports that share it.

    The name of the buffer profile contains the cable length.
    """
    by_name = {port.name: port for port in interfaces}
    groups: dict[tuple[int, int, int], _Group] = {}
    for row in tables.rows("BUFFER_PG"):
        name = _name(row.text("profile"))
        profile = tables.row("BUFFER_PROFILE", name)
        named = _PROFILE.fullmatch(name)
        port = by_name.get(row.parts()[0])
        if named is None or port is None or int(named[1]) != port.speed_gbps * 1000:
            if "xoff" in profile.fields or named is not None or not profile.line:
                row.mark_unknown("profile")
            else:
                _plain(profile)
                profile.text("dynamic_th")
            continue
        mru = int(named[3]) if named[3] else _mru(profile, port, int(named[2]), interfaces, model)
        group = groups.setdefault((int(named[2]), mru, port.speed_gbps), _Group())
        if port.name not in group.ports:
            group.ports.append(port.name)
        _lossless(profile, mru, model, buffers, group)
    buffers.profiles = pfc_profiles({need: (group.headroom, group.ports) for need, group in groups.items()})


def _mru(row: Row, port: Interface, length: int, interfaces: Sequence[Interface], model: SwitchModel | None) -> int:
    """Return the MRU of a port whose buffer profile (``row``) has no MRU in its name: the port's MTU, including the frame header.

    If the port itself is a gateway, the configuration has only the gateway's MTU. The MRU is then the MTU of other ports, or the default
    MTU of server ports, whichever fits the sizes of the profile. ``length`` is the cable length in metres.
    """
    size, xoff = row.number("size"), row.number("xoff")
    if model is None or size is None or port.vlan is not None or port.kind != "server":
        return port.mtu
    others = [port.mtu for port in interfaces if port.vlan is not None or port.kind != "server"]
    for mru in (*dict.fromkeys(others), SERVER_PORT, port.mtu):
        needed = port_headroom(catalog(), model, length, port.speed_gbps, mru).limit_bytes
        if (reserve_bytes(mru, model), needed) == (size, xoff):
            return mru
    return port.mtu


def _lossless(row: Row, mru: int, model: SwitchModel | None, buffers: Buffering, group: _Group) -> None:
    """Read the buffer profile of lossless priority groups (``row``), and its headroom, into ``buffers`` and ``group``.

    ``mru`` is the MRU in bytes of the ports that use the profile.
    """
    if _name(row.text("pool")) != LOSSLESS:
        row.mark_unknown("pool")
    row.text("xon")
    size, xoff, offset = row.number("size"), row.number("xoff"), row.number("xon_offset")
    index = _threshold(row)
    if index is not None:
        buffers.buffers = replace(buffers.buffers, ingress_dynamic_threshold=index)
    group.headroom = max(group.headroom, xoff or 0)
    if model is None or xoff is None:
        return
    platform, cell = model.sonic, model.buffer.cell_bytes
    if size != reserve_bytes(mru, model):
        row.mark_unknown("size")
    if offset is not None and offset != (platform.xon_offset_bytes if platform else 0):
        buffers.xon_offset_cells = offset // cell


_BOUND = {
    "DSCP_TO_TC_MAP": "dscp_to_tc_map",
    "TC_TO_QUEUE_MAP": "tc_to_queue_map",
    "TC_TO_PRIORITY_GROUP_MAP": "tc_to_pg_map",
    "MAP_PFC_PRIORITY_TO_QUEUE": "pfc_to_queue_map",
}
"""By table of QoS maps: the field of ``PORT_QOS_MAP`` that refers to a map of this table."""

_COUNTED = 64


@dataclass
class _Queue:
    """The names of a queue's scheduler and WRED profile on most ports."""

    scheduler: str = ""
    marking: str = ""


def paused(tables: Rows) -> set[str]:
    """Return the names of ports with PFC."""
    rows = (row for row in tables.rows("PORT_QOS_MAP") if row.key != "global" and row.text("pfc_enable"))
    return {name for row in rows for name in row.key.split(",")}


def qos(
    tables: Rows, interfaces: Sequence[Interface], model: SwitchModel | None, *, monitored: Mapping[str, bool]
) -> QosConfig | None:
    """Return the QoS of a device, or None if no port has QoS settings.

    ``monitored`` has the groups of counters by name; the value is True if SONiC polls the group.
    """
    bound = {name: row for row in tables.rows("PORT_QOS_MAP") if row.key != "global" for name in row.key.split(",")}
    _global(tables)
    queues = _queues(tables)
    if not bound and not queues:
        return None
    maps = {table: _map(tables, table, bound) for table in _BOUND}
    buffers = buffering(tables, interfaces, model)
    priorities = _priorities(bound, maps, buffers)
    classes, marking = _classes(tables, queues, maps, buffers, priorities)
    default = maps["DSCP_TO_TC_MAP"].get(0)
    to_queue = maps["TC_TO_QUEUE_MAP"]
    named = {traffic_class.queue: name for name, traffic_class in classes.items()}
    names = [port.name for port in interfaces]
    return QosConfig(
        classes=classes,
        default_class=named.get(to_queue.get(default, default), "") if default is not None else "",
        marking=marking,
        buffers=buffers.buffers,
        profiles=buffers.profiles,
        xon_offset_cells=buffers.xon_offset_cells,
        watchdog=_watchdog(tables, bound),
        buffer_monitor=monitored.keys() >= set(WATERMARKS) and all(monitored.values()),
        ports=tuple(name for name in names if name in bound),
    )


def _global(tables: Rows) -> None:
    """Mark the global DSCP map as understood. This map applies to packets on ports without their own map."""
    for row in tables.rows("PORT_QOS_MAP"):
        if row.key == "global":
            row.text("dscp_to_tc_map")


def _map(tables: Rows, table: str, bound: dict[str, Row]) -> dict[int, int]:
    """Return the QoS map that most ports use, such as the traffic class of each DSCP. Other maps are marked as not understood.

    ``table`` is the table of such maps, such as ``DSCP_TO_TC_MAP``. ``bound`` has the row of ``PORT_QOS_MAP`` of each port.
    """
    field = _BOUND[table]
    rows = {row.key: row for row in tables.rows(table)}
    named = [row for row in bound.values() if row.text(field)]
    most = _usual(named, field)[0] if named else next(iter(rows), "")
    values: dict[int, int] = {}
    row = rows.get(most)
    for word in row.fields if row else ():
        low, value = number(word), row.number(word) if row else None
        if low is not None and value is not None:
            values[low] = value
    return values


def _queues(tables: Rows) -> dict[int, _Queue]:
    """Return the settings that each queue has on most ports. Different settings on other ports are marked as not understood."""
    by_queue = _by_queue(tables, "QUEUE")
    return {queue: _Queue(*_usual(rows, "scheduler", "wred_profile")) for queue, rows in by_queue}


_PRIORITIES = frozenset(map(str, range(8)))


def _priorities(bound: dict[str, Row], maps: dict[str, dict[int, int]], buffers: Buffering) -> dict[int, int]:
    """Return the PFC priority of each lossless queue.

    A queue is lossless if its buffer is lossless, or if ports send PFC for its priority. ``bound`` has the row of ``PORT_QOS_MAP`` of each
    port, ``maps`` the QoS maps by table, ``buffers`` the queues with lossless buffers. If a port sends PFC for different priorities than
    most ports, its field ``pfc_enable`` is marked as not understood.
    """
    listed = {name: frozenset(row.words("pfc_enable")) for name, row in bound.items()}
    usual = max(
        (words for words in listed.values() if words), key=list(listed.values()).count, default=frozenset[str]()
    )
    for (
        name,
        row,
    ) in bound.items():  # a class has one priority on all ports; ports with a different one are not understood
        if listed[name] and (listed[name] != usual or not listed[name] <= _PRIORITIES):
            row.mark_unknown("pfc_enable")
    pausing = {int(text) for text in usual & _PRIORITIES}
    to_queue = maps["MAP_PFC_PRIORITY_TO_QUEUE"]
    groups = maps["TC_TO_PRIORITY_GROUP_MAP"]
    of_group = {queue: groups.get(queue, queue) for queue in buffers.lossless_queues}
    priorities = {queue: priority for queue, priority in of_group.items() if queue == to_queue.get(priority, queue)}
    return priorities | {to_queue.get(priority, priority): priority for priority in pausing}


def _classes(
    tables: Rows,
    queues: dict[int, _Queue],
    maps: dict[str, dict[int, int]],
    buffers: Buffering,
    priorities: dict[int, int],
) -> tuple[dict[str, TrafficClass], dict[str, Marking]]:
    """Return (traffic classes by name, ECN marking by class name).

    If each queue has its own scheduler, the name of a class is that of its scheduler.

    - ``queues``: the scheduler and the WRED profile of each queue.
    - ``maps``: the QoS maps by table.
    - ``buffers``: the settings in buffer tables, with the threshold of each queue.
    - ``priorities``: the PFC priority of each lossless queue.
    """
    shared = [queue.scheduler for queue in queues.values()]
    to_queue = maps["TC_TO_QUEUE_MAP"]
    dscps: dict[int, list[int]] = {}
    for dscp, group in sorted(maps["DSCP_TO_TC_MAP"].items()):
        queue = to_queue.get(group, group)
        dscps.setdefault(queue, []).append(dscp)
        if queue not in queues:
            for row in tables.rows("DSCP_TO_TC_MAP"):
                row.mark_unknown(str(dscp))
    default = to_queue.get(maps["DSCP_TO_TC_MAP"].get(0, 0), 0)
    of_name = {
        name: queue for queue, of_queue in queues.items() if (name := of_queue.scheduler) and shared.count(name) == 1
    }
    order = {row.key: at for at, row in enumerate(tables.rows("SCHEDULER"))}
    names = {queue: f"queue{queue}" for queue in queues} | {queue: name for name, queue in of_name.items()}
    classes: dict[str, TrafficClass] = {}
    marking: dict[str, Marking] = {}
    for queue in sorted(queues, key=lambda queue: (order.get(names[queue], len(order)), queue)):
        name, row = names[queue], tables.row("SCHEDULER", queues[queue].scheduler)
        strict = row.field_is("type", "strict")
        if not row.field_is("type", "strict", "dwrr", "wrr", ""):
            row.mark_unknown("type")
        weight = row.number("weight") if "weight" in row.fields else None
        marked = _marking(tables.row("WRED_PROFILE", queues[queue].marking)) if queues[queue].marking else None
        if marked:
            marking[name] = marked
        classes[name] = TrafficClass(
            queue=queue,
            dscp=(0,) if queue == default else tuple(dscps.get(queue, ())),
            lossless=queue in priorities,
            pfc_priority=priorities.get(queue),
            priority="strict-high" if strict else "low",
            transmit_percent=None if strict else 1 if weight is None else weight,
            dynamic_threshold=buffers.thresholds.get(queue),
            ecn=Ecn() if marked else None,
        )
    return classes, marking


def _marking(row: Row) -> Marking | None:
    """Return the ECN marking of green packets, or None if green packets are not marked."""
    if not row.field_is("ecn", "ecn_green", "ecn_all") or not row.field_is("wred_green_enable", "true"):
        for name in row.fields:
            row.mark_unknown(name)
        return None
    values = [row.number(f"green_{name}") for name in ("min_threshold", "max_threshold", "drop_probability")]
    first, last, probability = (value or 0 for value in values)
    return Marking(first, last, probability)


def _watchdog(tables: Rows, bound: dict[str, Row]) -> Watchdog | None:
    """Return the watchdog settings of most ports with PFC. Different settings on other ports are marked as not understood.

    ``bound`` has the row of ``PORT_QOS_MAP`` of each port.
    """
    poll = tables.row("PFC_WD", "GLOBAL").number("POLL_INTERVAL")
    rows = [row for row in tables.rows("PFC_WD") if row.key != "GLOBAL"]
    for row in bound.values():
        if row.text("pfcwd_sw_enable") != row.fields.get("pfc_enable", ""):
            row.mark_unknown("pfcwd_sw_enable")
    if poll is None or not rows:
        return None
    action, *times = _usual(rows, "action", "detection_time", "restoration_time")
    detection, recovery = map(number, times)
    if detection is None or recovery is None or not poll:
        return None
    return Watchdog(poll, max(1, round(detection / poll)), recovery, "forward" if action == "forward" else "drop")
