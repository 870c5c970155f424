"""Rules about QoS: ranges of numbers, keywords of EOS, and queues that the scheduler can serve in the configured order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.sections import Section, has, select
from railweave.model.findings.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator


QUEUES = range(8)
QUEUE = ("qos profile <profile>", "tx-queue|uc-tx-queue <queue>")
PRIORITIES = {"no priority", "priority strict"}
THRESHOLDS = {*(f"1/{2**power}" for power in range(1, 7)), "1", "2", "4", "8"}
LARGEST_MTU = 9214
_SECONDS = re.compile(r"\d+(?:\.\d+)?")


@check(
    "eos-queue-number",
    why="AVD accepts some of these values as text, but the switch has only 8 unicast queues and traffic classes",
    fix="use 0 to 7",
)
def queue_number(root: list[Section]) -> Iterator[str]:
    """Queues, traffic classes, priority groups and PFC priorities have the numbers 0 to 7."""
    for forms, number in (
        (QUEUE, "queue"),
        (("qos map dscp ** to traffic-class <queue>",), "traffic class"),
        (("qos map traffic-class <queue> to **",), "traffic class"),
        (("qos map traffic-class ** to tx-queue|uc-tx-queue <queue>",), "queue"),
        (("**", "priority-flow-control priority <queue> no-drop"), "PFC priority"),
        (("platform trident mmu **", "egress unicast queue <queue> **"), "queue"),
        (("platform trident mmu **", "ingress priority-group <queue> **"), "priority group"),
    ):
        for line in select(root, *forms):
            if not line["queue"].isdecimal() or int(line["queue"]) not in QUEUES:
                yield f"{number} {line['queue']} is not 0 to 7"


@check(
    "eos-scheduler-priority",
    why="the schema accepts any text as a queue's priority; the switch rejects the line",
    fix="use `no priority` or `priority strict`",
)
def scheduler_priority(root: list[Section]) -> Iterator[str]:
    """The priority of a queue is ``no priority`` (which means a bandwidth share) or ``priority strict``."""
    for queue in select(root, *QUEUE):
        for section in queue.below:
            if section.line.removeprefix("no ").startswith("prio") and section.line not in PRIORITIES:
                yield f"queue {queue['queue']} of profile {queue['profile']} has {section.line!r}"


@check(
    "eos-strict-below",
    why=(
        "`no priority` makes all lower queues share bandwidth too (EOS manual): a strict queue must be above the "
        "sharing queues"
    ),
    fix="give the strict class the highest queue number",
)
def strict_below(root: list[Section]) -> Iterator[str]:
    """A queue with a bandwidth share has a lower number than every strict queue of the same profile."""
    strict: dict[str, set[int]] = {}
    sharing: dict[str, set[int]] = {}
    for queue in select(root, *QUEUE):
        for line, kind in (("priority strict", strict), ("no priority", sharing)):
            if queue["queue"].isdecimal() and has(queue.below, line):
                kind.setdefault(queue["profile"], set()).add(int(queue["queue"]))
    for profile, queues in strict.items():
        above = [queue for queue in sharing.get(profile, ()) if queue > min(queues)]
        if above:
            yield f"profile {profile}: queue {min(queues)} is strict, and {max(above)} above it shares"


@check(
    "eos-bandwidth",
    why="if the shares of a port exceed 100 %, the last queues get no bandwidth",
    fix="reduce the shares so that their sum is at most 100",
)
def bandwidth(root: list[Section]) -> Iterator[str]:
    """The bandwidth shares of a profile's queues add up to at most 100 percent."""
    shares: dict[str, int] = {}
    for form in ("bandwidth percent <share>", "shape rate <share>", "shape rate <share> percent"):
        for line in select(root, *QUEUE, form):
            if line["share"].isdecimal():
                shares[line["profile"]] = shares.get(line["profile"], 0) + int(line["share"])
    for profile, share in shares.items():
        if share > 100:
            yield f"queues of profile {profile} have {share} percent together"


@check(
    "eos-dscp-twice",
    why="the last line wins, and the first class gets no packets with this DSCP",
    fix="list the DSCP once",
)
def dscp_twice(root: list[Section]) -> Iterator[str]:
    """DSCP values are 0 to 63, and each one is in only one traffic class."""
    owners: dict[str, str] = {}
    for line in select(root, "qos map dscp <values...> to traffic-class <queue>"):
        for value in line["values"].split():
            if not value.isdecimal() or int(value) > 63:
                yield f"DSCP {value} is not 0 to 63"
            other = owners.setdefault(value, line["queue"])
            if other != line["queue"]:
                yield f"DSCP {value} is in traffic classes {other} and {line['queue']}"


@check(
    "eos-pfc-class",
    why="PFC applies to the queue of its priority: if that traffic class gets no packets, no traffic is lossless",
    fix="map the DSCP of RDMA data to the traffic class of the priority",
)
def pfc_class(root: list[Section]) -> Iterator[str]:
    """The traffic class of every PFC priority has at least one DSCP."""
    classes = {line["queue"] for line in select(root, "qos map dscp ** to traffic-class <queue>")}
    for line in select(root, "qos profile <profile>", "priority-flow-control priority <queue> no-drop"):
        if line["queue"] not in classes:
            yield f"profile {line['profile']}: no DSCP is in traffic class {line['queue']}, which is not dropped"


