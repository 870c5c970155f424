"""Derivation of QoS: traffic classes by number, PFC, queues, ECN marking, buffers, the PFC watchdog, and load balancing over next-hop groups.

In EOS, traffic classes have numbers; in the design, they have names. A class gets the name that the default design uses
for the same function (``no-loss``, ``cnp``, ``network-control``, ``best-effort``). All other classes are named
``class-`` and the number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.device.balancing import BalancingConfig, Dlb
from railweave.model.device.model import Marking, PfcProfile, QosConfig
from railweave.model.device.qos_model import Buffers, Ecn, TrafficClass, Watchdog
from railweave.systems.eos.read.values import number, numbers
from railweave.systems.eos.render.qos import DEFAULT_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.model.config.addresses import Family
    from railweave.model.config.sections import SectionReader, SelectedLine

QUEUES = 7
"""The highest number of a queue, traffic class or PFC priority."""

PROFILE = "pfc"
"""The name of the PFC profile of all ports with PFC. One profile is enough, because EOS has the same headroom for all ports."""

_CNP, _CONTROL, _DSCPS = 48, 56, 64
_UNITS = {"bytes": 1, "kbytes": 1000, "mbytes": 1_000_000}
_SECONDS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_FRACTION = re.compile(r"(?:1/)?([0-9]{1,3})")
_GUARANTEED = re.compile(r"bandwidth guaranteed percent 1")
_MARKS = (
    "random-detect ecn minimum-threshold <low> <unit> maximum-threshold <high> <more> max-mark-probability <most> **"
)


@dataclass
class _Queue:
    strict: bool | None = None
    share: int | None = None
    marking: Marking | None = None


@dataclass
class _Profile:
    """A QoS profile.

    - ``pauses``: True if PFC is on.
    - ``watched``: True if the PFC watchdog is on.
    - ``lossless``: the PFC priorities whose packets are not dropped.
    - ``queues``: the queues, by number.
    """

    pauses: bool = False
    watched: bool = False
    lossless: list[int] = field(default_factory=list[int])
    queues: dict[int, _Queue] = field(default_factory=dict[int, _Queue])


@dataclass
class QosProfiles:
    """The QoS profiles of a switch. ``found`` has them by name."""

    found: dict[str, _Profile]

    def pauses(self, name: str, *, otherwise: bool) -> bool:
        """Return True if the profile of this name enables PFC. Return ``otherwise`` if the switch has no profile with PFC."""
        if not any(profile.pauses for profile in self.found.values()):
            return otherwise
        return name in self.found and self.found[name].pauses


def profiles(reader: SectionReader) -> QosProfiles:
    """Return the QoS profiles of the configuration. ``reader`` has the lines of the configuration."""
    by_name: dict[str, _Profile] = {}
    for header in reader.each("qos profile <name>"):
        profile = by_name.setdefault(header["name"], _Profile())
        on = reader.last("** priority-flow-control on", below=header)
        profile.watched = reader.last("priority-flow-control pause watchdog", below=header) is not None
        profile.pauses = on is not None and on.line.startswith("priority")
        for line in reader.each("priority-flow-control priority <number> no-drop", below=header):
            value = number(line["number"], 0, QUEUES)
            if value is None:
                reader.mark_unknown(line)
            else:
                profile.lossless.append(value)
        for form in ("uc-tx-queue <number>", "tx-queue <number>"):
            for line in reader.each(form, below=header):
                value = number(line["number"], 0, QUEUES)
                if value is None:
                    reader.mark_unknown(line)
                else:
                    profile.queues[value] = _queue(reader, line)
        # If a queue has a bandwidth share, so have all queues with lower numbers; the others are strict (EOS user manual, "priority (QoS)").
        sharing = [at for at, queue in profile.queues.items() if queue.strict is False]
        for at, queue in profile.queues.items():
            if queue.strict is None:
                queue.strict = at > max(sharing, default=QUEUES)
    return QosProfiles(by_name)


def _queue(reader: SectionReader, below: SelectedLine) -> _Queue:
    queue = _Queue()
    for line in reader.each("priority strict", below=below):
        queue.strict = bool(line.line)
    for _ in reader.each("no priority", below=below):
        queue.strict = False
    for line in reader.each("bandwidth guaranteed **", below=below):
        if not _GUARANTEED.fullmatch(line.line):  # a guarantee of 1 % only enables the watchdog
            reader.mark_unknown(line)
    for form in ("bandwidth percent <share>", "shape rate <share> percent"):
        for line in reader.each(form, below=below):
            queue.share = number(line["share"], 0, 100)
            if queue.share is None:
                reader.mark_unknown(line)
    for line in reader.each(_MARKS, below=below):
        low, high, most = (number(line[word], 0, 10**9) for word in ("low", "high", "most"))
        unit, more = _UNITS.get(line["unit"]), _UNITS.get(line["more"])
        weight = line.line.split()[-2:] if "weight" in line.line else ["weight", "0"]
        if low is None or high is None or most is None or unit is None or more is None or weight != ["weight", "0"]:
            reader.mark_unknown(line)
        else:
            queue.marking = Marking(low * unit, high * more, most)
    return queue


def qos(reader: SectionReader, known: QosProfiles, bound: Mapping[str, str]) -> QosConfig | None:
    """Return the QoS of a device, or None if no port has a QoS profile.

    - ``reader``: the lines of the configuration.
    - ``known``: the QoS profiles of the switch.
    - ``bound``: the name of the profile of each port.
    """
    dscps = _dscps(reader)
    queue_of = _queues(reader)
    _marked(reader, dscps)
    thresholds = _Thresholds(reader)
    main = next(
        (known.found[name] for name in bound.values() if name in known.found and known.found[name].pauses), None
    )
    main = main or next((known.found[name] for name in bound.values() if name in known.found), None)
    watchdog = _watchdog(reader)
    monitored = reader.last("queue-monitor length") is not None
    if main is None:
        return None
    by_number: dict[int, TrafficClass] = {}
    default = _default(dscps, main)
    _leave_rest(reader, dscps, default)
    for group in sorted({*dscps, *queue_of, *main.queues}):
        queue = queue_of.get(group, group)
        of_queue = main.queues.get(queue, _Queue())
        by_number[group] = TrafficClass(
            queue=queue,
            dscp=_named(dscps.get(group, ()), whole=group == default),
            lossless=group in main.lossless,
            pfc_priority=group if group in main.lossless else None,
            priority="strict-high" if of_queue.strict else "low",
            transmit_percent=of_queue.share,
            dynamic_threshold=thresholds.of_queue(queue),
            ecn=_ecn(of_queue.marking),
        )
    thresholds.mark_others_unknown(main.lossless, [traffic_class.queue for traffic_class in by_number.values()])
    names = dict(_names(by_number, default))
    paused = tuple(port for port, name in bound.items() if name in known.found and known.found[name].pauses)
    return QosConfig(
        classes={names[place]: traffic_class for place, traffic_class in by_number.items()},
        default_class=names.get(default, ""),
        marking={
            names[place]: marking
            for place, traffic_class in by_number.items()
            if (marking := main.queues.get(traffic_class.queue, _Queue()).marking)
        },
        buffers=Buffers(ingress_dynamic_threshold=thresholds.ingress),
        profiles=(PfcProfile(PROFILE, 0, 0, thresholds.headroom, paused),) if main.lossless and paused else (),
        xon_offset_cells=None,
        watchdog=watchdog if main.watched else None,
        buffer_monitor=monitored,
        ports=tuple(bound),
    )


def _dscps(reader: SectionReader) -> dict[int, tuple[int, ...]]:
    dscps: dict[int, tuple[int, ...]] = {}
    for line in reader.each("qos map dscp <values...> to traffic-class <number>"):
        group = number(line["number"], 0, QUEUES)
        values = numbers(",".join(line["values"].split()), _DSCPS - 1)
        if group is None or values is None:
            reader.mark_unknown(line)
        else:
            dscps[group] = tuple(sorted({*dscps.get(group, ()), *values}))
    return dscps


def _leave_rest(reader: SectionReader, dscps: Mapping[int, tuple[int, ...]], default: int) -> None:
    """Mark the DSCP lines of the default class as not understood if the class has many DSCPs, but some DSCPs belong to no class.

    A default class with more than a quarter of all DSCPs stands for "all others" in ``DeviceConfig``. For a DSCP without a line, EOS itself
    chooses the class. ``dscps`` has the DSCPs of each traffic class. ``reader`` has the lines of the configuration.
    """
    rest = dscps.get(default, ())
    others = [dscp for group, values in dscps.items() if group != default for dscp in values]
    if len(rest) > _DSCPS // 4 and sorted((*rest, *others)) != list(range(_DSCPS)):
        for line in reader.each("qos map dscp <values...> to traffic-class <number>"):
            if line["number"] == str(default):
                reader.mark_unknown(line)


def _queues(reader: SectionReader) -> dict[int, int]:
    queues: dict[int, int] = {}
    for line in reader.each("qos map traffic-class <groups...> to uc-tx-queue|tx-queue <number>"):
        groups, queue = numbers(",".join(line["groups"].split()), QUEUES), number(line["number"], 0, QUEUES)
        if groups is None or queue is None:
            reader.mark_unknown(line)
        else:
            queues |= dict.fromkeys(groups, queue)
    return queues


def _marked(reader: SectionReader, dscps: Mapping[int, tuple[int, ...]]) -> None:
    """Read the lines that set the DSCP in the header of tunnels, by traffic class. ``dscps`` has the DSCPs of each class.

    A line is marked as not understood unless it sets the lowest DSCP of the class. ``reader`` has the lines of the configuration.
    """
    for line in reader.each("qos map traffic-class <groups...> to dscp <value>"):
        groups, value = numbers(",".join(line["groups"].split()), QUEUES), number(line["value"], 0, _DSCPS - 1)
        if groups is None or any(value != min(dscps.get(group, ()), default=None) for group in groups):
            reader.mark_unknown(line)


def _default(dscps: Mapping[int, tuple[int, ...]], main: _Profile) -> int:
    """Return the traffic class of unmarked packets: the class of DSCP 0 or, if no class has DSCP 0, the first lossy class.

    ``dscps`` has the DSCPs of each traffic class. ``main`` is the QoS profile of most ports.
    """
    zero = next((group for group, values in dscps.items() if 0 in values), None)
    lossy = next((queue for queue in sorted(main.queues) if queue not in main.lossless), -1)
    return lossy if zero is None else zero


def _named(values: tuple[int, ...], *, whole: bool) -> tuple[int, ...]:
    """Return the DSCPs that ``DeviceConfig`` lists for a class: ``values``, or only DSCP 0 for a default class that has many.

    ``whole`` is True for the default class. More than a quarter of all DSCPs are many.
    """
    return (0,) if whole and len(values) > _DSCPS // 4 else values


def _ecn(marking: Marking | None) -> Ecn | None:
    """Return the ECN thresholds of a class as in the design, or None if ``marking`` is None. Thresholds that equal EOS's defaults are left out."""
    if marking is None:
        return None
    default = catalog().systems["eos"].marking
    if default and (default.min_bytes, default.max_bytes, default.max_probability) == (
        marking.first,
        marking.last,
        marking.probability,
    ):
        return Ecn()
    return Ecn(max_probability=marking.probability, min_bytes=marking.first, max_bytes=marking.last)


