"""How far the flow engine is from the packet engine, in ten scenarios: ``.venv/bin/python -m benchmarks.engines``.

Both engines run the same traffic on the same designed network, the packet engine with the congestion control, marking and
pauses that are configured. The table is that of docs/engine.md; with ``--write`` it is put there. The same programs give the
same figures everywhere.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import railweave
from railweave._sim import WRITE
from railweave.collectives.collective import program
from railweave.collectives.nccl import parameters
from railweave.collectives.queue_pairs import split
from railweave.device.build import device_config
from railweave.routes.control_plane import ControlPlane
from railweave.simulate.collective import POST_COST_PS
from railweave.simulate.fabric import PacketFabric, packet_fabric
from railweave.simulate.flow_run import run_flows
from railweave.simulate.job import job_of
from railweave.simulate.packet_run import run_packets
from railweave.simulate.traffic import Traffic, traffic_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "engine.md"
MIB = 1 << 20


@dataclass(frozen=True)
class Scenario:
    """A collective (or an incast of writes) on an example. ``most``: how far off flows may be, as part of the time."""

    what: str
    most: float
    why: str
    collective: str = "all-reduce"
    size_mib: int = 64
    qps: int = 4
    nccl: tuple[str, ...] = ()
    lb: str | None = None
    down: tuple[str, ...] = ()
    example: str = "h100-rlb"


SERVED = "packets serve queue pairs in turn, and shares differ for a while"
THREE = ("spine1", "spine2", "spine3")
RING = ("NCCL_ALGO=Ring", "NCCL_PROTO=Simple")
TREE = ("NCCL_ALGO=Tree", "NCCL_PROTO=Simple")
SCENARIOS = (
    Scenario("ring all-reduce, 4 queue pairs", 0.01, "each NIC's port carries one ring", nccl=RING, size_mib=128),
    Scenario("ring all-reduce, 32 queue pairs", 0.01, "proxies bind, the same in both", nccl=RING, qps=32),
    Scenario("ring all-gather, 1 queue pair", 0.01, "the same, on one path color", "all-gather", nccl=RING, qps=1),
    Scenario("tree all-reduce", 0.03, "edges of a tree share ports for a while", nccl=TREE),
    Scenario("broadcast", 0.03, "a chain of chunks", "broadcast"),
    Scenario("all-to-all, 4 queue pairs", 0.12, SERVED, "all-to-all"),
    Scenario(
        "all-to-all, hashed (ECMP), 1 queue pair", 0.12, "as above; hashes collide", "all-to-all", qps=1, lb="ecmp"
    ),
    Scenario(
        "all-to-all, a dead spine", 0.12, "as above; three uplinks of four are left", "all-to-all", down=("spine1",)
    ),
    Scenario("all-to-all, oversubscribed 2:1", 0.12, "one spine of four is left", "all-to-all", down=THREE),
    Scenario("incast of 16 NICs", 0.01, "one port is shared", "incast", size_mib=2, qps=1),
)


@dataclass(frozen=True)
class Difference:
    """Times of both engines, ps."""

    packets_ps: int
    flows_ps: int

    @property
    def part(self) -> float:
        """How much longer flows take, as part of what packets take."""
        return self.flows_ps / self.packets_ps - 1


def compare(scenario: Scenario) -> Difference:
    """Run a scenario in both engines."""
    network = railweave.load(ROOT / "examples" / f"{scenario.example}.yaml")
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    fabric = packet_fabric(network, plane.configs, plane.routes(scenario.down), scenario.lb)
    if scenario.collective == "incast":
        traffic, floor, tail = incast(fabric, scenario.size_mib * MIB, 16), 0, 0
    else:
        job, hosts = job_of(network, fabric.wiring)
        words = [*scenario.nccl, f"NCCL_IB_QPS_PER_CONNECTION={scenario.qps}"]
        known = parameters(words, job.library)
        planned = program(job, scenario.collective, scenario.size_mib * MIB, known)  # type: ignore[arg-type]
        traffic = traffic_of(
            fabric.addresses, hosts, planned, split(planned, scenario.qps, split_data=scenario.qps > 1)
        )
        floor, tail = planned.floor_ps, planned.tail_ps
    arguments = fabric.arguments(traffic.pairs)
    arguments["parameters"] = {"host.post-cost": f"{POST_COST_PS / 1e6}us"} | arguments["parameters"]
    packets, flows = run_packets(arguments, traffic), run_flows(arguments, traffic)
    if not (packets.complete and flows.complete):
        raise RuntimeError(f"{scenario.what}: messages never arrived")
    return Difference(max(packets.last_ps + tail, floor), max(flows.last_ps + tail, floor))


def incast(fabric: PacketFabric, size_bytes: int, senders: int) -> Traffic:
    """A write from each of the last NICs to the first one."""
    nics = fabric.wiring.nics
    pairs = fabric.queue_pairs([(src, nics[0], 0) for src in nics[-senders:]])
    messages = np.array([(qp, size_bytes, 0, WRITE) for qp in range(senders)], np.uint64)
    none = np.zeros(0, np.uint64)
    return Traffic(
        pairs, messages, np.zeros(senders + 1, np.uint64), none.astype(np.uint32), none, np.ones(len(pairs), np.bool_)
    )


def row(scenario: Scenario, found: Difference) -> str:
    """A row of the table."""
    return (
        f"| {scenario.what} | {scenario.example} | {found.packets_ps / 1e6:.1f} us | {found.flows_ps / 1e6:.1f} us | "
        f"{found.part:+.1%} | {scenario.most:.0%} | {scenario.why} |"
    )


HEAD = "| scenario | fabric | packets | flows | difference | allowed | why |\n|---|---|---|---|---|---|---|"


def main() -> None:
    """Compare all, print, and fail where a difference is not allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help="put the table into docs/engine.md")
    given = parser.parse_args()
    print(HEAD)
    found: list[tuple[Scenario, Difference]] = []
    for scenario in SCENARIOS:
        found.append((scenario, compare(scenario)))
        print(row(*found[-1]), flush=True)
    if given.write:
        table = "\n".join([HEAD, *(row(*one) for one in found)])
        page = PAGE.read_text()
        marked = re.sub(
            r"(<!-- engines -->\n).*?(<!-- /engines -->)", lambda m: f"{m[1]}{table}\n{m[2]}", page, flags=re.DOTALL
        )
        PAGE.write_text(marked)
    off = [scenario.what for scenario, one in found if abs(one.part) > scenario.most]
    if off:
        raise SystemExit(f"further off than allowed: {', '.join(off)}")


if __name__ == "__main__":
    main()
