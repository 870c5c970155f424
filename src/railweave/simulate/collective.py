"""What a collective gets on a designed network, packet by packet, and what binds it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from railweave._sim import WRITE, WRITE_WITH_IMMEDIATE, PacketEngine
from railweave.collectives.collective import program
from railweave.collectives.nccl import parameters
from railweave.collectives.queue_pairs import split, waits
from railweave.device.build import device_config
from railweave.errors import InputError, Problem
from railweave.routes.control_plane import ControlPlane
from railweave.simulate.bottleneck import Load, bottleneck
from railweave.simulate.fabric import packet_fabric
from railweave.simulate.job import job_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from railweave.collectives.bus_bandwidth import Collective
    from railweave.collectives.program import Program
    from railweave.collectives.queue_pairs import Split
    from railweave.design.network import Network
    from railweave.simulate.fabric import PacketFabric

POST_COST_PS = 670_000
"""What NCCL's network proxy takes, per NIC, for a message that it posts: a part of data on a queue pair, or a receiver's word
that a buffer is free. Fitted: docs/validation.md, "What was fitted"."""

SLICE_PS = 50_000_000
STILL_PS = 1_000_000_000_000
"""A second of simulated time in which nothing arrives: the run is stuck."""

NEVER = np.iinfo(np.uint64).max


@dataclass(frozen=True)
class Prediction:
    """What one collective of one size gets. Rates in 10^9 byte/s, as nccl-tests prints them."""

    collective: str
    size_bytes: int
    program: Program
    time_ps: int
    complete: bool
    counters: dict[str, int]
    flows: list[dict[str, Any]]
    load: Load
    wall_s: float
    notes: tuple[str, ...]

    @property
    def bus_bandwidth_gbytes(self) -> float:
        """Bus bandwidth."""
        return self.program.bus_bandwidth_gbytes(self.time_ps)

    def to_text(self) -> str:
        """A few lines for people."""
        bound = bottleneck(self.load, self.time_ps)
        state = "" if self.complete else "  (not complete: some messages never arrived)"
        return (
            f"{self.collective} of {self.size_bytes} bytes: {self.program.algorithm}, {self.program.protocol}, "
            f"{self.program.channels} channels\n"
            f"  time           {self.time_ps / 1e6:.1f} us{state}\n"
            f"  bus bandwidth  {self.bus_bandwidth_gbytes:.2f} GB/s\n"
            f"  bound by       {bound.to_text()}\n"
            f"  congestion     {self.counters['ecn_marked_packets']} marked, {self.counters['pfc_pauses']} pauses, "
            f"{self.counters['retransmitted_packets']} sent again"
        )

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object (docs/predict.md)."""
        counted = self.counters
        drops = {name: value for name, value in counted.items() if name.startswith("dropped_")}
        return {
            "collective": self.collective,
            "size_bytes": self.size_bytes,
            "algorithm": self.program.algorithm,
            "protocol": self.program.protocol,
            "channels": self.program.channels,
            "engine": "packet",
            "complete": self.complete,
            "time_us": self.time_ps / 1e6,
            "bus_bandwidth_GBps": self.bus_bandwidth_gbytes,
            "alg_bandwidth_GBps": self.size_bytes / self.time_ps * 1e3,
            "bottleneck": bottleneck(self.load, self.time_ps).to_json(),
            "data_packet_hops": counted["data_packet_hops"],
            "packet_hops": counted["packet_hops"],
            "events": 2 * counted["packet_hops"],
            "wall_s": self.wall_s,
            "delivered_packets": counted["delivered_packets"],
            "dropped_packets": sum(drops.values()),
            "retransmitted_packets": counted["retransmitted_packets"],
            "ecn_marked_packets": counted["ecn_marked_packets"],
            "cnps": counted["cnps"],
            "pfc_pauses": counted["pfc_pauses"],
            "pfc_pause_us": counted["pfc_pause_ps"] / 1e6,
            "trace_checksum": f"{counted['trace_checksum']:016x}",
            "flows": self.flows,
            "notes": list(self.notes),
        }


