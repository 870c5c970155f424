"""The predictions for training jobs as text and JSON.

They have the time of a step, the computing time of GPUs, and the causes for which GPUs wait during the rest of the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.json_values import JsonObject
from railweave.pages.table import EMPTY, Cell, Column, Table, formatted, joined, long_text
from railweave.prediction.jobs.graph import COMPUTE, Communication, Graph
from railweave.prediction.jobs.run import Times, exposed
from railweave.prediction.jobs.traces.traced import PlacedTrace
from railweave.prediction.simulation.errors import how_near
from railweave.prediction.simulation.training.packets import PacketCheck, slowest
from railweave.prediction.simulation.training.tiers import INSIDE, StepTraffic
from railweave.reading import packaged_text, parse_json

if TYPE_CHECKING:
    from railweave.prediction.jobs.plan import JobPlan
    from railweave.prediction.simulation.model.fabric import PacketFabric
    from railweave.prediction.simulation.training.checkpoint import CheckpointCost
    from railweave.prediction.simulation.training.loads import CarriedCommunication


TABLE = Path(__file__).with_name("errors.json")
FEW = 5
"""The number of compared steps from which a 90th percentile of their errors is used. With fewer steps, the largest error is used."""


@dataclass(frozen=True)
class StepErrors:
    """The errors of predicted steps, compared with published steps on one GPU model. ``rows`` is the number of these steps.

    ``gpus`` has the smallest and the largest number of GPUs of these steps. Errors are absolute values in percent.
    """

    gpu: str
    gpus: tuple[int, int]
    rows: int
    median_abs_percent: float
    p90_abs_percent: float
    max_abs_percent: float

    @property
    def error(self) -> float:
        """The relative error that nine of ten predictions do not exceed, or the largest error if there are fewer than ``FEW`` rows."""
        return (self.p90_abs_percent if self.rows >= FEW else self.max_abs_percent) / 100


@dataclass(frozen=True)
class StepBand(JsonObject):
    """The range, ``low_ps`` to ``high_ps``, in which the real time of a predicted training step probably lies.

    - ``error``: the relative error of earlier predictions of published steps on the same GPU model. None if there are none.
    - ``compared``: a text on the published steps from which ``error`` was determined.
    - ``outside``: a text on properties of the job that no published step has; empty if there are none.
    - ``seeds_ps``: the predicted time with each of several seeds.
    """

    JSON = ("low_ms=low_ps/1e9", "high_ms=high_ps/1e9", "error", "compared", "outside", "seeds_ms=seeds_ps/1e9")

    low_ps: int
    high_ps: int
    error: float | None
    compared: str
    outside: str
    seeds_ps: tuple[int, ...] = ()

    def to_text(self) -> str:
        """Return the range as a line of text. If the job has properties that no published step has, add a second line about them."""
        chance = ""
        if len(self.seeds_ps) > 1:
            low, high = min(self.seeds_ps), max(self.seeds_ps)
            chance = f"; {len(self.seeds_ps)} seeds " + (
                "give the same" if low == high else f"from {low / 1e9:,.1f} to {high / 1e9:,.1f} ms"
            )
        if self.error is None and not chance:
            return f"  not compared   {self.outside}"
        about = self.compared if self.error is None else f"{self.error:.1%} either way: {self.compared}"
        line = f"  between        {self.low_ps / 1e9:,.1f} and {self.high_ps / 1e9:,.1f} ms ({about}{chance})"
        return f"{line}\n  not compared   {self.outside}" if self.outside else line


@cache
def judged() -> dict[str, StepErrors]:
    """Return the errors of earlier predictions of training steps, by GPU name. They are in a file that is part of railweave."""
    rows: list[dict[str, Any]] = parse_json(packaged_text(TABLE))
    by_gpu: dict[str, StepErrors] = {}
    for row in rows:
        given: dict[str, Any] = {**row, "gpus": tuple(row["gpus"])}
        by_gpu[row["gpu"]] = StepErrors(**given)
    return by_gpu


def step_band(plan: JobPlan | PlacedTrace, step_ps: int, seeds_ps: tuple[int, ...] = (), others: str = "") -> StepBand:
    """Return the range in which the time of a step probably lies. ``step_ps`` is the predicted time.

    - ``seeds_ps``: the times of the step with several seeds.
    - ``others``: conditions of the run that no published step has, such as faults.
    """
    low, high = min(seeds_ps or (step_ps,)), max(seeds_ps or (step_ps,))
    if isinstance(plan, PlacedTrace):
        outside = "a trace contains the computation and the traffic; no published step was run from a trace"
        return StepBand(low, high, None, "no published step is a trace", outside, seeds_ps)
    known = judged().get(plan.kernels.gpu.name)
    if known is None:
        outside = f"no published step on {plan.kernels.gpu.name}; the error is not known"
        return StepBand(low, high, None, "no published step is of this GPU", outside, seeds_ps)
    job, layout = plan.job, plan.layout
    unlike = [
        feature
        for feature, there in (
            ("experts", plan.model.experts > 0),
            ("FSDP", job.parallel.zero == 3),
            ("context parallel", layout.context > 1),
            (f"{layout.ranks:,} GPUs", not known.gpus[0] <= layout.ranks <= known.gpus[1]),
            ("measured layers", job.layer is not None),
            (others, bool(others)),
        )
        if there
    ]
    compared = how_near(known.rows, f"{known.rows} published steps on {known.gpu}")
    outside = f"no published step has {', '.join(unlike)}; the error is that of other steps" if unlike else ""
    error = known.error
    return StepBand(round(low / (1 + error)), round(high * (1 + error)), error, compared, outside, seeds_ps)


KINDS = {
    "TP": "tensor parallel",
    "CP": "context parallel",
    "EP": "experts",
    "PP": "pipeline",
    "DP": "replicas",
    "EDP": "replicas of experts",
    "read": "data from storage",
    "bubble": "waiting for other stages",
}
OF_TRACES = KINDS | {"bubble": "CPUs and other ranks"}
"""The names that texts use for the parts of a step of a trace, by part.

