"""How near a search comes to the best of every combination, and with how many of its runs: the studies of examples/studies.

Usage: python benchmarks/tune_studies.py [STUDY ...]

For each study all combinations are run, then the study with five seeds of its own. A line says what part of the best the search
reached, of the worst study seed, and what part of the runs it took, of the longest. ``make tune-studies`` writes docs/tune-studies.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.model.intent.reading.source import read_source
from railweave.model.intent.study import Study, read_study
from railweave.operations.tune.run import run_study
from railweave.operations.tune.simulated import ParallelSimulator, Task
from railweave.operations.tune.space import space_of

if TYPE_CHECKING:
    from railweave.operations.tune.run import Outcome

ROOT = Path(__file__).parent.parent
STUDY_SEEDS = range(1, 6)


def outcome(path: Path, **search: Any) -> Outcome:  # noqa: ANN401 - fields of the search
    """A study of a file, with other words for its search."""
    file = read_study(path)
    asked: Study = file.study.model_copy(update={"search": file.study.search.model_copy(update=search)})
    source = read_source(file.fabric)
    space = space_of(file, source.document, source.spec)
    evaluator = ParallelSimulator(Task(replace(file, study=asked), space, source), 1)
    with tempfile.TemporaryDirectory() as folder:
        return run_study(asked, space, evaluator, Path(folder) / "study.db", "", progress=lambda _: None)


def row(path: Path) -> dict[str, Any]:
    """What the search of a study reaches beside all combinations."""
    began = time.process_time()
    every = outcome(path, sampler="grid")
    grid_s = time.process_time() - began
    if every.best is None:
        raise SystemExit(f"{path}: no combination keeps to the limits")
    best = every.scores[every.best].values[0]
    parts, runs, cpu = [], [], []
    for seed in STUDY_SEEDS:
        began = time.process_time()
        found = outcome(path, seed=seed)
        cpu.append(time.process_time() - began)
        parts.append(found.scores[found.best].values[0] / best if found.best is not None else 0.0)
        runs.append(found.runs)
    return {
        "study": path.stem,
        "combinations": every.space.size,
        "grid_runs": every.runs,
        "own": round(every.own_score.values[0], 2),
        "best": round(best, 2),
        "best_values": every.values(every.best),
        "reached": [round(one, 4) for one in parts],
        "runs": runs,
        "runs_of_grid": round(max(runs) / every.runs, 3),
        "grid_cpu_s": round(grid_s, 1),
        "search_cpu_s": round(max(cpu), 1),
    }


def main() -> None:
    """Print a row for each study, as JSON."""
    names = sys.argv[1:] or ["ecn", "dlb", "qps"]
    rows = []
    for name in names:
        rows.append(row(ROOT / "examples" / "studies" / f"{name}.yaml"))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
