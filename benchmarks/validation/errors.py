"""How far off predictions are: by kind for people, and as ``errors.json`` for the bands of predictions.

Every error is out of sample (``fits``). A closed form stands beside each group: a fixed time and the bytes over the rate of the links,
both fitted on the other conditions of the group.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import product
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from railweave.prediction.simulation.errors import FEWEST, Kind, Result, group_of, half_width, regime_of, results

from .engine import ROOT
from .fits import condition, off
from .published import LAB_SERVERS, Collective

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .published import Job, Outcome, Row

FILE = ROOT / "src/railweave/prediction/simulation/errors.json"
GPUS = {"lab": "H100", "evpn": "H100", "thor2": "MI300X", "evpn_mi300x": "MI300X", "h20": "H20"}
MISS = 2 / 0.1
"""What a miss of a band of nine in ten adds to its interval score, for each unit of distance (Gneiting and Raftery, 2007)."""


@dataclass(frozen=True)
class Compared:
    """A condition (a size in and out of place) with the logarithms of the errors of its rows, left out."""

    kind: Kind
    servers: int
    size: int
    engine: str
    left: tuple[float, ...]
    published_us: float

    @property
    def result(self) -> Result:
        """The condition as predictions have it."""
        return Result(self.kind, self.servers, self.size, self.worst, self.engine)

    @property
    def worst(self) -> float:
        """The larger of the errors that were left out."""
        return max(self.left, key=abs)


def compared(rows: Iterable[Row], outcomes: Mapping[Job, Outcome], left: Mapping[str, float]) -> list[Compared]:
    """The conditions of the collectives. An error is above 0 where the predicted time is too long."""
    found: dict[object, list[Row]] = {}
    for row in rows:
        if isinstance(row.job, Collective):
            found.setdefault(condition(row), []).append(row)
    result: list[Compared] = []
    for of in found.values():
        job = of[0].job
        if not isinstance(job, Collective):
            raise TypeError(job)
        outcome = outcomes[job]
        mi300x = GPUS[job.bed] == "MI300X"
        servers = job.of[0] if job.bed == "thor2" else 2 if job.bed == "h20" else LAB_SERVERS
        sign = 1 if of[0].unit == "us" else -1
        regime = regime_of(job.name, job.size, servers, outcome.marked)
        kind = Kind(
            "RCCL" if mi300x else "NCCL",
            job.name,
            regime,
            GPUS[job.bed],
            outcome.algorithm,
            several=job.processes == 1,
            alone=servers == 1,
        )
        left_out = tuple(sign * off(row, left[row.row_id]) for row in of)
        us = mean(row.published[0] for row in of)
        result.append(Compared(kind, servers, job.size, outcome.engine, left_out, us if sign > 0 else 0.0))
    return result


def grouped(conditions: Iterable[Compared]) -> dict[str, list[Compared]]:
    """The conditions by what is said of them: all but the algorithm."""
    groups: dict[str, list[Compared]] = {}
    for one in conditions:
        kind = one.kind
        where = "NVLink domains" if kind.domains else "1 server" if kind.alone else "servers"
        processes = "one process a server" if kind.several else "one process a GPU"
        groups.setdefault(
            f"{kind.library} {kind.collective}, {kind.regime}, {kind.gpu}, {where}, {processes}", []
        ).append(one)
    return dict(sorted(groups.items()))


def score(size: float, half: float) -> float:
    """The interval score of a band of a half width around an error, as logarithms: the width, and a penalty for a miss."""
    return 2 * half + MISS * max(0.0, size - half)


def closed_form(group: Sequence[Compared]) -> list[float]:
    """The errors of a closed form, a fixed time and the size over a rate, each fitted on the other conditions of the group."""
    sizes = [one.size for one in group]
    if any(one.published_us == 0 for one in group) or len(group) < FEWEST:
        return []
    fixed = [min(one.published_us for one in group) * part for part in (0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5)]
    rate = max(size / one.published_us for size, one in zip(sizes, group, strict=True))
    rates = [rate * part for part in (0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4)]
    errors: list[float] = []
    for one in group:
        others = [other for other in group if other is not one]
        best = min(product(fixed, rates), key=lambda pair: sum(abs(_off_closed(other, *pair)) for other in others))
        errors.append(_off_closed(one, *best))
    return errors


def _off_closed(one: Compared, fixed_us: float, rate: float) -> float:
    return math.log((fixed_us + one.size / rate) / one.published_us)


def by_group(conditions: Sequence[Compared]) -> list[str]:
    """The groups, as lines of the document: errors, bands made without the condition, and the closed form.

    Bands are those of predictions: from the narrowest group that has enough of the other conditions, of published rows and of other clusters.
    """
    elsewhere = [result for of, result in kept() if of != "published"]
    lines = [
        "Errors of conditions that were left out, by group, and the bands that follow from the other conditions:",
        "",
        "| library, collective, limit, GPU, servers, processes | conditions | median, mean, most | half width of the band | inside | score | closed form: median, mean | its score |",
        "|---|---|---|---|---|---|---|---|",
    ]
    every: list[bool] = []
    for name, group in grouped(conditions).items():
        offs = [abs(one.worst) for one in group]
        halves = [
            math.log1p(
                group_of(
                    one.kind, one.servers, [*elsewhere, *(other.result for other in conditions if other is not one)]
                ).error
            )
            for one in group
        ]
        inside = [size <= half for size, half in zip(offs, halves, strict=True)]
        every += inside
        closed = [abs(error) for error in closed_form(group)]
        own = mean(score(size, half) for size, half in zip(offs, halves, strict=True))
        of_closed = "– | –"
        if closed:
            others = [
                half_width([other for k, other in enumerate(closed) if k != place]) for place in range(len(closed))
            ]
            closed_score = mean(score(size, half) for size, half in zip(closed, others, strict=True))
            of_closed = f"{_percent(median(closed))}, {_percent(mean(closed))} | {closed_score:.2f}"
        lines.append(
            f"| {name} | {len(group)} | {_percent(median(offs))}, {_percent(mean(offs))}, {_percent(max(offs))} "
            f"| {_percent(median(halves))} | {sum(inside)} | {own:.2f} | {of_closed} |"
        )
    return [*lines, "", f"{sum(every)} of {len(every)} conditions lie in the band that the others give."]


def _percent(size: float) -> str:
    return f"{math.expm1(size):.1%}"


def kept() -> list[tuple[str, Result]]:
    """What ``errors.json`` has: the source and the error of each condition."""
    return list(zip([one["of"] for one in json.loads(FILE.read_text())], results(), strict=True))


def write(conditions: Iterable[Compared], of: str) -> None:
    """Write conditions into ``errors.json``, and keep those of other sources. ``of`` is the source: ``published`` or ``field``."""
    _keep([_record(one.kind, one.servers, one.size, one.worst, one.engine) for one in conditions], of)


def write_domains(groups: Iterable[Sequence[tuple[int, int, float]]]) -> None:
    """Write the rows of NVLink domains into ``errors.json``, each of (domains, size, error in percent).

    Inside one domain nothing is sent over the network, so both engines give the same result.
    """
    records: list[dict[str, Any]] = []
    for rows in groups:
        for count, size, error in rows:
            kind = Kind("NCCL", "all-reduce", "bandwidth", "GB200", "", several=False, alone=count == 1, domains=True)
            records.append(_record(kind, count, size, math.log1p(error / 100), "flow"))
    _keep(records, "racks")


def _record(kind: Kind, servers: int, size: int, error: float, engine: str) -> dict[str, Any]:
    return {
        "library": kind.library, "collective": kind.collective, "regime": kind.regime, "gpu": kind.gpu,
        "algorithm": kind.algorithm, "several": kind.several, "alone": kind.alone,
        **({"domains": True} if kind.domains else {}), "servers": servers, "bytes": size, "off": round(error, 4), "engine": engine,
    }  # fmt: skip


def _keep(records: Sequence[dict[str, Any]], of: str) -> None:
    """Write the records of a source, and keep those of others."""
    every = [one for one in json.loads(FILE.read_text()) if one["of"] != of] + [{**one, "of": of} for one in records]
    every.sort(key=lambda one: one["of"])
    FILE.write_text("[\n" + ",\n".join(f"  {json.dumps(one)}" for one in every) + "\n]\n")
