"""The messages of a collective, with or without credit messages (reports of free buffers), and their dependencies."""

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
    """Return the sizes, in bytes, in a text such as ``8G``, ``1M,16M,1G`` or ``8..16G``.

    A range has the first size, its double, and so on up to the last size. Raises ``InputError`` if a size is invalid, or a range ends
    before it begins.
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
    """Return the bytes of a size such as ``16M`` (16 x 2^20). Raises ``InputError`` if the size is invalid, 0 or too large."""
    try:
        size = MESSAGE_BYTES.parse(text)
    except ValueError:
        size = 0
    if not 1 <= size <= MOST:
        fix = "give sizes such as 8G (8 x 2^30 bytes), 1M,16M,1G or 8..16G"
        raise InputError([Problem(Option("--size"), f"{text!r:.60} is not a size", fix)])
    return size


def written(value: int) -> str:
    """Return a size as nccl-tests writes it, such as ``8G``, or ``1000 bytes`` if no suffix expresses it exactly."""
    for power, unit in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if value >= 1 << power and value % (1 << power) == 0:
            return f"{value >> power}{unit}"
    return f"{value} bytes"


GRAIN = 16
"""The unit in bytes at which data is divided among channels. The data of each channel begins at a multiple of this number."""


@dataclass(frozen=True, slots=True)
class MessageSplit:
    """The sizes into which a protocol divides data.

    - ``chunk``: the largest number of data bytes that are handled together.
    - ``slices``: the number of messages per chunk.
    - ``least_slice``: the smallest size of a message, in bytes.
    - ``window``: the number of messages of a connection that fit into the receive buffer.
    """

    chunk: int
    slices: int
    least_slice: int
    window: int


def cut(nccl: Parameters, protocol: str, *, ring: bool) -> MessageSplit:
    """Return the chunk and slice sizes of a protocol.

    ``ring`` is True for rings that reduce or gather data. A chunk of the protocol Simple then has several steps (slots of the buffer); in
    all other cases a chunk has one step. ``nccl`` has NCCL's parameters.
    """
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
    """Return the number of bytes of each channel if ``total`` bytes are divided among ``channels``.

    Shares are equal to within ``GRAIN`` bytes, and the last channel gets the remainder. NCCL itself uses units of up to 16 KiB.
    """
    grains = total // GRAIN
    share = grains // channels + (np.arange(channels) < grains % channels)
    share = share.astype(np.int64) * GRAIN
    share[-1] += total % GRAIN
    return share


def sliced(data: NDArray[np.int64], how: MessageSplit) -> NDArray[np.int64]:
    """Return the sizes of the slices (messages) of chunks of ``data`` bytes. ``how`` has the sizes of the protocol.

    The result has one more axis than ``data``, with the slices of each chunk. The last slices of a chunk may be empty.
    """
    share = -(-data // (how.slices * GRAIN)) * GRAIN
    share = np.maximum(share, how.least_slice)
    return np.clip(data[..., None] - np.arange(how.slices) * share[..., None], 0, share[..., None])


def on_the_wire(data: NDArray[np.int64], protocol: str) -> NDArray[np.int64]:
    """Return the number of bytes on the wire for ``data`` bytes, including the flags of NCCL's ``protocol``.

    Flags are 4 of every 8 bytes in LL, and 8 of every 128 bytes in LL128. Simple has no flags.
    """
    if protocol == "LL":
        return -(-data // 8) * 16
    if protocol == "LL128":
        return -(-data // 120) * 128
    return data


CLEAR_TO_SEND_BYTES = 64
"""Bytes that a receiver writes to report a free buffer: ``struct ncclIbSendFifo`` (NCCL 2.23, ``net_ib.cc``)."""


@dataclass(frozen=True)
class Program:
    """The messages that a collective sends over the network.

    Times are in ps. Bytes are payload of RDMA messages, including the flags of LL and LL128. As in NCCL, messages of 0 bytes are
    sent too.
    """

    connections: NDArray[np.uint32]
    """Rows: sending NIC, receiving NIC, channel. A NIC is given by its index in ``Job.nics``."""
    credit: NDArray[np.bool_]
    """For each connection, True if it carries clear-to-send messages. Such a connection uses the queue pairs of a data connection in reverse."""
    connection: NDArray[np.uint32]
    """The connection of each message. The messages of a connection are in the order in which they are sent."""
    bytes: NDArray[np.uint64]
    delay_ps: NDArray[np.uint64]
    """The delay of each message in ps, from the start or from the last arrival that the message waits for.

    In a program with credit messages, a message that waits uses ``after_delay_ps`` instead. After a credit message
    arrives, the waiting message can be sent at once. After data arrives, the message is sent when the GPUs have passed the data on.
    """
    after_start: NDArray[np.uint64]
    after: NDArray[np.uint32]
    """The messages that must arrive first. Message m waits for ``after[after_start[m] : after_start[m + 1]]``.

    These messages arrive at NICs of the server that sends m.
    """
    after_delay_ps: NDArray[np.uint64]
    """The delay in ps between the arrival of each message in ``after`` and the time at which the waiting message may be sent.

    Without credit messages, all delays of message m are ``delay_ps[m]``.
    """
    tail_ps: int
    """The time in ps between the last arrival and the end of the collective, for work inside servers."""
    floor_ps: int
    """The shortest possible time of the collective in ps: the time that links between GPUs need for the data inside servers."""
    size_bytes: int
    """The size of the collective as nccl-tests counts it."""
    bus_factor: float
    """The bus bandwidth factor: the bus bandwidth is size / time x this factor (``channels.bus_factor``)."""
    algorithm: str
    protocol: str
    channels: int

    @property
    def messages(self) -> int:
        """Return the number of messages."""
        return len(self.bytes)

    def bus_bandwidth_gbytes(self, time_ps: int) -> float:
        """Return the bus bandwidth of a collective that took ``time_ps``, in the unit of nccl-tests: 10^9 byte/s."""
        return self.size_bytes / time_ps * 1e3 * self.bus_factor


def csr(
    messages: int, waiting: NDArray[np.int64], awaited: NDArray[np.int64], delay_ps: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32], NDArray[np.uint64]]:
    """Return (``after_start``, ``after``, ``after_delay_ps``) of a ``Program`` from pairs of messages.

    In a pair, a message of ``waiting`` waits for a message of ``awaited``. Pairs may be in any order. ``delay_ps`` has the delay of each of
    the ``messages`` messages.
    """
    start = np.zeros(messages + 1, np.uint64)
    start[1:] = np.cumsum(np.bincount(waiting, minlength=messages))
    if bool((waiting[1:] < waiting[:-1]).any()):
        order = np.argsort(waiting, kind="stable")
        awaited, delay_ps = awaited[order], delay_ps[order]
    return start, awaited.astype(np.uint32), delay_ps.astype(np.uint64)


def waiting_of(program: Program) -> NDArray[np.int64]:
    """Return, for each member of ``program.after`` (a message that is awaited), the index of the message that waits for it."""
    return np.repeat(np.arange(program.messages), np.diff(program.after_start.astype(np.int64)))


@dataclass(frozen=True)
class Draft:
    """Messages of a collective before credit messages (reports of free buffers) are added. ``finished`` makes a ``Program``'s arrays from it.

    - ``waiting``, ``awaited``: pairs of messages. The first message of a pair waits for the second. These pairs replace
      ``after`` of ``Program``.
    - ``stream``: the stream of each message. None means that each connection is a stream.
    - ``window``: the largest number of messages of a stream that may be sent but not yet consumed.
    - ``consume_ps``: the time from the arrival of a message until it is consumed.

    The other fields have the same meaning as in ``Program``.
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
    """The arrays of a ``Program``. The fields have the same names and meanings."""

    connections: NDArray[np.int64]
    credit: NDArray[np.bool_]
    connection: NDArray[np.int64]
    bytes: NDArray[np.int64]
    delay_ps: NDArray[np.int64]
    after_start: NDArray[np.uint64]
    after: NDArray[np.uint32]
    after_delay_ps: NDArray[np.uint64]


