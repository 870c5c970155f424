"""The search of a study with Optuna, which stores trials in an SQLite file, and the importance of knobs (the fields to vary).

Trials are proposed in batches of a fixed size. After a whole batch is measured, its results are reported to Optuna in
trial order. The sampler of each trial is created from the study's seed and the trial's number. So the proposals depend
only on the study file. They do not depend on the number of processes, the duration of runs, or interruptions.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from railweave.errors import InputError, Option, OutputError, Problem
from railweave.operations.tune.measuring import Sample, sample_of
from railweave.operations.tune.scoring import Aim, Score, aims_of, value_of
from railweave.reading import make_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from optuna import Study as OptunaStudy
    from optuna import Trial as OptunaTrial
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

    from railweave.model.intent.study import Study
    from railweave.operations.tune.space import Chosen, Space


State = Literal["open", "complete", "pruned", "refused", "failed"]
"""The state of a trial.

- ``open``: proposed, and the result is not known yet.
- ``complete``: measured with every seed.
- ``pruned``: stopped before its last seed, because it was not promising.
- ``refused``: the design refuses its values.
- ``failed``: failed on hardware, and rolled back.
"""

MOST_REPEATS = 3
"""The largest number of trials, as a multiple of the budget. The budget counts only different combinations.

A combination that was already measured and is proposed again needs no run, but counts as a trial.
"""

PENALTY = 1e-3
"""The factor that makes the value of a combination worse for CMA-ES if the combination exceeds a limit.