A trace has no pipeline stages, so ``bubble`` is called ``CPUs and other ranks``.
"""

COMPUTING = "computing"
LEAST_PART = 0.01
"""The fraction of a step from which a wait counts as a bottleneck."""


@dataclass(frozen=True)
class JobResult:
    """The prediction for a training job: its plan, and the graph and times of a step.

    ``carried`` has the load of each communication of the graph.
    """

    plan: JobPlan | PlacedTrace
    graph: Graph
    times: Times
    carried: tuple[CarriedCommunication, ...]
    step_ps: int
    """The time of a step in ps while the other jobs run. ``times`` instead has the operations of a single step."""
    alone_ps: int
    """The time of a step in ps if no other job or traffic uses the network."""
    sent: StepTraffic
    """The traffic of a step, by tier of switches and by link."""
    unlike: str = ""
    """Conditions of the run that no published step has; empty if there are none."""
    checked: tuple[PacketCheck, ...] = ()
    """The communications that were also run with the packet engine; empty if this check was not requested."""
    seeds_ps: tuple[int, ...] = ()
    """The time of a step in ps with each of several seeds. Empty if only one seed was run."""
    checkpoint: CheckpointCost | None = None
    """The cost of the job's checkpoints. None if the job writes no checkpoints."""

    @property
    def band(self) -> StepBand:
        """Return the range of the step time."""
        return step_band(self.plan, self.step_ps, self.seeds_ps, self.unlike)

    @property
    def mfu(self) -> float | None:
        """The model FLOPs utilization: the fraction of the GPUs' peak rate that the model's operations use.

        Operations for recomputation do not count, and attention counts over the whole sequence. The value is None for a trace, which does
        not give the operations of its model.
        """
        if self.plan.flops is None:
            return None
        return self.plan.flops / (self.step_ps / 1e12) / self.plan.peak

    @property
    def tokens_per_second(self) -> float | None:
        """The tokens per second of the whole job; None for a trace."""
        if self.plan.tokens is None:
            return None
        return self.plan.tokens / (self.step_ps / 1e12)

    @cached_property
    def parts(self) -> dict[str, float]:
        """The time in ps of each part of a step, by name: ``compute``, a kind of communication such as ``DP``, or ``bubble``.

        Times are averaged over pipeline stages, and add up to the step time.
        """
        by_class = exposed(self.graph, self.times)
        kinds = dict.fromkeys([COMPUTE, *KINDS, *(kind for class_parts in by_class for kind in class_parts)])
        scale = self.step_ps / max(self.times.step_ps, 1)
        return {
            kind: sum(class_parts.get(kind, 0) for class_parts in by_class) / len(by_class) * scale for kind in kinds
        }

    def name_of(self, kind: str) -> str:
        """Return the name that texts use for the part ``kind`` of a step's time, such as ``bubble`` or ``DP``.

        For a trace, ``bubble`` is called ``CPUs and other ranks``.
        """
        return OF_TRACES.get(kind, kind) if self.plan.flops is None else KINDS.get(kind, kind)

    @property
    def exposed_ps(self) -> float:
        """The time in ps for which GPUs wait for communication.

        A network without limits would save at most this time. Bubbles that communication lengthens are not counted.
        """
        return sum(time for kind, time in self.parts.items() if kind not in {COMPUTE, "bubble"})

    @property
    def wasted_gpus(self) -> float:
        """The number of GPUs whose work is lost to communication.

        This is the number of all GPUs times the fraction of a step for which they wait for communication.
        """
        return self.plan.ranks * self.exposed_ps / self.step_ps

    def binds(self) -> str:
        """Return a phrase about the longest wait of GPUs: a kind of communication with its bottleneck, or pipeline bubbles.

        The phrase is ``computing`` if no kind of wait takes more than 1 % of the step (``LEAST_PART``).
        """
        waits = {
            cause: time for cause, time in self.parts.items() if cause != COMPUTE and time > LEAST_PART * self.step_ps
        }
        if not waits:
            return COMPUTING
        kind = max(waits, key=lambda cause: waits[cause])
        slow = [carried for communication, carried in self.slowest() if communication.kind == kind]
        if kind == "bubble":
            return self.name_of(kind)
        where = max(slow, key=lambda carried: carried.alone_ps).bound if slow else "links between the GPUs of a server"
        return f"{self.name_of(kind)}: {where}"

    def slowest(self) -> list[tuple[Communication, CarriedCommunication]]:
        """Return the communications between servers, each with its load.

        If several pipeline stages have a communication of the same kind, collective and size, only the one with the longest time is
        returned.
        """
        return slowest(self.graph, self.carried)

    @property
    def parts_table(self) -> Table:
        """The table of a step's time, with a row for each part (computation, kinds of communication, bubbles)."""
        return Table(
            (
                Column("in a step", "text", "part"),
                Column("time", "number", "time_ms"),
                Column("of the step", "number", "share"),
            ),
            [
                (
                    Cell(
                        kind,
                        COMPUTING if kind == COMPUTE else f"waiting: {self.name_of(kind).removeprefix('waiting for ')}",
                    ),
                    Cell(time / 1e9, _shown(time)),
                    formatted(time / max(self.step_ps, 1), ".1%"),
                )
                for kind, time in self.parts.items()
                if time or kind == COMPUTE
            ],
        )

    @property
    def tiers_table(self) -> Table:
        """The table of the traffic of a step, with a row for each tier of switches."""
        inside = (INSIDE, _gigabytes(self.sent.inside_bytes), EMPTY, EMPTY, EMPTY)
        return Table(
            (
                Column("sent in a step", "text", "name"),
                Column("up GB", "number", "up_bytes"),
                Column("down GB", "number", "down_bytes"),
                Column("busiest link", "text", "busiest"),
                Column("busy", "number", "busy"),
            ),
            [
                *([inside] if self.sent.inside_bytes else []),
                *(
                    (
                        tier.name,
                        _gigabytes(tier.up_bytes),
                        _gigabytes(tier.down_bytes),
                        tier.busiest,
                        formatted(tier.busy, ".1%"),
                    )
                    for tier in self.sent.tiers()
                ),
            ],
        )

    @property
    def sent_table(self) -> Table:
        """The table of communications between servers, with a row for each communication in ``slowest``."""
        return Table(
            (
                *COMMUNICATION,
                Column("alone us", "number", "alone_us"),
                Column("bound by", "text", "bound_by"),
            ),
            [
                (
                    *_communication(communication, communication.size_bytes),
                    formatted(carried.alone_ps / 1e6),
                    long_text(carried.bound),
                )
                for communication, carried in self.slowest()
            ],
        )

    @property
    def packets_table(self) -> Table:
        """The table of communications that were also run with the packet engine, with a row for each of them."""
        return Table(
            (
                *COMMUNICATION,
                Column("of bytes", "number", "of_bytes"),
                Column("flows us", "number", "flow_us"),
                Column("packets us", "number", "packet_us"),
                Column("longer", "number", "longer"),
                Column("marked", "number", "ecn_marked_packets"),
                Column("PFC pauses", "number", "pfc_pauses"),
                Column("complete", "text", "complete"),
            ),
            [
                (
                    *_communication(check.communication, check.size_bytes),
                    check.communication.size_bytes,
                    formatted(check.flow_ps / 1e6),
                    formatted(check.packet_ps / 1e6),
                    formatted(check.longer, "+.1%"),
                    check.marked,
                    check.paused,
                    Cell(check.complete, "yes" if check.complete else "no"),
                )
                for check in self.checked
            ],
        )

    def to_text(self) -> str:
        """Return the prediction as lines of text: the time of a step and its range, utilization, and tables of waits and traffic."""
        tokens, mfu = self.tokens_per_second, self.mfu
        lines = [
            f"{self.plan.job.name or 'job'}{self._tenant()}: {self.plan.about}",
            f"  step           {_shown(max(self.step_ps, 1))}" + self._slower(),
            self.band.to_text(),
            *([] if tokens is None else [f"  tokens         {tokens:,.0f} a second"]),
            *([] if mfu is None else [f"  MFU            {mfu:.1%}"]),
            f"  bound by       {self.binds()}",
        ]
        if self.exposed_ps:
            lines.append(f"  GPUs that wait for communication: {self.wasted_gpus:.1f} of {self.plan.ranks}")
        lines += [] if self.checkpoint is None else self.checkpoint.to_text(self.alone_ps)
        for table in (self.parts_table, self.tiers_table, self.sent_table):
            lines += table.to_text("  ")
        lines += ["  by packets:", *self.packets_table.to_text("  ")] if self.checked else []
        lines += [f"  note: {note}" for note in self.plan.notes]
        return "\n".join(lines)

    def _tenant(self) -> str:
        return f" ({self.plan.job.tenant})" if self.plan.job.tenant else ""

    def _slower(self) -> str:
        more = self.step_ps / self.alone_ps - 1
        return "" if self.step_ps == self.alone_ps else f", alone {_shown(self.alone_ps)} ({more:+.1%})"

    def to_json(self) -> dict[str, Any]:
        """Return the prediction as a JSON object; docs/predict.md#training-steps documents its fields."""
        return {
            "name": self.plan.job.name,
            "tenant": self.plan.job.tenant,
            **self.plan.described(),
            "step_ms": self.step_ps / 1e9,
            "alone_ms": self.alone_ps / 1e9,
            "tokens_per_second": self.tokens_per_second,
            "mfu": self.mfu,
            "band": self.band.to_json(),
            "bound_by": self.binds(),
            "tiers": [
                {"name": INSIDE, "bytes": self.sent.inside_bytes},
                *(tier.to_json() for tier in self.sent.tiers()),
            ],
            "links": self.sent.links(),
            "by_packets": [check.to_json() for check in self.checked],
            "parts_ms": {kind: time / 1e9 for kind, time in self.parts.items()},
            "gpus_waiting_for_communication": self.wasted_gpus,
            **({} if self.checkpoint is None else {"checkpoint": self.checkpoint.to_json()}),
            "communications": [
                {
                    "kind": communication.kind,
                    "stage": communication.rank_class,
                    "collective": communication.collective,
                    "size_bytes": communication.size_bytes,
                    "groups": len(communication.groups),
                    "ranks": len(communication.groups[0]),
                    "alone_us": carried.alone_ps / 1e6,
                    "bound_by": carried.bound,
                    "algorithm": carried.algorithm,
                }
                for communication, carried in zip(self.graph.communications, self.carried, strict=True)
            ],
        }


