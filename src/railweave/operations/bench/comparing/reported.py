"""Reports on the runs in a store (a database of benchmark runs), and comparisons of two sets of runs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import TYPE_CHECKING

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import QueuePairPath, by_ends, queue_pair_paths
from railweave.errors import Argument, InputError, Problem
from railweave.json_values import JsonObject
from railweave.model.catalog import in_force
from railweave.model.device.build import device_config
from railweave.operations.bench.comparing.curves import Curve, against_prediction, curves, failed
from railweave.operations.bench.comparing.estimate import Estimate, Slowest, estimate, slowest, with_causes
from railweave.operations.bench.comparing.predicting import gpu_notes, predictions
from railweave.operations.bench.comparing.regressions import host_memory_notes, regressions
from railweave.operations.bench.comparing.rows import REMARKS, TOLERANCE, Pair, Row, numbers, pairs_of, row_table
from railweave.operations.bench.lines import address
from railweave.operations.store.records import COLLECTIVE_TOOLS
from railweave.pages.table import NOTHING, Cell, Column, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.analysis.routing.table import Routes
    from railweave.model.network.devices import Nic
    from railweave.model.network.model import Network
    from railweave.operations.bench.comparing.predicting import RunPrediction
    from railweave.operations.store.records import Run, Sample


@dataclass(frozen=True, slots=True)
class BenchComparison(JsonObject):
    """The result of a comparison of benchmark runs.

    - ``of``: the reference, ``runs`` or ``prediction``.
    - ``rows``: the comparison of each measured number.
    - ``estimate``: the parts of the network that best explain slow results.
    - ``notes``: sentences about results that could not be compared, and why.
    """

    JSON = ("beside=of", "tolerance", "good", "verdict", "rows", "pairs=estimate", "notes")

    of: str
    tolerance: float
    rows: tuple[Row, ...]
    estimate: Estimate
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if there are rows, and none is worse than the tolerance allows."""
        return bool(self.rows) and not any(row.bad for row in self.rows)

    @property
    def table(self) -> Table:
        """The rows with their verdicts, as a table with the worst rows first."""
        return row_table(self.rows, self.of)

    def verdict(self) -> str:
        """A sentence that states how many rows have each verdict."""
        counts = Counter(row.verdict for row in self.rows)
        if not counts:
            return "There is nothing to compare."
        return f"{len(self.rows)} rows: {', '.join(f'{count} {word}' for word, count in counts.most_common())}."


def compare_runs(
    before: Sequence[Run],
    now: Sequence[Run],
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
    notes: Sequence[str] = (),
) -> BenchComparison:
    """Return the comparison of runs (``now``) with earlier runs (``before``).

    - ``tolerance``: the fraction by which a number may be worse; None means ``TOLERANCE``.
    - ``more``: settings that the network determines, such as ``client`` and ``server``, by run id (``located``).
    - ``accounts``: new predictions, by run id.
    - ``notes``: sentences to include.
    """
    allowed = TOLERANCE if tolerance is None else tolerance
    rows = [*regressions(numbers(before, more), numbers(now, more), allowed, fewest=1), *failed(now)]
    together = any(row.before is not None and row.now is not None for row in rows)
    remarks = [*notes, *(() if together else (NOTHING_IN_COMMON,)), *host_memory_notes([*before, *now])]
    return _compared("runs", rows, now, allowed, more, accounts, remarks)


def compare_predicted(
    runs: Sequence[Run],
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
    notes: Sequence[str] = (),
) -> BenchComparison:
    """Return the comparison of runs with their stored predictions, or with new predictions (``accounts``) if none were stored.

    - ``tolerance``: the fraction by which a number may be below the band; None means the tolerance in the run's plan.
    - ``more``: settings that the network determines, such as ``client`` and ``server``, by run id (``located``).
    - ``accounts``: new predictions, by run id.
    - ``notes``: sentences to include in the result.
    """
    given = accounts or {}
    rows = against_prediction(runs, tolerance, more, given)
    without = sum(not run.predictions and run.id not in given for run in runs)
    remarks = list(notes)
    if without:
        remarks.append(f"of {without} of {len(runs)} runs nothing was predicted")
    remarks += host_memory_notes(runs)
    return _compared("prediction", rows, runs, tolerance, more, accounts, remarks)


