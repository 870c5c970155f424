"""Quality of service: classes by their queues, marking, PFC, the watchdog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.device.classes import Ecn, TrafficClass, Watchdog
from railweave.model.device.model import Marking, QosConfig
from railweave.systems.frr.read.values import number
from railweave.systems.sonic.read.buffers import Buffering, buffering

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.device.model import Interface
    from railweave.systems.sonic.read.rows import Row, Rows

_BOUND = {
    "DSCP_TO_TC_MAP": "dscp_to_tc_map",
    "TC_TO_QUEUE_MAP": "tc_to_queue_map",
    "TC_TO_PRIORITY_GROUP_MAP": "tc_to_pg_map",
    "MAP_PFC_PRIORITY_TO_QUEUE": "pfc_to_queue_map",
}
"""The field by which a port has each map."""

_WATERMARKS = ("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK")
_COUNTED = 64


@dataclass
class _Queue:
    """A queue as ports have it: the names of its scheduler and of its marking."""

    scheduler: str = ""
    marking: str = ""


def paused(tables: Rows) -> set[str]:
    """Ports with PFC."""
    rows = (row for row in tables.rows("PORT_QOS_MAP") if row.key != "global" and row.text("pfc_enable"))
    return {name for row in rows for name in row.key.split(",")}


def qos(tables: Rows, interfaces: Sequence[Interface], model: SwitchModel | None) -> QosConfig | None:
    """Quality of service; None where no port has any."""
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
    named = {one.queue: name for name, one in classes.items()}
    names = [one.name for one in interfaces]
    return QosConfig(
        classes=classes,
        default_class=named.get(to_queue.get(default, default), "") if default is not None else "",
        marking=marking,
        buffers=buffers.buffers,
        profiles=buffers.profiles,
        xon_offset_cells=buffers.xon_offset_cells,
        watchdog=_watchdog(tables, bound),
        buffer_monitor=_counted(tables),
        ports=tuple(name for name in names if name in bound),
    )


def _global(tables: Rows) -> None:
    """The maps of what has no port are those of ports."""
    for row in tables.rows("PORT_QOS_MAP"):
        if row.key == "global":
            row.text("dscp_to_tc_map")


def _map(tables: Rows, table: str, bound: dict[str, Row]) -> dict[int, int]:
    """The map that ports have; where ports have several, the most used, and others are not understood."""
    field = _BOUND[table]
    names = [name for row in bound.values() if (name := _name(row.text(field)))]
    rows = {row.key: row for row in tables.rows(table)}
    most = max(dict.fromkeys(names), key=names.count, default=next(iter(rows), ""))
    for row in bound.values():
        if _name(row.text(field)) not in {most, ""}:
            row.leave(field)
    found: dict[int, int] = {}
    row = rows.get(most)
    for word in row.fields if row else ():
        low, value = number(word), row.number(word) if row else None
        if low is not None and value is not None:
            found[low] = value
    return found


def _queues(tables: Rows) -> dict[int, _Queue]:
    """Queues as most ports have them; a port that has a queue otherwise is not understood there."""
    counts: dict[int, dict[tuple[str, str], list[Row]]] = {}
    for row in tables.rows("QUEUE"):
        for queue in _range(row.parts()[-1]):
            kind = (_name(row.text("scheduler")), _name(row.text("wred_profile")))
            counts.setdefault(queue, {}).setdefault(kind, []).append(row)
    found: dict[int, _Queue] = {}
    for queue, kinds in sorted(counts.items()):
        most = max(kinds, key=lambda kind: len(kinds[kind]))
        found[queue] = _Queue(*most)
        for kind, rows in kinds.items():
            for row in rows if kind != most else ():
                for at, field in enumerate(("scheduler", "wred_profile")):
                    if kind[at] != most[at]:
                        row.leave(field)
    return found


def _range(text: str) -> Iterator[int]:
    """Queues of a key: ``3``, or ``3-4``."""
    low, _, high = text.partition("-")
    first, last = number(low), number(high or low)
    if first is not None and last is not None and last < _COUNTED:
        yield from range(first, last + 1)


def _name(text: str) -> str:
    """The name of a row that a field has: older releases write ``[TABLE|name]``."""
    return text.strip("[]").rpartition("|")[2]


def _priorities(bound: dict[str, Row], maps: dict[str, dict[int, int]], buffers: Buffering) -> dict[int, int]:
    """PFC priorities by queue: those of ports, and those whose queue has lossless buffers."""
    said = {value for row in bound.values() for text in row.words("pfc_enable") if (value := number(text)) is not None}
    to_queue = maps["MAP_PFC_PRIORITY_TO_QUEUE"]
    groups = maps["TC_TO_PRIORITY_GROUP_MAP"]
    of_group = {queue: groups.get(queue, queue) for queue in buffers.lossless_queues}
    found = {queue: priority for queue, priority in of_group.items() if queue == to_queue.get(priority, queue)}
    return found | {to_queue.get(priority, priority): priority for priority in said}


def _classes(
    tables: Rows,
    queues: dict[int, _Queue],
    maps: dict[str, dict[int, int]],
    buffers: Buffering,
    priorities: dict[int, int],
) -> tuple[dict[str, TrafficClass], dict[str, Marking]]:
    """Classes, named by their schedulers where each queue has its own; and how they are marked."""
    shared = [one.scheduler for one in queues.values()]
    to_queue = maps["TC_TO_QUEUE_MAP"]
    dscps: dict[int, list[int]] = {}
    for dscp, group in sorted(maps["DSCP_TO_TC_MAP"].items()):
        queue = to_queue.get(group, group)
        dscps.setdefault(queue, []).append(dscp)
        if queue not in queues:
            for row in tables.rows("DSCP_TO_TC_MAP"):
                row.leave(str(dscp))
    default = to_queue.get(maps["DSCP_TO_TC_MAP"].get(0, 0), 0)
    of_name = {name: queue for queue, one in queues.items() if (name := one.scheduler) and shared.count(name) == 1}
    order = {row.key: at for at, row in enumerate(tables.rows("SCHEDULER"))}
    names = {queue: f"queue{queue}" for queue in queues} | {queue: name for name, queue in of_name.items()}
    classes: dict[str, TrafficClass] = {}
    marking: dict[str, Marking] = {}
    for queue in sorted(queues, key=lambda queue: (order.get(names[queue], len(order)), queue)):
        name, row = names[queue], tables.row("SCHEDULER", queues[queue].scheduler)
        strict = row.says("type", "strict")
        if not row.says("type", "strict", "dwrr", "wrr", ""):
            row.leave("type")
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
    """Marking of green packets; None where they are not marked."""
    if not row.says("ecn", "ecn_green", "ecn_all") or not row.says("wred_green_enable", "true"):
        for name in row.fields:
            row.leave(name)
        return None
    values = [row.number(f"green_{name}") for name in ("min_threshold", "max_threshold", "drop_probability")]
    first, last, probability = (value or 0 for value in values)
    return Marking(first, last, probability)


def _watchdog(tables: Rows, bound: dict[str, Row]) -> Watchdog | None:
    """The watchdog, as ports with PFC have it; a port that has it otherwise is not understood there."""
    poll = tables.row("PFC_WD", "GLOBAL").number("POLL_INTERVAL")
    rows = [row for row in tables.rows("PFC_WD") if row.key != "GLOBAL"]
    for row in bound.values():
        if row.text("pfcwd_sw_enable") != row.text("pfc_enable"):
            row.leave("pfcwd_sw_enable")
    if poll is None or not rows:
        return None
    names = ("action", "detection_time", "restoration_time")
    values = [tuple(row.text(name) for name in names) for row in rows]
    most = max(dict.fromkeys(values), key=values.count)
    for row, value in zip(rows, values, strict=True):
        for at, name in enumerate(names):
            if value[at] != most[at]:
                row.leave(name)
    detection, recovery = number(most[1]), number(most[2])
    if detection is None or recovery is None or not poll:
        return None
    return Watchdog(poll, max(1, round(detection / poll)), recovery, "forward" if most[0] == "forward" else "drop")


def _counted(tables: Rows) -> bool:
    """Whether peaks of buffers are recorded."""
    counted = {row.key for row in tables.rows("FLEX_COUNTER_TABLE") if row.says("FLEX_COUNTER_STATUS", "enable")}
    return counted.issuperset(_WATERMARKS)
