"""The range (band) in which the true time of a prediction probably lies, from the errors of earlier predictions.

``make validation`` predicts published results and writes the errors into ``errors.json``. Constants were fitted without the result whose
error is written. Bands are made so that they hold nine of ten such errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from railweave.json_values import JsonObject
from railweave.reading import packaged_text, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TABLE = Path(__file__).with_name("errors.json")

Regime = Literal["latency", "latency and bandwidth", "bandwidth", "congestion"]
"""The limit of a collective: fixed times of each step, these and the links, the links, or links on which flows hinder each other."""

LATENCY_BYTES, LARGE_BYTES = 4 << 20, 256 << 20
"""Collectives of fewer bytes than the first are limited by latency, and from the second on by bandwidth."""

MARKED = 0.01
"""The fraction of marked packets from which congestion limits a run."""

FEWEST = 3
"""The number of published results that a group needs. Smaller groups are joined with similar results."""

STUDENT = (
    6.31,
    2.92,
    2.35,
    2.13,
    2.02,
    1.94,
    1.89,
    1.86,
    1.83,
    1.81,
    1.80,
    1.78,
    1.77,
    1.76,
    1.75,
    1.75,
    1.74,
    1.73,
    1.73,
)
"""Student's t for nine of ten values, on both sides, for 1 to 19 values. From 20 values on, their own nine tenths are used."""


def regime_of(collective: str, size_bytes: int, servers: int, marked: float | None) -> Regime:
    """Return what limits a collective. ``marked`` is the fraction of marked packets; None if the run had no packets."""
    if size_bytes < LATENCY_BYTES:
        return "latency"
    crowd = collective == "all-to-all" and servers > 1
    if crowd or (marked or 0.0) > MARKED:
        return "congestion"
    return "bandwidth" if size_bytes >= LARGE_BYTES else "latency and bandwidth"


def marked_share(counters: Mapping[str, int] | None) -> float | None:
    """Return the fraction of delivered packets that were marked; None if the run had no packets."""
    return None if counters is None else counters["ecn_marked_packets"] / max(counters["delivered_packets"], 1)


@dataclass(frozen=True)
class Kind:
    """A kind of prediction.

    - ``gpu``: the GPU model. ``algorithm``: the library's algorithm. ``several``: True if a process has several GPUs.
    - ``alone``: True if there is only one server.
    - ``domains``: True if the servers are NVLink domains of several servers each.
    """

    library: str
    collective: str
    regime: Regime
    gpu: str
    algorithm: str
    several: bool
    alone: bool = False
    domains: bool = False

    @property
    def limit(self) -> str:
        """The regime, with both regimes of large messages as one."""
        return self.regime.removeprefix("latency and ")


@dataclass(frozen=True)
class Result:
    """A published result and the error of its prediction.

    - ``servers``, ``bytes``: the size of the job and of the collective.
    - ``off``: the natural logarithm of predicted time / published time. Of a size in and out of place, it is the larger one.
    - ``engine``: the engine of the prediction.
    """

    kind: Kind
    servers: int
    bytes: int
    off: float
    engine: str


@dataclass(frozen=True)
class Group:
    """Published results that predictions of a kind are compared with.

    ``of`` says what the results have in common, such as ``RCCL's all-reduce``.
    """

    results: tuple[Result, ...]
    of: str

    @property
    def error(self) -> float:
        """The relative error that nine of ten predictions do not exceed, as a factor above 1: a time may be longer or shorter by it."""
        return math.expm1(half_width([result.off for result in self.results]))