@check(
    "eos-ecn",
    why="the switch rejects the line",
    fix="set both between 1 and 100 percent, with the minimum smaller than the maximum",
)
def ecn(root: list[Section]) -> Iterator[str]:
    """The minimum ECN threshold of a queue is below its maximum, and the marking probability is 1 to 100 percent."""
    limits = "random-detect ecn minimum-threshold <low> * maximum-threshold <high> * max-mark-probability <most> **"
    for line in select(root, *QUEUE, limits):
        numbers = [line["low"], line["high"], line["most"]]
        if not all(number.isdecimal() for number in numbers):
            continue
        low, high, probability = map(int, numbers)
        if low >= high or not 1 <= probability <= 100:
            yield f"queue {line['queue']}: {low} to {high} at {probability} percent"


@check(
    "eos-threshold",
    why="the schema accepts any text; the chip accepts powers of two from 1/64 to 8",
    fix="use a dynamic_threshold from 1 to 10, and the same for ingress_dynamic_threshold",
)
def dynamic_threshold(root: list[Section]) -> Iterator[str]:
    """Dynamic thresholds have a value that the chip supports: 1/64, 1/32 and so on to 8."""
    for line in select(root, "platform trident mmu **", "<what...> threshold <value>"):
        if line["value"] not in THRESHOLDS:
            yield f"{line['what']} has threshold {line['value']}"


@check(
    "eos-watchdog",
    why="the watchdog examines a queue once per polling interval, and must find it stuck twice",
    fix="set timeout and recovery to at least two polling intervals: `detection: 2`",
)
def watchdog(root: list[Section]) -> Iterator[str]:
    """The watchdog's timers are in EOS's ranges, and its timeout and recovery time are at least two polling intervals long."""
    takes = catalog().systems["eos"].watchdog_times
    defaults = select(root, "priority-flow-control pause watchdog default <word> <seconds>")
    values = {line["word"]: 1000 * float(line["seconds"]) for line in defaults if _SECONDS.fullmatch(line["seconds"])}
    if takes is None:
        return
    spans = {"timeout": takes.timeout_ms, "recovery-time": takes.recovery_ms, "polling-interval": takes.poll_ms}
    for word, (least, most) in spans.items():
        if not least <= values.get(word, least) <= most:
            yield f"{word} {values[word] / 1000:g} s is not {least / 1000:g} to {most / 1000:g} s"
    poll = values.get("polling-interval")
    for word in ("timeout", "recovery-time"):
        if poll is not None and values.get(word, takes.polls * poll) < takes.polls * poll:
            yield f"{word} {values[word] / 1000:g} s, polling interval {poll / 1000:g} s"


@check(
    "eos-watchdog-blind",
    "warning",
    why=(
        "the watchdog examines only queues with guaranteed bandwidth (public guide to RoCEv2 on EOS 4.36, section "
        "8): other stuck queues stay stuck"
    ),
    fix="give the queue `bandwidth guaranteed percent 1` in the profile",
)
def watchdog_blind(root: list[Section]) -> Iterator[str]:
    """If the watchdog is on, every queue with a PFC priority has guaranteed bandwidth."""
    guaranteed = {
        queue["queue"]
        for place in (QUEUE[0], "interface <port>")
        for queue in select(root, place, QUEUE[1])
        if any(line.line.startswith("bandwidth guaranteed") for line in queue.below)
    }
    watched = {line["profile"] for line in select(root, QUEUE[0], "priority-flow-control pause watchdog")}
    for line in select(root, QUEUE[0], "priority-flow-control priority <queue> no-drop"):
        if line["profile"] in watched and line["queue"] not in guaranteed:
            yield f"profile {line['profile']}: queue {line['queue']} has no guaranteed bandwidth, so the watchdog skips it"


@check(
    "eos-outer-dscp",
    why=(
        "the header of a VXLAN tunnel gets this DSCP (Arista, TOI on VXLAN packets): the next switch puts the "
        "packet into a different class"
    ),
    fix="map the traffic class to a DSCP that is mapped to it",
)
def outer_dscp(root: list[Section]) -> Iterator[str]:
    """A traffic class is marked with a DSCP that is mapped to the same traffic class."""
    into = {
        value: line["queue"]
        for line in select(root, "qos map dscp <values...> to traffic-class <queue>")
        for value in line["values"].split()
    }
    for line in select(root, "qos map traffic-class <group> to dscp <value>"):
        if into.get(line["value"], line["group"]) != line["group"]:
            yield f"traffic class {line['group']} is marked {line['value']}, which is in traffic class {into[line['value']]}"


@check("eos-mtu", why="the switch rejects the line", fix="set the frame size of routed ports to 9228 bytes")
def mtu(root: list[Section]) -> Iterator[str]:
    """The MTU of an interface is in the range that EOS accepts."""
    for line in select(root, "interface <port>", "mtu <bytes>"):
        if line["bytes"].isdecimal() and not 68 <= int(line["bytes"]) <= LARGEST_MTU:
            yield f"{line['port']} has mtu {line['bytes']}, EOS takes 68 to {LARGEST_MTU}"
