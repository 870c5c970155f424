"""Checks of counters that increased between two captures: drops, then PFC, then ECN, as in the EVPN test report (Table 9).

A counter that decreased is ignored, because it was cleared or its device restarted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.counting import counted
from railweave.live.check.living import OF_CABLE, OF_COLOR, Deviation, NetworkStates, Part
from railweave.live.check.ports import of_port
from railweave.model.findings.registry import Rule
from railweave.model.state.ports import InterfaceState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import Port, Queues
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.ports import PortQueues


Kind = Literal["drops", "pauses", "marks", "errors"]
"""The kind of a counter.

- ``drops``: packets dropped in lossless classes.
- ``pauses``: PFC frames.
- ``marks``: packets marked with ECN.
- ``errors``: damaged frames, damaged codewords and resource errors.
"""


Counter = Literal[
    "queue-drops", "input-drops", "marks", "pauses", "damaged-frames", "uncorrected-codewords", "resource-errors"
]
"""The name of a counter. For ``railweave check --allow-unseen``, ``counters-`` is put before the name, as in ``counters-marks``."""
_KINDS: dict[Counter, Kind] = {
    "queue-drops": "drops",
    "input-drops": "drops",
    "marks": "marks",
    "pauses": "pauses",
    "damaged-frames": "errors",
    "uncorrected-codewords": "errors",
    "resource-errors": "errors",
}


@dataclass(frozen=True, slots=True)
class CounterRise:
    """The rise of a counter of a port between two captures.

    ``what`` describes the counter; ``count`` is the rise, None if it is unknown.
    """

    device: str
    port: str
    what: str
    count: int | None
    name: Counter

    @property
    def kind(self) -> Kind:
        """The kind of the counter, such as ``drops``."""
        return _KINDS[self.name]

    def __str__(self) -> str:
        return f"{self.device} {self.port}: {self.what}{'' if self.count is None else f' rose by {self.count:,}'}"


def rises(expected: Expected, then: DeviceState, now: DeviceState) -> Iterator[CounterRise]:
    """Yield the rise of every counter of a switch's ports and lossless queues, including rises of zero.

    ``expected`` is the switch's designed state. ``then`` and ``now`` are the earlier and the present state of the switch.
    """
    queues = {each.port: each for each in expected.queues}
    for port in expected.ports:
        yield from _errors(expected.device, port.name, then, now)
        if port.name in queues:
            yield from _lossless(expected.device, queues[port.name], then, now)
            yield from _pause_rises(expected.device, port, queues[port.name], then, now)


def total(increases: Iterable[CounterRise], kind: Kind) -> int | None:
    """Return the sum of ``increases`` over all counters of a kind, or None if no rise of this kind is known."""
    known = [rise.count for rise in increases if rise.kind == kind and rise.count is not None]
    return sum(known) if known else None


def worst(increases: Iterable[CounterRise], kind: Kind) -> CounterRise | None:
    """Return the counter of a kind in ``increases`` that rose most, or None if none rose."""
    risen = [rise for rise in increases if rise.kind == kind and rise.count]
    return max(risen, key=lambda rise: rise.count or 0, default=None)


def _rise(then: int | None, now: int | None) -> int | None:
    return None if then is None or now is None or now < then else now - then


def _errors(device: str, port: str, then: DeviceState, now: DeviceState) -> Iterator[CounterRise]:
    was, has = (of_port(state.interfaces or {}, port) or InterfaceState(port) for state in (then, now))
    # Some systems count CRC errors among all that arrived damaged, and not by themselves.
    crc = has.errors.in_crc is not None
    damaged = (was.errors.in_crc, has.errors.in_crc) if crc else (was.errors.in_errors, has.errors.in_errors)
    yield CounterRise(device, port, "CRC errors" if crc else "input errors", _rise(*damaged), "damaged-frames")
    codewords = _rise(was.fec.uncorrected, has.fec.uncorrected)
    yield CounterRise(device, port, "FEC codewords that were not corrected", codewords, "uncorrected-codewords")
    yield CounterRise(
        device,
        port,
        "resource errors",
        _rise(was.errors.in_resource, has.errors.in_resource),
        "resource-errors",
    )


def _lossless(device: str, wanted: Queues, then: DeviceState, now: DeviceState) -> Iterator[CounterRise]:
    was, has = (of_port(state.queues or {}, wanted.port) for state in (then, now))
    for number, priority in wanted.lossless.items():
        old, new = (queues.egress.get(number) if queues else None for queues in (was, has))
        dropped = _rise(old.dropped, new.dropped) if old and new else None
        marked = _rise(old.ecn_marked, new.ecn_marked) if old and new else None
        yield CounterRise(device, wanted.port, f"packets dropped by queue {number}", dropped, "queue-drops")
        yield CounterRise(device, wanted.port, f"packets marked by queue {number}", marked, "marks")
        before, after = (queues.ingress.get(priority) if queues else None for queues in (was, has))
        lost = _rise(before.dropped, after.dropped) if before and after else None
        yield CounterRise(device, wanted.port, f"packets of priority {priority} dropped on input", lost, "input-drops")


def _pause_rises(device: str, port: Port, wanted: Queues, then: DeviceState, now: DeviceState) -> Iterator[CounterRise]:
    """Yield the rise of PFC frames that the switch sent on a port, and of those that it received from a server.

    Frames received from another switch are counted at that switch, so each frame counts once. ``wanted`` has the designed lossless
    priorities. ``then`` and ``now`` are the states of the switch in the earlier and in the present capture.
    """
    was, has = (of_port(state.pfc or {}, port.name) or {} for state in (then, now))
    for priority in wanted.lossless.values():
        old, new = was.get(priority), has.get(priority)
        sent = _rise(old.sent, new.sent) if old and new else None
        yield CounterRise(device, port.name, f"PFC frames of priority {priority} sent", sent, "pauses")
        if port.kind == "server":
            received = _rise(old.received, new.received) if old and new else None
            yield CounterRise(
                device, port.name, f"PFC frames of priority {priority} from the server", received, "pauses"
            )


UNEQUAL = 1.5
"""The ratio of packets on the busiest path color to packets on the least busy path color, above which the load is unequal."""
LEAST_PACKETS = 100_000
"""The smallest number of packets between two captures for which the loads of path colors are compared."""

DROPS = Rule(
    "lossless-drops",
    "error",
    "living",
    "A lossless queue dropped packets between two captures.",
    why="after a loss, RDMA sends the lost packet and all later packets again",
    fix="reduce the fill level at which ECN marking starts, so that senders slow down before pauses and drops",
    asked=("qos.classes",),
)
INPUT_DROPS = Rule(
    "lossless-input-drops",
    "error",
    "living",
    "Packets of a lossless class were dropped at ingress between two captures, because the buffer was full.",
    why="the ingress buffer overflows, which PFC should prevent",
    fix=(
        "increase the lossless share of the buffer; if it is as designed, reduce the fill level at which ECN "
        "marking starts"
    ),
    asked=("qos.buffers.lossless",),
)
RESOURCE = Rule(
    "resource-errors",
    "error",
    "living",
    "A port counted resource errors between two captures.",
    why="headroom is too small for the real cables: packets in flight when a pause is sent do not fit",
    fix="increase the headroom share of the buffer, or measure the cables and write their lengths into the inventory",
    asked=("qos.buffers.headroom",),
)
STORM = Rule(
    "watchdog-storm",
    "error",
    "living",
    "The PFC watchdog found a queue that a neighbor paused without interruption.",
    why=(
        "a neighbor that sends pauses without interruption, such as a hung server or a faulty NIC, stops all "
        "traffic behind it"
    ),
    fix="check the neighbor of the port: restart its NIC, or take it out of service",
    asked=("qos.pfc.watchdog",),
)
PFC = Rule(
    "pfc-without-ecn",
    "warning",
    "living",
    "A port sent or received pauses, but marked no packets with ECN.",
    why=(
        "ECN should slow senders down before PFC pauses them, because PFC also stops traffic that does not cause "
        "the congestion"
    ),
    fix="reduce the fill level at which ECN marking starts, until pauses no longer occur",
    asked=("qos.classes",),
)
SERVER = Rule(
    "server-pauses",
    "warning",
    "living",
    "A server paused its leaf.",
    why="the server's NIC or PCIe bus cannot receive packets fast enough, and the whole job waits for this server",
    fix="run `railweave host check` on the server, and look at PCIe width and speed, and GPUDirect RDMA",
    asked=("qos.pfc.ports",),
)
ECN = Rule(
    "ecn-without-pfc",
    "info",
    "living",
    "A port marked packets with ECN, but sent and received no pauses.",
    why="senders slow down before the buffer is full, as designed; marking later may increase throughput",
    fix=(
        "if jobs are slower than predicted, increase the fill level until pauses occur, then reduce it in steps "
        "of 5 until they stop"
    ),
    asked=("qos.classes",),
)
ERRORS = Rule(
    "bit-errors",
    "warning",
    "living",
    "A port counted uncorrected bit errors between two captures.",
    why="each such error loses a packet, and RDMA sends this packet and all later packets again",
    fix="clean the connectors; if errors continue, replace the module or the cable",
    asked=(".cabling.{cabling}.optic",),
)
FLAPS = Rule(
    "link-flaps",
    "warning",
    "living",
    "A link went down and came up again between two captures.",
    why="each time, queue pairs move to other links, and a job may fail after a timeout",
    fix=(
        "clean the connectors, then replace the module or the cable; check whether the device at the other end "
        "restarted"
    ),
    asked=OF_CABLE,
)
COLORS = Rule(
    "colors-unequal",
    "warning",
    "living",
    "The path colors of a leaf have unequal load.",
    why="a collective ends only when its busiest path color has sent all data",
    fix=(
        "look at the paths of the job's queue pairs with `railweave paths`, and at the number of queue pairs per "
        "connection"
    ),
    asked=OF_COLOR,
)

STATES = (STORM,)
"""The rules of this module that need only one capture, because they look at the present state. The other rules compare two captures."""
ORDER = (DROPS, INPUT_DROPS, RESOURCE, STORM, PFC, SERVER, ECN, ERRORS, FLAPS, COLORS)
"""The rules, in the order in which to fix their findings.

