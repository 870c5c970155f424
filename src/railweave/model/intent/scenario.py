"""The scenario file: traffic, overrides and a timeline of faults, for ``railweave sim`` and for the lab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from pydantic import Field, field_validator, model_validator

from railweave.errors import SpecError
from railweave.model.intent.base import Bytes, Line, Mbps, MessageBytes, Model, Picoseconds, Share, WrongValueError
from railweave.model.intent.reading.document import Document, read_document, validate

if TYPE_CHECKING:
    from pathlib import Path


Runner = Literal["sim", "lab", "campaign"]
"""The program that runs a scenario."""

FaultKind = Literal[
    "link-down",
    "link-flap",
    "link-slow",
    "link-lossy",
    "nic-down",
    "device-down",
    "plane-down",
    "device-reboot",
    "blackhole",
    "bgp-session-down",
    "bgp-down",
    "daemon-kill",
    "ra-stopped",
    "slow-receiver",
    "pfc-storm",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault.

    - ``needs``: the fields of ``Fault`` that this kind requires in addition to ``at``. Other target fields are not
      allowed.
    - ``lasts``: True if a fault of this kind can end, by ``until`` or ``for``.
    - ``sim``, ``lab``, ``campaign``: for each runner, the reason why it cannot produce the fault; empty if it can.
    """

    meaning: str
    needs: tuple[str, ...]
    lasts: bool = True
    sim: str = ""
    lab: str = ""
    campaign: str = ""

    def refused_by(self, runner: Runner) -> str:
        """Return the reason that a runner cannot produce this kind of fault, or an empty string if it can."""
        return {"sim": self.sim, "lab": self.lab, "campaign": self.campaign}[runner]


NO_DAEMONS = "`sim` runs no daemons, only the routes that they settle on: `railweave lab fault` has them"
NO_KNOB = "no switch has a command for it that takes itself back: `railweave lab fault` has it"
NO_STORM = "a storm on a running network would not stay where it was made: `railweave sim` has it"
ONE_BY_ONE = "a campaign breaks what can be taken back link by link: name the switches by `device-down`"
NO_PFC = "the lab's links and hosts have no PFC and no line rate: `railweave sim` has them"

KINDS: dict[FaultKind, Kind] = {
    "link-down": Kind("the link breaks for both ends", ("link",)),
    "link-flap": Kind(
        "the link breaks `count` times, every `period`, for half of it",
        ("link", "period", "count"),
        lasts=False,
        campaign=NO_KNOB,
    ),
    "link-slow": Kind("the link runs at `rate`, both ways", ("link", "rate"), campaign=NO_KNOB),
    "link-lossy": Kind("packets are lost on the link with this chance, both ways", ("link", "loss"), campaign=NO_KNOB),
    "nic-down": Kind("the NIC's link breaks", ("nic",)),
    "device-down": Kind("all links of a switch or server break", ("device",)),
    "plane-down": Kind(
        "all links of every switch of a plane break: each NIC's port in a network of several planes, or the NICs of a rail",
        ("plane",),
        campaign=ONE_BY_ONE,
    ),
    "device-reboot": Kind(
        "a switch loses its links and all that its daemons knew; at the end it boots: they start, read their "
        "configuration, and learn it again",
        ("device",),
    ),
    "blackhole": Kind(
        "the switch forwards nothing, and says nothing: its links and sessions stay up", ("device",), campaign=NO_KNOB
    ),
    "bgp-session-down": Kind("the BGP sessions between two switches end; links stay up", ("device", "neighbor")),
    "bgp-down": Kind(
        "all BGP sessions of a switch end, as where BGP is deactivated on it; its links stay up", ("device",)
    ),
    "daemon-kill": Kind("the daemon is killed; it is started again at the end", ("device", "daemon"), sim=NO_DAEMONS),
    "ra-stopped": Kind(
        "the leaf's router advertisements on this port stop",
        ("device", "port"),
        sim="`sim` takes addresses and gateways as given: `railweave lab fault` has router advertisements",
        campaign=NO_KNOB,
    ),
    "slow-receiver": Kind(
        "the NIC takes data at `rate` only, and pauses its leaf", ("nic", "rate"), lab=NO_PFC, campaign=NO_STORM
    ),
    "pfc-storm": Kind("the NIC pauses its leaf's data class without end", ("nic",), lab=NO_PFC, campaign=NO_STORM),
}


