"""The scenario file: traffic, overrides and a timeline of faults, for ``railweave sim`` and for the lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from pydantic import Field, field_validator, model_validator

from railweave.errors import SpecError
from railweave.model.intent.base import Bytes, Line, MessageBytes, Model, Picoseconds, Share, WrongValueError
from railweave.model.intent.faults import KINDS, Fault, Runner
from railweave.model.intent.reading.document import Document, read_document, validate

if TYPE_CHECKING:
    from pathlib import Path

MOST_COLLECTIVES = 1_000_000
"""Of a job, with all that is repeated."""

Setting = str | int | float | bool
"""A parameter's value, as it would stand on the command line."""


class Step(Model):
    """A collective of a user's job, over all servers, after a time in which GPUs compute."""

    collective: Literal["all-reduce", "all-gather", "reduce-scatter", "broadcast", "all-to-all", "send-recv"] = Field(
        description="which collective"
    )
    size: MessageBytes = Field(ge=1, le=1 << 50, description="bytes as nccl-tests counts them: 1G is 2^30")
    qps: int | None = Field(
        default=None, ge=1, le=128, description="queue pairs per connection; empty: one per path color"
    )
    nccl: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], description="NCCL's parameters for this collective"
    )
    compute: Picoseconds = Field(default=0, ge=0, description="how long GPUs compute before it begins")
    repeat: int = Field(default=1, ge=1, le=100_000, description="how often computing and collective take place")


class Background(Model):
    """Traffic of others on the same network, as long as the job runs."""

    share: Share = Field(gt=0, le=1, description="what each port sends, as a share of its line rate")
    ports: tuple[str, ...] = Field(
        default=(), description="NICs that send and receive, SERVER:NIC; `*` stands for anything; empty: all"
    )
    qps: int = Field(default=1, ge=1, le=1024, description="queue pairs of each port")
    packet: Bytes = Field(default=4096, ge=256, le=9000, description="payload of its packets")
    to: Literal["half-way", "intra-stripe", "inter-stripe"] | tuple[str, ...] = Field(
        default="half-way",
        description="whom each port sends to: the one of its rail half way round those ports, one in its stripe, one in the next stripe, or these NICs in turn",
    )

    @field_validator("ports", mode="before")
    @classmethod
    def _one(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value

    @field_validator("to", mode="before")
    @classmethod
    def _nics(cls, value: object) -> object:
        return [value] if isinstance(value, str) and ":" in value else value


class RunOverrides(Model):
    """What a run wants instead of the fabric file and the defaults."""

    lb: str | None = Field(default=None, description="how switches share: MODE[:knob=value,…], as `--lb` takes it")
    settings: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], alias="set", description="parameters of the engine, as `--set` takes them"
    )
    nccl: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], description="NCCL's parameters for every collective"
    )


class Scenario(Model):
    """What happens on a network: a job's traffic, that of others, and what breaks. Times count from its start."""

    name: Line = Field(default="", description="what it is called in results")
    description: Line = Field(default="", description="free text")
    traffic: tuple[Step, ...] = Field(default=(), description="the job: collectives, one after another")
    hosts: Line | None = Field(
        default=None,
        description="`sim`: servers of the job in the order of their ranks: names and lists with commas between, how many of the "
        "first, or `stripes-alternate`; empty: all, as the fabric file has them",
    )
    per_host: int | None = Field(
        default=None, ge=1, description="`sim`: processes on each server, which share its GPUs; empty: one for each GPU"
    )
    iterations: int = Field(default=1, ge=1, le=100_000, description="how often the job does all of its traffic")
    background: Background | None = Field(default=None, description="traffic of others")
    overrides: RunOverrides = Field(default=RunOverrides(), description="instead of the fabric file and defaults")
    reroute: Picoseconds | None = Field(
        default=None,
        ge=0,
        description="`sim`: how long after a fault routes follow, empty: 10ms; the lab's daemons take theirs",
    )
    faults: tuple[Fault, ...] = Field(default=(), description="what breaks, and when")

    @field_validator("hosts", mode="before")
    @classmethod
    def _list(cls, value: object) -> object:
        if isinstance(value, list):
            return ",".join(map(str, cast("list[object]", value)))
        return str(value) if isinstance(value, int) else value

    @model_validator(mode="after")
    def _ends(self) -> Scenario:
        count = self.iterations * sum(step.repeat for step in self.traffic)
        if count > MOST_COLLECTIVES:
            raise WrongValueError(
                f"the job has {count:,} collectives",
                f"at most {MOST_COLLECTIVES:,} are run",
                ["iterations"],
                ["traffic"],
            )
        return self


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario and where each part of it stands."""

    scenario: Scenario
    document: Document


def read_scenario(path: Path, runner: Runner) -> ScenarioFile:
    """Read a scenario for ``sim`` or for the lab.

    Raises ``SpecError`` with file and line of everything that is wrong, and of every fault that the runner cannot make
    happen, with the reason.
    """
    document = read_document(path)
    scenario = validate(Scenario, document)
    refused = [
        document.problem(("faults", place, "kind"), f"{runner} cannot do {fault.kind}", reason)
        for place, fault in enumerate(scenario.faults)
        if (reason := KINDS[fault.kind].refused_by(runner))
    ]
    if refused:
        raise SpecError(refused)
    return ScenarioFile(scenario, document)
