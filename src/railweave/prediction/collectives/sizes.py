"""Sizes of collectives as nccl-tests writes them: binary suffixes, lists and ranges."""

from __future__ import annotations

from railweave.errors import InputError, Option, Problem
from railweave.model.config.quantities import MESSAGE_BYTES

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