In another order, fixes would undo each other: fewer PFC pauses require later marking, fewer drops require earlier
marking.
"""


def counters(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for every counter of a port that rose since the earlier capture, in the order in which to fix them.

    ``living`` has the expected and the reported states.
    """
    yield from sorted(_counters(living), key=lambda deviation: ORDER.index(deviation.rule))


def _counters(living: NetworkStates) -> Iterator[Deviation]:
    for expected, now in living.pairs():
        then = living.before.get(expected.device)
        queues = {each.port: each for each in expected.queues}
        for port in expected.ports:
            deviations = [] if then is None else [*_wires(port, then, now)]
            if port.name in queues:
                deviations += [] if then is None else _congestion(port, queues[port.name], then, now)
                deviations += _storms(port.name, then, now)
            for rule, description in deviations:
                link = port.link if rule is FLAPS else ""
                needs: frozenset[Part] = frozenset([("link", port.link)]) if rule is FLAPS else frozenset()
                text = f"{port.name}: {description}"
                yield Deviation(rule, expected.device, text, port.because, port.name, link, needs=needs)
        if then is not None:
            yield from _colors(expected, then, now)


def _wires(port: Port, then: DeviceState, now: DeviceState) -> Iterator[tuple[Rule, str]]:
    was, has = (of_port(state.interfaces or {}, port.name) for state in (then, now))
    if was is None or has is None:
        return
    if flaps := _rise(was.flaps, has.flaps):
        yield FLAPS, f"changed {counted(flaps, 'time')} between up and down"
    bad = {
        "CRC errors": _rise(was.errors.in_crc, has.errors.in_crc),
        # Some systems count CRC errors among all that arrived damaged, and not by themselves.
        "input errors": _rise(was.errors.in_errors, has.errors.in_errors) if has.errors.in_crc is None else None,
        "codewords that were not corrected": _rise(was.fec.uncorrected, has.fec.uncorrected),
    }
    error_texts = [f"{count:,} {name}" for name, count in bad.items() if count]
    if error_texts:
        yield ERRORS, " and ".join(error_texts)
    if count := _rise(was.errors.in_resource, has.errors.in_resource):
        yield RESOURCE, f"{count:,} resource errors"


