"""The plan of a campaign: a value that is shown, and carried out exactly as it was; with the model's prediction of each turn."""

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
"""Pairs of NICs of one rail that are looked at."""


@dataclass(frozen=True)
class Predicted:
    """Of ``queue_pairs`` looked at, ``crossing`` use what breaks, and ``keep`` have a path while it lasts; None: not known."""

    queue_pairs: int
    crossing: int
    keep: int | None

    def line(self) -> str:
        """The same in a cell."""
        keep = (
            "not known how many keep a path"
            if self.keep is None
            else f"{self.keep:,} of {self.queue_pairs:,} keep a path"
        )
        return f"{keep}; {self.crossing:,} move"


def predicted(network: Network, configs: Mapping[str, DeviceConfig], turn: Turn) -> Predicted:
    """What routing does in a turn, once it has settled."""
    gone = [down(configs, network, one) for one in turn.targets]
    plane = ControlPlane(configs.values(), network.absent)
    before = _ways(network, plane.routes(network.absent))
    names = {name for one in gone for name in one or ()}
    cables = {one.name for one in network.cables if {one.name, one.a.device, one.b.device} & names}
    crossing = sum(bool(cables & links) for links in before.values())
    if None in gone:
        return Predicted(len(before), crossing, None)
    after = _ways(network, plane.routes(frozenset(network.absent) | names))
    return Predicted(len(before), crossing, len(after))


def _ways(network: Network, routes: Routes) -> dict[tuple[str, str, str], set[str]]:
    """The links of each queue pair that has a path, by source, destination and source address."""
    found: dict[tuple[str, str, str], set[str]] = {}
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
        and not {one.family for one in near.addresses}.isdisjoint(one.family for one in far.addresses)
    ]
    step = max(len(pairs) // MOST_PAIRS, 1)
    for src, dst, near in pairs[::step]:
        for path in queue_pair_paths(network, routes, src, dst, len(near.addresses_of(near.addresses[0].family))):
            if path.hops:
                found[src, dst, path.src_gid] = {one.link for hop in path.hops for one in hop}
    return found


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
