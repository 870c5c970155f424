"""Rules about class of service: queues, schedulers, classifiers, buffers. The rules about PFC are in ``pfc``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.junos.lint.words import Words, as_number

if TYPE_CHECKING:
    from collections.abc import Iterator

COS = "class-of-service"
QUEUES = range(12)
"""The queues of the QFX5000 family: 0 to 7 for unicast, 8 to 11 for multicast."""

UNICAST_QUEUES = range(8)
PRIORITIES = frozenset({"low", "medium-low", "medium-high", "high", "strict-high", "low-latency"})
QFX5000_PRIORITIES = frozenset({"low", "strict-high"})
PARTITIONS = {
    "ingress": frozenset({"lossless", "lossless-headroom", "lossy"}),
    "egress": frozenset({"lossless", "lossy", "multicast"}),
}
CODE_POINT_BITS = {"dscp": 6, "dscp-ipv6": 6, "ieee-802.1": 3, "ieee-802.1ad": 4, "inet-precedence": 3, "exp": 3}
_ALIAS = re.compile(r"ef|be|nc[12]|cs[1-7]|af[1-4][1-3]")
"""The names that Junos has for code points (RFC 2474, RFC 2597, RFC 3246, and Junos's own be, nc1 and nc2)."""


@check(
    "junos-queue-number",
    why="the published model accepts any number; the switch has 8 unicast and 4 multicast queues",
    fix="use a queue from 0 to 7 for unicast classes, 8 to 11 for multicast",
)
def queue_number(root: Words) -> Iterator[str]:
    """The queue of a forwarding class exists, and a lossless class has a unicast queue.

    The models have no range for ``queue-num``.
    """
    for name, forwarding_class in root.at(COS, "forwarding-classes", "class").below.items():
        queue = as_number(forwarding_class.inside("queue-num"))
        if queue is None or queue not in QUEUES:
            yield f"forwarding class {name} has queue {forwarding_class.inside('queue-num')}"
        elif queue not in UNICAST_QUEUES and forwarding_class.inside("no-loss") is not None:
            yield f"lossless forwarding class {name} has the multicast queue {queue}"
    for name in root.names(COS, "forwarding-classes", "queue"):
        if as_number(name) not in QUEUES:
            yield f"forwarding-classes queue {name}"


@check(
    "junos-forwarding-class-form",
    why="commit rejects both forms together ('queue' and 'class' cannot coexist)",
    fix="use only `forwarding-classes class`",
)
def forwarding_class_form(root: Words) -> Iterator[str]:
    """Forwarding classes are all defined by ``class`` or all by ``queue``.

    Source: ``junos:must`` of class-of-service/forwarding-classes/class.
    """
    if root.has(COS, "forwarding-classes", "class") and root.has(COS, "forwarding-classes", "queue"):
        yield "forwarding-classes has both `class` and `queue` statements"


@check(
    "junos-queue-shared",
    why=(
        "a lossy class in a lossless queue is paused together with it, and packets of the lossless class can be dropped"
    ),
    fix="give each class its own queue",
)
def queue_shared(root: Words) -> Iterator[str]:
    """A lossless class shares its queue with no other class (this follows from the effect of PFC)."""
    classes = root.at(COS, "forwarding-classes", "class").below
    for name, words in classes.items():
        if words.inside("no-loss") is None:
            continue
        for other, another in classes.items():
            if other != name and another.inside("queue-num") == words.inside("queue-num"):
                yield f"forwarding class {other} shares queue {words.inside('queue-num')} with lossless class {name}"


@check(
    "junos-scheduler-priority",
    why="the published model accepts any text; commit or the packet forwarding engine rejects it",
    fix="use low or strict-high",
)
def scheduler_priority(root: Words) -> Iterator[str]:
    """The priority of a scheduler is a value that the command reference lists.

    ``priority`` is a free string in the models.
    """
    for (*_, name, _, priority), _ in root.every(COS, "schedulers", "*", "priority", "*"):
        if priority not in PRIORITIES:
            yield f"scheduler {name} has priority {priority!r}"


@check(
    "junos-scheduler-priority-platform",
    "warning",
    why="according to the command reference, QFX5000 does not have the priorities medium, high and low-latency",
    fix="use low or strict-high",
)
def scheduler_priority_platform(root: Words) -> Iterator[str]:
    """The priority of a scheduler is a value that the QFX5000 series supports.

    Source: command reference of ``priority`` (schedulers), which names the platforms of each value.
    """
    for (*_, name, _, priority), _ in root.every(COS, "schedulers", "*", "priority", "*"):
        if priority in PRIORITIES - QFX5000_PRIORITIES:
            yield f"scheduler {name} has priority {priority}"


@check("junos-scheduler-rates", why="commit rejects these together", fix="keep one of them")
def scheduler_rates(root: Words) -> Iterator[str]:
    """A scheduler with a capped transmit rate has neither a shaping rate nor an excess rate, and a strict-high one has no excess rate.

    Source: ``junos:must`` of class-of-service/schedulers/{excess-rate,excess-priority,shaping-rate}.
    """
    for (*_, name), scheduler in root.every(COS, "schedulers", "*"):
        capped = next(
            (word for word in ("exact", "rate-limit") if scheduler.at("transmit-rate").inside(word) is not None), None
        )
        for excess in ("excess-rate", "excess-priority"):
            if scheduler.has(excess) and capped:
                yield f"scheduler {name} has {excess} and transmit-rate {capped}"
            if scheduler.has(excess) and scheduler.value("priority") == "strict-high":
                yield f"scheduler {name} has {excess} and priority strict-high"
        if scheduler.has("shaping-rate") and capped:
            yield f"scheduler {name} has shaping-rate and transmit-rate {capped}"


@check(
    "junos-transmit-rate",
    why="the sum of guaranteed rates must not exceed the port's rate",
    fix="reduce the guaranteed rates of the scheduler map to a sum of at most 100 percent",
)
def transmit_rate(root: Words) -> Iterator[str]:
    """The guaranteed rates of a scheduler map add up to at most 100 percent. Strict-high queues are served first and do not count."""
    for (*_, name), scheduler_map in root.every(COS, "scheduler-maps", "*"):
        used = {path[-1] for path, _ in scheduler_map.every("forwarding-class", "*", "scheduler", "*")}
        rates = [
            root.number(COS, "schedulers", scheduler, "transmit-rate", "percent") or 0
            for scheduler in used
            if root.value(COS, "schedulers", scheduler, "priority") != "strict-high"
        ]
        if sum(rates) > 100:
            yield f"the transmit rates of scheduler map {name} add up to {sum(rates)} percent"


@check(
    "junos-code-point",
    why="the published models accept any text; an invalid code point classifies no packets",
    fix="write the bits (011010 is DSCP 26), or a DiffServ name such as af31",
)
def code_point(root: Words) -> Iterator[str]:
    """Code points of classifiers, rewrite rules and PFC profiles are names, or have the correct number of bits."""
    aliases = {path[-1] for path, _ in root.every(COS, "code-point-aliases", "*", "*")}
    for word in ("classifiers", "rewrite-rules"):
        for kind, bits in CODE_POINT_BITS.items():
            pattern = ("*", "forwarding-class", "*", "loss-priority", "*")
            for (name, *_), rules in root.at(COS, word, kind).every(*pattern):
                for value in (*rules.names("code-points"), *rules.names("code-point")):
                    if not (_bits(value, bits) or value in aliases or _ALIAS.fullmatch(value)):
                        yield f"{word} {kind} {name} has code point {value!r}, which is not {bits} bits"
    for (*_, profile, _, kind, _, value), _ in root.every(
        COS, "congestion-notification-profile", "*", "*", "*", "code-point", "*"
    ):
        bits = CODE_POINT_BITS.get(kind, 3)
        if not _bits(value, bits):
            yield f"congestion-notification-profile {profile} has {kind} code point {value!r}, which is not {bits} bits"


def _bits(value: str, count: int) -> bool:
    return len(value) == count and set(value) <= {"0", "1"}


@check("junos-code-point-twice", why="a packet can be in only one class", fix="list the code point in only one class")
def code_point_twice(root: Words) -> Iterator[str]:
    """A classifier assigns each code point to only one class (this follows from the meaning of a classifier)."""
    for kind in CODE_POINT_BITS:
        for name, classifier in root.at(COS, "classifiers", kind).below.items():
            seen: dict[str, str] = {}
            for (_, class_name, *_, value), _ in classifier.every(
                "forwarding-class", "*", "loss-priority", "*", "code-points", "*"
            ):
                if seen.setdefault(value, class_name) != class_name:
                    yield f"classifier {kind} {name} has {value} in {seen[value]} and in {class_name}"


@check(
    "junos-classifier-empty",
    why="commit rejects it: a classifier needs a forwarding class or an import",
    fix="classify a code point in it, or remove the classifier",
)
def classifier_empty(root: Words) -> Iterator[str]:
    """Every classifier and rewrite rule has a forwarding class or an import.

    Source: ``junos:must`` of every kind of classifier and rewrite rule.
    """
    for word in ("classifiers", "rewrite-rules"):
        for kind in CODE_POINT_BITS:
            for name, rules in root.at(COS, word, kind).below.items():
                if not (rules.has("forwarding-class") or rules.has("import")):
                    yield f"{word} {kind} {name} has neither a forwarding class nor an import"


@check("junos-cos-interface", why="commit rejects these together on one interface", fix="keep one of them")
def cos_interface(root: Words) -> Iterator[str]:
    """An interface does not combine a classifier with a forwarding class, several kinds of scheduling, or several rewrite rules for one header.

    Source: ``junos:must`` of class-of-service/interfaces/interface and of its ``rewrite-rules``.
    """
    for (*_, name), interface in root.every(COS, "interfaces", "*"):
        for first, second in (("forwarding-class", "classifiers"), ("scheduler-map", "forwarding-class-set")):
            if interface.has(first) and interface.has(second):
                yield f"interface {name} has {first} and {second}"
        for path, rules in interface.every("**", "rewrite-rules"):
            for first, second in (("dscp", "inet-precedence"), ("dscp-ipv6", "inet6-precedence")):
                if rules.has(first) and rules.has(second):
                    yield f"interface {' '.join((name, *path))} has {first} and {second}"
        if interface.has("scheduler-map") and any(True for _ in interface.every("unit", "*", "scheduler-map")):
            yield f"interface {name} has a scheduler-map on itself and on a unit"


@check(
    "junos-drop-profile",
    why="the fill levels of a drop profile must rise",
    fix="list the fill levels in rising order, and probabilities that do not fall",
)
def drop_profile(root: Words) -> Iterator[str]:
    """The fill levels and the drop probabilities of an interpolated drop profile never decrease (command reference of ``interpolate``)."""
    for (*_, name, _), profile in root.every(COS, "drop-profiles", "*", "interpolate"):
        for word in ("fill-level", "drop-probability"):
            values = [as_number(value) for value in profile.names(word)]
            known = [value for value in values if value is not None]
            if known != sorted(known) or len(known) < len(values):
                yield f"drop profile {name} has {word} {' '.join(profile.names(word))}"


@check(
    "junos-buffer-partition",
    why="the published model accepts any name; the switch has three partitions in each direction",
    fix="ingress: lossless, lossless-headroom, lossy; egress: lossless, lossy, multicast",
)
def buffer_partition(root: Words) -> Iterator[str]:
    """The partitions of the shared buffer have names that the command reference lists.

    The names are free text in the models.
    """
    for direction, known in PARTITIONS.items():
        for name in root.names(COS, "shared-buffer", direction, "buffer-partition"):
            if name not in known:
                yield f"shared-buffer {direction} has no partition {name!r}"


@check(
    "junos-buffer-total",
    why="the sum of the ingress partitions must be 100 percent, and that of the egress partitions at most 100 percent",
    fix="change the percentages so that their sum is 100",
)
def buffer_total(root: Words) -> Iterator[str]:
    """The ingress partitions of the shared buffer add up to 100 percent, and the egress partitions to at most 100.

    The command reference requires exactly 100 percent for both. Juniper's own QFX5240 configuration, however, has an egress
    total of 76 percent, without a partition for multicast.
    """
    for direction in PARTITIONS:
        partitions = root.at(COS, "shared-buffer", direction, "buffer-partition")
        if not partitions.below:
            continue
        total = sum(partition.number("percent") or 0 for partition in partitions.below.values())
        if total > 100 or (direction == "ingress" and total != 100):
            yield f"the {direction} partitions of the shared buffer add up to {total} percent"


@check(
    "junos-multicast-none",
    "warning",
    why=(
        "without shared buffer, multicast, broadcast and frames to unknown addresses are dropped when a port is "
        "busy, and with them ARP, neighbor discovery and router advertisements"
    ),
    fix="give the partition some percent, or remove it, as in the published configurations",
)
def multicast_none(root: Words) -> Iterator[str]:
    """The egress partition of multicast is not 0 percent (command reference: broadcast and unknown unicast also use it)."""
    if root.number(COS, "shared-buffer", "egress", "buffer-partition", "multicast", "percent") == 0:
        yield "the egress partition of multicast has 0 percent of the shared buffer"