MOST_MESSAGES = 1 << 28
"""The largest number of messages of a program. With more messages, the arrays would take tens of gigabytes."""


def refuse_beyond(messages: int) -> None:
    """Raise ``InputError`` if there are more messages than ``MOST_MESSAGES``."""
    if messages > MOST_MESSAGES:
        description = f"the collective has {messages:,} messages, more than the {MOST_MESSAGES:,} that fit in memory"
        raise InputError(
            [Problem(Argument("collective"), description, "use the flow engine, a smaller size or fewer servers")]
        )


def empty(tail_ps: int) -> Draft:
    """Return the messages of a collective that sends nothing over the network. ``tail_ps`` is the time of the collective inside servers."""
    none = np.zeros(0, np.int64)
    return Draft(np.zeros((0, 3), np.int64), none, none, none, none, none, 1, 0, tail_ps)


def finished(draft: Draft, *, credit: bool) -> Pieces:
    """Return the arrays of a program from the messages in ``draft``. With ``credit``, clear-to-send messages are added.

    Message k of a stream then also waits for a clear-to-send message. The receiving server sends this message when message k -
    ``window`` is consumed. A message counts as consumed as soon as the next GPU has the data; full buffers at later
    GPUs are not modelled.
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
    """Return two arrays of message numbers: messages that a receiver consumes, and for each the later message that may then be sent.

    ``draft`` has the messages without credit messages. The arrays are in the order of the consumed messages, so that credit messages keep
    that order.
    """
    stream = draft.connection if draft.stream is None else draft.stream
    order = np.argsort(stream, kind="stable") if bool((np.diff(stream) < 0).any()) else np.arange(len(stream))
    same = stream[order[: -draft.window]] == stream[order[draft.window :]]
    consumed, allowed = order[: -draft.window][same], order[draft.window :][same]
    back = np.argsort(consumed, kind="stable")
    return consumed[back], allowed[back]
