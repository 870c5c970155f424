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
"""Largest number of values of one tuned setting."""


class TunedCollective(Model):
    """A collective whose speed the goal measures."""

    collective: Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-recv"] = Field(
        description="which collective"
    )
    size: MessageBytes = Field(ge=1, le=1 << 50, description="size in bytes, counted as in nccl-tests: 1G is 2^30")
    qps: int | None = Field(
        default=None,
        ge=1,
        le=128,
        description="number of queue pairs per connection; empty: the fabric file's, which may be a knob",
    )
    nccl: dict[str, Setting] = Field(default_factory=dict[str, Setting], description="NCCL's parameters")
    hosts: Line | None = Field(
        default=None, description="servers of the collective, in the order of their ranks; empty: all"
    )
    tenant: Line | None = Field(default=None, description="tenant that owns the servers, if the network has several")
    weight: float = Field(default=1.0, gt=0, le=1000, description="weight of this collective in the mean")
    background: Background | None = Field(default=None, description="traffic of others at the same time")


class Goal(Model):
    """The measured quantity: the bus bandwidth of collectives, or the step time of the jobs in a job file."""

    collectives: tuple[TunedCollective, ...] = Field(
        default=(),
        max_length=64,
        description="collectives, each measured alone; the goal is their weighted geometric mean",
    )
    job: Line | None = Field(
        default=None, description="a job file (docs/simulation-files.md), beside the study file; instead of collectives"
    )
    objectives: tuple[Objective, ...] = Field(
        default=("speed",),
        min_length=1,
        max_length=4,
        description="what to improve: `speed` (more), `pauses` and `marks` (fewer), or `fairness` between jobs. With "
        "several, the result is a frontier",
    )
    tail: Literal["worst", "median", "mean"] = Field(
        default="worst", description="which seed of a trial counts: the worst, the median, or the mean of all"
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
                "fairness is defined only between jobs that run at the same time",
                "give a job file with several jobs",
                ["objectives"],
            )
        counted = [objective for objective in self.objectives if objective in {"pauses", "marks"}]
        if self.job is not None and counted:
            raise WrongValueError(
                f"{counted[0]} cannot be an objective for jobs: their steps are combined from separate flows",
                "give collectives",
                ["objectives"],
            )
        return self


class Limits(Model):
    """The limits that a trial must meet for every seed. A trial that exceeds a limit cannot win."""

    drops: int = Field(default=0, ge=0, description="largest allowed number of dropped packets")
    pauses: int | None = Field(default=None, ge=0, description="largest allowed number of PFC pauses; empty: no limit")
    fairness: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="smallest allowed fairness (Jain's index of the speed that each job keeps when all run together; 1 is "
        "equal); empty: no limit",
    )


class Guardrails(Model):
    """The largest permitted rise of switch counters during a trial on hardware.

    A trial above a limit fails and is rolled back at once.
    """

    drops: int | None = Field(
        default=0, ge=0, description="largest allowed number of packets that lossless classes drop; `null`: no limit"
    )
    pauses: int | None = Field(
        default=None,
        ge=0,
        description="largest allowed number of PFC frames that switches send or receive from servers; empty: no limit",
    )
    errors: int | None = Field(
        default=0,
        ge=0,
        description="largest allowed number of frames with bit errors, uncorrected FEC codewords and resource errors "
        "together; `null`: no limit",
    )
    every: float = Field(default=5.0, gt=0, le=600, description="seconds between two readings of the counters")


