"""Traffic classes: which packets, which queue, how a queue is served and marked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from railweave.model.intent.base import Bytes, Model, Percent, WrongValueError

Dscp = Annotated[int, Field(ge=0, le=63)]


class Ecn(Model):
    """ECN marking (WRED) of one queue: linear between two fill levels of the queue's share of the buffer."""

    min_fill: Percent = Field(default=55, ge=0, le=100, description="fill level at which marking starts, percent")
    max_fill: Percent = Field(
        default=90, ge=0, le=100, description="fill level at which marking reaches `max_probability`, percent"
    )
    max_probability: Percent = Field(
        default=100, ge=0, le=100, description="marking probability at `max_fill`, percent"
    )

    min_bytes: Bytes | None = Field(
        default=None,
        ge=1,
        exclude_if=lambda value: value is None,
        description="queue length at which marking starts, on systems that count bytes; empty: the system's default",
    )
    max_bytes: Bytes | None = Field(
        default=None,
        ge=1,
        exclude_if=lambda value: value is None,
        description="queue length at which marking reaches `max_probability`, on the same systems",
    )

    @model_validator(mode="after")
    def _both_bytes(self) -> Ecn:
        if (self.min_bytes is None) != (self.max_bytes is None):
            raise WrongValueError("min_bytes and max_bytes go together", "give both or neither, for example 1M and 3M")
        if self.min_bytes is not None and self.max_bytes is not None and self.min_bytes >= self.max_bytes:
            raise WrongValueError(
                f"min_bytes {self.min_bytes} must be below max_bytes {self.max_bytes}", "for example 1M and 3M"
            )
        return self

    @model_validator(mode="after")
    def _ordered(self) -> Ecn:
        if self.min_fill >= self.max_fill:
            raise WrongValueError(
                f"min_fill {self.min_fill} must be below max_fill {self.max_fill}", "for example 55 and 90"
            )
        return self


class TrafficClass(Model):
    """One forwarding class: which packets, which queue, how it is served and marked."""

    queue: int = Field(ge=0, le=11, description="egress queue number on the switch (local; need not match the NIC's)")
    dscp: tuple[Dscp, ...] = Field(default=(), description="DSCP values classified into this class, 0 to 63")
    lossless: bool = Field(default=False, description="never drop: PFC is enabled for this class")
    pfc_priority: int | None = Field(
        default=None,
        ge=0,
        le=7,
        description="PFC priority on the wire, 1 to 7; required when lossless. 0 is that of traffic without a class of its own",
    )
    priority: Literal["low", "strict-high"] = Field(
        default="low", description="scheduling: weighted round robin or strict"
    )
    bandwidth: Percent | None = Field(
        default=None,
        ge=1,
        le=99,
        description="share of the port that the class is guaranteed, percent, on both ends of a server's link: the switch's "
        "scheduler and the NIC's (ETS) have it; of a strict class, the most that it gets",
    )
    transmit_percent: Percent | None = Field(
        default=None,
        ge=1,
        le=100,
        validate_default=True,
        description="scheduler weight or strict-priority cap of the switch, percent of port rate; empty: as `bandwidth`. Where it is given "
        "without `bandwidth`, NICs take it as their share, too",
    )
    buffer_percent: Percent | None = Field(
        default=None,
        ge=0,
        le=100,
        description="dedicated buffer of the queue, percent of the port's; empty: the system's default",
    )
    dynamic_threshold: int | None = Field(
        default=None,
        ge=0,
        le=10,
        description="egress shared-buffer threshold index; alpha = 2^(index-7); empty: the system's default, 7",
    )
    ecn: Ecn | None = Field(default=None, description="ECN marking; empty: none")

    @field_validator("transmit_percent", mode="after")
    @classmethod
    def _as_bandwidth(cls, value: int | None, info: ValidationInfo) -> int | None:
        return info.data.get("bandwidth") if value is None else value

    @property
    def nic_share(self) -> int | None:
        """What a NIC's scheduler gives the class, percent; None where the file says no share of it.

        All of the port is nothing that a NIC can give: it has another class for what is not RDMA.
        """
        share = self.transmit_percent if self.bandwidth is None else self.bandwidth
        return None if share is None else min(share, 99)

    @model_validator(mode="after")
    def _lossless_has_priority(self) -> TrafficClass:
        if self.lossless and self.pfc_priority is None:
            raise WrongValueError("a lossless class needs a pfc_priority", "RoCEv2 fabrics use 3")
        if self.pfc_priority is not None and not self.lossless:
            raise WrongValueError("pfc_priority on a class that is not lossless", "set `lossless: true` or remove it")
        if self.pfc_priority == 0:
            raise WrongValueError(
                "pfc_priority 0 would pause all other traffic too: NICs and switches put into priority 0 what has no class",
                "use 1 to 7; RoCEv2 fabrics use 3",
                ["pfc_priority"],
            )
        return self
