"""Measured numbers of runs, compared in rows with verdicts. Numbers of different runs are compared if they have the same key.

For each key, a run has one number: the median of its samples. The steps of a run are not repeats, because a cause
that slows a run slows all its steps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING, Literal

from railweave.json_values import JsonObject
from railweave.operations.bench.inspector import POINT_TO_POINT
from railweave.operations.store.records import COLLECTIVE_TOOLS
from railweave.pages.table import EMPTY, Cell, Column, Table, formatted
from railweave.prediction.collectives.program import written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.operations.store.records import Prediction, Run, Sample


QUANTITY = "bandwidth_gbps"
FEWEST = 3
"""The smallest number of comparable pairs whose median serves as the expected rate, if nothing was predicted."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A measurement between two NICs (``SERVER:NIC``), the client first, or a collective of one or more servers.

    - ``servers``: the servers of a collective; empty for perftest. ``src`` and ``dst`` of a collective are the first
      and the last server, as ``SERVER:DEVICE`` if the job used only one RDMA device.
    - ``like``: the test that ran. Only pairs with the same test are compared.
    - ``color``, ``links``, ``leaves``: the path of the packets, as far as it is known. A link without ports
      (``leaf1--spine1``) means parallel cables, of which a hash selects one.
    - ``round``: pairs with the same round ran at the same time; empty if the round is unknown.
    - ``gbps``: the measured rate (for a collective, the bus bandwidth); 0 if the run failed. ``expected_gbps``: the
      predicted rate; None if there is no prediction.
    - ``relative``: the rate as a fraction of the expected rate; None if no expectation is known.
    """

    src: str
    dst: str
    like: str
    gbps: float
    color: str = ""
    links: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    round: str = ""
    expected_gbps: float | None = None
    relative: float | None = None
    run: str = ""
    servers: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of the servers that take part."""
        return self.servers or tuple(dict.fromkeys(end.partition(":")[0] for end in (self.src, self.dst)))


def pairs_of(runs: Iterable[Run], more: Mapping[str, Mapping[str, str]] | None = None) -> list[Pair]:
    """Return perftest runs and collectives as pairs. Perftest runs need two known NICs, and collectives need known servers.

    The settings ``server`` and ``client`` of a perftest run name the NICs. The output of nccl-tests names the servers.
    ``more`` has further settings by run id, as ``located`` returns them.
    """
    pairs: list[Pair] = []
    for run in runs:
        settings = {**(more or {}).get(run.id, {}), **dict(run.settings)}
        pair = _pair(run, settings) or _collective(run, settings)
        if pair is not None:
            pairs.append(pair)
    return compared(pairs)


BUS = "busbw_gbytes_per_s"
_ONE_DEVICE = re.compile(r"=?([A-Za-z][\w-]*)(?::\d+)?")


def _collective(run: Run, settings: Mapping[str, str]) -> Pair | None:
    """Return a run of nccl-tests or rccl-tests as a pair. ``settings`` are the settings of the run.

    Return None if the servers are unknown, or if the run used only one GPU.
    """
    hosts = tuple(dict.fromkeys(run.hosts))
    if run.tool not in COLLECTIVE_TOOLS or not hosts or run.ranks == 1:
        return None
    rates = [
        sample
        for sample in run.samples
        if sample.quantity == BUS
        and sample.size_bytes
        and isfinite(sample.value)
        and sample.operation not in POINT_TO_POINT
    ]
    size = max((sample.size_bytes or 0 for sample in rates), default=0)
    largest_rates = [sample for sample in rates if sample.size_bytes == size]
    if not largest_rates and not run.failures:
        return None
    operation = largest_rates[0].operation if largest_rates else ""
    foreseen = [
        prediction.value
        for prediction in run.predictions
        if (prediction.operation, prediction.size_bytes, prediction.quantity) == (operation, size, BUS)
    ]
    device = _ONE_DEVICE.fullmatch(dict(run.environment.variables).get("NCCL_IB_HCA", ""))
    ends = [f"{host}:{device[1]}" if device and len(hosts) > 1 else host for host in (hosts[0], hosts[-1])]
    kind = (f"{run.ranks or '?'} GPUs of {len(hosts)} servers", device[1] if device else "")
    return Pair(
        src=ends[0],
        dst=ends[1],
        like=", ".join(filter(None, (operation, f"{size} bytes" if size else "", *kind))),
        gbps=8 * median(sample.value for sample in largest_rates) if largest_rates else 0.0,
        leaves=tuple(settings.get("leaves", "").split()),
        round=f"{settings.get('part', '')}/{settings['round']}" if "round" in settings else "",
        expected_gbps=8 * median(foreseen) if foreseen and min(foreseen) > 0 else None,
        run=run.id,
        servers=hosts,
    )


