"""Example networks as packet engines, and what their queue pairs cross."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from railweave._sim import WRITE, PacketEngine
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.prediction.simulation.model.fabric import PacketFabric, packet_fabric
from railweave.prediction.simulation.model.outages import Timeline
from tests.conftest import example

ALL = 2**64 - 1
"""When a message arrived that did not."""


def plane_of(network: Network) -> ControlPlane:
    return ControlPlane(device_config(network, switch.name) for switch in network.switches)


@cache
def bed(name: str, lb: str | None = None) -> tuple[Network, ControlPlane, PacketFabric]:
    """An example, its control plane, and what the engine takes."""
    network = example(name)
    plane = plane_of(network)
    return network, plane, packet_fabric(network, plane.configs, plane.routes(), lb)


def engine(
    fabric: PacketFabric,
    pairs: NDArray[np.uint32],
    messages: list[tuple[int, int, int]],
    timeline: Timeline | None = None,
) -> PacketEngine:
    """An engine with messages given as queue pair, bytes, start_ps."""
    rows = np.array([(*one, WRITE) for one in messages], np.uint64).reshape(-1, 4)
    return PacketEngine(**fabric.arguments(pairs, timeline), messages=rows)


def crossed(fabric: PacketFabric, sent: NDArray[np.uint64], least: int = 1) -> set[tuple[str, str]]:
    """The links that ports sent at least so many bytes over, each with the NIC or switch that sent."""
    names = (*fabric.wiring.nics, *fabric.wiring.switches)
    ports = np.flatnonzero(sent >= least)
    nodes = np.searchsorted(fabric.wiring.first_port, ports, side="right") - 1
    return {(fabric.wiring.port_link(int(port)), names[node]) for port, node in zip(ports, nodes, strict=True)}


def run_one(fabric: PacketFabric, src: str, dst: str, qp: int, size: int) -> set[tuple[str, str]]:
    """What a queue pair's data crosses, looked at from outside: no acknowledgement is as long."""
    one = engine(fabric, fabric.queue_pairs([(src, dst, qp)]), [(0, size, 0)])
    one.run(10**10)
    assert one.arrivals()[0] < ALL, f"{src} to {dst}, queue pair {qp}: nothing arrived"
    return crossed(fabric, one.port_counters()["tx_bytes"], size)


def travelled(network: Network, hops: tuple[str, ...], src: str) -> set[tuple[str, str]]:
    """Links in the order travelled, each with who sends into it."""
    found, at = set(), src
    for link in hops:
        found.add((link, at))
        cable = network.cable(link)
        at = cable.b.device if at in {cable.a.device, f"{cable.a.device}:{cable.a.port}"} else cable.a.device
    return found
