"""AS paths, interned so that a table of them is an array of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

EMPTY = 0
"""The id of the path without any number."""

_FIRST_SIZE = 1024


class AsPaths:
    """AS paths by id: each is a number in front of another path."""

    def __init__(self) -> None:
        self._ids: dict[int, int] = {}
        self._numbers: NDArray[np.int64] = np.zeros((_FIRST_SIZE, 4), dtype=np.int64)
        self._lengths: NDArray[np.int64] = np.zeros(_FIRST_SIZE, dtype=np.int64)
        self._count = 1

    def extended(self, numbers: NDArray[np.int64], paths: NDArray[np.int32]) -> NDArray[np.int32]:
        """Each path with a number in front."""
        wanted, inverse = np.unique(numbers << 31 | paths, return_inverse=True)
        found = [self._extended(one) for one in cast("list[int]", wanted.tolist())]
        return np.array(found, dtype=np.int32)[inverse]

    def _extended(self, packed: int) -> int:
        found = self._ids.get(packed)
        if found is None:
            found = self._ids[packed] = self._count
            self._count += 1
            asn, path = packed >> 31, packed & (1 << 31) - 1
            length = int(self._lengths[path])
            if found == len(self._lengths):
                self._numbers = np.pad(self._numbers, ((0, found), (0, 0)))
                self._lengths = np.pad(self._lengths, (0, found))
            if length == self._numbers.shape[1]:
                self._numbers = np.pad(self._numbers, ((0, 0), (0, length)))
            self._numbers[found, :length] = self._numbers[path, :length]
            self._numbers[found, length] = asn
            self._lengths[found] = length + 1
        return found

    def places_by_asn(self, paths: NDArray[np.int32]) -> dict[int, bytes]:
        """The places of the paths that hold an AS number, by that number, as the bytes of an ``int32`` array."""
        numbers = self._numbers[paths]
        places, _ = held = np.nonzero(numbers)
        asns = numbers[held]
        order = np.argsort(asns, kind="stable")
        different, starts = np.unique(asns[order], return_index=True)
        content = places[order].astype(np.int32)
        ends = [*cast("list[int]", starts.tolist()), len(content)][1:]
        return {
            asn: content[start:end].tobytes()
            for asn, start, end in zip(different.tolist(), starts.tolist(), ends, strict=True)
        }
