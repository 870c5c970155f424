"""How fast the flow engine is, from words to arrivals: ``make .venv/.installed && .venv/bin/python -m benchmarks.flows``.

An all-to-all of 512 NICs on a hashed rail network, and an all-reduce of 32,768 GPUs on another. Every figure is the median of
``RUNS`` runs of a process of its own: processor time of each step (there is one thread, so that this is wall time where
nothing else runs), wall time of all, and the most memory the process had.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.sim import machine

from railweave import _sim
from railweave._sim import FlowEngine
from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.queue_pairs import split, waits
from railweave.prediction.collectives.single_message import single_message_program

ROOT = Path(__file__).parents[1]
RUNS = 5
RATE_MBPS, DELAY_PS = 400_000, 500_000


def rails(servers: int, rails: int, stripe: int, spines: int) -> dict[str, Any]:
    """A rail network in two tiers, by ECMP, as ``FlowEngine`` takes it.

    NIC n of ``stripe`` servers is on a leaf of rail n, and every leaf has a cable to each spine. NICs are the first nodes,
    server by server; then leaves, then spines.
    """
    hosts = servers * rails
    leaves = -(-servers // stripe) * rails
    host = np.arange(hosts)
    leaf_of = host // rails // stripe * rails + host % rails
    down = host // rails % stripe
    group = np.zeros((leaves + spines, hosts), np.uint32)  # group 0: all spines
    group[leaf_of, host] = _sim.ONE_PORT | down
    group[leaves:] = _sim.ONE_PORT | leaf_of
    up = np.stack(np.broadcast_arrays(np.arange(leaves)[:, None], np.arange(spines)[None, :])).reshape(2, -1)
    ends = np.concatenate(
        [np.stack([host, hosts + leaf_of]), np.stack([hosts + up[0], hosts + leaves + up[1]])], axis=1
    )
    cables = np.empty((ends.shape[1], 4), np.uint64)
    cables[:, :2], cables[:, 2], cables[:, 3] = ends.T, RATE_MBPS, DELAY_PS
    return {
        "kinds": np.repeat(np.array([_sim.HOST, _sim.SWITCH], np.uint8), [hosts, leaves + spines]),
        "cables": cables,
        "group": group,
        "groups": np.array([(0, spines, _sim.ECMP)], np.uint32),
        "members": np.arange(stripe, stripe + spines, dtype=np.uint16),
    }


def all_to_all() -> dict[str, float]:
    """512 NICs, 1 MB from each to each."""
    clock = Clock()
    network = rails(64, 8, 64, 64)
    src, ahead = (one.ravel() for one in np.meshgrid(np.arange(512), np.arange(1, 512), indexing="ij"))
    dst = (src + ahead) % 512
    pairs = np.stack([src, dst, dst, src], axis=1).astype(np.uint32)
    messages = np.zeros((len(pairs), 4), np.uint64)
    messages[:, 0], messages[:, 1] = np.arange(len(pairs)), 1 << 20
    clock.lap("arrays")
    return run(clock, network, pairs, messages)


def all_reduce(algorithm: str) -> dict[str, float]:
    """4096 servers of 8 GPUs and 8 NICs, 8 GiB, 4 queue pairs a connection."""
    clock = Clock()
    job = Job.of_servers(4096, gpu="H100")
    nccl = parameters({"NCCL_ALGO": algorithm, "NCCL_PROTO": "Simple", "NCCL_IB_QPS_PER_CONNECTION": "4"})
    program = single_message_program(job, "all-reduce", 8 << 30, nccl)
    parts = split(program, 4, split_data=True)
    wanted = parts.connection.astype(np.int64) * 4 + parts.queue_pair
    ends = program.connections[wanted // 4, :2]
    pairs = np.stack([ends[:, 0], ends[:, 1], ends[:, 1], ends[:, 0]], axis=1)
    messages = np.zeros((len(wanted), 4), np.uint64)
    messages[:, 0], messages[:, 1], messages[:, 2] = (
        np.arange(len(wanted)),
        parts.bytes,
        program.delay_ps[parts.message],
    )
    waits(program, parts)
    clock.lap("program")
    network = rails(4096, 8, 64, 64)
    clock.lap("arrays")
    found = run(clock, network, pairs, messages)
    time_ps = max(round(found["last_us"] * 1e6) + program.tail_ps, program.floor_ps)
    return found | {"time_us": time_ps / 1e6, "bus_GBps": program.bus_bandwidth_gbytes(time_ps)}


class Clock:
    """Processor time of steps, s, and wall time of all."""

    def __init__(self) -> None:
        self.steps: dict[str, float] = {}
        self._begin = time.perf_counter()
        self._last = time.process_time()

    def lap(self, name: str) -> None:
        """A step has ended."""
        now = time.process_time()
        self.steps[f"{name}_s"], self._last = now - self._last, now

    def all(self) -> dict[str, float]:
        """Steps, their sum, and the wall time."""
        return self.steps | {"sum_s": sum(self.steps.values()), "wall_s": time.perf_counter() - self._begin}


def run(clock: Clock, network: dict[str, Any], pairs: Any, messages: Any) -> dict[str, float]:  # noqa: ANN401 - arrays
    """The steps of an engine's run, and when the last message arrived."""
    engine = FlowEngine(**network, queue_pairs=pairs, messages=messages, dcqcn=None)
    clock.lap("engine")
    engine.run(1 << 61)
    clock.lap("run")
    last = int(engine.arrivals().max()) / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return clock.all() | {"memory_GB": memory, "last_us": last}


CASES = {
    "all-to-all of 512, hashed": all_to_all,
    "ring all-reduce of 32,768": lambda: all_reduce("Ring"),
    "tree all-reduce of 32,768": lambda: all_reduce("Tree"),
}


def main() -> None:
    """Measure each case in processes of its own, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--one", choices=CASES, help="run a case here and print it as JSON")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--output", type=Path, default=ROOT / "out/bench/flows.json")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(CASES[given.one]()))
        return
    rows: dict[str, dict[str, float]] = {}
    where = machine()
    print(f"{where['cpu']}, {where['cores']} cores, load {where['load']}")
    for name in CASES:
        words = [sys.executable, "-m", "benchmarks.flows", "--one", name]
        runs = [
            json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout)
            for _ in range(given.runs)
        ]
        rows[name] = {key: round(statistics.median(one[key] for one in runs), 4) for key in runs[0]}
        print(f"{name}: {rows[name]}", flush=True)
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps({"machine": where, "runs": given.runs, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
