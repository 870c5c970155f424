"""A plan as a table for people: its parts, what they run, how long that takes, and what is expected."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.operations.bench.plan import NcclTests
from railweave.operations.bench.planning.predictions import BANDWIDTH, SLOPE
from railweave.prediction.collectives.sizes import written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.bench.plan import Plan, PlannedRun
    from railweave.operations.store.records import Prediction

HEAD: tuple[str, ...] = ("part", "runs", "rounds", "time", "test", "expected of the largest size")


def plan_text(plan: Plan) -> str:
    """The table, what has to be set before, and notes."""
    groups: dict[tuple[str, str], list[PlannedRun]] = {}
    for one in plan.runs:
        groups.setdefault((one.part, _test(one)), []).append(one)
    rows = [HEAD]
    for (part, test), runs in groups.items():
        rounds: dict[int, float] = {}
        for one in runs:
            rounds[one.round] = max(rounds.get(one.round, 0), one.estimate_s)
        rows.append((part, f"{len(runs):,}", f"{len(rounds):,}", duration(sum(rounds.values())), test, _expected(runs)))
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.rjust(width) if place in {1, 2, 3} else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.append(f"{counted(len(plan.runs), 'run')} in about {duration(plan.estimate_s)}")
    needs = Counter(one.needs for one in plan.runs if one.needs)
    lines += [f"before {counted(number, 'run')}: {what}" for what, number in needs.items()]
    lines += [f"note: {note}" for note in plan.notes]
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """``1 h 12 min``, ``3 min 20 s``, ``8 s``."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def _test(run: PlannedRun) -> str:
    test = run.test
    return test.collective if isinstance(test, NcclTests) else test.program


def _expected(runs: Sequence[PlannedRun]) -> str:
    """The least and the most that runs should give of the largest size they have a prediction of, or by their slopes."""
    slopes = [own.value for one in runs for own in one.predictions if own.quantity == SLOPE]
    if slopes:
        return f"{_range(slopes)} GB/s by the slope"
    known: list[Prediction] = []
    for one in runs:
        sized = [own for own in one.predictions if own.size_bytes is not None]
        if sized:
            known.append(max(sized, key=lambda own: own.size_bytes or 0))
    if not known:
        return "-"
    sizes = sorted({one.size_bytes or 0 for one in known})
    unit = "Gb/s" if known[0].quantity == BANDWIDTH else "GB/s"
    return f"{_range([one.value for one in known])} {unit} at {written(sizes[-1])}"


def _range(values: Sequence[float]) -> str:
    least, most = f"{min(values):.1f}", f"{max(values):.1f}"
    return least if least == most else f"{least} to {most}"
