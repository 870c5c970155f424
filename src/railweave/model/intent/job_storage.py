"""What a training job reads from storage and writes to it, as the job file says it."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from railweave.model.config import quantities
from railweave.model.intent.base import Line, Mbps, Model, Picoseconds, WrongValueError

_STEPS = re.compile(r"\s*([1-9][0-9]{0,8})\s*steps?\s*")
_EVERY = "write a number of steps or a time, for example 100 steps or 30m"


def _size(value: object) -> object:
    if isinstance(value, str):
        try:
            return quantities.MESSAGE_BYTES.parse(value)
        except ValueError as error:
            raise WrongValueError(str(error)) from None
    return value


Size = Annotated[int, BeforeValidator(_size), WithJsonSchema({"type": ["string", "number"], "examples": ["64G"]})]
"""A number of bytes; ``1G`` is 2^30, as for collectives."""


class Storage(Model):
    """Servers that data is on. Every NIC of the job has a connection to each of them, and as much for each."""

    storage: Line = Field(description="the storage servers: names, or lists of names as WEKA-[1-4]")
    fabric: Line | None = Field(
        default=None,
        description="the fabric it goes over; empty: the job's own where the storage servers are on it, else that of both's storage NICs, else the first that joins them",
    )
    qps: int = Field(default=1, ge=1, le=128, description="queue pairs from each NIC to each storage server's")
    rate: Mbps | None = Field(
        default=None, gt=0, description="what a storage server reads or writes at most; empty: what its NICs take"
    )


class Checkpoint(Storage):
    """The state of a job as it is written to storage, by all of its GPUs, each an even part."""

    every: Line = Field(description="how often: 100 steps, or a time, 30m")
    bytes: Size | None = Field(
        default=None, ge=1, le=1 << 60, description="of a checkpoint; empty: parameters x (weights + optimizer)"
    )
    weights: float = Field(
        default=2, ge=0, le=64, description="bytes of a parameter that is trained with: 2 in 16 bits"
    )
    optimizer: float = Field(
        default=12,
        ge=0,
        le=64,
        description="bytes of the optimizer for a parameter: Adam's are 12, three numbers of 32 bits",
    )
    overlap: bool = Field(default=True, description="whether GPUs train on while it is written (asynchronous)")
    snapshot: Picoseconds = Field(
        default=0, ge=0, description="how long GPUs wait until their state is copied aside; 0: not counted"
    )

    @field_validator("every")
    @classmethod
    def _known(cls, value: str) -> str:
        if _STEPS.fullmatch(value) is None:
            try:
                seconds = quantities.SECONDS.parse(value)
            except ValueError:
                raise WrongValueError(f"{value!r:.60} is neither steps nor a time", _EVERY) from None
            if not seconds:
                raise WrongValueError("no time passes between checkpoints", _EVERY)
        return value

    def steps(self, step_ps: int) -> float:
        """How many steps are from one checkpoint to the next, where a step takes so long."""
        found = _STEPS.fullmatch(self.every)
        return int(found[1]) if found else max(quantities.SECONDS.parse(self.every) * 10**12 / max(step_ps, 1), 1.0)


class Reading(Storage):
    """What a job reads from storage for each step, in a burst while it trains on the data of the one before."""

    bytes: Size = Field(ge=1, le=1 << 60, description="for a step, of all of its GPUs together")
