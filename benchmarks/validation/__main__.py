"""Measure the engine and draw: ``make validation`` (needs target/release/railweave-sim and matplotlib)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from . import bed, boundary, dcqcn, deadlock, field, figures, published, racks, thresholds
from .chance import mean_queue
from .engine import ROOT
from .fluid import Parameters

if TYPE_CHECKING:
    from pathlib import Path

IMAGES = ROOT / "docs/images/validation"
FLOWS = (2, 4, 8, 16)
GREATEST = (0.01, 0.1)
FIRST_THRESHOLDS = (0.2, 0.4, 0.8, 1.6, 2.4, 3.2, 4.8, 6.4, 8, 9.6, 10.4, 11, 12, 16)  # MB
POOL = 12_000_000
CABLES = ((10, 400), (100, 400), (300, 400), (100, 100), (100, 800))  # m, Gb/s
PARTS = (0.1, 0.25, 0.5, 0.75, 0.85, 0.9, 0.95, 1.0, 1.1)


def table(head: str, rows: list[list[object]]) -> None:
    """Print a table as the document has it."""
    print(f"\n| {head} |\n|{'---|' * (head.count('|') + 1)}")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def kilobytes(size: float) -> str:
    """Bytes, in KB."""
    return "none" if math.isnan(size) else f"{size / 1e3:.1f}"


def fluid(images: Path) -> None:
    """DCQCN against its paper's model."""
    starts, until = [0.0, 0.0, 60.0], 250  # ms
    course = dcqcn.model_of(0.01, [(2, 0.0), (1, 60e-3)], until, "spaced")
    ran = dcqcn.engine(Parameters(), [start * 1e3 for start in starts], until, "500us")
    figures.convergence(images / "dcqcn-convergence.png", course, ran, starts)
    ran = dcqcn.engine(Parameters(p_max=0.1), [0.0] * 8, 60, "20us")
    course = dcqcn.model_of(0.1, [(8, 0.0)], 60, "spaced")
    figures.queue_course(images / "dcqcn-queue.png", course, ran, f"{dcqcn.switch_of(ran)}>h8")
    rows = [dcqcn.incast(p_max, flows, 200) for p_max in GREATEST for flows in FLOWS]
    chances = {(row.p_max, row.flows): mean_queue(Parameters(p_max=row.p_max), row.flows, 0.2, 1) for row in rows}
    figures.incast_queue(images / "dcqcn-incast.png", rows, chances)
    table(
        "Pmax | flows | model, published CNPs, KB | model, spaced CNPs, KB | single events, KB | engine, KB | deviation, KB | Jain | line used",
        [[f"{row.p_max * 100:g} %", row.flows, kilobytes(row.fixed["window"]), kilobytes(row.fixed["spaced"]),
          kilobytes(chances[row.p_max, row.flows]), kilobytes(row.mean), kilobytes(row.deviation), f"{row.jain:.4f}",
          f"{row.utilisation * 100:.1f} %"] for row in rows],
    )  # fmt: skip


def orders(images: Path) -> None:
    """ECN, PFC and drops in their order, and out of it."""
    outcomes = thresholds.sweep(POOL, [round(size * 1e6) for size in FIRST_THRESHOLDS])
    figures.ecn_and_pfc(images / "ecn-pfc.png", outcomes, thresholds.pause_queue(POOL))
    table(
        "marking from, MB | marked | pauses | dropped | goodput, Gb/s",
        [[one.k_min / 1e6, one.marked, one.pauses, one.dropped, f"{one.goodput:.0f}"] for one in outcomes],
    )
    series, rows = {}, []
    for length, speed in CABLES:
        computed = thresholds.headroom(length, speed * 1e9)
        series[f"{speed}G, {length} m"] = [
            (part, thresholds.drops(length, speed, round(computed * part), 1)) for part in PARTS
        ]
        needed = thresholds.least(length, speed, range(1, 4))
        rows.append([f"{speed}G", f"{length} m", computed, needed, f"{needed / computed:.2f}"])
    figures.headroom_drops(images / "headroom.png", series)
    table("speed | cable | computed, bytes | least without drops, bytes | ratio", rows)


def places(images: Path) -> None:
    """Congestion at first leaf, spine and last leaf."""
    counts = {name: bed.congest(pairs, "none", bed.VXLAN, 4000) for name, pairs in bed.cases().items()}
    figures.bed_counts(images / "evpn-congestion.png", counts)
    rows = []
    for name, pairs in bed.cases().items():
        for tunnel, settings in (("no", {}), ("yes", bed.VXLAN), ("yes, marks not copied out", bed.NOT_COPIED)):
            still = bed.congest(pairs, "none", settings, 4000)
            reacting = bed.congest(pairs, "dcqcn", settings, 500)
            rows.append([name, tunnel, listed(still.marked), listed(still.pauses), round(still.dropped), reacting.cnps])
    table("congestion at | VXLAN | marked | pauses | dropped | CNPs in 0.5 ms, senders that react", rows)


def listed(numbers: dict[str, float]) -> str:
    """Counts by place, spines and first leaves summed."""
    sums: dict[str, float] = {}
    for place, number in numbers.items():
        name = place.replace(">", " to ")
        for numbered in ("spine1", "spine2", "spine3", "spine4"):
            name = name.replace(numbered, "spines")
        sums[name] = sums.get(name, 0) + number
    return "<br>".join(f"{name} {round(number)}" for name, number in sums.items()) or "none"


def storm(images: Path) -> None:
    """The deadlock on the ring."""
    runs = {name: deadlock.around(settings, "20us") for name, settings in deadlock.CASES.items()}
    figures.ring(images / "deadlock.png", runs)
    table(
        "watchdog | end | time, ms | delivered, MB | acts | dropped by it | dropped, ingress full | pauses",
        [[name, ran.result["end"], f"{float(str(ran.result['time_us'])) / 1e3:.1f}",
          f"{deadlock.delivered(ran)[1][-1] / 1e6:.2f}", ran.count("pfc_watchdog_acts"),
          ran.reason("watchdog"), ran.reason("ingress_full"), ran.count("pfc_pauses")] for name, ran in runs.items()],
    )  # fmt: skip


def main() -> None:
    """All of it."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for part in (fluid, orders, places, storm):
        part(IMAGES)
    published.main()
    racks.main()
    field.main([])
    boundary.main()


if __name__ == "__main__":
    main()
