"""The messages of a collective, before and after credit, and what each waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import Argument, InputError, Option, Problem
from railweave.model.config.quantities import MESSAGE_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.nccl import Parameters


MOST = 1 << 50


def sizes(text: str) -> list[int]:
    """``8G``, ``1M,16M,1G``, or ``8..16G``: from the first to the last, each twice the one before. Bytes.

    Raises ``InputError``.
    """
    sizes_bytes: list[int] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        begin = size_of(first)
        end = size_of(last) if dots else begin
        if end < begin:
            raise InputError(
                [Problem(Option("--size"), f"{part!r} ends before it begins", "give the smaller size first")]
            )
        while begin <= end:
            sizes_bytes.append(begin)
            begin *= 2
    return sizes_bytes


def size_of(text: str) -> int:
    """One size, as ``16M``. Bytes. Raises ``InputError``."""
    try:
        size = MESSAGE_BYTES.parse(text)
    except ValueError:
        size = 0
    if not 1 <= size <= MOST:
        fix = "give sizes such as 8G (8 x 2^30 bytes), 1M,16M,1G or 8..16G"
        raise InputError([Problem(Option("--size"), f"{text!r:.60} is no size", fix)])
    return size


def written(value: int) -> str:
    """A size as nccl-tests writes it: ``8G``; ``1000 bytes`` where no suffix says it whole."""
    for power, unit in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{value >> power}{unit}"
    return f"{value} bytes"


GRAIN = 16
"""Pieces begin at multiples of this many bytes."""


@dataclass(frozen=True, slots=True)
class MessageSplit:
    """``chunk`` bytes of data at most at a time, in ``slices`` messages of at least ``least_slice`` bytes.

    ``window`` is how many messages of a connection the buffer holds.
    """

    chunk: int
    slices: int
    least_slice: int
    window: int


def cut(nccl: Parameters, protocol: str, *, ring: bool) -> MessageSplit:
    """The chunks of a protocol: in a ring that adds or gathers Simple has several steps a chunk, else one."""
    steps = nccl["NCCL_STEPS"]
    if protocol == "LL":  # half of every line is flags
        return MessageSplit(nccl["NCCL_LL_BUFFSIZE"] // steps // 2 // GRAIN * GRAIN, 1, GRAIN, steps)
    if protocol == "LL128":  # one of the 16 words of a line is flags
        return MessageSplit(nccl["NCCL_LL128_BUFFSIZE"] // steps // 16 * 15 // GRAIN * GRAIN, 1, GRAIN, steps)
    step = nccl["NCCL_BUFFSIZE"] // steps // GRAIN * GRAIN
    if not ring:
        return MessageSplit(step, 1, GRAIN, steps)
    chunk, piece = nccl["NCCL_CHUNK_STEPS"], nccl["NCCL_SLICE_STEPS"]
    return MessageSplit(step * chunk, chunk // piece, max(step * piece // 32, GRAIN), steps // piece)


def over_channels(total: int, channels: int) -> NDArray[np.int64]:
    """The bytes of each channel: equal to a grain, the rest with the last (NCCL cuts in cells of up to 16 KiB)."""
    grains = total // GRAIN
    share = grains // channels + (np.arange(channels) < grains % channels)
    share = share.astype(np.int64) * GRAIN
    share[-1] += total % GRAIN
    return share


def sliced(data: NDArray[np.int64], how: MessageSplit) -> NDArray[np.int64]:
    """The slices of chunks of ``data`` bytes, along a new last axis; the last ones may be empty."""
    share = -(-data // (how.slices * GRAIN)) * GRAIN
    share = np.maximum(share, how.least_slice)
    return np.clip(data[..., None] - np.arange(how.slices) * share[..., None], 0, share[..., None])


def on_the_wire(data: NDArray[np.int64], protocol: str) -> NDArray[np.int64]:
    """Bytes with the flags that LL (4 of every 8) and LL128 (8 of every 128) put among the data."""
    if protocol == "LL":
        return -(-data // 8) * 16
    if protocol == "LL128":
        return -(-data // 120) * 128
    return data


CLEAR_TO_SEND_BYTES = 64
"""Bytes that a receiver writes to report a free buffer: ``struct ncclIbSendFifo`` (NCCL 2.23, ``net_ib.cc``)."""


@dataclass(frozen=True)
class Program:
    """The messages that a collective puts on the network.

    Times are in ps. Bytes are payload of RDMA messages, including the flags of LL and LL128. A message of 0 bytes is
    still sent, as NCCL does.
    """

    connections: NDArray[np.uint32]
    """Rows: sending NIC, receiving NIC, channel. A NIC is its place in ``Job.nics``."""
    credit: NDArray[np.bool_]
    """By connection: whether its messages are clear-to-send. They go back on the queue pairs of the data."""
    connection: NDArray[np.uint32]
    """By message. Those of a connection are in the order in which they are sent."""
    bytes: NDArray[np.uint64]
    delay_ps: NDArray[np.uint64]
    """By message: when it may be sent, or how long after the last of those it waits for arrived. With credit, messages that
    wait go by ``after_delay_ps`` alone: a credit message lets go at once, data only when the GPUs have passed it on."""
    after_start: NDArray[np.uint64]
    after: NDArray[np.uint32]
    """Message m waits for ``after[after_start[m] : after_start[m + 1]]``, which arrive at NICs of its sender's server."""
    after_delay_ps: NDArray[np.uint64]
    """By entry of ``after``: how long after that arrival m may be sent. Without credit it is ``delay_ps[m]`` in every entry."""
    tail_ps: int
    """From the last arrival to the end: what is left to do inside servers."""
    floor_ps: int
    """The collective takes at least this: what the links between the GPUs of a server need for their share."""
    size_bytes: int
    """As nccl-tests counts it."""
    bus_factor: float
    """Factor of the bus bandwidth: bus bandwidth = size / time x this factor (``channels.bus_factor``)."""
    algorithm: str
    protocol: str
    channels: int

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return len(self.bytes)

    def bus_bandwidth_gbytes(self, time_ps: int) -> float:
        """Bus bandwidth in 10^9 byte/s, as nccl-tests prints it, of a collective that took this long."""
        return self.size_bytes / time_ps * 1e3 * self.bus_factor


def csr(
    messages: int, waiting: NDArray[np.int64], awaited: NDArray[np.int64], delay_ps: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64]]:
    """``after_start``, ``after`` and ``after_delay_ps`` of pairs (message that waits, message it waits for), in any order."""
    start = np.zeros(messages + 1, np.uint64)
    start[1:] = np.cumsum(np.bincount(waiting, minlength=messages))
    if bool((waiting[1:] < waiting[:-1]).any()):
        order = np.argsort(waiting, kind="stable")
        awaited, delay_ps = awaited[order], delay_ps[order]
    return start, awaited.astype(np.uint32), delay_ps.astype(np.uint64)


def waiting_of(program: Program) -> NDArray[np.int64]:
    """The message that waits, for each entry of ``after``."""
    return np.repeat(np.arange(program.messages), np.diff(program.after_start.astype(np.int64)))


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
        description = f"it would be {messages:,} messages; at most {MOST_MESSAGES:,} can be held"
        raise InputError(
            [Problem(Argument("collective"), description, "use the flow engine, a smaller size or fewer servers")]
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
