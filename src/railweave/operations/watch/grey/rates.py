"""Rates of errors, marks and pauses of ports, and loads of equal paths, over the last ten minutes.

A finding needs two conditions: the port differs from the others, and its rate exceeds a floor below which no link is
worth a visit. Each finding gives the count on which it is based.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.counting import counted
from railweave.live.check.living import OF_COLOR
from railweave.live.check.ports import of_port, same_port
from railweave.model.findings.registry import Rule
from railweave.operations.watch.grey.peers import LEAST_PATHS, LEAST_PEERS, SPREADS, Suspect, medians, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.device.expected import Port
    from railweave.model.state.device_state import DeviceState
    from railweave.operations.watch.grey.peers import Flags, Numbers, PortKinds

FEC = Rule(
    "fec-rate-unusual",
    "warning",
    "living",
    "FEC corrects, or fails to correct, far more errors on a port than on ports of its kind.",
    why="the link loses its margin: once FEC cannot correct the errors, packets are lost and RDMA sends them again",
    fix="clean the connectors at both ends; then replace the module of either end, and the cable",
    asked=(".cabling.{cabling}.optic",),
)
CRC = Rule(
    "crc-rate-unusual",
    "warning",
    "living",
    "A port receives far more damaged frames for its traffic than ports of its kind.",
    why="each damaged frame is lost, and RDMA sends it and all later packets again",
    fix="clean the connectors at both ends; then replace the module of either end, and the cable",
    asked=(".cabling.{cabling}.optic",),
)

LOAD = Rule(
    "load-asymmetric",
    "warning",
    "living",
    "A port carries much less or much more than the other ports of its equal paths.",
    why="a collective waits for its slowest path, and the busiest port fills its queue first",
    fix="compare the hashing and the load-balancing table of the device with its configuration",
    asked=OF_COLOR,
)
ECN = Rule(
    "ecn-rate-unusual",
    "info",
    "living",
    "A port marks far more packets for its traffic than ports of its kind.",
    why="senders slow down because of this port: it is overloaded, or what it feeds is slow",
    fix="look at the jobs that send through the port, and at the server or switch at its other end",
    asked=("qos.classes",),
)
PFC = Rule(
    "pfc-rate-unusual",
    "warning",
    "living",
    "A port receives or sends far more PFC frames for its traffic than ports of its kind.",
    why="PFC stops traffic that does not cause the congestion, too",
    fix="check the device that sends the pauses: on a server, the NIC and PCIe bus; on a switch, its busiest port",
    asked=("qos.pfc.ports",),
)

SPAN_S = 600.0
"""The seconds over which counters are compared: long enough for ten errors of a bad link, short enough to see its repair."""
LEAST_S = 120.0
"""The fewest seconds between two readings of a counter for a verdict: two of the longest usual intervals of queries, 60 s."""
LEAST_BYTES = 10e9
"""The fewest bytes in the time for a verdict per byte: 2.4 million frames of 4 KiB, 0.2 s of a full 400G port."""
FACTOR = 10.0
"""The least ratio to the median of the others.

One dB less light multiplies the errors before FEC by ten or more, if noise of the receiver causes them. Healthy links
of a kind differ by less than that.
"""

BER_FLOOR = 1e-7
"""The bit error ratio before FEC from which a link counts as bad: the bound of ANTA's test of interfaces.

RS(544,514) needs less than 2.4e-4 (IEEE 802.3bs), so such a link still corrects all errors.
"""
BER_AFTER = 1e-13
"""The bit error ratio that IEEE 802.3bs permits after FEC (its objective for 200 and 400 Gb/s)."""
NOT_CORRECTED = BER_AFTER / 16
"""Uncorrected codewords per bit of the line: RS(544,514) corrects 15 symbols, so such a codeword has 16 errors or more.

