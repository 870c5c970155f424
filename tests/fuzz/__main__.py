"""Fuzzing by hand: every parser for its share of a time, with a table of figures; or one input again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.driver import Tally, limits, refused, run
from tests.fuzz.parsers import PARSERS


def _row(tally: Tally) -> str:
    return (
        f"{tally.parser.name:<24} {tally.inputs:>9,} {tally.share:>7.0%} {tally.accepted / max(tally.inputs, 1):>9.0%} "
        f"{tally.slowest_s:>9.2f} {len(tally.failures):>9}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("name", nargs="?", help="parser of FILE; with --seconds, the only parser that runs")
    parser.add_argument("file", nargs="?", type=Path, help="input to read again")
    parser.add_argument("--seconds", type=float, default=600, help="time for all parsers together (600)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (1)")
    given = parser.parse_args()
    chosen = [row for row in PARSERS if given.name in {None, row.name}]
    if not chosen:
        parser.error(f"no parser {given.name!r}: parsers are {', '.join(row.name for row in PARSERS)}")
    if given.file is not None:
        with TemporaryDirectory(prefix="railweave-fuzz-") as folder, limits():
            error = refused(chosen[0], given.file.read_bytes(), Path(folder))
        print("read" if error is None else f"refused: {error}")
        return 0
    print(f"{'parser':<24} {'inputs':>9} {'past 1st':>7} {'accepted':>9} {'slowest s':>9} {'failures':>9}")
    tallies: list[Tally] = []
    for row in chosen:
        tallies.append(run(row, seconds=given.seconds / len(chosen), seed=given.seed))
        print(_row(tallies[-1]), flush=True)
    failures = [text for tally in tallies for text in tally.failures.values()]
    new = [tally.parser for tally in tallies if tally.failures and not tally.parser.known]
    few = [tally.parser.name for tally in tallies if tally.share <= tally.parser.least and not tally.parser.known]
    print(f"{sum(tally.inputs for tally in tallies):,} inputs, {len(failures)} failures", *failures, sep="\n")
    if few:
        print(f"too few inputs pass the first check of: {', '.join(few)}")
    return 1 if new or few else 0  # what is known fails no run


if __name__ == "__main__":
    sys.exit(main())
