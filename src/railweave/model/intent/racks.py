"""Where devices stand: racks in a room, and units in a rack."""

from __future__ import annotations

from pydantic import Field

from railweave.model.intent.base import Metres, Model
from railweave.model.intent.names import Name


class Rack(Model):
    """A rack: where it stands in the room, and what is in it."""

    x: Metres = Field(default=0, description="place along the row")
    y: Metres = Field(default=0, description="place across the rows")
    units: int = Field(default=48, ge=1, le=80, description="height in rack units")
    devices: dict[str, int] = Field(
        default_factory=dict[str, int],
        description="lowest unit of each device, by its name; of a host list such as gpu-[1-4] that of the first, the others stand "
        "above it one after the other",
    )


class Racks(Model):
    """The racks of a room. Cables between them go over the top of the racks, and along and across the rows."""

    slack: Metres = Field(default=2, description="added to every cable, for both its ends together")
    step: Metres = Field(default=1, gt=0, description="lengths are rounded up to whole multiples of it")
    racks: dict[Name, Rack] = Field(default_factory=dict[str, Rack], description="racks by name")
