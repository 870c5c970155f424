"""What a campaign would do: a value that is shown, and carried out exactly as it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.operations.deploy.campaign.predicting import Predicted
    from railweave.operations.deploy.campaign.turns import Turn
    from railweave.operations.deploy.plan import Plan


@dataclass(frozen=True)
class Planned:
    """One turn: the switches that it touches, what would be gone, what the model says, and the plan of its changes.

    ``commands`` are those that are no configuration, as text; ``refused`` says why it is not carried out.
    """

    turn: Turn
    touched: tuple[str, ...]
    lost: tuple[str, ...]
    predicted: Predicted
    plan: Plan
    commands: tuple[str, ...]
    refused: tuple[str, ...]
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """Ports that are shut by a command, by switch."""

    def body(self) -> dict[str, Any]:
        """What its digest is of."""
        return {
            "name": self.turn.name,
            "seconds": self.turn.seconds,
            "touched": list(self.touched),
            "changes": {name: one.to_json() for name, one in self.plan.changed.items()},
            "commands": list(self.commands),
            "lost": list(self.lost),
            "refused": list(self.refused),
        }

    def lines(self) -> Iterator[str]:
        """It as text."""
        yield f"{self.turn.name}: {self.turn.seconds:g} s, touches {', '.join(self.touched)}"
        for name, change in self.plan.changed.items():
            yield from (f"  {name}: {line}" for line in change.shown)
        yield from (f"  {line}" for line in self.commands)
        yield from (f"  gone meanwhile: {line}" for line in self.lost)
        yield f"  predicted: {self.predicted.line()}"
        yield from (f"  refused: {line}" for line in self.refused)


@dataclass(frozen=True)
class Campaign:
    """``turns`` in their order. ``job`` is what the model says of the scenario's own traffic, empty without any."""

    fabric: str
    scenario: str
    turns: tuple[Planned, ...]
    job: str = ""

    @property
    def digest(self) -> str:
        """What is given to say which campaign was read."""
        body = [self.fabric, *(one.body() for one in self.turns)]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def refused(self) -> list[str]:
        """Why it is not carried out; empty where it can be."""
        return [f"{one.turn.name}: {why}" for one in self.turns for why in one.refused]

    def lines(self) -> Iterator[str]:
        """It as text."""
        for one in self.turns:
            yield from one.lines()
        if self.job:
            yield f"predicted of the scenario's job: {self.job}"

    def to_json(self) -> Mapping[str, Any]:
        """It as a JSON object."""
        return {
            "digest": self.digest,
            "job": self.job,
            "refused": self.refused,
            "turns": [one.body() | {"predicted": vars(one.predicted)} for one in self.turns],
        }
