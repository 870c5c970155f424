"""Rules about QoS maps, queues, schedulers, marking, PFC and the PFC watchdog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.sonic.lint.files import Files, number, text

if TYPE_CHECKING:
    from collections.abc import Iterator


MAPS = {
    "DSCP_TO_TC_MAP": (63, 7),
    "TC_TO_QUEUE_MAP": (7, 7),
    "TC_TO_PRIORITY_GROUP_MAP": (7, 7),
    "MAP_PFC_PRIORITY_TO_QUEUE": (7, 7),
}
"""By QoS map: (the largest key, the largest value), as in qos_config.j2 of sonic-buildimage."""

_TYPES = {"DWRR", "WRR", "STRICT"}
_MOST_QUEUE = {"QUEUE": 7, "BUFFER_QUEUE": 15, "BUFFER_PG": 7}
"""The highest number of a queue or priority group, by table.

``QUEUE`` has schedulers, ``BUFFER_QUEUE`` has buffers and includes multicast queues, and ``BUFFER_PG`` has priority groups.
"""


@check(
    "sonic-code-point",
    why="orchagent rejects the whole map, and every packet is best effort",
    fix="use DSCP 0 to 63, and traffic classes, queues and priority groups 0 to 7",
)
def code_points(files: Files) -> Iterator[str]:
    """The keys and values of QoS maps are numbers in their range, such as DSCPs from 0 to 63 (the models also accept other text)."""
    for table, (left, right) in MAPS.items():
        for (name, *_), row in files.rows(table):
            for key in row:
                value = text(row, key)
                for side, end, most in (("key", key, left), ("value", value, right)):
                    parsed = number(end)
                    if parsed is None or not 0 <= parsed <= most:
                        yield f"{table}|{name} {key} {value}: the {side} is not 0 to {most}"


@check(
    "sonic-queue",
    why="the chip does not have this queue or priority group, and the row has no effect",
    fix="use queues and priority groups that the chip has: 0 to 7",
)
def queues(files: Files) -> Iterator[str]:
    """The numbers of a port's queues and priority groups exist on the chip (sonic-queue.yang allows any text)."""
    for table, most in _MOST_QUEUE.items():
        for parts, _ in files.rows(table):
            ends = [number(end) for end in parts[-1].split("-")]
            if len(parts) < 2 or len(ends) > 2 or any(end is None or not 0 <= end <= most for end in ends):
                yield f"{table}|{'|'.join(parts)}: {parts[-1]!r} is not 0 to {most}"


@check(
    "sonic-scheduler",
    why="the queue gets more or less bandwidth than intended",
    fix="use DWRR or WRR with a weight, or STRICT without a weight; the sum of the weights of a port's queues "
    "must not exceed 100",
)
def schedulers(files: Files) -> Iterator[str]:
    """A scheduler has a known type, and a weight unless it is strict; the weights of a port's queues add up to at most 100."""
    weights: dict[str, int] = {}
    for (name, *_), row in files.rows("SCHEDULER"):
        kind, weight = text(row, "type"), number(text(row, "weight"))
        if kind not in _TYPES:
            yield f"SCHEDULER|{name}: there is no type {kind!r}"
        elif kind == "STRICT" and weight is not None:
            yield f"SCHEDULER|{name}: a strict queue has no weight"
        elif kind != "STRICT" and weight is None:
            yield f"SCHEDULER|{name}: {kind} without a weight"
        weights[name] = weight or 0
    totals: dict[str, int] = {}
    for parts, row in files.rows("QUEUE"):
        totals[parts[0]] = totals.get(parts[0], 0) + weights.get(text(row, "scheduler"), 0)
    for port, total in totals.items():
        if total > 100:
            yield f"QUEUE|{port}: the weights of its queues are {total} together"


@check(
    "sonic-marking",
    why="packets are not marked, or all packets are marked at once, and senders do not slow down in time",
    fix="enable WRED for the colors that are marked, with the lower threshold below the upper one",
)
def marking(files: Files) -> Iterator[str]:
    """A WRED profile that marks a color enables WRED for the color, and its lower threshold is below the upper one (wred of swss: qosorch)."""
    for (name, *_), row in files.rows("WRED_PROFILE"):
        ecn = text(row, "ecn")
        colors = [color for color in ("green", "yellow", "red") if ecn == "ecn_all" or color in ecn]
        for color in colors:
            low, high = (number(text(row, f"{color}_{end}_threshold")) for end in ("min", "max"))
            if text(row, f"wred_{color}_enable") != "true":
                yield f"WRED_PROFILE|{name}: {ecn} without wred_{color}_enable"
            elif low is None or high is None or low >= high:
                yield f"WRED_PROFILE|{name}: {color} thresholds {low} and {high} do not rise"


@check(
    "sonic-pfc",
    why="without its own headroom and queue, a paused priority loses packets, or other priorities are paused with it",
    fix="give the priority a BUFFER_PG with xoff, and an entry in the map from priority to queue",
)
def pfc(files: Files) -> Iterator[str]:
    """A priority with PFC has a lossless priority group and a queue map, and the watchdog monitors no other priorities."""
    profiles = files.tables.get("BUFFER_PROFILE", {})
    lossless = {
        f"{parts[0]}|{group}"
        for parts, row in files.rows("BUFFER_PG")
        for group in _numbers(parts[-1])
        if number(text(profiles.get(text(row, "profile"), {}), "xoff"))
    }
    for (port, *_), row in files.rows("PORT_QOS_MAP"):
        paused = [priority for priority in text(row, "pfc_enable").split(",") if priority]
        for priority in paused:
            if f"{port}|{priority}" not in lossless:
                yield f"PORT_QOS_MAP|{port}: priority {priority} is paused and has no lossless priority group"
        for priority in text(row, "pfcwd_sw_enable").split(","):
            if priority and priority not in paused:
                yield f"PORT_QOS_MAP|{port}: the watchdog looks at priority {priority}, which is not paused"
        if paused and not text(row, "pfc_to_queue_map"):
            yield f"PORT_QOS_MAP|{port}: priorities are paused without pfc_to_queue_map"


def _numbers(words: str) -> range:
    first, _, last = words.partition("-")
    low, high = number(first), number(last or first)
    return range(low, high + 1) if low is not None and high is not None else range(0)


@check(
    "sonic-watchdog",
    why="the watchdog daemon rejects the row, and does not monitor the port",
    fix="set detection and restoration to at least the polling interval",
)
def watchdog(files: Files) -> Iterator[str]:
    """The watchdog's detection and restoration times are at least as long as its polling interval (the rule in sonic-pfcwd.yang compares different numbers)."""
    poll = number(text(files.tables.get("PFC_WD", {}).get("GLOBAL", {}), "POLL_INTERVAL")) or 0
    for (port, *_), row in files.rows("PFC_WD"):
        for field in ("detection_time", "restoration_time"):
            value = number(text(row, field))
            if value is not None and value < poll:
                yield f"PFC_WD|{port} {field} {value} is below the polling interval {poll}"
