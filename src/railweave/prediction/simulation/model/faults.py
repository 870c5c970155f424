"""A scenario's faults as changes of the packet engine and of what switches forward by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import LOSS, RATE, RECEIVE, STORM
from railweave.prediction.simulation.model.outages import Outage, Timeline, timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from railweave.analysis.routing.control_plane import ControlPlane
    from railweave.analysis.routing.table import Routes
    from railweave.design.fault_targets import FaultTarget
    from railweave.prediction.simulation.model.outages import Change
    from railweave.prediction.simulation.model.wiring import Wiring

REROUTE_PS = 10 * 10**9
"""How long routes take to follow a fault where the scenario does not say: 10 ms; assumed. Light that is lost is seen at
once; BGP's withdrawals and the writing of hardware tables take the time."""

CERTAIN = 2**32 - 1


def fault_timeline(
    wiring: Wiring,
    plane: ControlPlane | None,
    start: Routes,
    targets: Sequence[FaultTarget],
    reroute_ps: int,
    data_class: int,
) -> Timeline:
    """What faults do. Times are the scenario's; ``start`` are the routes before, ``data_class`` is what a storm pauses.

    Without ``plane`` routes stay as they are. Faults on links and devices of other fabrics than those simulated are left
    out: their traffic does not pass here. Raises ``InputError`` where two outages of one thing overlap.
    """
    outages = [one for target in targets for one in _outages(target) if _is_here(wiring, one.name)]
    found = timeline(wiring, plane, start, outages, reroute_ps)
    changes = [*found.changes, *(change for target in targets for change in _changes(wiring, target, data_class))]
    return Timeline(tuple(sorted(changes, key=lambda change: change[0])), found.tables)


def slowed(wiring: Wiring, changes: Sequence[Change], time_ps: int) -> NDArray[np.float64]:
    """By port: how much slower than designed its link was on average, in a run of this time. 1: not at all."""
    rate = wiring.cables[:, 2].astype(np.float64)
    now, since, carried = rate.copy(), np.zeros(len(rate)), np.zeros(len(rate))
    for at, change, port, mbps, _ in changes:
        if change == RATE and at < time_ps:
            row = int(wiring.port_cable[port])
            carried[row] += now[row] * (at - since[row])
            now[row], since[row] = mbps, at
    mean = (carried + now * (time_ps - since)) / time_ps
    return (rate / mean)[wiring.port_cable]


def _is_here(wiring: Wiring, name: str) -> bool:
    here = name in wiring.node or name in wiring.cable
    return here or any(nic.rpartition(":")[0] == name for nic in wiring.nics)


def _outages(target: FaultTarget) -> Iterable[Outage]:
    fault = target.fault
    if fault.kind in {"link-down", "nic-down"}:
        return [Outage(link, fault.at, fault.end_ps) for link in target.links]
    if fault.kind in {"device-down", "device-reboot", "plane-down"}:
        return [Outage(device, fault.at, fault.end_ps) for device in target.devices]
    if fault.kind == "blackhole":
        return [Outage(str(fault.device), fault.at, fault.end_ps, "forwarding")]
    if fault.kind in {"bgp-session-down", "bgp-down"}:
        return [Outage(link, fault.at, fault.end_ps, "session") for link in target.links]
    if fault.kind == "link-flap" and fault.period is not None:
        begins = [fault.at + turn * fault.period for turn in range(fault.count or 0)]
        return [Outage(link, at, at + fault.period // 2) for link in target.links for at in begins]
    return []


def _changes(wiring: Wiring, target: FaultTarget, data_class: int) -> list[Change]:
    """What a fault changes besides what is up or down."""
    fault = target.fault
    found: list[Change] = []
    for link in target.links:
        row = wiring.cable.get(link)
        if row is None:
            continue
        ends = [int(port) for port in wiring.end_ports[row]]  # a NIC's is the first
        begin: list[tuple[int, int, int, int]] = []
        end: list[tuple[int, int, int, int]] = []
        if fault.kind == "link-slow":
            begin, end = [(RATE, ends[0], fault.rate or 0, 0)], [(RATE, ends[0], int(wiring.cables[row, 2]), 0)]
        elif fault.kind == "link-lossy":
            chance = min(round((fault.loss or 0.0) * 2**32), CERTAIN)
            begin, end = [(LOSS, port, chance, 0) for port in ends], [(LOSS, port, 0, 0) for port in ends]
        elif fault.kind == "slow-receiver":
            begin, end = [(RECEIVE, ends[0], fault.rate or 0, 0)], [(RECEIVE, ends[0], 0, 0)]
        elif fault.kind == "pfc-storm":
            begin, end = [(STORM, ends[0], data_class, 1)], [(STORM, ends[0], data_class, 0)]
        found += [(fault.at, *one) for one in begin]
        found += [] if fault.end_ps is None else [(fault.end_ps, *one) for one in end]
    return found
