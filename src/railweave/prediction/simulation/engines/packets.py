"""Runs of the packet engine. A long run is stopped when every round takes as long as the previous round."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import PacketEngine
from railweave.prediction.collectives.program import Program, waiting_of
from railweave.prediction.simulation.engines.run import NEVER, SLICE_PS, Run, Steady, refused
from railweave.prediction.simulation.model.retries import patience_ps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from railweave.prediction.collectives.queue_pairs import Split
    from railweave.prediction.simulation.engines.traffic import Traffic
    from railweave.prediction.simulation.model.fabric import Arguments


MOST_ROUNDS = 16
"""The largest number of rounds that are compared. If a program has more rounds, several short rounds are joined into one.

A few short rounds are too short to show the effect of congestion control.
"""


NO_CREDITS: NDArray[np.int64] = np.zeros((0, 3), np.int64)


@dataclass(frozen=True, eq=False)
class Rounds:
    """The repeating rounds of a collective's messages.

    From the second round on, the messages of a round have the same sizes, and wait for the same messages, as those of the previous round.

    - ``parts``: the engine's data messages, as an array by connection, position in the connection's sending order, and queue pair.
    - ``round``: the number of positions in a round. The last round may be shorter.
    - ``credits``: a row for each credit message (a receiver's report of a free buffer): its number in the engine, and the connection
      and position of the data message that it waits for.
    """

    parts: NDArray[np.int64]
    round: int
    credits: NDArray[np.int64] = field(default_factory=lambda: NO_CREDITS)

    @property
    def length(self) -> int:
        """The number of data messages of a connection."""
        return self.parts.shape[1]


def repeated_rounds(program: Program, parts: Split) -> Rounds | None:
    """Return the repeating rounds of the messages of ``program``. Return None if there are fewer than four equal rounds.

    ``parts`` has the messages as split over queue pairs.
    """
    is_credit = program.credit[program.connection]
    data = np.flatnonzero(~is_credit)
    counts = np.bincount(program.connection[data], minlength=1)
    first = parts.first.astype(np.int64)
    each = np.diff(first)[data]
    used = counts[counts > 0]
    if not len(used) or (used != used[0]).any() or (each != each[0]).any():
        return None
    length = int(used[0])
    place = _place(program)
    all_looks = _looks(program, parts, place)
    order = data[np.argsort(program.connection[data], kind="stable")]
    looks = all_looks[order].reshape(-1, length)
    columns = _mix(looks + _mix(np.arange(len(looks), dtype=np.uint64))[:, None]).sum(axis=0, dtype=np.uint64)
    round_length = period(columns.tolist())
    credit_messages = None if round_length is None else _credits(program, first, order, place, all_looks)
    if round_length is None or credit_messages is None:
        return None
    together = max(1, length // (MOST_ROUNDS * round_length))
    rows = first[order].reshape(-1, length)
    split_over: NDArray[np.int64] = np.arange(int(each[0]))
    return Rounds(rows[:, :, None] + split_over, round_length * together, credit_messages)


def _place(program: Program) -> NDArray[np.int64]:
    """Return, for each message, the number of earlier messages on its connection.

    ``program`` has the messages of the collective.
    """
    order = np.argsort(program.connection, kind="stable")
    counts = np.bincount(program.connection)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place


def _credits(
    program: Program,
    first: NDArray[np.int64],
    order: NDArray[np.int64],
    place: NDArray[np.int64],
    looks: NDArray[np.uint64],
) -> NDArray[np.int64] | None:
    """Return ``Rounds.credits``: for each credit message (report of a free buffer), its number and the data message that it waits for.

    Return None if the credit messages of a connection do not all follow its data in the same way. ``first`` has the first part of each
    message, ``order`` the data messages sorted by connection, and ``place`` the position of each message on its connection. ``looks`` is
    the result of ``_looks``. ``program`` has the messages of the collective.
    """
    credit_messages = np.flatnonzero(program.credit[program.connection])
    if not len(credit_messages):
        return NO_CREDITS
    like = np.zeros(len(program.connections), np.uint64)
    like[program.connection[credit_messages]] = looks[credit_messages]
    start = program.after_start.astype(np.int64)
    if (like[program.connection[credit_messages]] != looks[credit_messages]).any() or (
        start[credit_messages + 1] - start[credit_messages] != 1
    ).any():
        return None
    awaited = program.after.astype(np.int64)[start[credit_messages]]
    row = np.full(len(program.connections), -1)
    row[program.connection[order]] = np.cumsum(place[order] == 0) - 1
    return np.stack([first[credit_messages], row[program.connection[awaited]], place[awaited]], axis=1)


def period(looks: list[int]) -> int | None:
    """Return the shortest period p of the list ``looks``: from position p on, each element equals the element p positions before.

    Return None if the list has fewer than four periods. The method is the Z algorithm (Gusfield, Algorithms on Strings, 1.4), applied from
    the end.
    """
    back = looks[::-1]
    length = len(back)
    same = [0] * length  # how far from each place on it is as from the beginning
    left = right = 0
    for place in range(1, length):
        known = min(right - place, same[place - left]) if place < right else 0
        while place + known < length and back[known] == back[place + known]:
            known += 1
        same[place] = known
        if place + known > right:
            left, right = place, place + known
        if known >= length - 2 * place and 4 * place <= length:
            return place
    return None


def _looks(program: Program, parts: Split, place: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return a hash of each message. Messages that play the same role in different rounds have equal hashes.

    ``place`` is the position of each message on its connection, and ``parts`` has the split over queue pairs. The hash covers bytes, delay
    and queue pair, and for each awaited message its distance, its connection and the delay. ``program`` has the messages of the collective.
    """
    first = parts.queue_pair[parts.first[:-1].astype(np.int64)]
    looks = _mix(program.bytes + _mix(program.delay_ps + _mix(first.astype(np.uint64))))
    waiting, awaited = waiting_of(program), program.after.astype(np.int64)
    before = (place[waiting] - place[awaited]).astype(np.uint64)
    edge = _mix(before + _mix(program.connection[awaited].astype(np.uint64) + _mix(program.after_delay_ps)))
    np.add.at(looks, waiting, edge)
    return _mix(looks)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each number (the finalizer of splitmix64, as in crates/sim)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


WINDOWS = 4
"""The number of windows (equal parts) into which a round is divided to compare the times of rounds."""

IN_A_ROW = 3

EQUAL = 0.01
"""The relative difference up to which the times of windows count as equal. It is also the largest error that a stopped run may have."""

UNSEEN = 0.005
"""The relative error assumed for the estimated rest of a run, in addition to the measured difference between windows.

In a test in which proxies were the bottleneck, one of eight rounds took 1.3 % less than the others.
"""

LAST_ROUND = 0.03
"""The fraction of a round by which the last round may end sooner than estimated.

During the last round, no other round uses links and proxies. In measurements, the fraction was 0.2 % if links were the limit, and
1.8 % if proxies were.
"""


@dataclass(frozen=True, eq=False)
class StoppedRun:
    """A stopped run: the measured or estimated arrival time of every message, and (``steady``) the error of the estimate."""

    arrivals: NDArray[np.uint64]
    steady: Steady


class Watch:
    """A test that is repeated during a packet run: it finds out if the run is steady, so that all rounds now take the same time.

    ``changed_ps`` is the time in ps at which the network last changed, for example by a fault; -1 if it never did.
    """

    def __init__(self, repeated: Rounds, changed_ps: int = -1) -> None:
        self._rounds = repeated
        self._changed = changed_ps
        step = max(1, repeated.round // WINDOWS)
        self._step = step
        self._per_round = repeated.round // step
        # places that end windows; a round that does not divide evenly has its rest in its last window
        count = repeated.length // repeated.round * self._per_round
        window = np.arange(count)
        last_of_round = (window + 1) % self._per_round == 0
        inside = (window % self._per_round + 1) * step
        self._marks = window // self._per_round * repeated.round + np.where(last_of_round, repeated.round, inside) - 1
        self._next = self._per_round * 2 + IN_A_ROW - 1
        self._arrived = self._not_before = 0

    def due(self, arrived: int, now_ps: int) -> bool:
        """Return True if enough messages have arrived to compare the times of rounds again, and the network no longer changes.

        ``arrived`` is the number of messages that arrived up to the simulated time ``now_ps``.
        """
        per_place = (self._rounds.parts.size + len(self._rounds.credits)) / self._rounds.length
        ahead = self._next < len(self._marks) - self._per_round  # less than a round is not worth it
        self._arrived = arrived
        if arrived < self._not_before:
            return False
        return ahead and now_ps > self._changed and arrived >= (int(self._marks[self._next]) + 1) * per_place

    def rest(self, arrivals: NDArray[np.uint64], now_ps: int) -> StoppedRun | None:
        """Return a stopped run with estimated remaining arrivals if the run is steady, and None otherwise.

        ``arrivals`` has the arrival time of each message up to the simulated time ``now_ps``; ``NEVER`` for later ones.
        """
        while self._next < len(self._marks):
            mark = int(self._marks[self._next])
            places = np.union1d(np.arange(mark + 1 - self._step, mark), self._compared(self._next))
            window = arrivals[self._rounds.parts[:, places]]
            if missing := int((window == NEVER).sum()):
                self._not_before = self._arrived + missing  # no look before so many more have arrived finds them all
                return None
            apart = self._apart(arrivals, self._next)
            if apart is not None:
                known = arrivals[self._rounds.parts]
                if (known[:, : mark + 1] == NEVER).any():
                    return None
                rest = self._extrapolated(arrivals, known, mark, apart, now_ps)
                if rest is not None and rest.steady.error <= EQUAL:
                    return rest
            self._next += 1
        return None

    def _compared(self, window: int) -> NDArray[np.int64]:
        """Return the last positions of a series of windows that ends with ``window``.

        The series is so long that the last ``IN_A_ROW`` windows can be compared with the windows one round earlier.
        """
        return self._marks[window - IN_A_ROW - self._per_round : window + 1]

    def _apart(self, arrivals: NDArray[np.uint64], window: int) -> float | None:
        """Return the relative difference between the times of the last ``IN_A_ROW`` windows and of the windows one round earlier.

        ``arrivals`` has the arrival time of each message. Only messages at the ends of windows are compared. Return None if the difference
        exceeds ``EQUAL``, or if the network changed in these windows.
        """
        whole = arrivals[self._rounds.parts[:, self._compared(window)]].max(axis=2)
        ends = whole.max(axis=0).astype(np.float64)
        if ends[0] < self._changed:
            return None
        took = np.diff(ends)
        now, before = took[-IN_A_ROW:], took[:IN_A_ROW]
        shift = (whole[:, -1] - whole[:, -1 - self._per_round]).astype(np.float64)
        pace = float(shift.max() / shift.min()) - 1
        apart = max(float(np.abs(now / before - 1).max()), pace)
        return apart if apart <= EQUAL else None

    def _extrapolated(
        self, arrivals: NDArray[np.uint64], known: NDArray[np.uint64], mark: int, apart: float, now_ps: int
    ) -> StoppedRun | None:
        """Return the stopped run with estimates for the rest.

        Every connection continues at its own pace, and credit messages follow their data. ``arrivals`` has the arrival time of each message
        so far, and ``known`` the same times in the form of ``Rounds.parts``. ``mark`` is the last position that has arrived on all
        connections. ``apart`` is the relative difference between the windows, and ``now_ps`` the simulated time. Return None if credit
        messages are more than a round late.
        """
        length, whole = self._rounds.length, known.max(axis=2)
        shift = whole[:, mark] - whole[:, mark - self._rounds.round]
        ahead = np.arange(mark + 1, length)
        rounds = -(-(ahead - mark) // self._rounds.round)
        later = known[:, ahead - rounds * self._rounds.round] + (rounds[None, :] * shift[:, None].astype(np.int64))[
            :, :, None
        ].astype(np.uint64)
        guessed = np.where(known[:, ahead] == NEVER, later, known[:, ahead])
        estimated = arrivals.copy()
        estimated[self._rounds.parts[:, ahead]] = guessed
        if not self._credits(estimated, arrivals, mark, shift):
            return None
        end = int(estimated.max())
        off = (apart + UNSEEN) * max(0.0, 1 - now_ps / end) + LAST_ROUND * float(shift.mean()) / end
        return StoppedRun(estimated, Steady(now_ps, float((arrivals != NEVER).mean()), off))

    def _credits(
        self, estimated: NDArray[np.uint64], arrivals: NDArray[np.uint64], mark: int, shift: NDArray[np.uint64]
    ) -> bool:
        """Write the estimated arrivals of the missing credit messages into ``estimated``.

        The estimate uses the ``arrivals`` of a finished round, and ``shift``, the time of a round on each connection. ``mark`` is the last
        position whose data has arrived everywhere. Return False if credit messages of the finished round are also missing.
        """
        message, row, place = self._rounds.credits.T
        number = np.full((len(shift), self._rounds.length), -1)
        number[row, place] = message
        rounds = np.maximum(-(-(place - mark) // self._rounds.round) + 1, 0)
        before = arrivals[number[row, place - rounds * self._rounds.round]]
        missing = arrivals[message] == NEVER
        estimated[message[missing]] = (before + rounds.astype(np.uint64) * shift[row])[missing]
        return not bool((before[missing] == NEVER).any())


def run_packets(
    arguments: Arguments,
    traffic: Traffic,
    progress: Callable[[int, int], None] | None = None,
    repeated: Rounds | None = None,
    *,
    own_messages: int | None = None,
    series_every_ps: int | None = None,
) -> Run:
    """Run the packet engine until every message has arrived, or until no more messages arrive.

    - ``arguments``: the result of ``PacketFabric.arguments`` for these queue pairs.
    - ``repeated``: the rounds of the traffic, if all of the traffic repeats. The run is then stopped when it is steady.
    - ``progress``: called with the number of messages that arrived, and the number of all messages.
    - ``own_messages``: the number of messages, from the first, to wait for; None means all. If there are more messages,
      ``sent_bytes`` is an estimate: it is scaled down to the time at which the last of the awaited messages arrived.
    - ``series_every_ps``: the interval of the time series to collect; None means that none are collected.

    Raises ``InputError`` for an invalid parameter.
    """
    try:
        engine = PacketEngine(
            **arguments,
            messages=traffic.messages,
            after_start=traffic.after_start,
            after=traffic.after,
            after_delay_ps=traffic.after_delay_ps,
            after_of=traffic.after_of,
            limits=traffic.limits,
        )
    except ValueError as error:  # of the settings: the rest is ours
        raise refused(error, arguments) from None
    changes = arguments["changes"][:, 0]
    watch = None if repeated is None else Watch(repeated, int(changes.max(initial=0)))
    own_messages = len(traffic.messages) if own_messages is None else own_messages
    others = own_messages < len(traffic.messages)
    if series_every_ps is not None:
        engine.sample_every(series_every_ps)
    still_ps = patience_ps(arguments["parameters"])
    steady: Steady | None = None
    arrivals: NDArray[np.uint64] | None = None
    sent_share = 1.0
    now, last_delivery, counted, arrived, done = 0, 0, -1, -1, 0
    while True:
        now += SLICE_PS // 5 if others else SLICE_PS  # slices do not change the result
        if engine.next_ps is not None:
            now = max(now, engine.next_ps + 1)  # all may wait for a retransmission
        engine.run(now)
        # others never end: neither do they arrive, nor is nothing delivered any more
        if engine.arrived != arrived:
            arrived = engine.arrived
            done = int((engine.arrivals()[:own_messages] != NEVER).sum()) if others else arrived
        if progress is not None:
            progress(done, own_messages)
        if done == own_messages:
            break
        if watch is not None and watch.due(done, now):
            rest = watch.rest(engine.arrivals(), now)
            if rest is not None:
                arrivals, steady, sent_share = rest.arrivals, rest.steady, 1 / rest.steady.share
                break
        delivered = done if others else engine.counters()["delivered_packets"]
        if delivered != counted:
            last_delivery, counted = now, delivered
        if engine.next_ps is None or now - last_delivery > still_ps:
            break
    ports = engine.port_counters()
    sent = ports["tx_bytes"].astype(np.float64) * sent_share
    series = None if series_every_ps is None else engine.series()
    outcome = Run(
        engine.arrivals()[:own_messages] if arrivals is None else arrivals,
        sent,
        engine.counters(),
        steady,
        ports,
        series,
        now,
    )
    if others and outcome.complete:
        outcome = replace(outcome, sent_bytes=sent * (outcome.last_ps / now))
    return outcome
