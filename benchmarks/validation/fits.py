"""The fitted constants: the mechanism of each, the rows it is fitted on, and what predictions would be with other values.

Errors are out of sample: the error of a row is that of the prediction whose constants are fitted without the row's condition. A size
in and out of place is one condition. ``refitted`` gives these predictions. Each constant is refitted on its own, from a list of
values, and the changes of several constants are multiplied.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.nics import broadcom
from railweave.prediction.collectives import channels, tuning

from .published import SEEDS, Collective, Job, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType

SMALL, LARGE = 8192, 64 << 20


@dataclass(frozen=True)
class Constant:
    """A fitted constant.

    - ``holder``, ``name``: the module and its attribute; ``parameter``: the engine's parameter instead, with its unit.
    - ``value``: the value in use, and ``others`` what is tried beside it.
    - ``mechanism``: what it stands for.
    - ``rows``: the beginnings of the ids of the rows that it is fitted on, and the least and largest size of these.
    """

    name: str
    value: float
    others: tuple[float, ...]
    mechanism: str
    unit: str
    rows: tuple[str, ...]
    sizes: tuple[int, int] = (0, 1 << 60)
    holder: ModuleType | None = None
    parameters: tuple[str, ...] = ()
    suffix: str = ""

    def fitted_on(self, row: Row) -> bool:
        """Whether the constant is fitted on a row."""
        job = row.job
        size = job.size if isinstance(job, Collective) else 0
        return job is not None and row.row_id.startswith(self.rows) and self.sizes[0] <= size <= self.sizes[1]

    @contextmanager
    def at(self, value: float) -> Iterator[dict[str, str]]:
        """Set the constant, and yield the engine's parameters that do it."""
        if self.holder is None:
            yield {
                name: f"{value * factor:g}{self.suffix}" for name, factor in zip(self.parameters, (1, 10), strict=False)
            }
            return
        before = getattr(self.holder, self.name)
        setattr(self.holder, self.name, value)
        try:
            yield {}
        finally:
            setattr(self.holder, self.name, before)


CONSTANTS = (
    Constant("RCCL_LAUNCH_US", tuning.RCCL_LAUNCH_US, (17.0, 19.0, 20.5, 22.5, 24.0), "HIP's launch of a kernel of RCCL", "us",
             ("r1ar", "r4ar"), (0, SMALL), tuning),
    Constant("RCCL_PEER_US", tuning.RCCL_PEER_US, (1.1, 1.3, 1.45, 1.65, 1.8, 2.0), "a peer's turn in RCCL's all-to-all", "us",
             ("r4a2a32p",), (0, 1 << 20), tuning),
    Constant("RCCL_NEXT_GPU_PEER_US", tuning.RCCL_NEXT_GPU_PEER_US, (0.36, 0.4, 0.48, 0.52),
             "a process prepares the transfers of its GPUs one after another", "us", ("r4a2a4p",), (0, 1 << 20), tuning),
    Constant("FLAGS_GBYTES", channels.FLAGS_GBYTES, (11.0, 16.0, 19.0, 26.0, 33.0), "a proxy reads the flags of LL", "GB/s",
             ("r4ar",), (64 << 10, 1 << 20), channels),
    Constant("CUT_INTERVAL_US", broadcom.CUT_INTERVAL_US, (4, 6, 10, 12), "least time between cuts of a Thor2", "us",
             ("r4a2a",), (LARGE, 1 << 30), broadcom),
    Constant("POST_COST_PS", 0.67, (0.5, 0.6, 0.75, 0.85), "a proxy's cost of a message, or of a free buffer", "us",
             ("t12-4u-8q-a2a", "t12-4u-32q-ar"), parameters=("host.post-cost",), suffix="us"),
    Constant("ACK_EVERY", 4, (1, 2, 8), "packets per acknowledgement of ConnectX", "packets",
             ("t12-4u-4q-ar", "t12-4u-32q-ar"), parameters=("host.ack-every",)),
    Constant("ADDITIVE_MBPS", 80, (5, 20, 160), "steps by which rates rise at 400G; hyper increase is ten times as much", "Mb/s",
             ("t12-4u-1q-ar", "t12-4u-2q-a2a"), parameters=("dcqcn.additive", "dcqcn.hyper"), suffix="M"),
)  # fmt: skip
"""The constants that are refitted. Those of perftest, of the long haul and of NVLink domains have no row left without them."""

