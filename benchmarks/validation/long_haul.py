"""The long-haul article's numbers: one queue pair over 50 km, and the shape of its job."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave._sim import HOST, ONE_PORT, SWITCH, WRITE, PacketEngine
from railweave.model.catalog.rdma import ADAPTIVE_WINDOW
from railweave.prediction.collectives.channels import channel_count
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.simulation.model.fabric import FRAMES, REORDER
from railweave.prediction.simulation.model.wiring import FEC_PS, OPTICS_PS, PS_PER_METER, SWITCH_PS

if TYPE_CHECKING:
    from railweave.prediction.collectives.program import Program

METERS = 50_000
NEAR_PS = 10 * PS_PER_METER + FEC_PS + OPTICS_PS + SWITCH_PS // 2
FAR_PS = METERS * PS_PER_METER + FEC_PS + OPTICS_PS + SWITCH_PS
RETH = 16
GAP = 20
"""Preamble and gap between frames."""
PAYLOAD = 4096
JOB = Job.of_servers(2, gpus=2)
"""Two DGX with two GPUs each, a NIC of 400G beside each."""


def packet_bytes() -> int:
    """A full packet of adaptive routing on the wire."""
    return PAYLOAD + FRAMES["ipv4"] + RETH + GAP


def queue_pair_gbps(size_bytes: int = 100_000_000) -> float:
    """Payload of one queue pair over 50 km, with the window of adaptive routing: host, router, fiber, router, host."""
    ends = [(0, 2, 400_000, NEAR_PS), (2, 3, 800_000, FAR_PS), (3, 1, 400_000, NEAR_PS)]
    routers = [(ONE_PORT, ONE_PORT | 1)] * 2  # towards each host
    engine = PacketEngine(
        kinds=np.array([HOST, HOST, SWITCH, SWITCH], np.uint8),
        cables=np.array(ends, np.uint64),
        group=np.array(routers, np.uint32),
        groups=np.zeros((0, 3), np.uint32),
        members=np.zeros(0, np.uint16),
        queue_pairs=np.array([(0, 1, 1, 0)], np.uint32),
        messages=np.array([(0, size_bytes, 0, WRITE)], np.uint64),
        parameters={
            "host.mtu": str(PAYLOAD),
            "host.header": str(FRAMES["ipv4"]),
            "host.reth": "every",
            "host.recovery": "selective",
            "host.reorder": str(REORDER),
            "host.window": str(ADAPTIVE_WINDOW),
        },
    )
    engine.run(10**12)
    return size_bytes * 8e3 / int(engine.arrivals()[0])


def channels_per_direction() -> int:
    """Channels of each GPU's NIC; each sends and receives (article: eight per GPU, four to send and four to receive)."""
    return channel_count(JOB, parameters()) // JOB.nics_per_server


def mean_link_gbps(links: int = 4) -> float:
    """What each of the long links carries of a ring that fills the NICs, headers included: half of all NICs send across."""
    ring: Program = program(JOB, "all-reduce", 1 << 30, parameters())
    across = len({int(sender) for sender in ring.connections[:, 0]}) / len(JOB.servers)
    return across * 400 / links


def predictions() -> dict[str, tuple[float, str]]:
    """By the row's quantity: prediction and unit."""
    rate = queue_pair_gbps()
    one_way_us = (2 * NEAR_PS + FAR_PS) / 1e6
    routers = 2 * SWITCH_PS + 2 * packet_bytes() * 8e3 / 400 + packet_bytes() * 8e3 / 800
    return {
        "one_way_delay": (one_way_us, "us"),
        "router_serialisation_share": (100 * routers / 1e6 / one_way_us, "%"),
        "psn_window_estimated": (rate * 2e3 * METERS * PS_PER_METER / 1e6 / (packet_bytes() * 8), "packets"),
        "psn_window_rounded": (float(ADAPTIVE_WINDOW), "packets"),
        "packet_bytes_with_overhead_AR": (float(packet_bytes()), "B"),
        "channels_per_direction_default": (float(channels_per_direction()), "channels"),
        "expected_mean_rate_per_long_link": (mean_link_gbps(), "Gb/s"),
        "queue_pair_rate": (rate, "Gb/s"),
    }
