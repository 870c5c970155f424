"""Rounds that a program repeats on every connection, such as the loops of a ring."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.collectives.program import waiting_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.program import Program
    from railweave.prediction.collectives.queue_pairs import Split

MOST_ROUNDS = 16
"""Shorter rounds are taken together: what congestion control does in a few of them says little."""


NO_CREDITS: NDArray[np.int64] = np.zeros((0, 3), np.int64)


@dataclass(frozen=True, eq=False)
class Rounds:
    """From the second round on, each round's messages are as large and wait for the same as those of the round before.

    ``parts`` has the engine's messages of data by connection, by place in its order, and by queue pair; ``round`` is how many
    places a round has. The last round may be cut short. ``credits`` are the receivers' credit messages, which follow the data:
    rows of engine's message, and connection and place of the message of data that it waits for.
    """

    parts: NDArray[np.int64]
    round: int
    credits: NDArray[np.int64] = field(default_factory=lambda: NO_CREDITS)

    @property
    def length(self) -> int:
        """Messages of a connection."""
        return self.parts.shape[1]


def repeated_rounds(program: Program, parts: Split) -> Rounds | None:
    """The rounds of a program that was split over queue pairs; None where it has none, or less than four."""
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
    found = period(columns.tolist())
    credit_messages = None if found is None else _credits(program, first, order, place, all_looks)
    if found is None or credit_messages is None:
        return None
    together = max(1, length // (MOST_ROUNDS * found))
    rows = first[order].reshape(-1, length)
    split_over: NDArray[np.int64] = np.arange(int(each[0]))
    return Rounds(rows[:, :, None] + split_over, found * together, credit_messages)


def _place(program: Program) -> NDArray[np.int64]:
    """By message: how many of its connection are before it."""
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
    """``Rounds.credits``; None where those of a connection do not all follow its data in the same way."""
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
    """The least p, with four rounds of p or more, by which everything from place p on repeats what is p before it.

    By the Z algorithm (Gusfield, Algorithms on Strings, 1.4) from the end.
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
    """What each message is like, hashed: bytes, delay, queue pair, and how far before it is what it waits for, where."""
    first = parts.queue_pair[parts.first[:-1].astype(np.int64)]
    looks = _mix(program.bytes + _mix(program.delay_ps + _mix(first.astype(np.uint64))))
    waiting, awaited = waiting_of(program), program.after.astype(np.int64)
    before = (place[waiting] - place[awaited]).astype(np.uint64)
    edge = _mix(before + _mix(program.connection[awaited].astype(np.uint64) + _mix(program.after_delay_ps)))
    np.add.at(looks, waiting, edge)
    return _mix(looks)


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A 64-bit mix (the finalizer of splitmix64, as in crates/sim)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
