"""The comparison of training jobs with one setting changed: the time and the GPUs that each value of the setting costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, Problem
from railweave.model.catalog import in_force
from railweave.model.config.quantities import RATIO_FIX, ratio
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.job_file import TrainingJob
from railweave.pages.table import Cell, Column, Table, formatted, joined, long_text
from railweave.prediction.simulation.question import background
from railweave.prediction.simulation.training.answer import JOB
from railweave.prediction.simulation.training.question import predict_training
from railweave.prediction.simulation.varied import values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.training.answer import JobResult, TrainingPrediction


def training_over_seeds(
    network: Network, path: Path, seeds: int, given: Mapping[str, Any], progress: Callable[[str], None]
) -> TrainingPrediction:
    """Predict training steps with several seeds, and return the prediction whose step time is the median.

    If there are several jobs, the sum of their step times counts. If ``seeds`` (the number of seeds) is even, the lower of the two middle
    predictions is returned. The first seed is the seed in the settings, or 1; each further seed is one higher. With several seeds, each job
    of the result also has its step times with all seeds (``JobResult.seeds_ps``). ``given`` has the other arguments of
    ``predict_training``. Raises the errors of ``predict_training``.
    """
    if seeds == 1:
        return predict_training(network, path, **given, progress=progress)
    settings: Mapping[str, str] = given.get("settings") or {}
    first = int(settings.get("seed", "1"))
    predictions: list[TrainingPrediction] = []
    for number in range(seeds):
        progress(f"seed {first + number} ({number + 1} of {seeds})")
        asked: dict[str, Any] = {**given, "settings": {**settings, "seed": str(first + number)}}
        predictions.append(predict_training(network, path, **asked))
    ranked = sorted(predictions, key=lambda prediction: sum(job.step_ps for job in prediction.jobs))
    median = ranked[(len(ranked) - 1) // 2]
    jobs = tuple(
        replace(job, seeds_ps=tuple(prediction.jobs[number].step_ps for prediction in predictions))
        for number, job in enumerate(median.jobs)
    )
    return replace(median, jobs=jobs)


def oversubscribed(network: Network, text: str) -> dict[str, str]:
    """Return the changes of the fabric file, value by field, that give leaves an oversubscription such as ``2:1``.

    ``text`` is this ratio: a leaf's server bandwidth over its uplink bandwidth. It is reached on the leaf with the most server bandwidth.
    The changes reduce the links to each spine, or the number of spines. Raises ``InputError`` if no whole number of links gives the ratio,
    or if there are no spines.
    """
    try:
        wanted = ratio(text)
    except ValueError as error:
        raise _refused(f"oversubscription={text}: {error}", RATIO_FIX) from None
    servers, uplinks, spines, speed = _leaf(network)
    if not uplinks:
        raise _refused("oversubscription: the fabric has no spines", "compare something else")
    count = servers / (wanted * speed)
    if abs(count - round(count)) > 1e-6 or count < 1:
        can = [f"{servers / speed / uplink_count:g}:1" for uplink_count in range(1, 2 * uplinks + 1)]
        description = f"oversubscription={text}: {servers} Gb/s of servers on a leaf over {wanted:g} are {count:g} uplinks of {speed}G"
        raise _refused(description, f"whole uplinks give {', '.join(can)}")
    links = round(count)
    kept = max(spine_count for spine_count in range(1, spines + 1) if not links % spine_count)
    topology = f"fabrics.{network.fabrics[0].name}.topology"
    changes = {f"{topology}.links_per_spine": str(links // kept), f"{topology}.oversubscription": repr(wanted)}
    changes |= _colors(network, links)
    return changes if kept == spines else {f"{topology}.spines": str(kept), **changes}


def on_leaves(network: Network, text: str) -> dict[str, str]:
    """Return the changes of the fabric file, value by field, that connect each server's NICs to a given number of leaves in its stripe.

    ``text`` is this number. A stripe is a group of leaves with its servers. The total number of uplinks of a stripe does not change. With
    as many leaves as rails, the fabric is rail-optimised; with 1 leaf, all NICs of a server are on the same leaf. Raises ``InputError`` if
    the NICs of a server or the uplinks of a stripe cannot be divided evenly over the leaves.
    """
    leaves = Counter(switch.stripe for switch in network.switches if switch.role == "leaf")
    now = max(leaves.values(), default=0)
    rails = max((len(server.nics) for server in network.servers), default=0)
    wanted = int(text) if text.isdecimal() else 0
    if not now or not wanted or rails % wanted:
        can = [str(leaf_count) for leaf_count in range(rails, 0, -1) if not rails % leaf_count]
        raise _refused(
            f"rails={text}: the {rails} NICs of a server cannot be divided evenly over this number of leaves",
            f"give {', '.join(can)}",
        )
    topology = f"fabrics.{network.fabrics[0].name}.topology"
    _, uplinks, spines, _ = _leaf(network)
    changes = {f"{topology}.leaves_per_stripe": str(wanted)}
    if not spines:
        return changes
    links, rest = divmod(uplinks // spines * now, wanted)
    if rest or not links:
        raise _refused(
            f"rails={text}: the {uplinks * now} uplinks of a stripe cannot be divided evenly over {wanted} leaves and {spines} spines",
            "",
        )
    return {**changes, f"{topology}.links_per_spine": str(links), **_colors(network, links * spines)}


def _colors(network: Network, uplinks: int) -> dict[str, str]:
    """Return the change of the fabric file to fewer path colors (classes of uplinks) if their number does not divide ``uplinks``, else {}.

    ``uplinks`` is the number of uplinks of a leaf.
    """
    fabric = network.fabrics[0]
    now = len(fabric.colors)
    if not now or not uplinks % now:
        return {}
    return {
        f"fabrics.{fabric.name}.paths_per_nic": str(
            max(color_count for color_count in range(1, now + 1) if not uplinks % color_count)
        )
    }


def _leaf(network: Network) -> tuple[int, int, int, int]:
    """Return four numbers about the leaf whose server ports have the most bandwidth.

    They are the bandwidth of its server ports in Gb/s, its number of uplinks, the number of spines that the uplinks lead to, and
    the speed of an uplink in Gb/s.
    """
    servers: Counter[str] = Counter()
    uplinks: dict[str, list[tuple[str, int]]] = {}
    leaves = {switch.name for switch in network.switches if switch.role == "leaf"}
    for cable in network.cables:
        if cable.kind == "server":
            servers[cable.b.device] += cable.speed_gbps
        elif cable.a.device in leaves:
            uplinks.setdefault(cable.a.device, []).append((cable.b.device, cable.speed_gbps))
    name = max(servers, key=lambda leaf: servers[leaf], default="")
    leaf_uplinks = uplinks.get(name, [])
    return (
        servers[name],
        len(leaf_uplinks),
        len({spine for spine, _ in leaf_uplinks}),
        leaf_uplinks[0][1] if leaf_uplinks else 0,
    )


def _refused(description: str, fix: str) -> InputError:
    return InputError([Problem(Option("--compare"), description, fix)])


FILES = ("scenario", "others")
"""Settings whose values are files; ``none`` means no file."""
FIX = (
    "write lb=ecmp,dlb, qps=1,4, oversubscription=1:1,2:1, rails=8,1, scenario=none,dead-spine.yaml, others=none,job.yaml, background=none,share=50%, "
    "a field of the job, parallel.pipeline=2,4, or one of the fabric file, fabrics.backend.topology.spines=4,2"
)


@dataclass(frozen=True)
class Choice:
    """One value of the varied setting.

    - ``fabric``: the fields of the fabric file that the value changes.
    - ``given``: the arguments of ``predict_training`` that the value sets.
    """

    name: str
    value: str
    fabric: Mapping[str, str] = field(default_factory=dict[str, str])
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])


def choices(network: Network, words: str, given: Mapping[str, Any]) -> list[Choice]:
    """Return one choice (a value and the changes that it makes) for each value in a text such as ``NAME=a,b``.

    ``given`` has the other arguments of ``predict_training``. Raises ``InputError`` if a name or value is invalid.
    """
    name, equals, rest = words.partition("=")
    values = values_of(name, rest) if equals else []
    made = _made(network, name, given)
    if made is None or not values or len(set(values)) < len(values):
        raise InputError([Problem(Option("--compare"), f"{words!r} is not a setting that can be varied for jobs", FIX)])
    return [made(value) for value in values]


def _made(network: Network, name: str, given: Mapping[str, Any]) -> Callable[[str], Choice] | None:
    """Return a function from a value of setting ``name`` to the choice (the changes that the value makes).

    Return None if there is no such setting. ``given`` has the other arguments of ``predict_training``.
    """
    head, dot, _ = name.partition(".")
    if name == "lb":
        return lambda value: Choice(name, value, given={"lb": value})
    if name == "engine":
        return lambda value: Choice(name, value, given={"engine": value})
    if name in FILES:
        return lambda value: Choice(name, value, given={name: None if value == "none" else Path(value)})
    if name == "background":
        return lambda value: Choice(name, value, given={name: None if value == "none" else background(value)})
    if name == "oversubscription":
        return lambda value: Choice(name, value, oversubscribed(network, value))
    if name == "rails":
        return lambda value: Choice(name, value, on_leaves(network, value))
    if name.startswith("NCCL_"):
        return lambda value: _changed(f"nccl.{name}", name, value, given)
    if name == "seed" or (dot and head in {"host", "switch"}):
        return lambda value: Choice(name, value, given={"settings": {**(given.get("settings") or {}), name: value}})
    if dot and head == "fabrics" and name.split(".")[1] not in {fabric.name for fabric in network.fabrics}:
        return None
    if dot and head in FabricFile.model_fields:
        return lambda value: Choice(name, value, {name: value})
    if head in TrainingJob.model_fields:
        return lambda value: _changed(name, name, value, given)
    return None


def _changed(path: str, name: str, value: str, given: Mapping[str, Any]) -> Choice:
    return Choice(name, value, given={"changes": {**(given.get("changes") or {}), path: value}})


SEVERAL = "choice"
"""The title of the first column if several settings are varied."""
AS_IT_IS = "as it is"
"""The label of the row without any change, which exists if several settings are varied."""
COLUMNS = (
    Column("step ms", "number", "step_ms"),
    Column("slower", "number", "slower"),
    Column("MFU", "number", "mfu"),
    Column("waiting for communication ms", "number", "waiting_for_communication_ms"),
    Column("GPUs wasted", "number", "gpus_wasted"),
    Column("bound by", "text", "bound_by"),
)
"""The columns of a comparison that follow the column with the varied value."""


@dataclass(frozen=True)
class Row:
    """The result of one job with one value of the varied setting. ``label`` is the text that names this value.

    - ``slower``: the extra time of the job's step, as a fraction of the step with the fastest value.
    - ``gpus_wasted``: the number of GPUs that the job would not need for the same speed with the fastest value.
    """

    label: str
    job: JobResult
    slower: float
    gpus_wasted: float

    @property
    def cells(self) -> tuple[object, ...]:
        """The cells of the table row: first the label, then the cells of ``COLUMNS``."""
        bound = self.job.binds()
        return (
            self.label,
            formatted(self.job.step_ps / 1e9),
            formatted(self.slower, "+.1%"),
            formatted(self.job.mfu, ".1%"),
            formatted(self.job.exposed_ps / 1e9),
            Cell(self.gpus_wasted, f"{self.gpus_wasted:,.1f} of {self.job.plan.ranks:,}"),
            long_text(bound),
        )


@dataclass(frozen=True)
class Variants:
    """The predictions with all values of the varied setting, as (label, prediction).

    ``name`` is the varied setting, or ``SEVERAL`` for several settings.
    """

    name: str
    predictions: tuple[tuple[str, TrainingPrediction], ...]
    jobs: int
    """The number of jobs of a prediction that come from the requested file. In a prediction, jobs of other files come after these jobs."""

    @property
    def complete(self) -> bool:
        """True if every message of all variants arrives."""
        return all(prediction.complete for _, prediction in self.predictions)

    def rows(self, number: int) -> list[Row]:
        """Return the results of the job with the index ``number``: one for each value of the varied setting, in the given order."""
        results = [(label, prediction.jobs[number]) for label, prediction in self.predictions]
        best = min(result.step_ps for _, result in results)
        return [
            Row(label, result, result.step_ps / best - 1, result.plan.ranks * (1 - best / result.step_ps))
            for label, result in results
        ]

    def title(self, number: int) -> str:
        """Return the name of the job with the index ``number``."""
        return self.predictions[0][1].title(number)

    def job_table(self, number: int) -> Table:
        """Return the table of the job with the index ``number``, with a row for each value of the varied setting."""
        rows = self.rows(number)
        best = min(rows, key=lambda row: row.job.step_ps)
        return Table(
            (Column(self.name, "text", "value"), *COLUMNS),
            [row.cells for row in rows],
            row_css=["best" if row is best else "" for row in rows],
        )

    @property
    def table(self) -> Table:
        """The table of all jobs, with a row for each job and value of the varied setting."""
        return joined(JOB, [(self.title(number), self.job_table(number)) for number in range(self.jobs)])

    def to_text(self) -> str:
        """Return a table for each job, as text."""
        blocks = [
            "\n".join([*([self.title(number)] if self.jobs > 1 else []), *self.job_table(number).to_text()])
            for number in range(self.jobs)
        ]
        return (
            "\n\n".join(blocks)
            + "\nslower: step time compared with the fastest of these. GPUs wasted: GPUs that the fastest would not need for the same speed"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as a JSON object; docs/predict.md#training-steps documents its fields."""
        costs = [self.rows(number) for number in range(self.jobs)]
        return {
            "compared": self.name,
            "variants": [
                {
                    "value": value,
                    "cost": [{"slower": rows[place].slower, "gpus_wasted": rows[place].gpus_wasted} for rows in costs],
                    **prediction.to_json(),
                }
                for place, (value, prediction) in enumerate(self.predictions)
            ],
        }


