"""The range (band) in which the true time of a prediction probably lies, from the errors of earlier predictions.

``make validation`` predicts published results, compares the predictions with the published values, and writes the errors into
``errors.json``. The file is a list of groups. Each group has predictions of one library, collective and engine, the smallest and largest
number of servers and bytes, and the errors in percent of the published values.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from railweave.json_values import JsonObject

TABLE = Path(__file__).with_name("errors.json")

FEW = 5
"""The number of compared results from which a 90th percentile of their errors is used. With fewer results, the largest error is used."""


TEN = 10
"""The number of compared results from which texts say "nine of ten". With fewer results, this phrase would not be exact."""


@dataclass(frozen=True)
class Group(JsonObject):
    """The errors of predictions against published results of one kind, as absolute values in percent. ``rows`` is the number of results.

    ``servers`` and ``bytes`` are the smallest and the largest value in the group. If ``domains`` is true, the servers
    are NVLink domains of several servers each, of GPU model ``gpu``.
    """

    library: str
    collective: str
    engine: str
    servers: tuple[int, int]
    bytes: tuple[int, int]
    rows: int
    median_abs_percent: float
    p90_abs_percent: float
    max_abs_percent: float
    domains: bool = False
    gpu: str = ""

    @property
    def error(self) -> float:
        """The relative error that nine of ten predictions of this kind do not exceed.

        If the group has fewer than ``FEW`` rows, this is the largest error.
        """
        return (self.p90_abs_percent if self.rows >= FEW else self.max_abs_percent) / 100


@dataclass(frozen=True)
class Band(JsonObject):
    """The range of a predicted time, in ps.

    - ``error``: the relative error of similar predictions against published results; None if there is no published result
      of this kind.
    - ``compared``: the kind of published results from which the error was determined.
    - ``outside``: a sentence on the conditions that no published result covers; empty if all are covered.
    - ``seeds_ps``: the predicted time with each of several seeds; empty for a single seed.
    """

    JSON = ("low_us=low_ps/1e6", "high_us=high_ps/1e6", "error", "compared", "outside", "seeds_us=seeds_ps/1e6")

    low_ps: int
    high_ps: int
    error: float | None
    compared: str
    outside: str
    seeds_ps: tuple[int, ...] = ()

    def with_seeds(self, seeds_ps: tuple[int, ...]) -> Band:
        """Return the band, widened so that it includes the times of several seeds."""
        low, high = _between(min(seeds_ps), max(seeds_ps), self.error)
        return replace(self, low_ps=low, high_ps=high, seeds_ps=seeds_ps)

    def to_text(self) -> str:
        """Return the range as lines of text: the limits, the comparison behind them, and conditions that no published result covers."""
        about = self.compared if self.error is None else f"{self.error:.1%} either way: {self.compared}"
        text = f"  between        {self.low_ps / 1e6:.1f} and {self.high_ps / 1e6:.1f} us ({about}{self._chance()})\n"
        if self.error is None and len(self.seeds_ps) < 2:
            text = ""
        return text + (f"  not compared   {self.outside}\n" if self.outside else "")

    def sentence(self) -> str:
        """Return the range as sentences for reports, such as "The time is between 90.1 and 99.5 us: …"."""
        low, high = f"{self.low_ps / 1e6:,.1f}", f"{self.high_ps / 1e6:,.1f}"
        sure = f"The time is between {low} and {high} us: {self.compared}, to {self.error:.1%}" if self.error else ""
        sure = sure or f"The error of the time is not known: {self.compared}"
        return f"{sure}{self._chance()}. {self.outside}".strip()

    def _chance(self) -> str:
        if len(self.seeds_ps) < 2:
            return ""
        low, high = min(self.seeds_ps), max(self.seeds_ps)
        if low == high:
            return f"; {len(self.seeds_ps)} seeds give the same time"
        return f"; {len(self.seeds_ps)} seeds from {low / 1e6:.1f} to {high / 1e6:.1f} us"


@cache
def groups() -> tuple[Group, ...]:
    """Return the groups of earlier errors in ``errors.json``, which is part of railweave."""
    records: list[dict[str, Any]] = json.loads(TABLE.read_text())
    pairs = ("servers", "bytes")
    rows: list[dict[str, Any]] = [
        {key: tuple(record[key]) if key in pairs else record[key] for key in record} for record in records
    ]
    return tuple(Group(**row) for row in rows)


def band(
    time_ps: int,
    *,
    library: str,
    collective: str,
    engine: str,
    servers: int,
    size_bytes: int,
    others: str = "",
    domains: bool = False,
    gpu: str = "",
) -> Band:
    """Return the range in which the real time should lie, for a predicted time in picoseconds.

    The width of the range follows from the errors of predictions with the same library, collective and engine against published results.
    Without any such result, both limits are ``time_ps`` and ``error`` is None.

    ``others`` describes conditions of the run that no published result covers, such as ``faults``. ``domains`` is True if the servers are
    NVLink domains, with GPUs of the model ``gpu``.
    """
    same = [group for group in groups() if group.domains == domains]
    alike = [group for group in same if (group.library, group.collective) == (library, collective)]
    if domains:  # inside one domain nothing is sent over the network
        alike = [group for group in alike if (group.servers[1] == 1) == (servers == 1)]
    mine = [group for group in alike if group.engine == engine]
    unit = "NVLink domain" if domains else "server"
    if not mine:
        between = " between NVLink domains" if domains else ""
        known = sorted({f"{group.library}'s {group.collective}" for group in same if group.engine == engine})
        compared = "no published result is of this kind"
        if alike:
            outside = f"{library}'s {collective}{between} was compared with published results only with {'packets' if engine == 'flow' else 'flows'}, not with the {engine} engine"
        else:
            outside = f"{library}'s {collective}{between} was never compared with published results" + (
                f"; {', '.join(known)} were" if known else ""
            )
        return Band(time_ps, time_ps, None, compared, f"{outside}. The error under these conditions is not known.")
    near = min(mine, key=lambda group: (_beyond(servers, group.servers), _beyond(size_bytes, group.bytes)))
    differences: list[str] = []
    if near.gpu and near.gpu != gpu:
        differences.append(f"of {near.gpu} (here {gpu})")
    if _beyond(servers, near.servers):
        differences.append(f"of {_range(near.servers)} {unit}{'' if near.servers[1] == 1 else 's'} (here {servers})")
    if _beyond(size_bytes, near.bytes):
        differences.append(f"of {_range(near.bytes)} bytes (here {size_bytes:,})")
    if others:
        differences.append(f"without {others}")
    kind = f"{library}'s {collective}"
    outside = (
        f"Published results of {kind} are {' and '.join(differences)}; the error is that of those results."
        if differences
        else ""
    )
    compared = f"one published result of {kind} was within this error"
    if near.rows > 1:
        compared = how_near(near.rows, f"{near.rows} published results of {kind}")
    return Band(*_between(time_ps, time_ps, near.error), near.error, compared, outside)


def how_near(count: int, rows: str) -> str:
    """Return a phrase on the errors of ``count`` results, such as "nine of ten of ROWS were within this error".

    ``rows`` describes the results and takes the place of ROWS.
    """
    if FEW <= count < TEN:
        return f"the 90th percentile of the errors of {rows}"
    return f"{'nine of ten' if count >= TEN else 'all'} of {rows} were within this error"


def _between(low_ps: int, high_ps: int, error: float | None) -> tuple[int, int]:
    """Return (lowest, highest) of the real time, if predictions between ``low_ps`` and ``high_ps`` have at most this relative error.

    If ``error`` is None, return the predictions unchanged.
    """
    return (low_ps, high_ps) if error is None else (round(low_ps / (1 + error)), round(high_ps * (1 + error)))


def _beyond(value: int, between: tuple[int, int]) -> float:
    """Return the factor (above 1) by which a value is outside the range ``between``, (lowest, highest). Return 0 if it is inside."""
    low, high = between
    return low / max(value, 1) if value < low else value / max(high, 1) if value > high else 0.0


def _range(between: tuple[int, int]) -> str:
    low, high = between
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