NOTHING_IN_COMMON = (
    "the two have nothing in common that was measured: operation, size, place and number of GPUs must be the same"
)


def _compared(
    of: str,
    rows: Sequence[Row],
    runs: Sequence[Run],
    tolerance: float | None,
    more: Mapping[str, Mapping[str, str]] | None,
    accounts: Mapping[str, RunPrediction] | None,
    notes: Sequence[str],
) -> BenchComparison:
    pairs = pairs_of(runs, more)
    estimated = estimate(pairs)
    allowed = TOLERANCE if tolerance is None else tolerance
    return BenchComparison(
        of, allowed, tuple(with_causes(rows, pairs, estimated, accounts or {})), estimated, tuple(notes)
    )


# Job completion times have the format of the EVPN and Apstra JVD test reports: a table per model, a row per profile and setting, and
# the columns Traffic Profile, Tuned parameters in leaf/spine, and JCT. The unit of JCT depends on the model.
COMPLETION_TIMES = {
    "completion_time_s": "job completion time",
    "time_to_train_s": "time to train",
    "step_time_s": "time of a step",
    "block_time_s": "time of a block",
}
"""The quantities that a table of completion times can show, by name in results. If a model has several, the first one is shown."""
COMPLETION_UNITS = (("min", 60.0, 600.0), ("sec", 1.0, 1.0), ("msec", 1e-3, 0.0))
"""Units of time: (name, length in seconds, shortest time in seconds for which the unit is used)."""
TUNED = {
    "lb": "load balancing",
    "load_balancing": "load balancing",
    "flowset_table_size": "flowset-table-size",
    "inactivity_us": "inactivity-interval",
    "sampling_rate_hz": "sampling rate",
    "rate_weightage": "flowlet rate-weightage",
    "egress_q_min": "flowlet egress-quantization min",
    "egress_q_max": "max",
    "reassign_prob_threshold": "reassignment threshold",
    "reassign_quality_delta": "reassignment quality-delta",
}
"""The columns and settings that describe the tuning of switches, each with its name in test reports."""
MODELS = ("model", "benchmark")
"""The columns that name the model, for tables without an operation."""

_Row = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, slots=True)
class Completion:
    """A row of a completion-time table.

    - ``profile``: the traffic profile: the model by itself, or the model with other traffic.
    - ``tuned``: the tuning of the switches, and other settings that distinguish the row.
    - ``seconds``, ``least``, ``most``: the median, minimum and maximum over ``runs`` runs.
    """

    JSON = ("profile", "tuned", "seconds", "runs")

    profile: str
    tuned: str
    seconds: float
    least: float
    most: float
    runs: int


@dataclass(frozen=True, slots=True)
class CompletionTable(JsonObject):
    """A table of one model's completion times. ``what`` is the quantity, such as ``time to train``.

    ``unit`` is min, sec or msec, and ``unit_s`` is the length of that unit in seconds.
    """

    JSON = ("model", "what", "rows")

    model: str
    what: str
    unit: str
    unit_s: float
    rows: tuple[Completion, ...]

    @property
    def table(self) -> Table:
        """The table in the format of the test reports, with the minimum, the maximum and the number of runs added to each row."""
        return Table(
            (
                Column("Traffic Profile", "text", "profile"),
                Column("Tuned parameters in leaf/spine", "text", "tuned"),
                Column(f"JCT [{self.unit}]", "number", "seconds"),
                Column("least", "number", "least_s"),
                Column("most", "number", "most_s"),
                Column("runs", "number", "runs"),
            ),
            [
                (
                    row.profile,
                    Cell(row.tuned, row.tuned or NOTHING, "said"),
                    self._time(row.seconds),
                    *((self._time(row.least), self._time(row.most)) if row.runs > 1 else (None, None)),
                    row.runs,
                )
                for row in self.rows
            ],
        )

    def _time(self, seconds: float) -> Cell:
        return Cell(seconds, f"{seconds / self.unit_s:.4g}")


