"""Which runs go at once: those that share nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator


class Rounds:
    """Gives runs to rounds, one after another.

    Runs in an order in which neighbours share nothing (``in_turns``) come to the fewest.
    """

    def __init__(self) -> None:
        self._busy: dict[Hashable, int] = {}
        """The rounds in which something is taken, a bit each."""

    def first(self, taken: Collection[Hashable]) -> int:
        """The first round, from 1, in which no run before takes any of what this run takes; now it has it."""
        full = 0
        for what in taken:
            full |= self._busy.get(what, 0)
        bit = ~full & (full + 1)  # the lowest bit that is not set
        for what in taken:
            self._busy[what] = self._busy.get(what, 0) | bit
        return bit.bit_length()


def rounds(taken: Iterable[Collection[Hashable]]) -> list[int]:
    """The rounds of runs, by what each takes for itself."""
    given = Rounds()
    return [given.first(one) for one in taken]


def in_turns(count: int) -> Iterator[list[tuple[int, int]]]:
    """Every pair of ``count`` players, in turns in which nobody is in two pairs.

    The circle method: one stays, the others move on by one place each turn. With an odd number one rests in each turn.
    """
    circle: list[int | None] = [*range(count), *([None] if count % 2 else [])]
    for _ in range(len(circle) - 1):
        turn: list[tuple[int, int]] = []
        for one, other in zip(circle[: len(circle) // 2], reversed(circle), strict=False):
            if one is not None and other is not None:
                turn.append((min(one, other), max(one, other)))
        yield turn
        circle = [circle[0], circle[-1], *circle[1:-1]]