For a 400G port, this is 10 codewords an hour.
"""
FRAMES = 8 * BER_AFTER
"""Damaged frames per received byte that IEEE 802.3bs permits: 0.8 per TB."""
MARKS = 0.01 / 4096
"""Marked packets per sent byte: one percent of packets of 4 KiB. DCQCN marks some packets on every busy port by design."""
PAUSES = 0.01 / (65535 * 64)
"""PFC frames per byte that stop a busy port for one percent of the time, at any speed.

A frame stops a port for at most 65,535 quanta of 512 bits (IEEE 802.1Qbb).
"""

UNEQUAL = 0.5
"""The least difference of a port's load from the median of its equal paths, as a part of the median.

The hash of a few large flows makes smaller differences on every network.
"""
LEAST_LOAD = 0.05
"""The least median load of equal paths, as a part of their speed. With less, single flows decide which port is busy."""

METRICS = ("in_bytes", "out_bytes", "damaged", "corrected", "uncorrected", "marked", "pauses_received", "pauses_sent")
"""The counters of a port that are kept. The last row of the kept numbers is the bit error ratio before FEC, which is no counter."""
BER = len(METRICS)


@dataclass(frozen=True, slots=True)
class RateKind:
    """A kind of grey failure that shows as a rate.

    - ``count``: the counter; None for the bit error ratio before FEC.
    - ``per``: the counter of bytes to divide by; empty for the bits that the line transfers at its speed.
    - ``floor``: the ratio below which nothing is reported.
    - ``least``: the fewest events in the time for a finding. Ten random events differ from none, but not from five.
    - ``text``: the sentence; {} becomes the number in the unit of ``scale``, which is 1 / (bytes or seconds or bits of the unit).
    """

    rule: Rule
    count: str | None
    per: str
    floor: float
    least: int
    text: str
    noun: str
    scale: float


KINDS = (
    RateKind(FEC, "uncorrected", "", NOT_CORRECTED, 10, "{} codewords per hour that FEC could not correct", "codeword", 3600),
    RateKind(FEC, "corrected", "", BER_FLOOR, 1000, "{} FEC-corrected codewords/s", "codeword", 1),
    RateKind(FEC, None, "", BER_FLOOR, 0, "{} bit errors per billion bits before FEC", "", 1e9),
    RateKind(CRC, "damaged", "in_bytes", FRAMES, 10, "{} damaged frames per TB received", "frame", 1e12),
    RateKind(ECN, "marked", "out_bytes", MARKS, 1000, "{} ECN-marked packets per GB sent", "packet", 1e9),
    RateKind(PFC, "pauses_received", "out_bytes", PAUSES, 100, "{} PFC frames received per GB sent", "frame", 1e9),
    RateKind(PFC, "pauses_sent", "in_bytes", PAUSES, 100, "{} PFC frames sent per GB received", "frame", 1e9),
)  # fmt: skip
"""The kinds of grey failures that are rates. If several kinds of one rule apply to a cable, the first is reported."""


@dataclass(slots=True)
class _Kept:
    """The counters at one time: a row for each metric. ``at`` has the time of each device's numbers."""

    time: float
    numbers: Numbers
    at: Numbers


