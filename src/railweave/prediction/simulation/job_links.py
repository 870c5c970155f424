"""The links that a job's messages take, which traffic of others takes no part in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.prediction.simulation.engines.flows import run_flows
from railweave.prediction.simulation.engines.traffic import at_once
from railweave.prediction.simulation.model.outages import Timeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from railweave.prediction.simulation.model.fabric import FlowArguments, PacketFabric


def job_links(
    fabric: PacketFabric,
    pairs: NDArray[np.uint32],
    timeline: Timeline,
    until_ps: int,
    set_parameters: Callable[[FlowArguments], FlowArguments],
) -> NDArray[np.bool_]:
    """Return by port whether a message of these queue pairs is sent by it, as tables forward from the beginning to ``until_ps``.

    The flow engine hashes as the packet engine does, so a byte of each queue pair finds its links. ``set_parameters`` adds
    the run's own parameters: the seed decides hashes.
    """
    used = np.zeros(len(fabric.wiring.port_cable), np.bool_)
    traffic = at_once(pairs, 1)
    later = [Timeline(tables=(replace(one, at_ps=0),)) for one in timeline.tables if one.at_ps <= until_ps]
    for tables in (Timeline(), *later):
        used |= run_flows(set_parameters(fabric.flow_arguments(pairs, tables)), traffic).sent_bytes > 0
    return used
