"""Numbers of one device at one time as bytes: which series, and a number of 32 bits for each.

Numbers of series are compressed with equal bytes of all numbers side by side: the first bytes of rates are alike, the last are not.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def packed(series: NDArray[np.uint32], numbers: NDArray[np.float32]) -> bytes:
    """Series by their numbers in the store, each once, in rising order; and what they were."""
    steps = np.diff(series, prepend=np.uint32(0)).astype("<u4")
    columns = [one.view(np.uint8).reshape(-1, 4).T.tobytes() for one in (steps, numbers.astype("<f4"))]
    return zlib.compress(b"".join(columns), 1)


def unpacked(data: bytes) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """The way back."""
    raw = np.frombuffer(zlib.decompress(data), np.uint8)
    steps, numbers = (
        np.ascontiguousarray(one.reshape(4, -1).T) for one in (raw[: len(raw) // 2], raw[len(raw) // 2 :])
    )
    return np.cumsum(steps.view("<u4").ravel(), dtype=np.uint32), numbers.view("<f4").ravel()
