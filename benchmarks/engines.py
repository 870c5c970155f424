"""How far the flow engine is from the packet engine, in ten scenarios: ``.venv/bin/python -m benchmarks.engines``.

Both engines run the same traffic on the same designed network: what ``predict`` runs, with receivers' credit messages. The
packet engine runs it twice, with the congestion control, marking and pauses that are configured, and without marks, which
tells what congestion control does from everything else. The table is that of docs/engine.md; with ``--write`` it is put
there. The same programs give the same figures everywhere.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import railweave
from railweave._sim import WRITE
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.catalog.rdma import POST_COST_PS
from railweave.model.device.build import device_config
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.queue_pairs import split
from railweave.prediction.simulation.engines.packets import run_packets
from railweave.prediction.simulation.engines.run import run_flows
from railweave.prediction.simulation.engines.traffic import Traffic, traffic_of
from railweave.prediction.simulation.job import job_of
from railweave.prediction.simulation.model.fabric import Arguments, PacketFabric, packet_fabric

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "engine.md"
MIB = 1 << 20


@dataclass(frozen=True)
class Scenario:
    """A collective (or an incast of writes) on an example.

    ``most``: how far off flows may be where nothing is marked, as part of the time. ``sooner``: how much sooner they may end
    where marks make senders slow down, which flows do not know.
    """

    what: str
    most: float
    why: str
    collective: str = "all-reduce"
    size_mib: int = 64
    qps: int = 4
    nccl: Mapping[str, str] = field(default_factory=dict[str, str])
    lb: str | None = None
    down: tuple[str, ...] = ()
    example: str = "h100-rlb"
    sooner: float = 0.0


SERVED = "packets serve queue pairs in turn, and shares differ for a while"
THREE = ("spine1", "spine2", "spine3")
RING = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}
TREE = {"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple"}
SCENARIOS = (
    Scenario("ring all-reduce, 4 queue pairs", 0.01, "each NIC's port carries one ring", nccl=RING, size_mib=128),
    Scenario("ring all-reduce, 32 queue pairs", 0.01, "proxies bind, the same in both", nccl=RING, qps=32),
    Scenario(
        "ring all-gather, 1 queue pair",
        0.02,
        "the same, on one path color; messages wait for posts",
        "all-gather",
        nccl=RING,
        qps=1,
    ),
    Scenario("tree all-reduce", 0.03, "edges of a tree share ports for a while", nccl=TREE, sooner=0.35),
    Scenario("broadcast", 0.03, "a chain of chunks", "broadcast"),
    Scenario("all-to-all, 4 queue pairs", 0.05, SERVED, "all-to-all", sooner=0.45),
    Scenario(
        "all-to-all, hashed (ECMP), 1 queue pair",
        0.05,
        "as above; hashes collide",
        "all-to-all",
        qps=1,
        lb="ecmp",
        sooner=0.5,
    ),
    Scenario(
        "all-to-all, a dead spine",
        0.05,
        "as above; three uplinks of four are left",
        "all-to-all",
        down=("spine1",),
        sooner=0.45,
    ),
    Scenario(
        "all-to-all, oversubscribed 2:1", 0.05, "one spine of four is left", "all-to-all", down=THREE, sooner=0.45
    ),
    Scenario("incast of 16 NICs", 0.01, "one port is shared", "incast", size_mib=2, qps=1, sooner=0.35),
)


@dataclass(frozen=True)
class Difference:
    """Times of both engines, ps, and how many packets were marked. ``unmarked_ps``: of packets, where none is."""

    packets_ps: int
    unmarked_ps: int
    flows_ps: int
    marked: int

    @property
    def part(self) -> float:
        """How much longer flows take, as part of what packets take."""
        return self.flows_ps / self.packets_ps - 1

    @property
    def unmarked(self) -> float:
        """The same where nothing is marked."""
        return self.flows_ps / self.unmarked_ps - 1

    def allowed(self, scenario: Scenario) -> bool:
        """Whether flows are as near as they should be."""
        sooner = max(scenario.most, scenario.sooner) if self.marked else scenario.most
        return abs(self.unmarked) <= scenario.most and -sooner <= self.part <= scenario.most


def compare(scenario: Scenario) -> Difference:
    """Run a scenario in both engines."""
    network = railweave.load(ROOT / "examples" / f"{scenario.example}.yaml")
    plane = ControlPlane(device_config(network, switch.name) for switch in network.switches)
    fabric = packet_fabric(network, plane.configs, plane.routes(scenario.down), scenario.lb)
    if scenario.collective == "incast":
        traffic, floor, tail = incast(fabric, scenario.size_mib * MIB, 16), 0, 0
    else:
        job, hosts = job_of(network, fabric.wiring)
        known = parameters({**scenario.nccl, "NCCL_IB_QPS_PER_CONNECTION": str(scenario.qps)}, job.library)
        planned = program(job, scenario.collective, scenario.size_mib * MIB, known, credit=True)  # type: ignore[arg-type]
        traffic = traffic_of(
            fabric.addresses, hosts, planned, split(planned, scenario.qps, split_data=scenario.qps > 1)
        )
        floor, tail = planned.floor_ps, planned.tail_ps
    arguments, by_prefix = fabric.arguments(traffic.pairs), fabric.flow_arguments(traffic.pairs)
    for one in (arguments, by_prefix):
        one["parameters"] = {"host.post-cost": f"{POST_COST_PS / 1e6}us"} | one["parameters"]
    packets, flows = run_packets(arguments, traffic), run_flows(by_prefix, traffic)
    unmarked = run_packets(without_marks(arguments), traffic)
    if not (packets.complete and flows.complete and unmarked.complete):
        raise RuntimeError(f"{scenario.what}: messages never arrived")
    times = [max(one.last_ps + tail, floor) for one in (packets, unmarked, flows)]
    return Difference(*times, marked=(packets.counters or {})["ecn_marked_packets"])


def without_marks(arguments: Arguments) -> Arguments:
    """The same with ECN off in all classes of all switches."""

    def off(parameters: dict[str, str]) -> dict[str, str]:
        return {name: "off" if name.endswith(".ecn") else value for name, value in parameters.items()}

    found = arguments.copy()
    found["parameters"], found["profiles"] = off(arguments["parameters"]), [off(one) for one in arguments["profiles"]]
    return found


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
    sooner = f"{scenario.sooner:.0%} sooner" if scenario.sooner else f"{scenario.most:.0%}"
    return (
        f"| {scenario.what} | {scenario.example} | {found.flows_ps / 1e6:.1f} us | "
        f"{found.unmarked_ps / 1e6:.1f} us | {found.unmarked:+.1%} | {scenario.most:.0%} | {scenario.why} | "
        f"{found.packets_ps / 1e6:.1f} us | {found.marked / 1e3:.0f} k | {found.part:+.1%} | {sooner} |"
    )


HEAD = (
    "| scenario | fabric | flows | packets, no marks | difference | allowed | why | packets | marked | difference | "
    "allowed |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


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
            r"(<!-- engines: begin -->\n).*?(<!-- engines: end -->)",
            lambda m: f"{m[1]}{table}\n{m[2]}",
            page,
            flags=re.DOTALL,
        )
        PAGE.write_text(marked)
    off = [scenario.what for scenario, one in found if not one.allowed(scenario)]
    if off:
        raise SystemExit(f"further off than allowed: {', '.join(off)}")


if __name__ == "__main__":
    main()