@dataclass(frozen=True)
class Band(JsonObject):
    """The range of a predicted time, in ps.

    - ``error``: the relative error of nine of ten predictions of this kind, or of a similar one.
    - ``compared``: the published results from which the error was determined.
    - ``outside``: a sentence on the conditions that no published result covers; empty if all are covered.
    - ``seeds_ps``: the predicted time with each of several seeds; empty for a single seed.
    """

    JSON = ("low_us=low_ps/1e6", "high_us=high_ps/1e6", "error", "compared", "outside", "seeds_us=seeds_ps/1e6")

    low_ps: int
    high_ps: int
    error: float
    compared: str
    outside: str
    seeds_ps: tuple[int, ...] = ()
    known: bool = True
    """True if a published result of the same library, collective and regime was compared."""
    of_packets: float = 0.0
    """The error of such predictions by packets."""

    def with_seeds(self, seeds_ps: tuple[int, ...]) -> Band:
        """Return the band, widened so that it includes the times of several seeds."""
        low, high = _between(min(seeds_ps), max(seeds_ps), self.error)
        return replace(self, low_ps=low, high_ps=high, seeds_ps=seeds_ps)

    def to_text(self) -> str:
        """Return the range as lines of text: the limits, the comparison behind them, and conditions that no published result covers."""
        about = f"{self.error:.1%} either way: {self.compared}"
        text = f"  between        {self.low_ps / 1e6:.1f} and {self.high_ps / 1e6:.1f} us ({about}{self._chance()})\n"
        return text + (f"  not compared   {self.outside}\n" if self.outside else "")

    def sentence(self) -> str:
        """Return the range as sentences for reports, such as "The time is between 90.1 and 99.5 us: …"."""
        low, high = f"{self.low_ps / 1e6:,.1f}", f"{self.high_ps / 1e6:,.1f}"
        sure = f"The time is between {low} and {high} us: {self.compared}, to {self.error:.1%}"
        return f"{sure}{self._chance()}. {self.outside}".strip()

    def _chance(self) -> str:
        if len(self.seeds_ps) < 2:
            return ""
        low, high = min(self.seeds_ps), max(self.seeds_ps)
        if low == high:
            return f"; {len(self.seeds_ps)} seeds give the same time"
        return f"; {len(self.seeds_ps)} seeds from {low / 1e6:.1f} to {high / 1e6:.1f} us"


def half_width(offs: Iterable[float]) -> float:
    """Return the half width of a band, as a logarithm, that holds a further error with a chance of nine in ten.

    With fewer than 20 errors, it is Student's for errors around 0. With more, it is the error that nine tenths of them do not exceed,
    counted so that it holds for a further one (conformal prediction).
    """
    sizes = sorted(abs(off) for off in offs)
    count = len(sizes)
    if count > len(STUDENT):
        return sizes[min(math.ceil((count + 1) * 0.9), count) - 1]
    spread = math.sqrt(sum(size * size for size in sizes) / count)
    return STUDENT[count - 1] * spread * math.sqrt(1 + 1 / count)


@cache
def results() -> tuple[Result, ...]:
    """Return the errors in ``errors.json``, which is part of railweave."""
    records: list[dict[str, Any]] = parse_json(packaged_text(TABLE))
    kinds = ("library", "collective", "regime", "gpu", "algorithm", "several", "alone", "domains")
    return tuple(
        Result(
            Kind(**{name: record[name] for name in kinds if name in record}),
            *(record[name] for name in ("servers", "bytes", "off", "engine")),
        )
        for record in records
    )


LEVELS: tuple[tuple[str, ...], ...] = (
    ("library", "gpu", "algorithm", "several", "regime"),
    ("library", "gpu", "algorithm", "regime"),
    ("library", "gpu", "regime"),
    ("library", "gpu", "limit"),
    ("library", "algorithm", "regime"),
    ("library", "regime"),
    ("library", "limit"),
    ("regime",),
)
"""The fields that results and a prediction must share, from the narrowest group to the widest.

All groups also share the collective, one server or several, and NVLink domains or servers.
"""


MANY = 10
"""The number of results from which a group can be the one with the largest errors. Few results would give an absurd width."""

NEAR = 4
"""The factor by which the number of servers of results may differ from that of a prediction, if there are enough such results."""


def group_of(kind: Kind, servers: int, among: Sequence[Result] | None = None) -> Group:
    """Return the published results that a prediction of a kind is compared with: the narrowest group of ``LEVELS`` with ``FEWEST`` results.

    Results with about as many ``servers`` (``NEAR``) are preferred. If no group has enough results, it is the group of the same regime with the
    largest error. ``among`` are the results to choose from; None means all.
    """
    name = f"{kind.library}'s {kind.collective}"
    every = results() if among is None else among
    same = [result for result in every if _like(result.kind, kind)]
    for level in LEVELS:
        shared = [result for result in same if all(getattr(result.kind, name) == getattr(kind, name) for name in level)]
        near = [result for result in shared if servers <= NEAR * result.servers and result.servers <= NEAR * servers]
        compared = near if len(near) >= FEWEST else shared
        if len(compared) >= FEWEST:
            of = (
                f"{name} on {kind.gpu}"
                if "gpu" in level
                else name
                if "library" in level
                else f"{kind.collective} of all libraries"
            )
            return Group(tuple(compared), of)
    return _widest(kind.regime, tuple(every))


