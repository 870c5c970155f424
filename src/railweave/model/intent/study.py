"""The study file for ``railweave tune run``: the goal, the knobs and the limits of a tuning study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from railweave.errors import Problem, SpecError
from railweave.model.intent.base import Line, MessageBytes, Model, Name, WrongValueError
from railweave.model.intent.reading.document import Document, read_document, validate
from railweave.model.intent.scenario import Background, Setting

if TYPE_CHECKING:
    from pathlib import Path


Objective = Literal["speed", "pauses", "marks", "fairness"]
"""The possible goals: higher speed, fewer PFC pauses, fewer ECN marks, or more even slowdowns of jobs."""

MOST_VALUES = 10_000
"""The largest number of values of one knob."""


class TunedCollective(Model):
    """A collective that the goal measures."""

    collective: Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-recv"] = Field(
        description="which collective"
    )
    size: MessageBytes = Field(ge=1, le=1 << 50, description="bytes as nccl-tests counts them: 1G is 2^30")
    qps: int | None = Field(
        default=None,
        ge=1,
        le=128,
        description="queue pairs per connection; empty: the fabric file's, which may be a knob",
    )
    nccl: dict[str, Setting] = Field(default_factory=dict[str, Setting], description="NCCL's parameters")
    hosts: Line | None = Field(default=None, description="its servers in the order of their ranks; empty: all")
    tenant: Line | None = Field(default=None, description="whose servers, where there are several tenants")
    weight: float = Field(default=1.0, gt=0, le=1000, description="what it counts in the mean, beside the others")
    background: Background | None = Field(default=None, description="traffic of others meanwhile")


class Goal(Model):
    """The measured quantity: the bus bandwidth of collectives, or the step time of the jobs of a job file."""

    collectives: tuple[TunedCollective, ...] = Field(
        default=(), max_length=64, description="collectives, each run by itself; their weighted geometric mean counts"
    )
    job: Line | None = Field(
        default=None, description="a job file (docs/simulation-files.md), beside the study file; instead of collectives"
    )
    objectives: tuple[Objective, ...] = Field(
        default=("speed",),
        min_length=1,
        max_length=4,
        description="what is to become better: `speed`; `pauses` and `marks`, which are to be few; `fairness` between "
        "jobs. Several make a frontier",
    )
    tail: Literal["worst", "median", "mean"] = Field(
        default="worst", description="what counts of the seeds of a trial: the worst, the median or the mean"
    )

    @field_validator("objectives")
    @classmethod
    def _once(cls, value: tuple[Objective, ...]) -> tuple[Objective, ...]:
        twice = next((objective for objective in value if value.count(objective) > 1), None)
        if twice is not None:
            raise WrongValueError(f"{twice} is given twice", "name each objective once")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> Goal:
        if bool(self.collectives) == (self.job is not None):
            message = "a job and collectives" if self.collectives else "nothing is measured"
            raise WrongValueError(message, "give either `collectives:` or `job:`", ["job"], ["collectives"])
        if self.job is None and "fairness" in self.objectives:
            raise WrongValueError(
                "fairness is between jobs that run at the same time",
                "give a job file with several jobs",
                ["objectives"],
            )
        counted = [objective for objective in self.objectives if objective in {"pauses", "marks"}]
        if self.job is not None and counted:
            raise WrongValueError(
                f"{counted[0]} of jobs are not counted: their steps are put together from flows",
                "give collectives",
                ["objectives"],
            )
        return self


class Limits(Model):
    """The limits that a trial must meet for every seed. A trial that exceeds a limit cannot win."""

    drops: int = Field(default=0, ge=0, description="packets that are dropped, at most")
    pauses: int | None = Field(default=None, ge=0, description="PFC pauses, at most; empty: any number")
    fairness: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="Jain's index of what jobs keep of their speed when they run together, at least: 1 is equal; empty: any",
    )


class Guardrails(Model):
    """The largest permitted rise of switch counters during a trial on hardware.

    A trial above a limit fails and is rolled back at once.
    """

    drops: int | None = Field(
        default=0, ge=0, description="packets that lossless classes drop, at most; `null`: drops are not watched"
    )
    pauses: int | None = Field(
        default=None, ge=0, description="PFC frames that switches send, or get from servers, at most; empty: any number"
    )
    errors: int | None = Field(
        default=0,
        ge=0,
        description="frames with bit errors, FEC codewords that were not corrected, and resource errors, at most; `null`: any number",
    )
    every: float = Field(default=5.0, gt=0, le=600, description="seconds from one reading of the counters to the next")


class HardwareTrials(Model):
    """The settings for trials on hardware and for their measurement. They apply with `evaluator: bench` or `both`."""

    guardrails: Guardrails = Field(default=Guardrails(), description="when a trial is rolled back at once")
    best: int = Field(
        default=3,
        ge=1,
        le=100,
        description="with `both`: how many of the best of the simulator are measured on hardware",
    )
    settle: float = Field(
        default=60.0,
        ge=0,
        le=3600,
        description="seconds that the network may take after a wave, as `deploy apply --settle`",
    )
    max_unavailable: float = Field(
        default=0.5, gt=0, le=1, description="share of the network that a wave may take out, as `deploy plan` has it"
    )
    launcher: Literal["mpirun", "srun"] = Field(
        default="mpirun", description="what starts collectives, as `bench run` has it"
    )
    launch_on: Line | None = Field(
        default=None, description="the server that it is started on, or `here`; empty: as `bench run` has it"
    )
    ranks: Line | None = Field(default=None, description="what starts each rank, in place of `railweave host env`")
    mpi_script: Line | None = Field(
        default=None, description="a file beside the study file, in place of the `mpirun.sh` of `build`"
    )
    srun_options: tuple[Line, ...] = Field(default=(), max_length=64, description="more words for `srun`")
    nccl_tests: Line = Field(
        default="", description="folder of nccl-tests on servers, where they are not on their path"
    )
    timeout: int = Field(default=300, ge=1, le=86_400, description="seconds after which a run of a collective is ended")


class Search(Model):
    """The search method, and the number of trials."""

    sampler: Literal["tpe", "cma-es", "random", "grid"] = Field(
        default="tpe", description="TPE, CMA-ES, by chance, or every combination"
    )
    trials: int = Field(default=40, ge=1, le=100_000, description="trials, at most; a grid takes what it needs")
    start: int = Field(default=10, ge=1, le=10_000, description="trials by chance before TPE takes over")
    batch: int = Field(
        default=4,
        ge=1,
        le=256,
        description="trials that are asked for together: the result depends on it, not on workers",
    )
    seed: int = Field(default=1, ge=0, le=2**31 - 1, description="the study's own seed: the same, the same result")
    prune: bool = Field(
        default=True, description="give a trial up after a seed that is worse than the median; with one objective alone"
    )


class Range(Model):
    """A range of whole numbers from ``first`` to ``last``."""

    first: int = Field(description="the first value")
    last: int = Field(description="the last value, which is one of them where the step fits")
    step: int = Field(default=1, ge=1, description="from one to the next")

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.first >= self.last:
            raise WrongValueError(f"{self.first} is not below {self.last}", "write first: 20, last: 80")
        return self


Values = str | tuple[Setting, ...] | Range
"""The values of a knob: text such as ``20..80``, ``20..80 step 5`` or ``64us..512us step 64us``, a list, or a map."""


class Study(Model):
    """A study: a fabric file, a goal, limits, and the knobs to tune."""

    name: Name = Field(description="its name: files of results are called after it")
    description: Line = Field(default="", description="free text")
    fabric: Line = Field(description="the fabric file, beside the study file")
    on: Line | None = Field(default=None, description="which fabric the job runs on, where several connect GPUs")
    goal: Goal = Field(description="what is measured")
    limits: Limits = Field(default=Limits(), description="what a trial must keep to")
    space: dict[str, Values] = Field(
        default_factory=dict[str, "Values"],
        description="knobs by their path in the fabric file: values as `20..80`, `20..80 step 5`, or a list",
    )
    engine: dict[str, Values] = Field(
        default_factory=dict[str, "Values"],
        description="knobs that no fabric file has, by the simulator's name (docs/sim.md), as `dcqcn.additive` of NICs",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict[str, Setting],
        alias="set",
        description="parameters of the simulator, as `--set` takes them",
    )
    search: Search = Field(default=Search(), description="how values are looked for")
    seeds: int = Field(default=3, ge=1, le=100, description="seeds of a trial: 1, 2, …")
    confirm: int = Field(
        default=5, ge=2, le=1000, description="fresh seeds on which the winner and the file's own values are run again"
    )
    evaluator: Literal["sim", "bench", "both"] = Field(
        default="sim",
        description="who measures: the simulator; `bench`, the network itself; `both`: the simulator ranks, and the best few are measured on the network",
    )
    bench: HardwareTrials = Field(
        default=HardwareTrials(), description="how hardware is measured, with `bench` and `both`"
    )

    @model_validator(mode="after")
    def _evaluator(self) -> Study:
        if self.evaluator == "sim":
            if "bench" in self.model_fields_set:
                raise WrongValueError(
                    "the simulator alone measures",
                    "write `evaluator: bench` or `both`, or leave `bench:` out",
                    ["bench"],
                    ["evaluator"],
                )
            return self
        if self.goal.job is not None:
            raise WrongValueError(
                "a step of a job is not measured on hardware",
                "give `collectives:`, or `evaluator: sim`",
                ["goal", "job"],
                ["evaluator"],
            )
        for number, collective in enumerate(self.goal.collectives):
            if collective.background is not None:
                raise WrongValueError(
                    "traffic of others is not made on hardware",
                    "leave `background:` out, or write `evaluator: sim`",
                    ["goal", "collectives", number, "background"],
                )
        if self.engine:
            raise WrongValueError(
                "no deploy brings the simulator's own parameters onto hardware",
                "leave `engine:` out, or write `evaluator: sim`",
                ["engine"],
                ["evaluator"],
            )
        if self.evaluator == "bench":
            if self.settings:
                raise WrongValueError(
                    "these are parameters of the simulator, which does not take part", "leave `set:` out", ["set"]
                )
            if "limits" in self.model_fields_set:
                raise WrongValueError(
                    "limits are the simulator's", "write them below `bench: {guardrails: …}`", ["limits"], ["evaluator"]
                )
        return self

    @model_validator(mode="after")
    def _knobs(self) -> Study:
        if not self.space and not self.engine:
            raise WrongValueError(
                "there is no knob", "add `space:` with a path of the fabric file and its values", ["space"], ["engine"]
            )
        if self.search.sampler == "cma-es" and len(self.goal.objectives) > 1:
            raise WrongValueError(
                "CMA-ES takes one objective", "write `sampler: tpe`", ["search", "sampler"], ["goal", "objectives"]
            )
        return self


@dataclass(frozen=True)
class StudyFile:
    """A study, the document that gives the line of each part, and the paths of the files that the study names."""

    study: Study
    document: Document
    path: Path

    @property
    def fabric(self) -> Path:
        """The path of the fabric file."""
        return self.path.parent / self.study.fabric

    @property
    def mpi_script(self) -> Path | None:
        """The path of the user's own script that starts MPI, or None."""
        return None if self.study.bench.mpi_script is None else self.path.parent / self.study.bench.mpi_script

    @property
    def job(self) -> Path | None:
        """The path of the job file, or None."""
        return None if self.study.goal.job is None else self.path.parent / self.study.goal.job


def read_study(path: Path) -> StudyFile:
    """Read a study file. Raises ``SpecError`` with the file and line of every fault, including files that do not exist."""
    document = read_document(path)
    study = StudyFile(validate(Study, document), document, path)
    absent: list[Problem] = []
    named = ((("fabric",), study.fabric), (("goal", "job"), study.job), (("bench", "mpi_script"), study.mpi_script))
    for location, file in named:
        if file is not None and not file.is_file():
            fix = "the name counts from the folder of the study file"
            absent.append(document.problem(location, f"there is no file {file}", fix))
    if absent:
        raise SpecError(absent)
    return study