def predict(
    network: Network,
    collective: str,
    size_bytes: int,
    *,
    qps: int | None = None,
    nccl: Iterable[str] = (),
    lb: str | None = None,
    settings: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Prediction:
    """Run a collective over all servers of a network through the packet engine.

    ``qps`` is the number of queue pairs per connection (default: one per path color), ``nccl`` are ``KEY=VALUE`` words,
    ``lb`` overrides how switches share (``simulate.balancing``), ``settings`` are further engine parameters (docs/sim.md).
    ``progress`` is told messages arrived, and how many there are. Raises ``InputError`` for what cannot be.
    """
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    fabric = packet_fabric(network, plane.configs, plane.routes(), lb)
    job, hosts = job_of(network, fabric.wiring)
    colors = int((fabric.addresses.places >= 0).sum(axis=1).max())
    words = list(nccl)
    if qps is not None:
        words.append(f"NCCL_IB_QPS_PER_CONNECTION={qps}")
    elif not any(word.startswith("NCCL_IB_QPS_PER_CONNECTION") for word in words):
        words.append(f"NCCL_IB_QPS_PER_CONNECTION={colors}")
    if colors > 1 and not any(word.startswith("NCCL_IB_SPLIT_DATA_ON_QPS") for word in words):
        words.append("NCCL_IB_SPLIT_DATA_ON_QPS=1")
    known = parameters(words, job.library)
    # what can be under way is what receivers' buffers hold: without credit all of an all-to-all would be at once
    planned = program(job, cast("Collective", collective), size_bytes, known, credit=True)  # says what it does not know
    begin = time.perf_counter()
    parts = split(planned, known["NCCL_IB_QPS_PER_CONNECTION"], split_data=bool(known["NCCL_IB_SPLIT_DATA_ON_QPS"]))
    engine, pairs, messages, data = _engine(fabric, hosts, planned, parts, dict(settings or {}))
    arrivals = _run(engine, len(parts.message), progress)
    arrived = arrivals != NEVER
    complete = bool(arrived.all())
    last = int(arrivals[arrived].max()) if arrived.any() else 0
    return Prediction(
        collective=collective,
        size_bytes=size_bytes,
        program=planned,
        time_ps=max(last + planned.tail_ps, planned.floor_ps, 1),
        complete=complete,
        counters=engine.counters(),
        flows=_flows(fabric, pairs, messages, arrivals, data),
        load=Load.of(fabric.wiring, engine, messages, pairs, _post_cost_ps(settings or {}), planned.floor_ps),
        wall_s=time.perf_counter() - begin,
        notes=fabric.notes,
    )


def _engine(
    fabric: PacketFabric, hosts: NDArray[np.uint32], planned: Program, parts: Split, settings: dict[str, str]
) -> tuple[PacketEngine, NDArray[np.uint32], NDArray[np.uint64], NDArray[np.bool_]]:
    """The engine, its queue pairs and its messages, and which queue pairs carry data (others: words of credit)."""
    many = int(parts.queue_pair.max(initial=0)) + 1
    wanted, place = np.unique(parts.connection.astype(np.int64) * many + parts.queue_pair, return_inverse=True)
    ends = hosts[planned.connections[wanted // many, :2]]
    pairs = fabric.addresses.pairs(ends[:, 0], ends[:, 1], (wanted % many).astype(np.uint32))
    after_start, after, after_delay = waits(planned, parts)
    free = np.diff(after_start.astype(np.int64)) == 0
    messages = np.zeros((len(parts.message), 4), np.uint64)
    messages[:, 0] = place.reshape(-1)
    messages[:, 1] = parts.bytes
    messages[:, 2] = np.where(free, planned.delay_ps[parts.message], 0)
    data = ~planned.credit[wanted // many]
    messages[:, 3] = np.where(data[place.reshape(-1)], WRITE_WITH_IMMEDIATE, WRITE)
    arguments = fabric.arguments(pairs)
    arguments["parameters"] = {"host.post-cost": f"{POST_COST_PS}ps"} | arguments["parameters"] | settings
    arguments["profiles"] = [
        own | settings for own in arguments["profiles"]
    ]  # else what switches have configured stays
    try:
        engine = PacketEngine(
            **arguments, messages=messages, after_start=after_start, after=after, after_delay_ps=after_delay
        )
    except ValueError as error:  # of the settings: the rest is ours
        raise InputError([Problem("--set", 0, str(error), "docs/sim.md has all parameters")]) from None
    return engine, pairs, messages, data


def _post_cost_ps(settings: Mapping[str, str]) -> int:
    """What a message costs a proxy; the engine has accepted the settings."""
    text = settings.get("host.post-cost", f"{POST_COST_PS}ps").replace(" ", "")
    number = text.rstrip("pnums")
    return round(float(number) * {"ps": 1, "ns": 1e3, "us": 1e6, "ms": 1e9, "s": 1e12}[text[len(number) :]])


def _run(engine: PacketEngine, messages: int, progress: Callable[[int, int], None] | None) -> NDArray[np.uint64]:
    """Run until every message arrived, or nothing more does. Slices do not change the result."""
    now, heard, counted = 0, 0, -1
    while True:
        now += SLICE_PS
        engine.run(now)
        arrivals = engine.arrivals()
        done = int((arrivals != NEVER).sum())
        if progress is not None:
            progress(done, messages)
        delivered = engine.counters()["delivered_packets"]
        if delivered != counted:
            heard, counted = now, delivered
        if done == messages or engine.next_ps is None or now - heard > STILL_PS:
            return arrivals


def _flows(
    fabric: PacketFabric,
    pairs: NDArray[np.uint32],
    messages: NDArray[np.uint64],
    arrivals: NDArray[np.uint64],
    data: NDArray[np.bool_],
) -> list[dict[str, Any]]:
    """What each queue pair of data carried, and when its last message had arrived; null: it had not."""
    which = messages[:, 0].astype(np.int64)
    carried = np.bincount(which, messages[:, 1].astype(np.float64), len(pairs))
    last = np.zeros(len(pairs), np.uint64)
    np.maximum.at(last, which, arrivals)
    return [
        {
            "src": fabric.wiring.nics[src],
            "dst": fabric.wiring.nics[dst],
            "bytes": int(size),
            "start_us": 0.0,
            "fct_us": None if end == NEVER else end / 1e6,
        }
        for (src, dst, _, _), size, end, own in zip(
            pairs.tolist(), carried.tolist(), last.tolist(), data.tolist(), strict=True
        )
        if own
    ]