def _pair(run: Run, settings: Mapping[str, str]) -> Pair | None:
    server, client = settings.get("server", ""), settings.get("client", "")
    if run.tool != "perftest" or ":" not in server or ":" not in client or server == client:
        return None
    sample = largest(run.samples)
    if sample is None and not run.failures:
        return None
    operation = sample.operation if sample else next((prediction.operation for prediction in run.predictions), "")
    size = sample.size_bytes if sample else next((prediction.size_bytes for prediction in run.predictions), None)
    expected = next(
        (
            prediction.value
            for prediction in run.predictions
            if (prediction.operation, prediction.size_bytes, prediction.quantity) == (operation, size, QUANTITY)
            and prediction.value > 0
        ),
        None,
    )
    like = ", ".join(filter(None, (operation, "" if size is None else f"{size} bytes", settings.get("memory", ""))))
    return Pair(
        src=client,
        dst=server,
        like=like,
        gbps=sample.value if sample else 0.0,
        color=settings.get("color", ""),
        links=tuple(settings.get("links", "").split()),
        leaves=tuple(settings.get("leaves", "").split()),
        round=f"{settings.get('part', '')}/{settings['round']}" if "round" in settings else "",
        expected_gbps=expected,
        run=run.id,
    )


def largest(samples: Iterable[Sample]) -> Sample | None:
    """Return the sample with the average bandwidth of the largest message, or None if there is no valid sample.

    Small messages measure how fast a NIC posts messages, not the bandwidth of a path.
    """
    bandwidths = [
        sample for sample in samples if sample.quantity == QUANTITY and isfinite(sample.value) and sample.value >= 0
    ]
    return max(bandwidths, key=lambda sample: sample.size_bytes or 0, default=None)


