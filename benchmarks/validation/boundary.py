"""How far both engines are apart where ``auto`` changes from one to the other: each collective, each load balancing, two sizes of job.

``python -m benchmarks.validation.boundary`` is this part alone. For each case the size is sought that is just above the limit
(``MOST_PACKET_HOPS``), where ``auto`` takes flows; the same is then asked of packets. What was run before with the same code is not
run again, so that a validation that was stopped goes on.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import railweave
from railweave.prediction.collectives.channels import COLLECTIVES
from railweave.prediction.collectives.program import written
from railweave.prediction.simulation.agreement import agreed
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.engines.choice import MOST_PACKET_HOPS

from .engine import ROOT
from .runs import code

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.conditions import SimulatedNetwork

DOCUMENT = ROOT / "docs/validation.md"
BEGIN, END = "<!-- boundary: begin -->", "<!-- boundary: end -->"
KEPT = ROOT / "out/validation/boundary.jsonl"
MIB = 1 << 20
QPS = 4
FIRST_BYTES = 256 * MIB
MODES: dict[str, str | None] = {
    "by color": None,
    "ECMP": "ecmp",
    "DLB": "dlb",
    "DLB per packet": "dlb-per-packet",
    "sprayed": "spray",
}
LARGER = """name: boundary-32
fabrics:
  backend:
    topology: {stripes: 2, spines: 16}
    leaf: {device: qfx5240-64od}
    paths_per_nic: 4
    load_balancing: {mode: rlb, within_color: dlb-flowlet}
servers:
  - {names: "gpu-[01-32]", model: h100-8gpu-cx7}
"""
"""32 servers, half on each stripe; as much up as down, so that half of an all-to-all crosses the spines as in the smaller one."""


@dataclass(frozen=True)
class Case:
    """What is asked of both engines."""

    servers: int
    collective: str
    mode: str

    @property
    def key(self) -> str:
        """As it is kept."""
        return f"{self.servers} {self.collective} {self.mode}"


@dataclass(frozen=True)
class Apart:
    """What both engines gave just above the limit, ps. ``taken``: which engine ``auto`` used in the end; ``steady``: packets ended early."""

    size_bytes: int
    packet_hops: int
    flows_ps: int
    auto_ps: int
    packets_ps: int
    taken: str
    steady: bool
    marked: int

    @property
    def off(self) -> float:
        """How much longer ``auto`` has it than packets, as a part."""
        return self.auto_ps / self.packets_ps - 1

    @property
    def flows_off(self) -> float:
        """The same of flows alone, without what a small case adds."""
        return self.flows_ps / self.packets_ps - 1


CASES = [
    Case(servers, name, mode)
    for servers in (4, 32)
    for name in COLLECTIVES
    for mode in MODES
    if servers == 4 or name not in {"all-to-all", "send-recv"}
]
"""Those of 32 servers that have the most messages are left out: packets of one take longer than a validation should."""

LAST = ("all-to-all", "send-recv")
"""What takes minutes a case is run last of each load balancing."""


@cache
def network(servers: int) -> Network:
    """The lab's four servers, or 32 in a fabric of the same kind."""
    if servers == 4:
        return railweave.load(ROOT / "examples/h100-rlb.yaml")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "boundary-32.yaml"
        file.write_text(LARGER)
        return railweave.load(file)


@cache
def bed(servers: int, lb: str | None) -> SimulatedNetwork:
    """The network made ready."""
    return bed_of(network(servers), lb)