def completion_tables(runs: Iterable[Run]) -> list[CompletionTable]:
    """Return one completion-time table per model, in the order in which the models first appear."""
    by_model: dict[tuple[str, str], dict[_Row, list[float]]] = {}
    for run in runs:
        here: dict[tuple[tuple[str, str], _Row], list[float]] = {}
        for sample in run.samples:
            if sample.quantity in COMPLETION_TIMES and isfinite(sample.value) and sample.value > 0:
                settings = {**dict(run.environment.variables), **dict(run.settings), **dict(sample.labels)}
                row = _profile(settings), _tuned(settings), _others(run, sample)
                here.setdefault(((_model(run, sample), sample.quantity), row), []).append(sample.value)
        for (table, row), values in here.items():
            # steps of a run are one time; rows of a table are runs of their own
            rows = by_model.setdefault(table, {})
            rows.setdefault(row, []).extend(values if run.tool == "table" else [median(values)])
    tables: list[CompletionTable] = []
    for model in dict.fromkeys(model for model, _ in by_model):
        quantity = next(measure for measure in COMPLETION_TIMES if (model, measure) in by_model)
        rows = by_model[model, quantity]
        usual = median(value for values in rows.values() for value in values)
        unit, unit_s, _ = next(scale for scale in COMPLETION_UNITS if usual >= scale[2])
        columns = [set(others) for *_, others in rows]
        alike = columns[0].intersection(*columns[1:])  # what does not tell these rows apart
        completions = tuple(
            Completion(
                profile,
                " ".join(
                    filter(None, (tuned, *(f"{name} {text}" for name, text in others if (name, text) not in alike)))
                ),
                median(values),
                min(values),
                max(values),
                len(values),
            )
            for (profile, tuned, others), values in rows.items()
        )
        tables.append(CompletionTable(model, COMPLETION_TIMES[quantity], unit, unit_s, completions))
    return tables


def _model(run: Run, sample: Sample) -> str:
    if run.tool == "mllog":
        return run.title.removeprefix("training of ")
    return sample.operation or next((text for name, text in sample.labels if name in MODELS and text), run.title)


def _others(run: Run, sample: Sample) -> tuple[tuple[str, str], ...]:
    """Return (column name, text) of each column that this module does not interpret, if the run was imported from a table; otherwise ().

    ``sample`` is a row of that table. Rows that differ in such a column are not repeats of the same test.
    """
    known = {*TUNED, *REMARKS, "row_id", *(() if sample.operation else MODELS)}
    return tuple(
        (name, text)
        for name, text in sample.labels
        if run.tool == "table" and name not in known and not name.startswith("background")
    )


def _profile(settings: Mapping[str, str]) -> str:
    """Return the traffic profile in the notation of the reports: ``Only Model``, or the model with its background load.

    ``settings`` has the columns and settings of the row.
    """
    load = next(
        (text for name, text in settings.items() if name.startswith("background") and text not in {"", "none"}), "0"
    )
    percent = load.rstrip("%")
    if percent in {"0", "0.0"}:
        return "Only Model"
    return f"Model + background ({percent}% traffic)" if percent.replace(".", "", 1).isdigit() else f"Model + {load}"


def _tuned(settings: Mapping[str, str]) -> str:
    return " ".join(f"{name} {settings[key]}" for key, name in TUNED.items() if settings.get(key))