class HardwareTrials(Model):
    """The settings for trials on hardware and for their measurement. They apply with `evaluator: bench` or `both`."""

    guardrails: Guardrails = Field(default=Guardrails(), description="limits at which a trial is rolled back at once")
    best: int = Field(
        default=3,
        ge=1,
        le=100,
        description="with `both`: number of the simulator's best trials that are measured on hardware",
    )
    settle: float = Field(
        default=60.0,
        ge=0,
        le=3600,
        description="seconds in which the network must converge after a wave, as in `deploy apply --settle`",
    )
    max_unavailable: float = Field(
        default=0.5,
        gt=0,
        le=1,
        description="largest share of the network that a wave may take out of service, as in `deploy plan`",
    )
    launcher: Literal["mpirun", "srun"] = Field(
        default="mpirun", description="program that starts collectives, as in `bench run`"
    )
    launch_on: Line | None = Field(
        default=None, description="server on which the launcher is started, or `here`; empty: as in `bench run`"
    )
    ranks: Line | None = Field(
        default=None, description="command that starts each rank, instead of `railweave host env`"
    )
    mpi_script: Line | None = Field(
        default=None, description="a file in the folder of the study file, instead of the `mpirun.sh` of `build`"
    )
    srun_options: tuple[Line, ...] = Field(default=(), max_length=64, description="more arguments for `srun`")
    nccl_tests: Line = Field(default="", description="folder of nccl-tests on the servers, if PATH does not contain it")
    timeout: int = Field(
        default=300, ge=1, le=86_400, description="seconds after which a run of a collective is stopped"
    )


class Search(Model):
    """The search method, and the number of trials."""

    sampler: Literal["tpe", "cma-es", "random", "grid"] = Field(
        default="tpe", description="search method: TPE, CMA-ES, random values, or a grid of all combinations"
    )
    trials: int = Field(
        default=40, ge=1, le=100_000, description="largest number of trials; a grid runs all its combinations"
    )
    start: int = Field(default=10, ge=1, le=10_000, description="number of random trials before TPE begins")
    batch: int = Field(
        default=4,
        ge=1,
        le=256,
        description="number of trials that are chosen together; it changes the result, unlike the number of workers",
    )
    seed: int = Field(
        default=1, ge=0, le=2**31 - 1, description="seed of the study: the same seed gives the same result"
    )
    prune: bool = Field(
        default=True,
        description="stop a trial after a seed whose result is worse than the median; only with one objective",
    )


class Range(Model):
    """A range of whole numbers from ``first`` to ``last``."""

    first: int = Field(description="the first value")
    last: int = Field(description="largest value; it is tried only if a step ends on it")
    step: int = Field(default=1, ge=1, description="distance from one value to the next")

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.first >= self.last:
            raise WrongValueError(f"{self.first} is not below {self.last}", "write first: 20, last: 80")
        return self


Values = str | tuple[Setting, ...] | Range
"""Values of a tuned setting (knob): ``20..80``, ``20..80 step 5`` or ``64us..512us step 64us``, a list, or a map."""