def next_size(size: int, hops: int) -> int:
    """The size of which the estimate should be just above the limit, where ``size`` has ``hops``: in steps of a sixteenth at most, so that loops come out even."""
    wanted = size * MOST_PACKET_HOPS // hops + 1
    step = max(MIB, 1 << (wanted.bit_length() - 5))
    return -(-wanted // step) * step


def both(case: Case) -> Apart:
    """Run a case by ``auto`` and by packets."""
    there, place = network(case.servers), bed(case.servers, MODES[case.mode])
    flows = predict(there, case.collective, FIRST_BYTES, bed=place, qps=QPS, engine="flow")
    for _ in range(6):
        size = next_size(flows.size_bytes, flows.choice.packet_hops)
        flows = predict(there, case.collective, size, bed=place, qps=QPS, engine="flow")
        if MOST_PACKET_HOPS < flows.choice.packet_hops < 1.1 * MOST_PACKET_HOPS:
            break
    else:
        raise RuntimeError(f"{case.key}: no size was found just above {MOST_PACKET_HOPS:,} packet hops")
    chosen = agreed(there, case.collective, size, bed=place, qps=QPS)
    packets = chosen
    if chosen.choice.engine == "flow":
        packets = predict(there, case.collective, size, bed=place, qps=QPS, engine="packet")
    return Apart(
        size,
        flows.choice.packet_hops,
        flows.time_ps,
        chosen.time_ps,
        packets.time_ps,
        chosen.choice.engine,
        packets.steady is not None,
        (packets.counters or {})["ecn_marked_packets"],
    )


def kept() -> dict[Case, Apart]:
    """What was run with this code before."""
    now = code()
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    values: dict[str, list[Any]] = dict(json.loads(line) for line in lines)
    return {case: Apart(*values[key]) for case in CASES if (key := f"{now} {case.key}") in values}


def all_of(cases: Iterable[Case]) -> dict[Case, Apart]:
    """Run what was not run with this code before, on all cores."""
    now, found = code(), kept()
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    todo = [case for case in cases if case not in found]
    todo.sort(key=lambda one: (list(MODES).index(one.mode), one.collective in LAST))
    workers = min(len(todo), os.cpu_count() or 1)
    if not todo:
        return found
    with get_context("spawn").Pool(workers) as pool, KEPT.open("a") as file:
        for case, apart in pool.imap_unordered(one, todo):
            found[case] = apart
            file.write(json.dumps([f"{now} {case.key}", list(vars(apart).values())]) + "\n")
            file.flush()
            print(row(case, apart), file=sys.stderr, flush=True)
    return found


def one(case: Case) -> tuple[Case, Apart]:
    """A case in a process of its own."""
    return case, both(case)


def row(case: Case, found: Apart) -> str:
    """A row of the table."""
    taken = "packets after all" if found.taken == "packet" else "flows"
    ended = "" if found.steady else ", to the end"
    return (
        f"| {case.servers} | {case.collective} | {case.mode} | {written(found.size_bytes)} | {found.packet_hops / 1e6:.1f} M | "
        f"{found.packets_ps / 1e6:,.0f} us{ended} | {found.marked / 1e3:,.0f} k | {found.flows_off:+.2%} | {taken} | {found.off:+.2%} |"
    )


def table(found: dict[Case, Apart]) -> list[str]:
    """The table as lines of the document, and the furthest of each size of job."""
    lines = [
        "| servers | collective | load balancing | size | estimate | packets | marked | flows alone | `auto` took | `auto` off by |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(row(case, found[case]) for case in CASES if case in found),
        "",
    ]
    for servers in sorted({case.servers for case in found}):
        far = max((case for case in found if case.servers == servers), key=lambda case: abs(found[case].off))
        lines.append(f"Furthest with {servers} servers: {abs(found[far].off):.2%} ({far.collective}, {far.mode}).")
    missing: dict[tuple[int, str], list[str]] = {}
    for case in CASES:
        if case not in found:
            missing.setdefault((case.servers, case.collective), []).append(case.mode)
    if missing:
        words = [
            f"{name} of {servers} servers ({'all' if len(modes) == len(MODES) else ', '.join(modes)})"
            for (servers, name), modes in missing.items()
        ]
        lines.append(f"Not run when this was written: {'; '.join(words)}.")
    return lines


def main() -> None:
    """Run all cases, or with ``--kept`` take those that were run, print the table, and put it into the document."""
    lines = table(kept() if "--kept" in sys.argv else all_of(CASES))
    print("\n".join(lines))
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    DOCUMENT.write_text(f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}")


if __name__ == "__main__":
    from benchmarks.validation.boundary import main as named  # cases are told by their type in other processes

    named()