def compared(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with ``relative`` set: the measured rate as a fraction of the expected rate.

    If all pairs of a test have a prediction, the expected rate is the predicted rate. Otherwise it is the median of the
    pairs with the same test and the same number of links. With fewer than ``FEWEST`` such pairs, ``relative`` is None.
    """
    groups: dict[tuple[str, int], list[Pair]] = {}
    predicted: dict[str, bool] = {}
    for pair in pairs:
        known = pair.expected_gbps is not None and pair.expected_gbps > 0
        predicted[pair.like] = predicted.get(pair.like, True) and known
        groups.setdefault((pair.like, len(pair.links)), []).append(pair)
    usual = {
        key: median(member.gbps for member in several) if len(several) >= FEWEST else 0.0
        for key, several in groups.items()
    }

    def beside(member: Pair) -> Pair:
        least = member.expected_gbps if predicted[member.like] else usual[member.like, len(member.links)]
        return replace(member, relative=member.gbps / least if least else None)

    return [beside(pair) for pair in pairs]


FASTER = (
    "busbw_gbytes_per_s",
    "average_busbw_gbytes_per_s",
    "bandwidth_gbps",
    "throughput_per_s",
)
"""The quantities for which more is better."""
SLOWER = (
    "latency_avg_us",
    "latency_typical_us",
    "time_us",
    "step_time_s",
    "block_time_s",
    "time_to_train_s",
    "completion_time_s",
)
"""The quantities for which less is better."""
COARSE = 0.1
"""The bus bandwidth in GB/s below which the printed number has too few digits. Times are then compared instead of bus bandwidths."""
RESULTS = ("algorithm", "protocol", "channels", "timestamp", "at", "samples")
"""The labels of nccl-tests and of training that are results of a run. All other labels are inputs, and distinguish numbers."""
REMARKS = ("note", "flag", "source", "table", "timestamp", "unit", "unit_in_source")
"""The columns of tables that do not distinguish rows, such as notes and sources."""


@dataclass(frozen=True, slots=True, order=True)
class Key(JsonObject):
    """The key of a measured number: two runs with the same key measured the same thing.

    ``where`` is the planned run, the pair of NICs or the number of GPUs; empty if unknown. ``place`` is in-place or
    out-of-place. ``size_bytes`` is -1 if the number has no size.
    """

    JSON = ("where", "operation", "size_bytes=known_size", "place", "quantity", "labels=named_labels")

    where: str
    operation: str
    size_bytes: int
    place: str
    quantity: str
    labels: tuple[tuple[str, str], ...] = ()

    def to_text(self) -> str:
        """Return the key as a line of text. A table row that has a name is shown with that name."""
        size = "" if self.size_bytes < 0 else written(self.size_bytes)
        labels = self.labels_text and f"({self.labels_text})"
        return " ".join(filter(None, (self.where and f"{self.where}:", self.operation, size, self.place, labels)))

    @property
    def labels_text(self) -> str:
        """The name of the table row if it has one, otherwise all labels."""
        return dict(self.labels).get("row_id") or ", ".join(f"{name} {text}" for name, text in self.labels)

    @property
    def known_size(self) -> int | None:
        """The message size in bytes, or None if the number has no size."""
        return None if self.size_bytes < 0 else self.size_bytes

    @property
    def named_labels(self) -> dict[str, str]:
        """The labels by name."""
        return dict(self.labels)


@dataclass(frozen=True, slots=True)
class Number:
    """A measured number of one run."""

    run: str
    value: float


def ratio(key: Key, before: float, after: float) -> float | None:
    """Return the ratio of ``after`` to ``before``, or the inverse if less is better, so that a ratio above 1 is always better.

    Return None if the ratio is undefined.
    """
    up, down = (after, before) if key.quantity in FASTER else (before, after)
    quotient = up / down if down > 0 else None
    return quotient if quotient is not None and isfinite(quotient) else None


def where(run: Run, more: Mapping[str, str] | None = None) -> str:
    """Return a text that distinguishes the run from other runs of the same operation.

    The text is the name of the planned run, the pair of NICs with its path color, or the number of GPUs. ``more`` has settings of
    the run that the network determines, such as ``client`` and ``server``.
    """
    settings = {**(more or {}), **dict(run.settings)}
    if settings.get("planned run"):
        return settings["planned run"]
    if run.tool == "perftest":
        pair = " to ".join(filter(None, (settings.get("client"), settings.get("server"))))
        return " ".join(filter(None, (pair, settings.get("color"))))
    return f"{run.ranks} GPUs" if run.ranks else ""


def numbers(runs: Iterable[Run], more: Mapping[str, Mapping[str, str]] | None = None) -> dict[Key, list[Number]]:
    """Return the numbers of each key, one per run, in the order of the runs. Keys are sorted.

    ``more`` has settings that the network determines, such as ``client`` and ``server``, by run id (``located``).
    """
    by_key: dict[Key, list[Number]] = {}
    for run in runs:
        here: dict[Key, list[float]] = {}
        place = where(run, (more or {}).get(run.id))
        for sample in run.samples:
            if sample.quantity in FASTER + SLOWER and isfinite(sample.value) and sample.value >= 0:
                here.setdefault(key_of(sample, place, run.tool), []).append(sample.value)
        for key, values in here.items():
            by_key.setdefault(key, []).append(Number(run.id, median(values)))
    return {key: by_key[key] for key in sorted(_main(by_key))}


def key_of(sample: Sample | Prediction, place: str, tool: str = "") -> Key:
    """Return the key of a sample or a prediction.

    ``place`` is the planned run, the pair of NICs or the number of GPUs (``where``). ``tool`` is the program that made the sample.
    """
    sample_labels: tuple[tuple[str, str], ...] = getattr(sample, "labels", ())
    labels = tuple(
        (name, text)
        for name, text in sample_labels
        if (text and name not in REMARKS if tool == "table" else name not in RESULTS and text != "0")
    )
    size = -1 if sample.size_bytes is None else sample.size_bytes
    return Key(place, sample.operation, size, sample.place, sample.quantity, labels)


def _main(by_key: dict[Key, list[Number]]) -> list[Key]:
    """Return the keys whose numbers to compare. Some quantities of a test measure the same property; only one of them is kept:

    - Bus bandwidth is kept instead of time, unless it has too few digits.
    - Average latency is kept instead of typical latency.
    - Step time is kept instead of block time.
    """
    by_thing: dict[tuple[object, ...], dict[str, Key]] = {}
    for key in by_key:
        by_thing.setdefault((key.where, key.operation, key.size_bytes, key.place, key.labels), {})[key.quantity] = key
    kept: list[Key] = []
    for several in by_thing.values():
        bus = several.get("busbw_gbytes_per_s")
        coarse = bus is not None and min(number.value for number in by_key[bus]) < COARSE and "time_us" in several
        left_out = {"busbw_gbytes_per_s" if coarse else "time_us"} if bus is not None else set[str]()
        if "latency_avg_us" in several:
            left_out.add("latency_typical_us")
        if "step_time_s" in several:
            left_out.add("block_time_s")
        kept += [key for quantity, key in several.items() if quantity not in left_out]
    return kept


TOLERANCE = 0.05
"""The default fraction by which a number may be worse than the reference."""

Verdict = Literal["same", "better", "worse", "too few repeats", "failed", "only before", "only now"]


@dataclass(frozen=True, slots=True)
class Row(JsonObject):
    """A comparison of the numbers with one key: before and now, or predicted and measured.

    - ``before``, ``now``: the medians, or None. ``repeats``: the number of runs behind each median.
    - ``low``, ``high``: the band of a prediction.
    - ``ratio``: the ratio of ``now`` to ``before``, inverted if less is better, so that a value above 1 is better for
      every quantity.
    - ``chance``: the probability of such a result by chance, over all rows; None if it was not computed.
    - ``tolerance``: the allowed fraction below the band, in a comparison with a prediction.
    - ``likely``: likely causes of a low result. ``runs``: the ids of the runs from which ``now`` was calculated.
    """

    JSON = ("*key", "before", "now", "ratio:4", "verdict", "repeats", "band", "chance", "tolerance", "likely", "runs")

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
        """True if the number is worse than the tolerance allows, or if the run failed."""
        return self.verdict in {"worse", "failed"}

    @property
    def band(self) -> tuple[float, float | None] | None:
        """The band of the prediction as low and high end, or None if the row has no prediction."""
        return None if self.low is None else (self.low, self.high)


UNITS = (("_gbytes_per_s", "GB/s"), ("_gbps", "Gb/s"), ("_per_s", "a second"), ("_us", "us"), ("_s", "s"))
CLASSES = {"worse": "worse", "failed": "failed", "better": "better", "too few repeats": "few"}
"""The CSS class of the table cell for each verdict."""
ORDER = ("failed", "worse", "too few repeats", "better", "same", "only now", "only before")


def row_table(rows: Sequence[Row], of: str) -> Table:
    """Return a table of rows with their verdicts, the worst row first. ``of`` is the reference: ``prediction`` or ``runs``.

    Columns that are empty in every row are left out.
    """
    predicted = of == "prediction"
    ordered = sorted(
        rows, key=lambda row: (ORDER.index(row.verdict), row.ratio if row.ratio is not None else 1.0, row.key)
    )
    wide: tuple[tuple[Column, Callable[[Row], object], bool], ...] = (
        (Column("where", "text", "where"), lambda row: row.key.where, any(row.key.where for row in rows)),
        (Column("of", "text", "operation"), lambda row: row.key.operation, True),
        (Column("size", "number", "size_bytes"), lambda row: _size(row.key), any(row.key.known_size for row in rows)),
        (Column("place", "text", "place"), lambda row: row.key.place, any(row.key.place for row in rows)),
        (Column("labels", "text", "labels"), lambda row: _labels(row.key), any(row.key.labels for row in rows)),
        (Column("quantity", "text", "quantity"), lambda row: _quantity(row.key.quantity), True),
        (Column("predicted" if predicted else "before", "number", "before"), lambda row: _value(row.before), True),
        (Column("at least", "number", "low"), lambda row: _value(row.low) if _wide(row) else None, predicted),
        (Column("at most", "number", "high"), lambda row: _value(row.high) if _wide(row) else None, predicted),
        (Column("measured", "number", "now"), lambda row: _value(row.now), True),
        (Column("ratio", "number", "ratio"), lambda row: formatted(row.ratio, ".2f"), True),
        (Column("runs before", "number", "runs_before"), lambda row: row.repeats[0], not predicted),
        (Column("runs", "number", "runs"), lambda row: row.repeats[1], True),
        (
            Column("verdict", "text", "verdict"),
            lambda row: Cell(row.verdict, row.verdict, CLASSES.get(row.verdict, "")),
            True,
        ),
    )
    shown = [(column, cell) for column, cell, there in wide if there]
    return Table(
        [column for column, _ in shown],
        [[cell(row) for _, cell in shown] for row in ordered],
        remarks={place: "\n".join(row.likely) for place, row in enumerate(ordered) if row.likely},
    )


def _size(key: Key) -> Cell:
    return EMPTY if key.known_size is None else Cell(key.size_bytes, written(key.size_bytes))


def _labels(key: Key) -> Cell:
    return Cell(";".join(f"{name}={text}" for name, text in key.labels), key.labels_text, "said")


def _quantity(quantity: str) -> Cell:
    """Return a cell with the quantity and the unit from its name, such as ``busbw GB/s``."""
    end, unit = next((pair for pair in UNITS if quantity.endswith(pair[0])), ("", ""))
    return Cell(quantity, f"{quantity.removesuffix(end).replace('_', ' ')} {unit}".strip())


def _value(value: float | None) -> Cell | None:
    return formatted(value, ",.0f" if value is not None and abs(value) >= 1000 else ".4g")


def _wide(row: Row) -> bool:
    """Return True if the band of a row is wider than a single value."""
    return row.low is not None and row.high is not None and row.low < row.high