class Counters:
    """The counters of all ports over the last ``span_s`` seconds, about a dozen readings.

    - ``now``: the last numbers, a row for each metric and a column for each port. NaN means unknown.
    - ``rises``: the rise of each counter over ``seconds``. NaN means unknown, or less than ``LEAST_S``.
    """

    def __init__(self, kinds: PortKinds, span_s: float) -> None:
        self._kinds = kinds
        self._span_s = span_s
        self._starts = np.array([part.start for part in kinds.slices.values()], np.intp)
        self._tables: dict[str, tuple[object, ...]] = {}
        self._at: Numbers = np.zeros(len(self._starts))
        self._kept: deque[_Kept] = deque()
        self.now: Numbers = np.full((BER + 1, len(kinds.ports)), np.nan)
        self.rises: Numbers = self.now[:BER].copy()
        self.seconds: Numbers = self.now[:BER].copy()

    def read(self, time: float, states: Mapping[str, DeviceState]) -> None:
        """Read the numbers of all devices at ``time``. A device's tables are not read again while they are the same objects.

        The time of a device's numbers is the time when any of them changed, because queries can be rarer than rounds.
        """
        before = self.now.copy()
        for number, (name, part) in enumerate(self._kinds.slices.items()):
            state = states.get(name)
            tables = (None,) * 3 if state is None else (state.interfaces, state.queues, state.pfc)
            last = self._tables.get(name)
            if last is None or any(old is not new for old, new in zip(last, tables, strict=True)):
                self._tables[name] = tables
                self.now[:, part] = _numbers(self._kinds.ports[part], state)
            if not self._at[number]:
                self._at[number] = time
        cleared = self.now[:BER] < before[:BER]
        if cleared.any():
            for kept in self._kept:
                kept.numbers[cleared] = np.nan
        changed = ((self.now != before) & np.isfinite(self.now)).any(axis=0)
        self._at[np.logical_or.reduceat(changed, self._starts)] = time
        self._rise(time)

    def _rise(self, time: float) -> None:
        numbers, device = self.now[:BER], self._kinds.device
        if self._kept and time < self._kept[-1].time:
            self._kept.clear()
        if not self._kept or time >= self._kept[-1].time + self._span_s / 10:
            self._kept.append(_Kept(time, numbers.copy(), self._at.copy()))
        while len(self._kept) > 1 and self._kept[1].time <= time - self._span_s:
            self._kept.popleft()
        then = self._kept[0].numbers.copy()
        since = np.broadcast_to(self._kept[0].at[device], then.shape).copy()
        for kept in list(self._kept)[1:]:
            hole = np.isnan(then) & np.isfinite(numbers)
            if not hole.any():
                break
            then[hole] = kept.numbers[hole]
            since[hole] = np.broadcast_to(kept.at[device], then.shape)[hole]
        self.seconds = self._at[device] - since
        self.rises = numbers - then
        self.rises[(self.seconds < LEAST_S) | (self.rises < 0)] = np.nan

    def rise(self, metric: str) -> tuple[Numbers, Numbers]:
        """Return the rise of a counter and the seconds of this rise, by port."""
        row = METRICS.index(metric)
        return self.rises[row], self.seconds[row]


def unusual_rates(kind: RateKind, rank: int, counters: Counters, kinds: PortKinds, suspects: list[Suspect]) -> Flags:
    """Return True for each port that is compared, and add the ports with an unusual rate to ``suspects``. ``rank`` is theirs."""
    unit = np.full(len(kinds.ports), kind.scale)
    if kind.count is None:
        ratio = rise = counters.now[BER]
        lasted = np.zeros(len(kinds.ports))
    else:
        rise, lasted = counters.rise(kind.count)
        if kind.per:
            carried, seconds = counters.rise(kind.per)
            carried = np.where(carried >= LEAST_BYTES, carried * lasted / seconds, np.nan)
        else:
            carried, unit = kinds.speed * lasted, kind.scale * kinds.speed
        ratio = rise / carried
    logs = np.log10(np.maximum(ratio, kind.floor / 1000))  # so that rates far below the floor count as equal
    median, spread, others = medians(logs, kinds.kind)
    compared = np.isfinite(logs) & (others >= LEAST_PEERS)
    limit = np.maximum(np.log10(kind.floor), median + np.maximum(np.log10(FACTOR), SPREADS * spread))
    unusual = compared & (logs >= limit) & ((rise >= kind.least) | (kind.count is None))
    for place in map(int, np.flatnonzero(unusual)):
        number = kind.text.format(shown(ratio[place] * unit[place]))
        usual, peers = kinds.peers(place, ratio, compared)
        text = f"{number}; {peers} is {shown(usual * unit[place])}"
        if kind.count is not None:
            text += f"; counted: {counted(int(rise[place]), kind.noun)} in {lasted[place] / 60:.0f} min"
        suspects.append(Suspect(place, rank, float(logs[place] - limit[place]), text, number))
    return compared


