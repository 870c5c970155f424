"""What can break in a scenario: one vocabulary, for ``railweave sim`` and for the lab.

``KINDS`` is the only place that says what a kind is aimed at, and which of the two can make it happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, model_validator

from railweave.model.intent.base import Mbps, Model, Picoseconds, Share, WrongValueError

Runner = Literal["sim", "lab", "campaign"]
"""What runs a scenario."""

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
    """A kind of fault. ``needs`` are fields of ``Fault`` that it must have, besides ``at``; others it must not have.

    ``lasts``: whether it may end, by ``until`` or ``for``. ``sim``, ``lab`` and ``campaign`` (of running switches) say why that one
    cannot make it happen; empty: it can.
    """

    meaning: str
    needs: tuple[str, ...]
    lasts: bool = True
    sim: str = ""
    lab: str = ""
    campaign: str = ""

    def refused_by(self, runner: Runner) -> str:
        """Why a runner cannot make it happen; empty: it can."""
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
    """Something that breaks at a moment, and is whole again later or never."""

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
        """When it ends; None: never, or by itself."""
        return self.until if self.lasts is None else self.at + self.lasts


TARGETS = ("link", "device", "plane", "neighbor", "daemon", "port", "nic", "rate", "loss", "period", "count")
"""Fields that say what a fault is aimed at."""


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(repr(name) for name in names)