class Study(Model):
    """A study: a fabric file, a goal, limits, and the knobs to tune."""

    name: Name = Field(description="name of the study, which is also in the names of result files")
    description: Line = Field(default="", description="free text")
    fabric: Line = Field(description="the fabric file, in the folder of the study file")
    on: Line | None = Field(default=None, description="fabric that the job runs on, if several connect GPUs")
    goal: Goal = Field(description="what is measured")
    limits: Limits = Field(default=Limits(), description="limits that a trial must keep")
    space: dict[str, Values] = Field(
        default_factory=dict[str, "Values"],
        description="knobs, by their path in the fabric file; values as `20..80`, `20..80 step 5`, or a list",
    )
    engine: dict[str, Values] = Field(
        default_factory=dict[str, "Values"],
        description="knobs of the simulator that fabric files do not have, by their names (docs/engine.md), for example "
        "`dcqcn.additive` of NICs",
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict[str, Setting],
        alias="set",
        description="parameters of the simulator, as in `--set`",
    )
    search: Search = Field(default=Search(), description="how the search chooses values")
    seeds: int = Field(default=3, ge=1, le=100, description="seeds of a trial: 1, 2, …")
    confirm: int = Field(
        default=5,
        ge=2,
        le=1000,
        description="number of new seeds with which the best trial and the fabric file's own values are run again",
    )
    evaluator: Literal["sim", "bench", "both"] = Field(
        default="sim",
        description="what measures a trial: `sim`, the simulator; `bench`, the network itself; `both`: the simulator "
        "ranks the trials, and the best are measured on the network",
    )
    bench: HardwareTrials = Field(
        default=HardwareTrials(), description="settings for measurements on hardware, with `bench` and `both`"
    )

    @model_validator(mode="after")
    def _evaluator(self) -> Study:
        if self.evaluator == "sim":
            if "bench" in self.model_fields_set:
                raise WrongValueError(
                    "the section `bench` has no effect: only the simulator measures",
                    "write `evaluator: bench` or `both`, or leave `bench:` out",
                    ["bench"],
                    ["evaluator"],
                )
            return self
        if self.goal.job is not None:
            raise WrongValueError(
                "the steps of a job cannot be measured on hardware",
                "give `collectives:`, or `evaluator: sim`",
                ["goal", "job"],
                ["evaluator"],
            )
        for number, collective in enumerate(self.goal.collectives):
            if collective.background is not None:
                raise WrongValueError(
                    "traffic of others cannot be generated on hardware",
                    "leave `background:` out, or write `evaluator: sim`",
                    ["goal", "collectives", number, "background"],
                )
        if self.engine:
            raise WrongValueError(
                "parameters of the simulator (`engine`) cannot be deployed to hardware",
                "leave `engine:` out, or write `evaluator: sim`",
                ["engine"],
                ["evaluator"],
            )
        if self.evaluator == "bench":
            if self.settings:
                raise WrongValueError(
                    "these are parameters of the simulator, which is not used here", "leave `set:` out", ["set"]
                )
            if "limits" in self.model_fields_set:
                raise WrongValueError(
                    "these limits apply only to the simulator",
                    "write them below `bench: {guardrails: …}`",
                    ["limits"],
                    ["evaluator"],
                )
        return self

    @model_validator(mode="after")
    def _knobs(self) -> Study:
        if not self.space and not self.engine:
            raise WrongValueError(
                "the study has no knobs",
                "add `space:` with a path of the fabric file and its values",
                ["space"],
                ["engine"],
            )
        if self.search.sampler == "cma-es" and len(self.goal.objectives) > 1:
            raise WrongValueError(
                "CMA-ES takes one objective", "write `sampler: tpe`", ["search", "sampler"], ["goal", "objectives"]
            )
        return self


@dataclass(frozen=True)
class StudyFile:
    """A study and its path. ``document`` gives the line of each part."""

    study: Study
    document: Document
    path: Path

    @property
    def fabric(self) -> Path:
        """The fabric file's path."""
        return self.path.parent / self.study.fabric

    @property
    def mpi_script(self) -> Path | None:
        """The path of the user's script that starts MPI, or None."""
        return None if self.study.bench.mpi_script is None else self.path.parent / self.study.bench.mpi_script

    @property
    def job(self) -> Path | None:
        """The path of the job file, or None."""
        return None if self.study.goal.job is None else self.path.parent / self.study.goal.job


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for the file system, or a folder that cannot be searched
        return False


def read_study(path: Path) -> StudyFile:
    """Read a study file. Raises ``SpecError`` with the file and line of every fault, including files that do not exist."""
    document = read_document(path, start="docs/simulation-files.md shows a study file")
    study = StudyFile(validate(Study, document), document, path)
    absent: list[Problem] = []
    named = ((("fabric",), study.fabric), (("goal", "job"), study.job), (("bench", "mpi_script"), study.mpi_script))
    for location, file in named:
        if file is not None and not _is_file(file):
            fix = "the path is relative to the folder of the study file"
            absent.append(document.problem(location, f"there is no file {file}", fix))
    if absent:
        raise SpecError(absent)
    return study