FIRST_SEEDS = 2


@dataclass(frozen=True)
class Trial:
    """A run of a job with another value of a constant."""

    job: Job
    constant: int
    value: float


def trials(rows: Sequence[Row]) -> list[Trial]:
    """The runs that refitting needs."""
    return [
        Trial(job, place, value)
        for place, constant in enumerate(CONSTANTS)
        for job in dict.fromkeys(row.job for row in rows if row.job is not None and constant.fitted_on(row))
        for value in (constant.value, *constant.others)
    ]


def condition(row: Row) -> object:
    """What is left out together: a size in and out of place."""
    return row.job if isinstance(row.job, Collective) else row.row_id


def off(row: Row, predicted: float) -> float:
    """The logarithm of the error, above 0 where a time is too long or a bandwidth too high."""
    return math.log1p(row.error(predicted))


def refitted(rows: Sequence[Row], base: Mapping[Job, float], tried: Mapping[Trial, float]) -> dict[str, float]:
    """What is predicted for each row with constants that were fitted without its condition."""
    result: dict[str, float] = {}
    for row in rows:
        if row.job is None or row.job not in base:
            continue
        factor = 1.0
        for place, constant in enumerate(CONSTANTS):
            if not constant.fitted_on(row):
                continue
            value = _best(place, constant, [other for other in rows if condition(other) != condition(row)], base, tried)
            factor *= tried[Trial(row.job, place, value)] / tried[Trial(row.job, place, constant.value)]
        result[row.row_id] = base[row.job] * factor
    return result


def _best(
    place: int, constant: Constant, rows: Sequence[Row], base: Mapping[Job, float], tried: Mapping[Trial, float]
) -> float:
    """The value with the least mean error; without rows the one that says least: the first of the others."""
    mine = [row for row in rows if constant.fitted_on(row)]
    if not mine:
        return constant.others[0]

    def error(value: float) -> float:
        factors = (
            (row, row.job, tried[Trial(row.job, place, value)] / tried[Trial(row.job, place, constant.value)])
            for row in mine
            if row.job
        )
        return sum(abs(off(row, base[job] * factor)) for row, job, factor in factors)

    return min((constant.value, *constant.others), key=error)


def table(rows: Sequence[Row], base: Mapping[Job, float], tried: Mapping[Trial, float]) -> list[str]:
    """The constants as lines of the document: value, mechanism, rows, mean error of these, and the same when left out."""
    lines = [
        "| constant | value | stands for | fitted on | mean error there | left out |",
        "|---|---|---|---|---|---|",
    ]
    left = refitted(rows, base, tried)
    for constant in CONSTANTS:
        mine = [row for row in rows if row.job is not None and constant.fitted_on(row)]
        inside = sum(abs(row.error(base[row.job])) for row in mine if row.job) / len(mine)
        outside = sum(abs(row.error(left[row.row_id])) for row in mine) / len(mine)
        ids = ", ".join(constant.rows)
        lines.append(
            f"| `{constant.name}` | {constant.value:g} {constant.unit} | {constant.mechanism} | {len(mine)} rows of {ids} | {inside:.1%} | {outside:.1%} |"
        )
    return lines


def run(trial: Trial) -> float:
    """The prediction of a trial: the mean of ``FIRST_SEEDS`` seeds."""
    from . import published

    job = trial.job
    if not isinstance(job, Collective):
        raise TypeError(job)
    constant = CONSTANTS[trial.constant]
    with constant.at(trial.value) as changed:
        seeds = range(1, min(FIRST_SEEDS, SEEDS) + 1)
        return published.predicted(job, [published.run_once(job, seed, changed).value for seed in seeds])