@dataclass(frozen=True, slots=True)
class StoreReport(JsonObject):
    """The report of a store, which is a database of benchmark runs.

    - ``regressions``: comparison with the baseline; None if no baseline was given.
    - ``predicted``: comparison with predictions, without rows if nothing was predicted.
    """

    JSON = ("store", "runs=#runs", "good", "predicted", "slowest", "regressions", "completion", "notes")

    store: str
    runs: tuple[Run, ...]
    curves: tuple[Curve, ...]
    pairs: tuple[Pair, ...]
    slowest: tuple[Slowest, ...]
    predicted: BenchComparison
    regressions: tuple[Row, ...] | None
    completion: tuple[CompletionTable, ...]
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if something was compared and no result is bad.

        A bad result is a number that is worse than its prediction or the baseline, a failed run, or a suspected part of the
        network.
        """
        worse = any(row.bad for row in self.regressions or ())
        predicted = any(row.bad for row in self.predicted.rows)
        return self.compared and not predicted and not worse and not self.predicted.estimate.suspects

    @property
    def compared(self) -> bool:
        """True if at least one number was compared: with a prediction, with the baseline, or with other pairs."""
        beside = any(row.before is not None and row.now is not None for row in self.regressions or ())
        return beside or bool(self.predicted.rows or self.predicted.estimate.pairs)

    def to_html(self) -> str:
        """Return the report as an HTML page."""
        from railweave.operations.bench.page import bench_html

        return bench_html(self)


def reported(
    store: str,
    runs: Sequence[Run],
    before: Sequence[Run] | None = None,
    *,
    tolerance: float | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
    accounts: Mapping[str, RunPrediction] | None = None,
    notes: Sequence[str] = (),
) -> StoreReport:
    """Return the report of runs. ``before`` has the runs of the baseline; None if there is no baseline.

    - ``store``: the name of the store.
    - ``tolerance``: the fraction by which a number may be worse.
    - ``more``: settings that the network determines, by run id. ``accounts``: new predictions, by run id.
    - ``notes``: sentences to include.

    Runs that belong to the baseline are not compared with the baseline.
    """
    earlier = {run.id for run in before or ()}
    later = [run for run in runs if run.id not in earlier]
    now = later or list(runs)
    predicted = compare_predicted(now, tolerance, more, accounts)
    pairs = pairs_of(now, more)
    worse = (
        None
        if before is None
        else regressions(numbers(before, more), numbers(later, more), TOLERANCE if tolerance is None else tolerance)
        if later
        else []
    )
    remarks = list(notes)
    if before is not None and not later:
        remarks.append("nothing is compared: the store has no runs besides the runs of the baseline")
    elif before is None and not predicted.rows and len(now) < 2:
        remarks.append(
            "nothing is compared: there is only one run, without a prediction; give --baseline, --fabric, or more runs, "
            "or use `railweave bench check`"
        )
    return StoreReport(
        store,
        tuple(now),
        tuple(curves(now, before or [], more, accounts)),
        tuple(pairs),
        tuple(slowest(pairs)),
        predicted,
        None if worse is None else tuple(worse),
        tuple(completion_tables(now)),
        (*remarks, *predicted.notes),
    )


def check_tolerance(tolerance: float | None) -> None:
    """Raise ``InputError`` if a tolerance is not a fraction of at least 0 and below 1."""
    if tolerance is not None and not 0 <= tolerance < 1:
        message = f"the tolerance {tolerance:g} is out of range"
        raise InputError([Problem(Argument("tolerance"), message, "give a fraction from 0 to below 1, such as 0.05")])


def of_network(
    runs: Sequence[Run], network: Network | None, progress: Callable[[str], None], *, predict: bool = True
) -> tuple[dict[str, dict[str, str]], dict[str, RunPrediction], list[str]]:
    """Return (settings of runs as ``located`` returns them, new predictions, notes). The first two have run ids as keys.

    The notes are about runs without a prediction, and about runs on GPUs that differ from those of the design. ``progress`` receives a
    sentence before each prediction. If ``predict`` is False, nothing is predicted. If ``network`` is None, all three results are empty.
    """
    if network is None:
        return {}, {}, []
    with in_force(network.catalog):
        more = located(runs, network)
        accounts, notes = predictions(runs, network, progress) if predict else ({}, [])
    return more, accounts, [*gpu_notes(runs, network, "correct `model:` of these servers in the fabric file"), *notes]


def located(runs: Iterable[Run], network: Network) -> dict[str, dict[str, str]]:
    """Return settings of runs, by run id, that the network determines and that the output of a run may lack.

    For perftest, these are ``server``, ``client``, ``color``, ``links`` and ``leaves``. Collectives have only ``leaves``.
    """
    given = list(runs)
    wanted = [run for run in given if run.tool == "perftest"]
    settings = _leaves_of_collectives(given, network)
    if not wanted:
        return settings
    owners = _owners(network)
    nics = {f"{server.name}:{nic.name}": nic for server in network.servers for nic in server.nics}
    routes = ControlPlane((device_config(network, switch.name) for switch in network.switches), network.absent).routes()
    known: dict[tuple[str, str, str], dict[str, str]] = {}
    for run in wanted:
        recorded = dict(run.settings)
        ends = [recorded.get(end) or owners.get(address(recorded.get(gid, "")), ("", ""))[0] for end, gid in ENDS]
        if not all(end in nics for end in ends):
            continue
        color = recorded.get("color") or owners.get(address(recorded.get("local GID", "")), ("", ""))[1]
        key = ends[0], ends[1], color
        if key not in known:
            known[key] = _way(network, routes, nics, *key)
        settings[run.id] = {"client": ends[0], "server": ends[1], "color": color, **known[key]}
    return settings


def _leaves_of_collectives(runs: Sequence[Run], network: Network) -> dict[str, dict[str, str]]:
    leaves = {
        server.name.lower(): tuple(dict.fromkeys(nic.leaf for nic in server.nics if nic.leaf))
        for server in network.servers
    }
    settings: dict[str, dict[str, str]] = {}
    for run in runs:
        named = [leaves.get(host.lower().partition(".")[0]) for host in run.hosts]
        if run.tool in COLLECTIVE_TOOLS and named and all(named):
            crossed = dict.fromkeys(leaf for several in named for leaf in several or ())
            settings[run.id] = {"leaves": " ".join(crossed)}
    return settings


ENDS = (("client", "local GID"), ("server", "remote GID"))
"""The two ends of a perftest run, each as (end, name of its GID in the output).

