"""The share of each knob in the differences between trials: analysis of variance, and nothing where the trials cannot tell.

If every combination was measured, with several seeds each, the differences between seeds are the noise: a knob's share is all that
goes away if it is kept, by itself and together with others (total effect), so that shares of knobs that act together add up to more
than 1. Other trials are fitted by a sum of one effect for each knob (least squares); what the fit leaves is the noise, and a knob's
share is what the fit loses without it.

A share is given if it is more than noise with a chance of error of ``ERROR`` in all (F test, Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from railweave.operations.tune.scoring import value_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from railweave.operations.tune.scoring import Aim
    from railweave.operations.tune.search import Trial
    from railweave.operations.tune.space import Space

ERROR = 0.05
"""The chance that any knob that changes nothing has a share."""
LEAST_FREEDOM = 5
"""Trials beyond one for each effect that is fitted, at least: the noise is estimated by them."""
GROUPS = (8, 4, 2)
"""Into so many groups of neighboring values knobs are put at most, if not every combination was measured: the first that leaves
half of the trials to the noise."""
DRAWS = 5_000
RESAMPLES = 200
EXACT = 1e-12
"""Differences that are a smaller part of all are those of rounding."""


@dataclass(frozen=True, slots=True)
class Importance:
    """A knob's share of the differences, 0 to 1, with the 5th and 95th percentile of what other noise would have made of it."""

    share: float
    low: float
    high: float

    def to_text(self) -> str:
        """Return the share with its uncertainty."""
        return f"{self.share:.0%}" + (f" ({self.low:.0%} to {self.high:.0%})" if self.high > self.low else "")


def importance(space: Space, aim: Aim, trials: Iterable[Trial]) -> dict[str, Importance]:
    """Return the importance of knobs by name; those of which the trials cannot tell are left out."""
    measured = {
        one.chosen: [value_of(aim, sample) for sample in one.samples] for one in trials if one.state == "complete"
    }
    many = min(map(len, measured.values()), default=0)
    if len(measured) < 2 or not many:
        return {}
    chosen = np.array(list(measured))
    values = np.array([row[:many] for row in measured.values()], np.float64)
    varied = [place for place in range(chosen.shape[1]) if len(np.unique(chosen[:, place])) > 1]
    levels = [np.unique(chosen[:, place], return_inverse=True)[1].reshape(-1) for place in varied]
    names = [space.knobs[place].name for place in varied]
    shape = tuple(int(one.max()) + 1 for one in levels)
    rng = np.random.default_rng(1)
    if len(values) == int(np.prod(shape)):
        if many > 1:
            whole = np.empty((*shape, many))
            whole[tuple(levels)] = values
            return _of_grid(names, whole, rng)
        return _fitted(names, levels, values.mean(axis=1), rng)
    ordered = [space.knobs[place].ordered for place in varied]
    grouped = levels
    for most in GROUPS:
        grouped = [_groups(one, most) if of else one for one, of in zip(levels, ordered, strict=True)]
        if 2 * sum(int(one.max()) for one in grouped) < len(values):
            break
    return _fitted(names, grouped, values.mean(axis=1), rng)


def _of_grid(names: list[str], values: NDArray[np.float64], rng: np.random.Generator) -> dict[str, Importance]:
    """Every combination, with seeds along the last axis: a block each, for all combinations have the same."""
    means: NDArray[np.float64] = values.mean(axis=-1)
    count, many = means.size, values.shape[-1]
    by_seed = values.mean(axis=tuple(range(means.ndim)))
    left = values - means[..., None] - by_seed + means.mean()
    freedom = (count - 1) * (many - 1)
    noise = float((left**2).sum()) / freedom / many  # of a mean
    whole = float(((means - means.mean()) ** 2).sum())
    if whole <= EXACT * float((means**2).sum()):
        return dict.fromkeys(names, Importance(0.0, 0.0, 0.0))
    found: dict[str, Importance] = {}
    for axis, name in enumerate(names):
        own_freedom = count - count // means.shape[axis]
        own = _total(means, axis)
        if own <= EXACT * whole:
            found[name] = Importance(0.0, 0.0, 0.0)
        elif _chance(own, own_freedom, noise * freedom, freedom, whole, rng) * len(names) <= ERROR:
            shares: list[float] = []
            for _ in range(RESAMPLES):
                more = rng.normal(0.0, float(np.sqrt(noise)), count).reshape(means.shape)
                shares.append(_share(means + more, axis, own_freedom, 2 * noise))
            found[name] = _between(_share(means, axis, own_freedom, noise), shares)
    return found


