"""How long 200 trials of an all-to-all of 64 GPUs take, packet by packet: 8 servers of the bed of examples/studies/ecn-bed.yaml, without tenants.

Usage: python -m benchmarks.tune_speed [--trials 200] [--size 16M] [--workers 1 2]. Prints a line for each number of workers, and whether their studies are
the same, trial by trial.
"""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
import time
from pathlib import Path

from railweave.api import tune_run

BED = Path(__file__).parent.parent / "examples" / "studies" / "ecn-bed.yaml"
STUDY = """\
name: speed
fabric: bed.yaml
goal: {{collectives: [{{collective: all-to-all, size: {size}}}]}}
space:
  fabrics.backend.qos.classes.no-loss.ecn.min_fill: 1..80
  fabrics.backend.qos.classes.no-loss.ecn.max_fill: 5..95
  fabrics.backend.qos.classes.no-loss.ecn.max_probability: [1, 5, 20, 50, 100]
search: {{trials: {trials}, batch: 8}}
seeds: 1
confirm: 2
"""


def bed() -> str:
    """The bed with 64 GPUs of nobody in particular."""
    text = re.sub(r"    overlay:.*\n    tenants:\n(?:      .*\n)+", "", BED.read_text()).replace(
        "links_per_spine: 2", "links_per_spine: 4"
    )
    return text.replace("H100-[01-02]", "H100-[01-04]").replace("H100-[03-04]", "H100-[05-08]")


def main() -> None:
    """Run the study with each number of workers."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--size", default="16M")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    journals: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)  # one place for every study: the journal holds the file's path
        (folder / "bed.yaml").write_text(bed())
        (folder / "speed.yaml").write_text(STUDY.format(size=given.size, trials=given.trials))
        for workers in given.workers:
            begun = time.monotonic()
            found = tune_run(folder / "speed.yaml", workers=workers)
            took = time.monotonic() - begun
            journals.append((folder / "speed.tune" / "journal.jsonl").read_text())
            shutil.rmtree(folder / "speed.tune")
            print(
                f"{workers} worker(s): {len(found.outcome.trials)} trials, {found.outcome.runs} runs in {took:.0f} s",
                flush=True,
            )
    if len(journals) > 1:
        print("the same study" if len(set(journals)) == 1 else "the studies DIFFER")


if __name__ == "__main__":
    main()