def compare_training(
    network: Network,
    path: Path,
    words: str,
    given: Mapping[str, Any],
    progress: Callable[[str], None],
    designed: Callable[[Mapping[str, str]], tuple[Network, Network]] | None = None,
) -> Variants:
    """Return the predictions of a job file with each of several values of one or more settings.

    Examples of ``words`` are ``lb=ecmp,dlb`` and ``lb=ecmp oversubscription=2:1,4:1``. With several settings, each
    value is run with all other settings unchanged, and the jobs are also run without any change.

    - ``given``: arguments of ``predict_training``.
    - ``designed``: a function that designs the network with changed fields of its fabric file. It returns (the network,
      the network including storage fabrics). None if there is no fabric file.

    Raises ``InputError`` if ``words`` is invalid, and the errors of ``predict_training``.
    """
    several = words.split()
    wanted = [choice for word in several for choice in choices(network, word, given)]
    if not wanted:
        raise InputError([Problem(Option("--compare"), "nothing to compare", "write lb=ecmp,dlb")])
    labels = [choice.value if len(several) == 1 else f"{choice.name}={choice.value}" for choice in wanted]
    if len(several) > 1:
        wanted, labels = [Choice("", ""), *wanted], [AS_IT_IS, *labels]
    predictions: list[tuple[str, TrainingPrediction]] = []
    for label, choice in zip(labels, wanted, strict=True):
        progress(f"{label} ({len(predictions) + 1} of {len(wanted)})")
        net, whole = (network, given.get("whole")) if not choice.fabric else _anew(designed, choice.fabric)
        with in_force(net.catalog):
            asked: dict[str, Any] = {**given, "whole": whole, **choice.given}
            predictions.append((label, predict_training(net, path, **asked)))
    own_jobs = min(prediction.own_jobs for _, prediction in predictions)
    return Variants(words.partition("=")[0] if len(several) == 1 else SEVERAL, tuple(predictions), own_jobs)


def _anew(
    designed: Callable[[Mapping[str, str]], tuple[Network, Network]] | None, changes: Mapping[str, str]
) -> tuple[Network, Network]:
    if designed is None:
        description = f"{', '.join(changes)} cannot be changed, because a build folder is already designed"
        raise InputError([Problem(Option("--compare"), description, "give the fabric file")])
    return designed(changes)
