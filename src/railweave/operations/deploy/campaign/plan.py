"""The plan of a campaign, with the model's prediction for each turn. The campaign runs exactly as the plan shows it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from itertools import permutations
from typing import TYPE_CHECKING, Any

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.operations.deploy.campaign.radius import Turn, down

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.operations.deploy.plan import Plan


MOST_PAIRS = 512
"""Maximum number of NIC pairs to examine per rail."""


@dataclass(frozen=True)
class TurnPrediction:
    """The prediction for a turn, in numbers of queue pairs.

    - ``queue_pairs``: the queue pairs examined; ``crossing``: those that use the broken parts.
    - ``keep``: those that still have a path during the fault; None if unknown.
    """

    queue_pairs: int
    crossing: int
    keep: int | None

    def line(self) -> str:
        """Return the prediction as a table cell."""
        keep = (
            "not known how many keep a path"
            if self.keep is None
            else f"{self.keep:,} of {self.queue_pairs:,} keep a path"
        )
        return f"{keep}; {self.crossing:,} move"


def predicted(network: Network, configs: Mapping[str, DeviceConfig], turn: Turn) -> TurnPrediction:
    """Return the predicted effect of a turn on routing, after the network has converged."""
    gone = [down(configs, network, target) for target in turn.targets]
    plane = ControlPlane(configs.values(), network.absent)
    before = _ways(network, plane.routes(network.absent))
    names = {name for down_names in gone for name in down_names or ()}
    cables = {cable.name for cable in network.cables if {cable.name, cable.a.device, cable.b.device} & names}
    crossing = sum(bool(cables & links) for links in before.values())
    if None in gone:
        return TurnPrediction(len(before), crossing, None)
    after = _ways(network, plane.routes(frozenset(network.absent) | names))
    return TurnPrediction(len(before), crossing, len(after))


def _ways(network: Network, routes: Routes) -> dict[tuple[str, str, str], set[str]]:
    """Return the links of each queue pair that has a path, by source, destination and source address."""
    links: dict[tuple[str, str, str], set[str]] = {}
    nics = [
        (f"{server.name}:{nic.name}", nic)
        for server in network.servers
        if server.name not in network.absent
        for nic in server.nics
        if nic.addresses
    ]
    pairs = [
        (src, dst, near)
        for (src, near), (dst, far) in permutations(nics, 2)
        if src.partition(":")[0] != dst.partition(":")[0]
        and (near.fabric, near.rail, near.tenant) == (far.fabric, far.rail, far.tenant)
        and network.plane_of(near) == network.plane_of(far)
        and not {address.family for address in near.addresses}.isdisjoint(address.family for address in far.addresses)
    ]
    step = max(len(pairs) // MOST_PAIRS, 1)
    for src, dst, near in pairs[::step]:
        for path in queue_pair_paths(network, routes, src, dst, len(near.addresses_of(near.addresses[0].family))):
            if path.hops:
                links[src, dst, path.src_gid] = {share.link for hop in path.hops for share in hop}
    return links


@dataclass(frozen=True)
class PlannedTurn:
    """A planned turn: the switches that it touches, the losses, the prediction, and the plan of its changes.

    ``commands`` describes the faults that are not configuration changes. ``refused`` has the reasons why the turn cannot run.
    """

    turn: Turn
    touched: tuple[str, ...]
    lost: tuple[str, ...]
    predicted: TurnPrediction
    plan: Plan
    commands: tuple[str, ...]
    refused: tuple[str, ...]
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    """The ports that a command shuts, by switch."""

    def body(self) -> dict[str, Any]:
        """Return the content that the campaign's digest covers."""
        return {
            "name": self.turn.name,
            "seconds": self.turn.seconds,
            "touched": list(self.touched),
            "changes": {name: change.to_json() for name, change in self.plan.changed.items()},
            "commands": list(self.commands),
            "lost": list(self.lost),
            "refused": list(self.refused),
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines of text that describe the turn."""
        yield f"{self.turn.name}: {self.turn.seconds:g} s, touches {', '.join(self.touched)}"
        for name, change in self.plan.changed.items():
            yield from (f"  {name}: {line}" for line in change.shown)
        yield from (f"  {line}" for line in self.commands)
        yield from (f"  gone meanwhile: {line}" for line in self.lost)
        yield f"  predicted: {self.predicted.line()}"
        yield from (f"  refused: {line}" for line in self.refused)


@dataclass(frozen=True)
class Campaign:
    """A campaign: its ``turns`` in order. ``job`` is the prediction for the scenario's own traffic; empty if it has none."""

    fabric: str
    scenario: str
    turns: tuple[PlannedTurn, ...]
    job: str = ""

    @property
    def digest(self) -> str:
        """The digest that the operator enters to confirm this exact campaign."""
        body = [self.fabric, *(turn.body() for turn in self.turns)]
        return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def refused(self) -> list[str]:
        """The reasons why the campaign cannot run; empty if it can."""
        return [f"{turn.turn.name}: {why}" for turn in self.turns for why in turn.refused]

    def lines(self) -> Iterator[str]:
        """Yield the lines of text that describe the campaign."""
        for turn in self.turns:
            yield from turn.lines()
        if self.job:
            yield f"predicted of the scenario's job: {self.job}"

    def to_json(self) -> Mapping[str, Any]:
        """Return the campaign as a JSON object."""
        return {
            "digest": self.digest,
            "job": self.job,
            "refused": self.refused,
            "turns": [turn.body() | {"predicted": vars(turn.predicted)} for turn in self.turns],
        }
