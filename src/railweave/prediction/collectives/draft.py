"""The messages of a collective before credit, in plain 64-bit numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Problem
from railweave.prediction.collectives.program import CLEAR_TO_SEND_BYTES, csr

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Draft:
    """As ``Program``, with pairs (message that waits, message it waits for) instead of ``after``, and what credit needs.

    ``window`` messages of a stream may be under way before one of them is consumed, which takes ``consume_ps`` from its
    arrival. A stream is a connection unless ``stream`` says otherwise.
    """

    connections: NDArray[np.int64]
    connection: NDArray[np.int64]
    bytes: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    waiting: NDArray[np.int64]
    awaited: NDArray[np.int64]
    window: int
    consume_ps: int
    tail_ps: int
    stream: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Pieces:
    """The arrays of a ``Program``, as it names them."""

    connections: NDArray[np.int64]
    credit: NDArray[np.bool_]
    connection: NDArray[np.int64]
    bytes: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    after_start: NDArray[np.uint64]
    after: NDArray[np.uint32]
    after_delay_ps: NDArray[np.uint64]


MOST_MESSAGES = 1 << 28
"""Beyond, arrays would take tens of gigabytes."""


def refuse_beyond(messages: int) -> None:
    """Raises ``InputError`` where there would be more messages than can be held."""
    if messages > MOST_MESSAGES:
        what = f"it would be {messages:,} messages; at most {MOST_MESSAGES:,} can be held"
        raise InputError(
            [Problem(Argument("collective"), what, "use the flow engine, a smaller size or fewer servers")]
        )


def empty(tail_ps: int) -> Draft:
    """A collective that puts nothing on the network."""
    none = np.zeros(0, np.int64)
    return Draft(np.zeros((0, 3), np.int64), none, none, none, none, none, 1, 0, tail_ps)


def finished(draft: Draft, *, credit: bool) -> Pieces:
    """The draft as arrays of a program. With ``credit``, its clear-to-send messages are added.

    Message k of a stream then waits for the receiver's credit message, that message k - window was consumed. It is a message of
    its own, from the receiving server back. That the buffers between the GPUs behind can be full is left out: a receiver
    counts as done when the next GPU has the data.
    """
    if not credit or not len(draft.bytes):
        start, after, edge = csr(len(draft.bytes), draft.waiting, draft.awaited, draft.delay_ps[draft.waiting])
        of_credit = np.zeros(len(draft.connections), np.bool_)
        return Pieces(draft.connections, of_credit, draft.connection, draft.bytes, draft.delay_ps, start, after, edge)
    consumed, allowed = _pairs_of_credit(draft)
    messages, count = len(draft.bytes), len(consumed)
    backwards, connection = np.unique(draft.connection[consumed], return_inverse=True)
    credit_messages = messages + np.arange(count)
    rows = draft.connections[backwards][:, [1, 0, 2]]
    consume = np.full(count, draft.consume_ps)
    start, after, edge = csr(
        messages + count,
        np.concatenate([draft.waiting, allowed, credit_messages]),
        np.concatenate([draft.awaited, credit_messages, consumed]),
        np.concatenate([draft.delay_ps[draft.waiting], np.zeros(count, np.int64), consume]),
    )
    return Pieces(
        np.concatenate([draft.connections, rows]),
        np.arange(len(draft.connections) + len(rows)) >= len(draft.connections),
        np.concatenate([draft.connection, len(draft.connections) + connection]),
        np.concatenate([draft.bytes, np.full(count, CLEAR_TO_SEND_BYTES)]),
        np.concatenate([draft.delay_ps, consume]),
        start,
        after,
        edge,
    )


def _pairs_of_credit(draft: Draft) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Message that is consumed, message that this allows; in the order of the data, so that credit messages keep it."""
    stream = draft.connection if draft.stream is None else draft.stream
    order = np.argsort(stream, kind="stable") if bool((np.diff(stream) < 0).any()) else np.arange(len(stream))
    same = stream[order[: -draft.window]] == stream[order[draft.window :]]
    consumed, allowed = order[: -draft.window][same], order[draft.window :][same]
    back = np.argsort(consumed, kind="stable")
    return consumed[back], allowed[back]
