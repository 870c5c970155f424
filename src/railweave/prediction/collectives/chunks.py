"""Sizes of collectives, and how bytes are cut: over channels, into chunks, into the slices that are one network message each.

Source: NCCL 2.23 ``enqueue.cc`` (``calcCollChunking``), ``include/device.h``, ``device/prims_*.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import InputError, Option, Problem
from railweave.model.config.quantities import MESSAGE_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from railweave.prediction.collectives.nccl import Parameters


MOST = 1 << 50


def sizes(text: str) -> list[int]:
    """``8G``, ``1M,16M,1G``, or ``8..16G``: from the first to the last, each twice the one before. Bytes.

    Raises ``InputError``.
    """
    found: list[int] = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        begin = size_of(first)
        end = size_of(last) if dots else begin
        if end < begin:
            raise InputError(
                [Problem(Option("--size"), f"{part!r} ends before it begins", "give the smaller size first")]
            )
        while begin <= end:
            found.append(begin)
            begin *= 2
    return found


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
class Cut:
    """``chunk`` bytes of data at most at a time, in ``slices`` messages of at least ``least_slice`` bytes.

    ``window`` is how many messages of a connection the buffer holds.
    """

    chunk: int
    slices: int
    least_slice: int
    window: int


def cut(nccl: Parameters, protocol: str, *, ring: bool) -> Cut:
    """The chunks of a protocol: in a ring that adds or gathers Simple has several steps a chunk, else one."""
    steps = nccl["NCCL_STEPS"]
    if protocol == "LL":  # half of every line is flags
        return Cut(nccl["NCCL_LL_BUFFSIZE"] // steps // 2 // GRAIN * GRAIN, 1, GRAIN, steps)
    if protocol == "LL128":  # one of the 16 words of a line is flags
        return Cut(nccl["NCCL_LL128_BUFFSIZE"] // steps // 16 * 15 // GRAIN * GRAIN, 1, GRAIN, steps)
    step = nccl["NCCL_BUFFSIZE"] // steps // GRAIN * GRAIN
    if not ring:
        return Cut(step, 1, GRAIN, steps)
    chunk, piece = nccl["NCCL_CHUNK_STEPS"], nccl["NCCL_SLICE_STEPS"]
    return Cut(step * chunk, chunk // piece, max(step * piece // 32, GRAIN), steps // piece)


def over_channels(total: int, channels: int) -> NDArray[np.int64]:
    """The bytes of each channel: equal to a grain, the rest with the last (NCCL cuts in cells of up to 16 KiB)."""
    grains = total // GRAIN
    share = grains // channels + (np.arange(channels) < grains % channels)
    share = share.astype(np.int64) * GRAIN
    share[-1] += total % GRAIN
    return share


def sliced(data: NDArray[np.int64], how: Cut) -> NDArray[np.int64]:
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