def _shown(time_ps: float) -> str:
    """Return a time as text: in ms, or in us below a millisecond (such short steps occur in traces of single collectives)."""
    return f"{time_ps / 1e6:.1f} us" if time_ps < 1e9 else f"{time_ps / 1e9:,.1f} ms"


def _gigabytes(value: int) -> Cell:
    """Return a table cell that shows bytes in GB."""
    return Cell(value, f"{value / 1e9:,.2f}")


JOB = Column("job", "text", "job")
"""The first column of a table that joins the rows of several jobs: the name of the job."""
COMMUNICATION = (
    Column("kind", "text", "kind"),
    Column("collective", "text", "collective"),
    Column("bytes", "number", "size_bytes"),
    Column("groups", "number", "groups"),
    Column("ranks", "number", "ranks"),
)
"""The table columns that describe a communication."""


def _communication(communication: Communication, size_bytes: int) -> tuple[object, ...]:
    """Return the table cells that describe a communication. ``size_bytes`` is the size that was run."""
    return (
        Cell(communication.kind, KINDS.get(communication.kind, communication.kind)),
        communication.collective,
        size_bytes,
        len(communication.groups),
        len(communication.groups[0]),
    )


@dataclass(frozen=True)
class TrainingPrediction(JsonObject):
    """The predictions for all jobs of a job file, run on one network."""

    JSON = ("network", "complete", "jobs", "notes")

    network: str
    jobs: tuple[JobResult, ...]
    fabric: PacketFabric
    notes: tuple[str, ...]
    own_jobs: int
    """The number of jobs from the requested file. The other jobs come from a second file, of jobs that run at the same time."""

    @property
    def complete(self) -> bool:
        """True if every message of all jobs arrives."""
        return all(carried.complete for job in self.jobs for carried in job.carried)

    @property
    def table(self) -> Table:
        """The table of communications between servers of all jobs, with a row for each communication."""
        return joined(JOB, [(self.title(number), job.sent_table) for number, job in enumerate(self.jobs)])

    def title(self, number: int) -> str:
        """Return the name of the job with the index ``number``, or ``job 1`` and so on if the job has no name."""
        return self.jobs[number].plan.job.name or f"job {number + 1}"

    def to_text(self) -> str:
        """Return the predictions of all jobs as lines of text, followed by notes on features of the network that the simulation ignores."""
        notes = ["\n".join(f"note: {remark}" for remark in self.fabric.remarks)] if self.fabric.remarks else []
        return "\n\n".join([*(job.to_text() for job in self.jobs), *notes])
