"""The retransmissions of a queue pair: the times of its retries, and the time at which it gives up. NCCL sets both in the NICs.

A NIC that gets no acknowledgement waits 4.096 us x 2^NCCL_IB_TIMEOUT and retransmits, at most NCCL_IB_RETRY_CNT times
in a row (InfiniBand architecture, local ACK timeout and retry count). NICs may take up to four times as long, and some
adapt the timeout. Neither is modelled.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave._sim import LINK_DOWN, LINK_UP, NODE_DOWN, NODE_UP
from railweave.prediction.simulation.model.outages import Change, Tables, Timeline
from railweave.prediction.simulation.settings import timeout_ps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.prediction.collectives.nccl import Parameters

BASE_PS = 4_096_000
"""The base of an ACK timeout in ps. The timeout is this number times 2 to the power of NCCL_IB_TIMEOUT."""

HEALED_BY = {LINK_UP: LINK_DOWN, NODE_UP: NODE_DOWN}


def retry_parameters(nccl: Parameters) -> dict[str, str]:
    """Return the packet engine's parameters for retransmission as NCCL sets them: ``host.timeout`` (in ps) and ``host.retries``."""
    return {
        "host.timeout": f"{BASE_PS << nccl['NCCL_IB_TIMEOUT']}ps",
        "host.retries": str(nccl["NCCL_IB_RETRY_CNT"]),
    }


def patience_ps(parameters: Mapping[str, str]) -> int:
    """Return the time in ps without arrivals after which a run counts as stuck.

    This is the longest time for which queue pairs may still retry, but at least one second. ``parameters`` has the engine's parameters by
    name.
    """
    retries = parameters.get("host.retries", "none")
    return max(10**12, (int(retries) + 2) * timeout_ps(parameters)) if retries.isdecimal() else 10**12


def after_retries(timeline: Timeline, parameters: Mapping[str, str]) -> Timeline:
    """Return the timeline with later recoveries: a sender that lost packets notices a recovery only at its next retry.

    This timeline is for flows, which lose no packets and would continue at once. A recovery after the last retry never takes effect. Faults
    from the beginning of a run do not cause losses. ``parameters`` has the engine's parameters by name.
    """
    failed = {NODE_DOWN, LINK_DOWN}
    broken = sorted(change[0] for change in timeline.changes if change[1] in failed)
    if not broken:
        return timeline
    retry_ps, retries = timeout_ps(parameters), parameters.get("host.retries", "none")
    most = int(retries) if retries.isdecimal() else None

    def noticed(at_ps: int, since_ps: int) -> int | None:
        turns = max(1, -(-(at_ps - since_ps) // retry_ps))
        return None if most is not None and turns > most else since_ps + turns * retry_ps

    changes: list[Change] = []
    for event in timeline.changes:
        at, change, place = event[:3]
        begun = [
            other[0] for other in timeline.changes if other[1:3] == (HEALED_BY.get(change), place) and other[0] <= at
        ]
        later = noticed(at, max(begun)) if begun and at else at
        if later is not None:
            changes.append((later, *event[1:]))
    tables: list[Tables] = []
    for table in timeline.tables:
        begun = [moment for moment in broken if moment <= table.at_ps]
        later = noticed(table.at_ps, begun[-1]) if begun and table.at_ps else table.at_ps
        if later is not None:
            tables.append(replace(table, at_ps=later))
    return Timeline(tuple(sorted(changes, key=lambda change: change[0])), tuple(tables))