def _names(classes: Mapping[int, TrafficClass], default: int) -> Iterator[tuple[int, str]]:
    """Yield (number, name) of each traffic class. The name shows the function of the class, for example ``no-loss``.

    If several classes have the same function, only the first gets that name. ``default`` is the number of the default class.
    """
    taken: set[str] = set()
    for place, traffic_class in classes.items():
        name = f"class-{place}"
        if traffic_class.lossless:
            name = "no-loss"
        elif place == default:
            name = "best-effort"
        elif traffic_class.priority == "strict-high" or _CNP in traffic_class.dscp:
            name = "cnp"
        elif _CONTROL in traffic_class.dscp:
            name = "network-control"
        if name in taken:
            name = f"class-{place}"
        taken.add(name)
        yield place, name


class _Thresholds:
    """The settings of ``platform trident mmu``: headroom, and the thresholds of priority groups and queues."""

    def __init__(self, reader: SectionReader) -> None:
        self.headroom = 0
        self.ingress = DEFAULT_THRESHOLD
        self._queues: dict[int, int] = {}
        self._taking = reader
        self._lines: list[tuple[str, int | None, SelectedLine]] = []
        applied = {line["name"] for line in reader.each("platform trident mmu queue profile <name> apply")}
        for header in reader.each("platform trident mmu queue profile <name>"):
            if header["name"] not in applied:  # the profile is not applied
                reader.mark_unknown(header)
                continue
            for line in reader.each("ingress headroom bytes <value>", below=header):
                self.headroom = number(line["value"]) or 0
            for line in reader.each("ingress priority-group <number> threshold <value>", below=header):
                value = _index(line["value"])
                self._lines.append(("ingress", number(line["number"], 0, QUEUES), line))
                self.ingress = self.ingress if value is None else value
                if value is None:
                    reader.mark_unknown(line)
            for line in reader.each("egress unicast queue <number> threshold <value>", below=header):
                queue, value = number(line["number"], 0, QUEUES), _index(line["value"])
                self._lines.append(("egress", queue, line))
                if queue is None or value is None:
                    reader.mark_unknown(line)
                else:
                    self._queues[queue] = value

    def mark_others_unknown(self, groups: Collection[int], queues: Collection[int]) -> None:
        """Mark the thresholds of all priority groups except ``groups``, and of all queues except ``queues``, as not understood."""
        for way, place, line in self._lines:
            if place not in (groups if way == "ingress" else queues):
                self._taking.mark_unknown(line)

    def of_queue(self, queue: int) -> int | None:
        """Return the index of a queue's dynamic threshold, or None if it is the default."""
        index = self._queues.get(queue, DEFAULT_THRESHOLD)
        return None if index == DEFAULT_THRESHOLD else index