CMA-ES needs this penalty, because it cannot be given limits, as TPE can.
"""


@dataclass(frozen=True)
class Trial:
    """A proposed combination, and its result so far. ``samples`` has a sample for each seed that was measured, in the order of seeds."""

    number: int
    chosen: Chosen
    state: State = "open"
    samples: tuple[Sample, ...] = ()
    why: str = ""


class Searcher:
    """The search of a study: an Optuna study in an SQLite file.

    Raises ``OutputError`` if the file cannot be used, and ``InputError`` if the file belongs to a different study.
    """

    def __init__(self, path: Path, study: Study, space: Space, digest: str) -> None:
        self._optuna = _optuna()
        self._study, self._space = study, space
        self._aims = aims_of(study.goal)
        self._open: dict[int, OptunaTrial] = {}
        try:
            make_file(path, 0o666)
            storage = self._optuna.storages.RDBStorage("sqlite://", engine_kwargs={"creator": _opener(path)})
            self._own: OptunaStudy = self._optuna.create_study(
                study_name=study.name,
                storage=storage,
                directions=["maximize" if aim.more else "minimize" for aim in self._aims],
                load_if_exists=True,
            )
        except (OSError, sqlite3.Error, self._storage_error()) as error:
            raise OutputError(f"{path} cannot be used for a study: {error}") from None
        known = self._own.user_attrs.get("digest")
        if known is None:
            self._own.set_user_attr("digest", digest)
        elif known != digest:
            message = f"{path} has trials of another study: its knobs, goal, seeds or fabric file were different"
            fix = "give another folder with -o, or --fresh to begin again in this one"
            raise InputError([Problem(Option("--output", str(path.parent)), message, fix)])

    def _storage_error(self) -> type[Exception]:
        from sqlalchemy.exc import SQLAlchemyError

        return SQLAlchemyError

    def trials(self) -> list[Trial]:
        """Return all proposed trials, by number."""
        return [self._trial(number, frozen) for number, frozen in enumerate(self._known())]

    def _known(self) -> list[FrozenTrial]:
        """Return Optuna's trials. A trial without values is left out: the process was killed while it was written."""
        return [trial for trial in self._own.get_trials(deepcopy=False) if len(trial.params) == len(self._space.knobs)]

    def _trial(self, number: int, frozen: FrozenTrial) -> Trial:
        chosen = tuple(int(frozen.params[knob.name]) for knob in self._space.knobs)
        state: State = "open" if not frozen.state.is_finished() else frozen.user_attrs.get("state", "complete")
        samples = tuple(sample_of(sample) for sample in frozen.user_attrs.get("samples", ()))
        return Trial(number, chosen, state, samples, frozen.user_attrs.get("why", ""))

    def ask(self) -> list[Trial]:
        """Return the next batch of trials to measure, or the rest of an interrupted batch.

        The list is empty if the budget is spent or every combination is measured.
        """
        known = self.trials()
        size = self._study.search.batch
        left = [trial for trial in known if trial.state == "open"]
        begun = len(known) % size != 0
        if not left and not begun and self._spent(known):
            return []
        self._own.sampler = self._optuna.samplers.RandomSampler()  # nothing is sampled for what has its values
        for trial in left:
            self._open[trial.number] = self._optuna.Trial(self._own, self._id(trial.number))
        missing = size - len(known) % size if begun or not left else 0
        if self._study.search.sampler == "grid":
            missing = min(missing, self._space.size - len(known))
        return [*left, *(self._asked(len(known) + more) for more in range(missing))]

    def _id(self, number: int) -> int:
        # Optuna has no other way to go on with a trial
        return self._known()[number]._trial_id  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def _spent(self, known: Sequence[Trial]) -> bool:
        if self._study.search.sampler == "grid":
            return len(known) >= self._space.size
        budget = self._study.search.trials
        different = len({trial.chosen for trial in known if trial.state != "refused"})
        everything = len({trial.chosen for trial in known}) >= self._space.size
        return everything or different >= budget or len(known) >= MOST_REPEATS * budget

    def _asked(self, number: int) -> Trial:
        names = [knob.name for knob in self._space.knobs]
        fixed: Chosen | None = None
        if self._study.search.sampler == "grid":
            every = product(*(range(len(knob.values)) for knob in self._space.knobs))
            fixed = next(islice(every, number, None))
        elif number == 0:
            fixed = self._space.own_choice
        if fixed is not None:
            self._own.enqueue_trial(dict(zip(names, fixed, strict=True)), skip_if_exists=True)
        self._own.sampler = self._sampler(number)
        asked = self._own.ask(self._distributions())
        self._open[number] = asked
        return Trial(number, tuple(int(asked.params[name]) for name in names))

    def _distributions(self) -> dict[str, BaseDistribution]:
        made = self._optuna.distributions
        return {
            knob.name: made.IntDistribution(0, len(knob.values) - 1)
            if knob.ordered
            else made.CategoricalDistribution(tuple(range(len(knob.values))))
            for knob in self._space.knobs
        }

    def _sampler(self, number: int) -> BaseSampler:
        search, known = self._study.search, self._optuna.samplers
        seed = (search.seed * 1_000_003 + number) % 2**32
        if search.sampler == "tpe":
            return known.TPESampler(n_startup_trials=search.start, multivariate=True, seed=seed)
        if search.sampler == "cma-es":
            return known.CmaEsSampler(seed=seed, warn_independent_sampling=False)
        return known.RandomSampler(seed=seed)

    def tell(self, trial: Trial, score: Score | None) -> None:
        """Report the result of a trial to Optuna. ``score`` is None if the design refuses its values, or if the trial failed on hardware."""
        asked = self._open.pop(trial.number)
        asked.set_user_attr("samples", [sample.to_json() for sample in trial.samples])
        asked.set_user_attr("state", trial.state)
        asked.set_user_attr("why", trial.why)
        if self._study.search.sampler == "tpe":
            asked.set_constraint("limits", sum(by for _, by in score.broken) if score else 1e9)
        values = [aim.hopeless for aim in self._aims] if score is None else list(score.values)
        if self._study.search.sampler == "cma-es" and score is not None and score.broken:
            values = [
                value * PENALTY if aim.more else value / PENALTY for value, aim in zip(values, self._aims, strict=True)
            ]
        if trial.state == "pruned":
            asked.report(values[0], len(trial.samples))
            self._own.tell(asked, state=self._optuna.trial.TrialState.PRUNED)
        else:
            self._own.tell(asked, values)


def _opener(path: Path) -> Callable[[], sqlite3.Connection]:
    def opened() -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=60, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode=WAL")
        # A trial that a loss of power takes is asked for again; a kill takes none.
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    return opened


def _optuna() -> Any:  # noqa: ANN401 - the module
    try:
        import optuna
    except ImportError:
        message = "needs Optuna, which is not installed"
        raise InputError([Problem(Option("tune run"), message, "pip install 'railweave[tune]'")]) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


