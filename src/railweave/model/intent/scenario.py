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
    "nvlink-switch-down",
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


NO_DAEMONS = "`sim` runs no daemons and only computes the routes after convergence: use `railweave lab fault`"
NO_KNOB = "no switch has a command for it that reverts by itself: use `railweave lab fault`"
NO_STORM = "a storm would spread in a running network: use `railweave sim`"
ONE_BY_ONE = "a campaign breaks only what it can restore link by link: name the plane's switches with `device-down`"
NO_NVLINK = "NVLink is no part of the network: use `railweave sim`"
NO_PFC = "links and hosts of the lab have no PFC and no line rate: use `railweave sim`"

KINDS: dict[FaultKind, Kind] = {
    "link-down": Kind("the link fails, seen from both ends", ("link",)),
    "link-flap": Kind(
        "the link fails `count` times: once per `period`, for half of the period",
        ("link", "period", "count"),
        lasts=False,
        campaign=NO_KNOB,
    ),
    "link-slow": Kind("the link runs only at `rate`, in both directions", ("link", "rate"), campaign=NO_KNOB),
    "link-lossy": Kind(
        "each packet on the link is lost with probability `loss`, in both directions",
        ("link", "loss"),
        campaign=NO_KNOB,
    ),
    "nic-down": Kind("the NIC's link fails", ("nic",)),
    "device-down": Kind("all links of a switch or server fail", ("device",)),
    "plane-down": Kind(
        "all links of every switch of a plane fail. In a network of several planes the plane is one port of "
        "each NIC, else the NICs of one rail",
        ("plane",),
        campaign=ONE_BY_ONE,
    ),
    "device-reboot": Kind(
        "a switch loses its links and the state of its daemons. At the end it boots: the daemons start, read "
        "their configuration and learn the routes again",
        ("device",),
    ),
    "blackhole": Kind(
        "the switch drops all packets that it should forward, without any sign: its links and sessions stay up",
        ("device",),
        campaign=NO_KNOB,
    ),
    "bgp-session-down": Kind("the BGP sessions between two switches end; their links stay up", ("device", "neighbor")),
    "bgp-down": Kind("all BGP sessions of a switch end, as if BGP were deactivated; its links stay up", ("device",)),
    "daemon-kill": Kind("a daemon is killed, and started again at the end", ("device", "daemon"), sim=NO_DAEMONS),
    "ra-stopped": Kind(
        "the leaf sends no more router advertisements on this port",
        ("device", "port"),
        sim="`sim` uses the designed addresses and gateways and has no router advertisements: use `railweave lab "
        "fault`",
        campaign=NO_KNOB,
    ),
    "slow-receiver": Kind(
        "the NIC receives data only at `rate`, and sends pause frames to its leaf",
        ("nic", "rate"),
        lab=NO_PFC,
        campaign=NO_STORM,
    ),
    "pfc-storm": Kind("the NIC pauses its leaf's data class permanently", ("nic",), lab=NO_PFC, campaign=NO_STORM),
    "nvlink-switch-down": Kind(
        "an NVLink switch tray of a rack fails: all GPUs of the domain keep the NVLink rate of the other trays, from "
        "the next collective on",
        ("domain",),
        lab=NO_NVLINK,
        campaign=NO_NVLINK,
    ),
}


class Fault(Model):
    """A fault: a part of the network that fails at a given time and may recover later."""

    at: Picoseconds = Field(ge=0, description="time at which the fault begins, from the start of the scenario")
    until: Picoseconds | None = Field(
        default=None, description="time at which the fault ends; without `until` and `for`, it never ends"
    )
    lasts: Picoseconds | None = Field(
        default=None, alias="for", gt=0, description="how long the fault lasts, instead of `until`"
    )
    kind: FaultKind = Field(description="kind of the fault; see the table of kinds")
    link: str | None = Field(
        default=None,
        description="a link: A:port--B:port as in cabling.csv, or A--B for all links between the two devices",
    )
    device: str | None = Field(default=None, description="a switch; for device-down, a switch or a server")
    plane: str | None = Field(
        default=None,
        description="a plane, named as in `cabling.csv` and in names of spines: plane2, or FABRIC/plane2 if several "
        "fabrics have one",
    )
    domain: str | None = Field(
        default=None,
        description="an NVLink domain of several servers: the name of its rack, or without racks STRIPE-domainN",
    )
    neighbor: str | None = Field(default=None, description="the switch at the other end of the sessions")
    daemon: str | None = Field(default=None, description="a daemon of the device: bgpd, zebra, bfdd, …")
    port: str | None = Field(default=None, description="a port of the device")
    nic: str | None = Field(default=None, description="a server's NIC: SERVER:NIC")
    rate: Mbps | None = Field(default=None, gt=0, description="rate that the link or NIC still has")
    loss: Share | None = Field(default=None, gt=0, le=1, description="probability that a packet is lost")
    period: Picoseconds | None = Field(default=None, gt=1, description="time from one failure of the link to the next")
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
            raise WrongValueError("the fault ends before it begins", "give a later end", ["until"])
        return self

    @property
    def end_ps(self) -> int | None:
        """The time at which the fault ends, or None if it has no given end."""
        return self.until if self.lasts is None else self.at + self.lasts