def asymmetric_loads(
    counters: Counters, kinds: PortKinds, states: Mapping[str, DeviceState], suspects: list[Suspect]
) -> Flags:
    """Return True for each port whose load is compared with its equal paths, and add ports with an unequal load to ``suspects``.

    A port whose BGP sessions are all down is left out, because the lost session is reported.
    """
    rise, seconds = counters.rise("out_bytes")
    load = 8 * rise / seconds
    median, spread, others = medians(load, kinds.paths)
    compared = np.isfinite(load) & (others >= LEAST_PATHS) & (median >= LEAST_LOAD * kinds.speed)
    far = np.abs(load - median) > np.maximum(UNEQUAL * median, SPREADS * spread)
    for place in map(int, np.flatnonzero(compared & far)):
        port = kinds.ports[place]
        state = states.get(port.device)
        if state is None or _without_session(state, port.name):
            continue
        peers = compared & (kinds.paths == kinds.paths[place])
        peers[place] = False
        usual = float(np.median(load[peers]))
        number = f"carries {shown(load[place] / 1e9)} Gb/s"
        text = (
            f"{number}, {100 * load[place] / usual:.0f} % of {shown(usual / 1e9)} Gb/s, the median of the "
            f"{int(peers.sum()):,} other equal paths; counted: {rise[place] / 1e9:,.0f} GB in {seconds[place] / 60:.0f} min"
        )
        suspects.append(Suspect(place, 0, abs(float(load[place]) - usual) / usual, text, number))
    return compared


def _numbers(ports: Sequence[Port], state: DeviceState | None) -> Numbers:
    """Return the metrics of a device's ports, a column for each port.

    NaN means that the device gave no number, that the port is down, or that its state is odd.
    """
    try:
        numbers = np.array([_of_port(port.name, state) for port in ports], np.float64).T
    except (AttributeError, TypeError, ValueError, OverflowError):
        if len(ports) == 1:
            return np.full((BER + 1, 1), np.nan)
        return np.concatenate([_numbers([port], state) for port in ports], axis=1)
    numbers[~np.isfinite(numbers) | (numbers < 0)] = np.nan
    return numbers


_NOTHING = (None,) * (BER + 1)


def _of_port(name: str, state: DeviceState | None) -> tuple[float | None, ...]:
    interface = of_port(state.interfaces, name) if state is not None and state.interfaces else None
    if state is None or interface is None or interface.oper_up is False:
        return _NOTHING
    errors, fec = interface.errors, interface.fec
    marked = errors.ecn_marked
    if marked is None and state.queues and (queues := of_port(state.queues, name)) is not None:
        marks = [number for queue in queues.egress.values() if (number := queue.ecn_marked) is not None]
        marked = sum(marks) if marks else None
    received = sent = None
    if state.pfc and (counters := of_port(state.pfc, name)):
        frames = [number for each in counters.values() if (number := each.received) is not None]
        received = sum(frames) if frames else None
        frames = [number for each in counters.values() if (number := each.sent) is not None]
        sent = sum(frames) if frames else None
    # Some systems count CRC errors among all that arrived damaged, and not by themselves.
    damaged = errors.in_errors if errors.in_crc is None else errors.in_crc
    return (
        interface.in_bytes,
        interface.out_bytes,
        damaged,
        fec.corrected,
        fec.uncorrected,
        marked,
        received,
        sent,
        fec.pre_fec_ber,
    )


def _without_session(state: DeviceState, port: str) -> bool:
    """Return True if a port has BGP sessions and none is established, which another finding reports."""
    states = [session.state for session in state.bgp or () if same_port(session.interface, port)]
    return bool(states) and "established" not in states