def _total(means: NDArray[np.float64], axis: int) -> float:
    return float(((means - means.mean(axis=axis, keepdims=True)) ** 2).sum())


def _share(means: NDArray[np.float64], axis: int, freedom: int, noise: float) -> float:
    """The share without what noise adds to both sums of squares."""
    whole = float(((means - means.mean()) ** 2).sum()) - (means.size - 1) * noise
    return float(np.clip((_total(means, axis) - freedom * noise) / whole, 0.0, 1.0)) if whole > 0 else 0.0


def _groups(level: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Neighboring values together, about as many trials in each group."""
    if int(level.max()) < most:
        return level
    edges = np.unique(np.quantile(level, np.arange(1, most) / most))
    return np.unique(np.searchsorted(edges, level, side="left"), return_inverse=True)[1].reshape(-1)


def _fitted(
    names: list[str], levels: list[NDArray[np.int64]], values: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, Importance]:
    """A sum of effects, one for each knob."""
    whole = float(((values - values.mean()) ** 2).sum())
    columns = [np.eye(int(one.max()) + 1)[one] for one in levels]
    rest, rank, fit = _left(columns, values)
    freedom = len(values) - rank
    if freedom < LEAST_FREEDOM:
        return {}
    if whole <= EXACT * float((values**2).sum()):
        return dict.fromkeys(names, Importance(0.0, 0.0, 0.0))
    found: dict[str, Importance] = {}
    for place, name in enumerate(names):
        others = columns[:place] + columns[place + 1 :]
        without, fewer, _ = _left(others, values)
        if fewer == rank:
            continue  # what others have says as much
        if _chance(without - rest, rank - fewer, rest, freedom, whole, rng) * len(names) > ERROR:
            continue
        shares: list[float] = []
        for _ in range(RESAMPLES):
            own = fit + rng.normal(0.0, float(np.sqrt(rest / freedom)), len(fit))
            spread = float(((own - own.mean()) ** 2).sum())
            shares.append((_left(others, own)[0] - _left(columns, own)[0]) / spread)
        found[name] = _between((without - rest) / whole, shares)
    return found


def _left(columns: list[NDArray[np.float64]], values: NDArray[np.float64]) -> tuple[float, int, NDArray[np.float64]]:
    """The sum of squares that a fit leaves, how many effects it has, and its values."""
    matrix = np.hstack([np.ones((len(values), 1)), *columns])
    fit, _, rank, _ = np.linalg.lstsq(matrix, values, rcond=None)
    fitted = matrix @ fit
    return float(((values - fitted) ** 2).sum()), int(rank), fitted


def _chance(own: float, own_freedom: int, left: float, freedom: int, whole: float, rng: np.random.Generator) -> float:
    """Return how likely noise alone makes as large a ratio of variances (F distribution, drawn)."""
    if own <= EXACT * whole:
        return 1.0
    if left <= EXACT * whole:
        return 0.0
    ratio = (own / own_freedom) / (left / freedom)
    drawn = (rng.chisquare(own_freedom, DRAWS) / own_freedom) / (rng.chisquare(freedom, DRAWS) / freedom)
    return float((drawn >= ratio).mean())


def _between(share: float, others: list[float]) -> Importance:
    low, high = np.quantile(others, [0.05, 0.95])
    return Importance(share, min(float(low), share), max(float(high), share))