def _congestion(port: Port, wanted: Queues, then: DeviceState, now: DeviceState) -> Iterator[tuple[Rule, str]]:
    was, has = (of_port(state.queues or {}, port.name) for state in (then, now))
    paused = {number: _pauses(port.name, priority, then, now) for number, priority in wanted.lossless.items()}
    for number, priority in wanted.lossless.items():
        fills = wanted.marked.get(number)
        level = f"; ECN begins at {fills.min_fill} % here" if fills else ""
        dropped, marked, input_dropped = _queue(was, has, number, priority)
        received, sent = paused[number]
        if dropped:
            yield DROPS, f"queue {number} dropped {counted(dropped, 'packet')}{level}"
        if input_dropped:
            share = f"; the lossless share is {wanted.buffers.lossless} % here"
            yield INPUT_DROPS, f"priority {priority} dropped {counted(input_dropped, 'packet')} on input{share}"
        if received and port.kind == "server":
            yield SERVER, f"the server sent {counted(received, 'PFC frame')} of priority {priority}"
        elif (received or sent) and marked == 0:
            yield (
                PFC,
                f"{received or 0:,} PFC frames received and {sent or 0:,} sent of priority {priority}, nothing marked{level}",
            )
        elif marked and not received and not sent and not dropped:
            yield ECN, f"queue {number} marked {counted(marked, 'packet')}, no PFC{level}"


