"""QoS: numbers in range, words that EOS knows, queues that can be served in the order asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.eos.lint.registry import found, rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

QUEUES = range(8)
QUEUE = r"qos profile (?P<profile>\S+) / (?:uc-)?tx-queue (?P<queue>\S+)"
PRIORITIES = {"no priority", "priority strict"}
THRESHOLDS = {*(f"1/{2**power}" for power in range(1, 7)), "1", "2", "4", "8"}
LARGEST_MTU = 9214
FEWEST_POLLS = 2


@rule(
    "eos-queue-number",
    why="AVD takes some of them as text; the switch has 8 unicast queues and traffic classes",
    fix="use 0 to 7",
)
def queue_number(lines: Sequence[str]) -> Iterator[str]:
    """Queues, traffic classes and PFC priorities are 0 to 7."""
    for pattern, what in (
        (QUEUE + r"(?: / .*)?", "queue"),
        (r"qos map dscp .* to traffic-class (?P<queue>\S+)", "traffic class"),
        (r"qos map traffic-class (?P<queue>\S+) to .*", "traffic class"),
        (r"qos map traffic-class .* to (?:uc-)?tx-queue (?P<queue>\S+)", "queue"),
        (r".* / priority-flow-control priority (?P<queue>\S+) no-drop", "PFC priority"),
        (r"platform trident mmu .* / egress unicast queue (?P<queue>\S+) .*", "queue"),
        (r"platform trident mmu .* / ingress priority-group (?P<queue>\S+) .*", "priority group"),
    ):
        for match in found(lines, pattern):
            if not match["queue"].isdecimal() or int(match["queue"]) not in QUEUES:
                yield f"{what} {match['queue']} is not 0 to 7"


@rule(
    "eos-scheduler-priority",
    why="the schema takes any text for a queue's priority; the switch refuses the line",
    fix="use `no priority` or `priority strict`",
)
def scheduler_priority(lines: Sequence[str]) -> Iterator[str]:
    """A queue is served strictly, or by its share."""
    for match in found(lines, QUEUE + r" / (?P<words>(?:no )?prio\S*.*)"):
        if match["words"] not in PRIORITIES:
            yield f"queue {match['queue']} of profile {match['profile']} has {match['words']!r}"


@rule(
    "eos-strict-below",
    why="`no priority` makes every queue below share too (EOS manual): a strict queue must be above those that share",
    fix="give the strict class the highest queue",
)
def strict_below(lines: Sequence[str]) -> Iterator[str]:
    """No queue that shares is above one that is strict."""
    strict: dict[str, set[int]] = {}
    sharing: dict[str, set[int]] = {}
    for match in found(lines, QUEUE + r" / (?P<words>no priority|priority strict)"):
        kind = strict if match["words"] == "priority strict" else sharing
        if match["queue"].isdecimal():
            kind.setdefault(match["profile"], set()).add(int(match["queue"]))
    for profile, queues in strict.items():
        above = [queue for queue in sharing.get(profile, ()) if queue > min(queues)]
        if above:
            yield f"profile {profile}: queue {min(queues)} is strict, and {max(above)} above it shares"


@rule("eos-bandwidth", why="shares of a port over 100 % starve the last queues", fix="make them at most 100 together")
def bandwidth(lines: Sequence[str]) -> Iterator[str]:
    """Shares of one profile fit."""
    shares: dict[str, int] = {}
    for match in found(lines, QUEUE + r" / (?:bandwidth percent|shape rate) (?P<share>\d+)(?: percent)?"):
        shares[match["profile"]] = shares.get(match["profile"], 0) + int(match["share"])
    for profile, share in shares.items():
        if share > 100:
            yield f"queues of profile {profile} have {share} percent together"


@rule("eos-dscp-twice", why="the last line wins, and the class named first never sees it", fix="name it once")
def dscp_twice(lines: Sequence[str]) -> Iterator[str]:
    """A DSCP is 0 to 63, and in one traffic class."""
    owners: dict[str, str] = {}
    for match in found(lines, r"qos map dscp (?P<values>.*) to traffic-class (?P<queue>\S+)"):
        for value in match["values"].split():
            if not value.isdecimal() or int(value) > 63:
                yield f"DSCP {value} is not 0 to 63"
            other = owners.setdefault(value, match["queue"])
            if other != match["queue"]:
                yield f"DSCP {value} is in traffic classes {other} and {match['queue']}"


@rule(
    "eos-pfc-class",
    why="PFC works on the queue of its priority: without packets in that traffic class nothing is lossless",
    fix="map the DSCP of RDMA data to the traffic class of the priority",
)
def pfc_class(lines: Sequence[str]) -> Iterator[str]:
    """Something is classified into every priority that is not dropped."""
    classes = {match["queue"] for match in found(lines, r"qos map dscp .* to traffic-class (?P<queue>\S+)")}
    for match in found(lines, r"qos profile (?P<profile>\S+) / priority-flow-control priority (?P<queue>\S+) no-drop"):
        if match["queue"] not in classes:
            yield f"profile {match['profile']}: no DSCP is in traffic class {match['queue']}, which is not dropped"


@rule("eos-ecn", why="the switch refuses the line", fix="make the minimum smaller than the maximum, 1 to 100 percent")
def ecn(lines: Sequence[str]) -> Iterator[str]:
    """ECN thresholds rise, and the probability is a percentage."""
    limits = r"random-detect ecn minimum-threshold (\d+) \S+ maximum-threshold (\d+) \S+ max-mark-probability (\d+) .*"
    for match in found(lines, QUEUE + " / " + limits):
        low, high, probability = (int(match[place]) for place in (3, 4, 5))
        if low >= high or not 1 <= probability <= 100:
            yield f"queue {match['queue']}: {low} to {high} at {probability} percent"


@rule(
    "eos-threshold",
    why="the schema takes any text; the chip has steps of two from 1/64 to 8",
    fix="use dynamic_threshold 1 to 10, ingress_dynamic_threshold likewise",
)
def dynamic_threshold(lines: Sequence[str]) -> Iterator[str]:
    """Dynamic thresholds are steps that the chip has."""
    for match in found(lines, r"platform trident mmu .* / (?P<what>.*) threshold (?P<value>\S+)"):
        if match["value"] not in THRESHOLDS:
            yield f"{match['what']} has threshold {match['value']}"


@rule(
    "eos-watchdog",
    why="a queue is looked at every polling interval: one that is stuck must be seen twice to be known",
    fix="make the timeout at least two polling intervals: `detection: 2`",
)
def watchdog(lines: Sequence[str]) -> Iterator[str]:
    """The watchdog's timeout holds two polls."""
    values = {
        match["word"]: float(match["value"])
        for match in found(lines, r"priority-flow-control pause watchdog default (?P<word>\S+) (?P<value>[\d.]+)")
    }
    timeout, poll = values.get("timeout"), values.get("polling-interval")
    if timeout is not None and poll is not None and timeout < FEWEST_POLLS * poll:
        yield f"timeout {timeout:g} s, polling interval {poll:g} s"


@rule("eos-mtu", why="the switch refuses the line", fix="keep frames of routed ports at 9228 bytes")
def mtu(lines: Sequence[str]) -> Iterator[str]:
    """An interface's MTU is one that EOS takes."""
    for match in found(lines, r"interface (?P<port>\S+) / mtu (?P<value>\d+)"):
        if not 68 <= int(match["value"]) <= LARGEST_MTU:
            yield f"{match['port']} has mtu {match['value']}, EOS takes 68 to {LARGEST_MTU}"