ERROR = 0.05
"""The accepted probability that a knob (a field to vary) without effect is nevertheless reported with an importance."""
LEAST_FREEDOM = 5
"""The smallest number of degrees of freedom (trials minus fitted effects) that a fit must leave for an estimate of the noise."""
GROUPS = (8, 4, 2)
"""The largest numbers of groups into which the values of a knob (a field to vary) are combined, tried in this order.

Neighboring values are combined if not every combination was measured. The first of these numbers is used with which the effects to
fit are fewer than half of the trials. The remaining trials can then estimate the noise.
"""
DRAWS = 5_000
RESAMPLES = 200
EXACT = 1e-12
"""The fraction of the total sum of squares below which the sum of squares of a knob (a field to vary) counts as a rounding error."""


@dataclass(frozen=True, slots=True)
class Importance:
    """The fraction of the differences between trials that a knob (a field to vary) explains, from 0 to 1.

    ``low`` and ``high`` are the 5th and 95th percentile of ``share`` over repeated random draws of the noise.
    """

    share: float
    low: float
    high: float

    def to_text(self) -> str:
        """Return the share in percent, with its uncertainty range."""
        return f"{self.share:.0%}" + (f" ({self.low:.0%} to {self.high:.0%})" if self.high > self.low else "")


def importance(space: Space, aim: Aim, trials: Iterable[Trial]) -> dict[str, Importance]:
    """Return the importance of knobs (fields to vary) by name: the fraction of the differences between complete trials that a knob explains.

    The differences are those of the objective ``aim``. Knobs that have only one value in the trials are left out. Knobs whose effect
    cannot be distinguished from chance, or from the effect of other knobs, are left out too.
    """
    measured = {
        trial.chosen: [value_of(aim, sample) for sample in trial.samples]
        for trial in trials
        if trial.state == "complete"
    }
    many = min(map(len, measured.values()), default=0)
    if len(measured) < 2 or not many:
        return {}
    chosen = np.array(list(measured))
    values = np.array([row[:many] for row in measured.values()], np.float64)
    varied = [place for place in range(chosen.shape[1]) if len(np.unique(chosen[:, place])) > 1]
    levels = [np.unique(chosen[:, place], return_inverse=True)[1].reshape(-1) for place in varied]
    names = [space.knobs[place].name for place in varied]
    shape = tuple(int(level.max()) + 1 for level in levels)
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
        grouped = [_groups(level, most) if of else level for level, of in zip(levels, ordered, strict=True)]
        if 2 * sum(int(level.max()) for level in grouped) < len(values):
            break
    return _fitted(names, grouped, values.mean(axis=1), rng)


def _of_grid(names: list[str], values: NDArray[np.float64], rng: np.random.Generator) -> dict[str, Importance]:
    """Return the importance of the knobs ``names`` (fields to vary) by analysis of variance, if every combination was measured.

    ``values`` has an axis for each knob, and a last axis for the seeds. Differences between seeds do not count as noise, because all
    combinations use the same seeds. ``rng`` draws the noise for the uncertainty.
    """
    means: NDArray[np.float64] = values.mean(axis=-1)
    count, many = means.size, values.shape[-1]
    by_seed = values.mean(axis=tuple(range(means.ndim)))
    left = values - means[..., None] - by_seed + means.mean()
    freedom = (count - 1) * (many - 1)
    noise = float((left**2).sum()) / freedom / many  # of a mean
    whole = float(((means - means.mean()) ** 2).sum())
    if whole <= EXACT * float((means**2).sum()):
        return dict.fromkeys(names, Importance(0.0, 0.0, 0.0))
    importances: dict[str, Importance] = {}
    for axis, name in enumerate(names):
        own_freedom = count - count // means.shape[axis]
        explained = _total(means, axis)
        if explained <= EXACT * whole:
            importances[name] = Importance(0.0, 0.0, 0.0)
        elif _chance(explained, own_freedom, noise * freedom, freedom, whole, rng) * len(names) <= ERROR:
            shares: list[float] = []
            for _ in range(RESAMPLES):
                more = rng.normal(0.0, float(np.sqrt(noise)), count).reshape(means.shape)
                shares.append(_share(means + more, axis, own_freedom, 2 * noise))
            importances[name] = _between(_share(means, axis, own_freedom, noise), shares)
    return importances