def _storms(port: str, then: DeviceState | None, now: DeviceState) -> Iterator[tuple[Rule, str]]:
    """Yield (rule, sentence) for each queue of a port with PFC storms since the earlier capture, or with a storm in progress.

    ``then`` and ``now`` are the states in the earlier and in the present capture. Storms in progress need only ``now``.
    """
    before = of_port((then.watchdog if then else None) or {}, port) or {}
    for queue, dog in (of_port(now.watchdog or {}, port) or {}).items():
        storms = _rise(before[queue].detected if queue in before else None, dog.detected)
        if storms or dog.storming:
            yield STORM, f"queue {queue}: " + (f"{counted(storms, 'storm')}" if storms else "a storm lasts")


def _queue(
    was: PortQueues | None, has: PortQueues | None, number: int, priority: int
) -> tuple[int | None, int | None, int | None]:
    """Return three rises of a lossless queue since the earlier capture, each None if unknown.

    - packets dropped from the queue ``number``
    - packets of this queue marked with ECN
    - packets of ``priority`` dropped on input

    ``was`` and ``has`` are the counters in the earlier and in the present capture.
    """
    if was is None or has is None:
        return None, None, None
    then, now = was.egress.get(number), has.egress.get(number)
    before, after = was.ingress.get(priority), has.ingress.get(priority)
    return (
        _rise(then.dropped, now.dropped) if then and now else None,
        _rise(then.ecn_marked, now.ecn_marked) if then and now else None,
        _rise(before.dropped, after.dropped) if before and after else None,
    )


def _pauses(port: str, priority: int, then: DeviceState, now: DeviceState) -> tuple[int | None, int | None]:
    was, has = ((of_port(state.pfc or {}, port) or {}).get(priority) for state in (then, now))
    if was is None or has is None:
        return None, None
    return _rise(was.received, has.received), _rise(was.sent, has.sent)


def _colors(expected: Expected, then: DeviceState, now: DeviceState) -> Iterator[Deviation]:
    lossless = {each.port: each.lossless for each in expected.queues}
    loads: dict[str, int] = {}
    for session in expected.sessions:
        port = session.session.interface
        was, has = (of_port(each.queues or {}, port) for each in (then, now))
        for number in lossless.get(port, {}):
            before, after = (each.egress.get(number) if each else None for each in (was, has))
            rise = _rise(before.sent, after.sent) if before and after else None
            if session.color and rise is not None:
                loads[session.color] = loads.get(session.color, 0) + rise
    if len(loads) < 2 or sum(loads.values()) < LEAST_PACKETS:
        return
    most, least = max(loads, key=loads.__getitem__), min(loads, key=loads.__getitem__)
    if loads[most] >= UNEQUAL * loads[least]:
        description = f"{most} carried {loads[most]:,} lossless packets, {least} {loads[least]:,}"
        yield Deviation(COLORS, expected.device, description, expected.sessions[0].because)
