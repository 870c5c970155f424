"""How long numbers are kept, and how many of them: 10 s for 15 min, 1 min for 6 h, 5 min for 48 h."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.operations.watch.blocks import unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Tier:
    """Numbers of so many seconds each (0: as they came), kept for so many seconds."""

    step_s: int
    kept_s: int


TIERS = (Tier(0, 15 * 60), Tier(60, 6 * 3600), Tier(300, 48 * 3600))

MEAN, MOST, LEAST = 0, 1, 2
FOLDS = {"mean": MEAN, "max": MOST, "min": LEAST}


def folded(
    blocks: Iterable[bytes], folds: NDArray[np.int8], sparse: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
    """Several blocks of one device as one: of each series the mean, the most or the least, as ``folds`` has it by the series' number.

    A series that is left out where it is zero is counted as zero in the blocks that do not have it.
    """
    read = [unpacked(one) for one in blocks]
    series, place = np.unique(np.concatenate([one for one, _ in read]), return_inverse=True)
    values = np.concatenate([one for _, one in read]).astype(np.float64)
    times = np.bincount(place)
    of = folds[series]
    mean = np.bincount(place, values) / np.where(sparse[series], len(read), times)
    most = np.full(len(series), -np.inf)
    np.maximum.at(most, place, values)
    least = np.full(len(series), np.inf)
    np.minimum.at(least, place, values)
    return series, np.select([of == MEAN, of == MOST], [mean, most], least).astype(np.float32)