perftest prints the same test at both ends. The end whose output was read counts as the client.
"""


def _owners(network: Network) -> dict[str, tuple[str, str]]:
    """Return (NIC as ``SERVER:NIC``, name of the path color) by IP address, for each address of every NIC."""
    return {
        address(nic_address.address): (
            f"{server.name}:{nic.name}",
            network.fabric(nic.fabric).color_name(nic_address.color),
        )
        for server in network.servers
        for nic in server.nics
        for nic_address in nic.addresses
    }


def _way(
    network: Network, routes: Routes, nics: dict[str, Nic], client: str, server: str, color: str
) -> dict[str, str]:
    here = nics[client]
    leaves = " ".join(dict.fromkeys(filter(None, (here.leaf, nics[server].leaf))))
    try:
        paths = queue_pair_paths(network, routes, client, server, max(len(here.addresses), 1))
    except InputError:  # two fabrics, or no addresses
        return {"leaves": leaves}
    path = next((path for path in paths if path.color == color or len(paths) == 1), None)
    links = _links(path) if path is not None else ""
    return {"leaves": leaves, "links": links}


def _links(path: QueuePairPath) -> str:
    """Return the links of a queue pair's path, separated by blanks; empty if the queue pair is not pinned to a path.

    For parallel links that a hash selects from, the text has the two switches instead.
    """
    if not path.pinned_to:
        return ""
    return " ".join(hop[0].link if len(hop) == 1 else next(iter(by_ends(hop))) for hop in path.hops)