@cache
def _widest(regime: Regime, among: tuple[Result, ...]) -> Group:
    """Return the group of a regime with the largest error, by library, collective and GPU."""
    kinds: dict[tuple[str, str, str], list[Result]] = {}
    for result in among:
        if result.kind.regime == regime and not result.kind.domains:
            kinds.setdefault((result.kind.library, result.kind.collective, result.kind.gpu), []).append(result)
    groups = [
        Group(tuple(compared), f"{library}'s {collective} on {gpu}, the kind with the largest errors")
        for (library, collective, gpu), compared in kinds.items()
        if len(compared) >= MANY
    ]
    return max(groups, key=lambda group: group.error)


def _same(kind: Kind, other: Kind) -> bool:
    return (kind.library, kind.regime) == (other.library, other.regime) and _like(kind, other)


def _like(kind: Kind, other: Kind) -> bool:
    return (kind.collective, kind.limit, kind.alone, kind.domains) == (
        other.collective,
        other.limit,
        other.alone,
        other.domains,
    )


def band(time_ps: int, kind: Kind, *, engine: str, servers: int, size_bytes: int, others: str = "") -> Band:
    """Return the range in which the real time should lie, for a predicted time in picoseconds.

    The width of the range follows from the errors of predictions of the same kind against published results. ``servers`` counts NVLink
    domains if the servers are such. ``others`` describes conditions of the run that no published result covers, such as ``faults``.
    ``engine`` is the engine of the prediction.
    """
    group = packets = group_of(kind, servers)
    unlike = (
        engine == "flow" and kind.regime == "congestion" and all(result.engine != "flow" for result in group.results)
    )
    if unlike:
        group = _widest(kind.regime, results())
    count = len(group.results)
    compared = f"nine of ten such predictions, by the errors of {count} published results of {group.of}"
    known = not unlike and any(_same(result.kind, kind) for result in group.results)
    outside = (
        f"{kind.library}'s {kind.collective} was compared with such results only with packets, so the band is the widest of its limit ({kind.regime})."
        if unlike
        else _outside(group, kind, servers, size_bytes, others)
    )
    low, high = _between(time_ps, time_ps, group.error)
    return Band(low, high, group.error, compared, outside, known=known, of_packets=packets.error)


def _outside(group: Group, kind: Kind, servers: int, size_bytes: int, others: str) -> str:
    """Return a sentence on what no published result of ``group`` covers; empty if all is covered.

    ``kind`` and the other arguments describe the prediction.
    """
    name = f"{kind.library}'s {kind.collective}"
    if not any(_same(result.kind, kind) for result in group.results):
        between = " between NVLink domains" if kind.domains else ""
        return f"{name}{between} was not compared with published results whose limit is {kind.regime}; the band is that of {group.of}."
    unit = "NVLink domain" if kind.domains else "server"
    differences: list[str] = []
    gpus = sorted({result.kind.gpu for result in group.results})
    if kind.gpu not in gpus:
        differences.append(f"of {', '.join(gpus)} (here {kind.gpu})")
    for value, all_values, of, here in (
        (servers, [result.servers for result in group.results], unit, f"{servers}"),
        (size_bytes, [result.bytes for result in group.results], "byte", f"{size_bytes:,}"),
    ):
        low, high = min(all_values), max(all_values)
        if not low <= value <= high:
            values = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            differences.append(f"of {values} {of}{'' if high == 1 else 's'} (here {here})")
    if others:
        differences.append(f"without {others}")
    if not differences:
        return ""
    return f"Published results of {name} are {' and '.join(differences)}; the error is that of those results."


def how_near(count: int, rows: str) -> str:
    """Return a phrase on the errors of ``count`` results, such as "nine of ten of ROWS were within this error".

    ``rows`` describes the results and takes the place of ROWS.
    """
    if 5 <= count < 10:
        return f"the 90th percentile of the errors of {rows}"
    return f"{'nine of ten' if count >= 10 else 'all'} of {rows} were within this error"


def _between(low_ps: int, high_ps: int, error: float) -> tuple[int, int]:
    """Return (lowest, highest) of the real time, if predictions between ``low_ps`` and ``high_ps`` have at most this relative error."""
    return round(low_ps / (1 + error)), round(high_ps * (1 + error))