class Fault(Model):
    """A fault: a part of the network that fails at a given time and may recover later."""

    at: Picoseconds = Field(ge=0, description="when it begins, from the start of the scenario")
    until: Picoseconds | None = Field(default=None, description="when it ends; empty, and no `for`: never")
    lasts: Picoseconds | None = Field(
        default=None, alias="for", gt=0, description="how long it lasts, instead of `until`"
    )
    kind: FaultKind = Field(description="what breaks, see the table of kinds")
    link: str | None = Field(
        default=None, description="A:port--B:port as in cabling.csv, or A--B: all links between the two"
    )
    device: str | None = Field(default=None, description="a switch; for device-down also a server")
    plane: str | None = Field(
        default=None,
        description="a plane, as `cabling.csv` and names of spines have it: plane2; FABRIC/plane2 where several have one",
    )
    neighbor: str | None = Field(default=None, description="the switch at the other end of the sessions")
    daemon: str | None = Field(default=None, description="a daemon of the device: bgpd, zebra, bfdd, …")
    port: str | None = Field(default=None, description="a port of the device")
    nic: str | None = Field(default=None, description="a server's NIC: SERVER:NIC")
    rate: Mbps | None = Field(default=None, gt=0, description="what is left of the rate")
    loss: Share | None = Field(default=None, gt=0, le=1, description="chance that a packet is lost")
    period: Picoseconds | None = Field(default=None, gt=1, description="from one break to the next")
    count: int | None = Field(default=None, ge=1, le=10_000, description="how many breaks")

    @model_validator(mode="after")
    def _fits(self) -> Fault:
        kind = KINDS[self.kind]
        for name in TARGETS:
            given = getattr(self, name) is not None
            if given and name not in kind.needs:
                raise WrongValueError(f"{self.kind} has no {name!r}", f"it has {_listed(kind.needs)}", [name])
            if not given and name in kind.needs:
                raise WrongValueError(
                    f"{self.kind} needs {name!r}", f"add `{name}:`: {Fault.model_fields[name].description}"
                )
        if self.until is not None and self.lasts is not None:
            raise WrongValueError("both `until` and `for` are given", "give one", ["for"])
        if not kind.lasts and self.end_ps is not None:
            raise WrongValueError(f"{self.kind} ends by itself", "leave it out", ["until"], ["for"])
        if self.until is not None and self.until <= self.at:
            raise WrongValueError("it ends before it begins", "give a later end", ["until"])
        return self

    @property
    def end_ps(self) -> int | None:
        """The time at which the fault ends, or None if it has no given end."""
        return self.until if self.lasts is None else self.at + self.lasts


TARGETS = ("link", "device", "plane", "neighbor", "daemon", "port", "nic", "rate", "loss", "period", "count")
"""The fields of a fault that give its target and its size."""


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(repr(name) for name in names)


MOST_COLLECTIVES = 1_000_000
"""The largest number of collectives in a job, including repetitions."""

Setting = str | int | float | bool
"""The value of a parameter, as on the command line."""


class Step(Model):
    """One step of a user's job: a time in which GPUs compute, followed by a collective over all servers."""

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
    """Background traffic on the same network, which continues as long as the job runs."""

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
    """The values that a run uses in place of those in the fabric file and the defaults."""

    lb: str | None = Field(default=None, description="how switches share: MODE[:knob=value,…], as `--lb` takes it")
    settings: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], alias="set", description="parameters of the engine, as `--set` takes them"
    )
    nccl: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], description="NCCL's parameters for every collective"
    )


class Scenario(Model):
    """The traffic and faults on a network: a job, background traffic and faults. Times count from the start of the scenario."""

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
    """A scenario, and the document that gives the line of each part."""

    scenario: Scenario
    document: Document


def read_scenario(path: Path, runner: Runner) -> ScenarioFile:
    """Read a scenario for a runner: ``sim``, ``lab`` or ``campaign``.

    Raises ``SpecError`` with the file and line of every mistake. A fault that the runner cannot produce is also a mistake,
    reported with its reason.
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