def _total(means: NDArray[np.float64], axis: int) -> float:
    return float(((means - means.mean(axis=axis, keepdims=True)) ** 2).sum())


def _share(means: NDArray[np.float64], axis: int, freedom: int, noise: float) -> float:
    """Return the part of the total sum of squares that a knob (an axis of ``means``) explains, from 0 to 1.

    ``freedom`` is the knob's degrees of freedom. The expected ``noise`` is first subtracted from the knob's and from the total
    sum of squares.
    """
    whole = float(((means - means.mean()) ** 2).sum()) - (means.size - 1) * noise
    return float(np.clip((_total(means, axis) - freedom * noise) / whole, 0.0, 1.0)) if whole > 0 else 0.0


def _groups(level: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return, for each trial, the group of its value of one knob (a field to vary), as an index.

    Neighboring values share a group, and groups have similar numbers of trials. ``level`` has the index of each trial's value. There are
    at most ``most`` groups.
    """
    if int(level.max()) < most:
        return level
    edges = np.unique(np.quantile(level, np.arange(1, most) / most))
    return np.unique(np.searchsorted(edges, level, side="left"), return_inverse=True)[1].reshape(-1)


def _fitted(
    names: list[str], levels: list[NDArray[np.int64]], values: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, Importance]:
    """Return the importance of the knobs ``names`` (fields to vary) by a linear fit that has an effect for each value of each knob.

    ``levels`` has, for each knob, the index of its value in each trial. ``values`` has the result of each trial. ``rng`` draws the noise
    for the uncertainty.
    """
    whole = float(((values - values.mean()) ** 2).sum())
    columns = [np.eye(int(level.max()) + 1)[level] for level in levels]
    rest, rank, fit = _left(columns, values)
    freedom = len(values) - rank
    if freedom < LEAST_FREEDOM:
        return {}
    if whole <= EXACT * float((values**2).sum()):
        return dict.fromkeys(names, Importance(0.0, 0.0, 0.0))
    importances: dict[str, Importance] = {}
    for place, name in enumerate(names):
        others = columns[:place] + columns[place + 1 :]
        without, fewer, _ = _left(others, values)
        if fewer == rank:
            continue  # what others have says as much
        if _chance(without - rest, rank - fewer, rest, freedom, whole, rng) * len(names) > ERROR:
            continue
        shares: list[float] = []
        for _ in range(RESAMPLES):
            resampled = fit + rng.normal(0.0, float(np.sqrt(rest / freedom)), len(fit))
            spread = float(((resampled - resampled.mean()) ** 2).sum())
            shares.append((_left(others, resampled)[0] - _left(columns, resampled)[0]) / spread)
        importances[name] = _between((without - rest) / whole, shares)
    return importances


def _left(columns: list[NDArray[np.float64]], values: NDArray[np.float64]) -> tuple[float, int, NDArray[np.float64]]:
    """Return (residual sum of squares of a linear fit of ``values`` by ``columns``, rank of the columns, fitted values)."""
    matrix = np.hstack([np.ones((len(values), 1)), *columns])
    fit, _, rank, _ = np.linalg.lstsq(matrix, values, rcond=None)
    fitted = matrix @ fit
    return float(((values - fitted) ** 2).sum()), int(rank), fitted


def _chance(
    explained: float, own_freedom: int, left: float, freedom: int, whole: float, rng: np.random.Generator
) -> float:
    """Return the probability that noise alone makes a knob explain this much, from random draws of the F distribution by ``rng``.

    - ``explained``: the knob's sum of squares, with ``own_freedom`` degrees of freedom.
    - ``left``: the residual sum of squares, with ``freedom`` degrees of freedom.
    - ``whole``: the total sum of squares.
    """
    if explained <= EXACT * whole:
        return 1.0
    if left <= EXACT * whole:
        return 0.0
    ratio = (explained / own_freedom) / (left / freedom)
    drawn = (rng.chisquare(own_freedom, DRAWS) / own_freedom) / (rng.chisquare(freedom, DRAWS) / freedom)
    return float((drawn >= ratio).mean())


def _between(share: float, others: list[float]) -> Importance:
    low, high = np.quantile(others, [0.05, 0.95])
    return Importance(share, min(float(low), share), max(float(high), share))
