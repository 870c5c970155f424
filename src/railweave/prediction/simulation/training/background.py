"""Traffic of others while jobs train: what part of each port it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.errors import InputError, Option, Problem
from railweave.prediction.simulation.background import ends
from railweave.prediction.simulation.engines.flows import run_flows
from railweave.prediction.simulation.engines.run import NEVER
from railweave.prediction.simulation.engines.traffic import at_once

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from railweave.model.intent.scenario import Background
    from railweave.prediction.simulation.model.fabric import PacketFabric
    from railweave.prediction.simulation.model.outages import Timeline

NOTE = (
    "background: it keeps its rate on every link of its way, but leaves jobs half of a link at least, as fair queues do for as many queue pairs; "
    "a communication goes as fast as the slowest of its links then lets it"
)
WINDOW_US = 10_000
"""For how long its bytes are sent to see which way they go; any length gives the same parts."""


def taken(
    fabric: PacketFabric, timeline: Timeline, wanted: Background, settings: Mapping[str, str]
) -> NDArray[np.float64]:
    """By port: the part of its rate that background traffic asks for, at most 1.

    Raises ``InputError`` where ports are not there, or do not reach those that they are to send to.
    """
    pairs_of = ends(fabric.wiring, wanted)
    sources = np.repeat(np.array([src for src, _ in pairs_of], np.uint32), wanted.qps)
    targets = np.repeat(np.array([dst for _, dst in pairs_of], np.uint32), wanted.qps)
    turn = np.tile(np.arange(wanted.qps, dtype=np.uint32), len(pairs_of))
    pairs = fabric.addresses.pairs(sources, targets, turn)
    wiring = fabric.wiring
    rates = wiring.cables[wiring.port_cable, 2].astype(np.float64)
    line = rates[wiring.first_port[sources.astype(np.int64)]]
    traffic = at_once(pairs, np.maximum(line * wanted.share / wanted.qps * WINDOW_US / 8, 1))
    arguments = fabric.flow_arguments(pairs, timeline)
    arguments["parameters"] = {**arguments["parameters"], **settings}
    run = run_flows(arguments, traffic)
    if not run.complete:
        lost = pairs[int((run.arrivals == NEVER).argmax())]
        names = f"{wiring.nics[int(lost[0])]} does not reach {wiring.nics[int(lost[1])]}"
        raise InputError([Problem(Option("--background", part=("ports",)), names, "name the ports of one tenant")])
    headers = run.sent_bytes[np.unique(wiring.first_port[sources.astype(np.int64)])].sum()
    headers /= traffic.messages[:, 1].sum()
    return np.minimum(run.sent_bytes / headers * 8 / WINDOW_US / rates, 1.0)