TARGETS = ("link", "device", "plane", "domain", "neighbor", "daemon", "port", "nic", "rate", "loss", "period", "count")
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
    size: MessageBytes = Field(ge=1, le=1 << 50, description="size in bytes, counted as in nccl-tests: 1G is 2^30")
    qps: int | None = Field(
        default=None, ge=1, le=128, description="queue pairs per connection; empty: one per path color"
    )
    nccl: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], description="NCCL's parameters for this collective"
    )
    compute: Picoseconds = Field(
        default=0, ge=0, description="time for which GPUs compute before the collective begins"
    )
    repeat: int = Field(
        default=1, ge=1, le=100_000, description="number of times that computation and collective are repeated"
    )


class Background(Model):
    """Background traffic on the same network, which continues as long as the job runs."""

    share: Share = Field(gt=0, le=1, description="rate of each port, as a share of its line rate")
    ports: tuple[str, ...] = Field(
        default=(), description="NICs that send and receive, as SERVER:NIC; `*` matches any text; empty: all"
    )
    qps: int = Field(default=1, ge=1, le=1024, description="number of queue pairs of each port")
    packet: Bytes = Field(default=4096, ge=256, le=9000, description="payload of each packet")
    to: Literal["half-way", "intra-stripe", "inter-stripe"] | tuple[str, ...] = Field(
        default="half-way",
        description="destination of each port: the port half way round the ports of its rail, one in its own stripe, one "
        "in the next stripe, or these NICs in turn",
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
    """The values that a run uses in place of the fabric file's values and the defaults."""

    lb: str | None = Field(
        default=None, description="load balancing of the switches: MODE[:knob=value,…], as in `--lb`"
    )
    settings: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], alias="set", description="parameters of the simulator, as in `--set`"
    )
    nccl: dict[str, Setting] = Field(
        default_factory=dict[str, Setting], description="NCCL's parameters for all collectives"
    )


class Scenario(Model):
    """The traffic and faults on a network: a job, background traffic and faults. Times count from the start of the scenario."""

    name: Line = Field(default="", description="name of the scenario in results")
    description: Line = Field(default="", description="free text")
    traffic: tuple[Step, ...] = Field(default=(), description="collectives of the job, which run one after another")
    hosts: Line | None = Field(
        default=None,
        description="for `sim`: servers of the job, in the order of their ranks: names and host lists separated by "
        "commas, a number (that many, from the first), or `stripes-alternate`; empty: all, in the order of "
        "the fabric file",
    )
    per_host: int | None = Field(
        default=None,
        ge=1,
        description="for `sim`: number of processes on each server, which share its GPUs; empty: one per GPU",
    )
    iterations: int = Field(
        default=1, ge=1, le=100_000, description="number of times that the job repeats all of its traffic"
    )
    background: Background | None = Field(default=None, description="traffic of others")
    overrides: RunOverrides = Field(
        default=RunOverrides(), description="settings that override the fabric file and the defaults"
    )
    reroute: Picoseconds | None = Field(
        default=None,
        ge=0,
        description="for `sim`: time from a fault until routes have changed; empty: 10ms. In the lab, the daemons need "
        "their own time",
    )
    faults: tuple[Fault, ...] = Field(default=(), description="the faults: which parts fail, and when")

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
                f"at most {MOST_COLLECTIVES:,} collectives are possible",
                ["iterations"],
                ["traffic"],
            )
        return self


@dataclass(frozen=True)
class ScenarioFile:
    """A scenario, and the document, which gives each part's line."""

    scenario: Scenario
    document: Document


def read_scenario(path: Path, runner: Runner) -> ScenarioFile:
    """Read a scenario for a runner: ``sim``, ``lab`` or ``campaign``.

    Raises ``SpecError`` with the file and line of every mistake. A fault that the runner cannot produce is also a mistake,
    reported with its reason.
    """
    document = read_document(path, start="docs/simulation-files.md shows a scenario file")
    scenario = validate(Scenario, document)
    refused = [
        document.problem(("faults", place, "kind"), f"{runner} cannot do {fault.kind}", reason)
        for place, fault in enumerate(scenario.faults)
        if (reason := KINDS[fault.kind].refused_by(runner))
    ]
    if refused:
        raise SpecError(refused)
    return ScenarioFile(scenario, document)
