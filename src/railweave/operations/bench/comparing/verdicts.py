"""What is said of a row, and when a row is worse than allowed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from railweave.operations.bench.comparing.rows import Key

TOLERANCE = 0.05
"""Part by which a number may be worse, where nothing else is said."""

Verdict = Literal["same", "better", "worse", "too few repeats", "failed", "only before", "only now"]


@dataclass(frozen=True, slots=True)
class Row:
    """A thing that was measured, before and now, or predicted and measured.

    - ``before``, ``now``: medians, None where there is none; ``repeats``: of how many runs each.
    - ``low``, ``high``: the band of a prediction. ``ratio``: of now to before, above 1 where it is better, whatever the quantity.
    - ``chance``: how likely it would come out so by chance, over all rows; None where that was not asked or cannot be said.
    - ``tolerance``: how far below its band it may be, of a row beside a prediction.
    - ``likely``: what is likely to hold it back; ``runs``: ids of those of now.
    """

    key: Key
    before: float | None
    now: float | None
    ratio: float | None
    verdict: Verdict
    repeats: tuple[int, int] = (0, 0)
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    likely: tuple[str, ...] = ()
    runs: tuple[str, ...] = field(default=())
    tolerance: float | None = None

    @property
    def bad(self) -> bool:
        """Whether it is worse than allowed."""
        return self.verdict in {"worse", "failed"}

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object."""
        return {
            **self.key.to_json(),
            "before": self.before,
            "now": self.now,
            "ratio": None if self.ratio is None else round(self.ratio, 4),
            "verdict": self.verdict,
            "repeats": list(self.repeats),
            "band": None if self.low is None else [self.low, self.high],
            "chance": self.chance,
            "tolerance": self.tolerance,
            "likely": list(self.likely),
            "runs": list(self.runs),
        }
