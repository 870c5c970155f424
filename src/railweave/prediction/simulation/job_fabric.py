"""The part of a network that a job runs on, where servers are on several fabrics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.prediction.simulation.model.wiring import fabrics

if TYPE_CHECKING:
    from railweave.model.network.model import Network


def job_network(network: Network, fabric: str | None = None) -> Network:
    """The network with one fabric and the servers on it: the one named, else that of the GPUs' own NICs.

    Raises ``InputError`` where there is no such fabric, or several connect GPUs and none is named: GPUs of one do not
    reach those of another.
    """
    known = [one.name for one in network.fabrics]
    beside_gpus = fabrics(network)
    if fabric is not None and fabric not in known:
        raise InputError(
            [Problem(Option("--fabric"), f"there is no fabric {fabric!r}", f"fabrics are {', '.join(known)}")]
        )
    if fabric is None and len(beside_gpus) > 1:
        what = f"{len(beside_gpus)} fabrics connect GPUs, which do not reach each other"
        raise InputError([Problem(Option("--fabric"), what, f"say which the job runs on: {', '.join(beside_gpus)}")])
    taken = fabric or next(iter(beside_gpus), known[0])
    if known == [taken]:
        return network
    own = [replace(one, nics=tuple(nic for nic in one.nics if nic.fabric == taken)) for one in network.servers]
    return replace(
        network,
        fabrics=tuple(one for one in network.fabrics if one.name == taken),
        switches=tuple(one for one in network.switches if one.fabric == taken),
        segments=tuple(one for one in network.segments if one.fabric == taken),
        cables=tuple(one for one in network.cables if one.fabric == taken),
        servers=tuple(one for one in own if one.nics),
    )
