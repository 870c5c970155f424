"""Packets between the servers of a site, sent while something is broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Seen:
    """Packets between servers: how many were sent and lost, and the longest that a path lost, in seconds. ``why``: why there is nothing."""

    sent: int = 0
    lost: int = 0
    longest_s: float = 0.0
    why: str = ""

    def line(self) -> str:
        """Return the same as the text of a cell."""
        return self.why or f"{self.lost:,} of {self.sent:,} lost, {self.longest_s:.2f} s at most"


class Packets(Protocol):
    """A sender of packets between servers."""

    def start(self, seconds: float) -> None:
        """Begin to send; it takes so many seconds at most."""
        ...

    def stop(self) -> Seen:
        """Return how many packets were sent and lost."""
        ...

    def drop(self) -> None:
        """End without a result, after an interruption; does not wait."""
        ...