def _index(text: str) -> int | None:
    """Return the index of a dynamic buffer threshold such as ``1/128``, or None for other texts. Indexes 0 to 10 mean 1/128 to 8."""
    match = _FRACTION.fullmatch(text)
    value = int(match[1]) if match else 0
    power = value.bit_length() - 1
    if value < 1 or value != 1 << power:
        return None
    index = DEFAULT_THRESHOLD - power if text.startswith("1/") else DEFAULT_THRESHOLD + power
    return index if 0 <= index <= 10 else None


def _watchdog(reader: SectionReader) -> Watchdog | None:
    times: dict[str, int] = {}
    for line in reader.each("priority-flow-control pause watchdog default <word> <value>"):
        if _SECONDS.fullmatch(line["value"]) and line["word"] in {"timeout", "recovery-time", "polling-interval"}:
            times[line["word"]] = round(float(line["value"]) * 1000)
        else:
            reader.mark_unknown(line)
    action = reader.last("priority-flow-control pause watchdog action drop|notify-only")
    if not times and action is None:
        return None
    usual = Watchdog()
    poll = times.get("polling-interval") or usual.poll_interval
    kind: Literal["drop", "forward"] = "forward" if action and action.line.endswith("notify-only") else "drop"
    detection = round(times.get("timeout", poll * usual.detection) / poll)
    return Watchdog(poll, detection, times.get("recovery-time", usual.recovery), kind)


def balancing(reader: SectionReader, families: tuple[Family, ...]) -> BalancingConfig:
    """Return the load balancing over next-hop groups. ``families`` are the address families that the switch routes.

    A table size without ``distribution dynamic`` does not enable dynamic load balancing (AVD, description of ``flow_set_size``). ``reader``
    has the lines of the configuration.
    """
    distribution = "ip hardware fib load-balance distribution dynamic"
    dynamic = reader.last(distribution)
    sized = reader.last(f"{distribution} flow-set-size <value>")
    value = number(sized["value"], 1, 7) if sized else 1
    if sized is not None and value is None:
        reader.mark_unknown(sized)
    mode: Literal["ecmp", "dlb-flowlet"] = "dlb-flowlet" if dynamic else "ecmp"
    return BalancingConfig(group_mode=mode, ether_types=families, dlb=Dlb(flowset_table_size=128 << (value or 1)))
