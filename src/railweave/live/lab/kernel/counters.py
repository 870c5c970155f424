"""What crossed each link, by the counters of its interfaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.live.lab.running import Running

Direction = tuple[str, str]
"""A link, and the device that a packet on it goes to."""


@dataclass(frozen=True)
class Snapshot:
    """Bytes received from each link so far, by where they went."""

    received: dict[Direction, int]

    def since(self, before: Snapshot) -> dict[Direction, int]:
        """Bytes that came since another snapshot."""
        return {key: value - before.received[key] for key, value in self.received.items()}


def snapshot(lab: Running) -> Snapshot:
    """The counters of all links now."""
    received: dict[Direction, int] = {}
    for space in lab.plan.spaces():
        device = space.partition("@")[0]
        for name, counters in lab.kernel(space).interfaces().values():
            link = lab.plan.link(device, name)
            if link is not None:
                received[link, device] = counters.rx_bytes
    return Snapshot(received)
