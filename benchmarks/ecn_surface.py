"""What ECN's three numbers do together on the GPU isolation bed of the EVPN report: each combination of examples/studies/ecn.yaml in the simulator.

Usage: python -m benchmarks.ecn_surface [--seeds 3] [--workers 2]. Draws docs/images/ecn-surface.svg (needs the extra ``plots``), and prints what stands
out as JSON. The colour is the geometric mean of the bus bandwidths of an all-to-all and an all-reduce, of the worst seed.
"""

from __future__ import annotations

import argparse
import itertools
import json
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.model.intent.reading.source import read_source
from railweave.model.intent.study import read_study
from railweave.operations.tune.measuring import Sample, TrialRequest
from railweave.operations.tune.simulated import ParallelSimulator, Task
from railweave.operations.tune.space import space_of

if TYPE_CHECKING:
    from railweave.operations.tune.space import Space

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "images" / "ecn-surface.svg"
Surface = dict[tuple[int, int, int], list[Sample]]
"""By first fill level, last fill level and largest probability, percent: a run for each seed."""


def surface(seeds: int, workers: int) -> Surface:
    """Every combination that a network can have."""
    file = read_study(ROOT / "examples" / "studies" / "ecn.yaml")
    source = read_source(file.fabric)
    space = space_of(file, source.document, source.spec)
    evaluator = ParallelSimulator(Task(file, space, source), workers)
    try:
        combinations = list(itertools.product(*(one.values for one in space.knobs)))
        wanted = [TrialRequest(named(space, one), seed) for one in combinations for seed in range(1, seeds + 1)]
        found = evaluator.measure(wanted)
    finally:
        evaluator.close()
    kept: Surface = {}
    for number, one in enumerate(combinations):
        runs = found[number * seeds : (number + 1) * seeds]
        samples = [each for each in runs if isinstance(each, Sample)]
        if len(samples) == seeds:
            first, last, probability = (int(str(value)) for value in one)
            kept[first, last, probability] = samples
    return kept


def named(space: Space, values: tuple[Any, ...]) -> dict[str, Any]:
    """Values by the names of their knobs."""
    return {knob.name: value for knob, value in zip(space.knobs, values, strict=True)}


def worst(samples: list[Sample]) -> float:
    """The speed of the worst seed, GB/s."""
    return min(one.speed for one in samples)


def draw(found: Surface) -> None:
    """One square for each combination, one panel for each probability."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "ecn"
    from matplotlib import pyplot as plt

    firsts, lasts, probabilities = (sorted({key[place] for key in found}) for place in range(3))
    low, high = min(map(worst, found.values())), max(map(worst, found.values()))
    figure, panels = plt.subplots(
        1, len(probabilities), figsize=(3.1 * len(probabilities), 3.6), sharey=True, layout="constrained"
    )
    images: list[Any] = []
    for panel, probability in zip(panels, probabilities, strict=True):
        grid = [
            [worst(found[x, y, probability]) if (x, y, probability) in found else float("nan") for x in firsts]
            for y in lasts
        ]
        images.append(panel.imshow(grid, origin="lower", vmin=low, vmax=high, cmap="viridis", aspect="auto"))
        panel.set_facecolor("#dddddd")
        panel.set_title(f"max_probability {probability} %", fontsize=10)
        panel.set_xticks(range(len(firsts)), [str(one) for one in firsts], fontsize=8)
        panel.set_yticks(range(len(lasts)), [str(one) for one in lasts], fontsize=8)
        panel.set_xlabel("min_fill, % of the queue's share", fontsize=9)
        for row, column in itertools.product(range(len(lasts)), range(len(firsts))):
            number = grid[row][column]
            if not isnan(number):
                dark = number < (low + high) / 2
                panel.text(
                    column,
                    row,
                    f"{number:.0f}",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else "black",
                )
    panels[0].set_ylabel("max_fill, %", fontsize=9)
    figure.colorbar(images[0], ax=panels, label="GB/s, worst seed")
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)


def summary(found: Surface) -> dict[str, Any]:
    """The best and the worst, and how they come about."""
    ranked = sorted(found, key=lambda key: worst(found[key]))

    def figures(key: tuple[int, int, int]) -> dict[str, Any]:
        runs = found[key]
        return {
            "min_fill": key[0],
            "max_fill": key[1],
            "max_probability": key[2],
            "GB/s": round(worst(runs), 2),
            "marks": sum(one.marks or 0 for one in runs),
            "pauses": sum(one.pauses or 0 for one in runs),
            "drops": sum(one.drops or 0 for one in runs),
        }

    best = worst(found[ranked[-1]])
    good = [key for key in found if worst(found[key]) >= 0.97 * best]
    by_probability = {
        str(probability): round(max(worst(runs) for key, runs in found.items() if key[2] == probability), 2)
        for probability in sorted({key[2] for key in found})
    }
    report = (55, 95, 100)
    return {
        "combinations": len(found),
        "best": figures(ranked[-1]),
        "worst": figures(ranked[0]),
        "within 3 % of the best": len(good),
        "least min_fill of those": min(key[0] for key in good),
        "best by probability": by_probability,
        "near the report's 55 and 90, 100 %": figures(report) if report in found else None,
    }


def main() -> None:
    """Run, draw, and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    found = surface(given.seeds, given.workers)
    draw(found)
    print(json.dumps(summary(found), indent=1))


if __name__ == "__main__":
    main()
