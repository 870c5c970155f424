"""Odd outputs for every reader and rule: none may raise. ``python -m tests.operations.bench.fuzz 1000000`` tries so many.

Fixtures are taken apart and put together again, alone or two in one text.
"""

from __future__ import annotations

import json
import random
import sys
import time

from railweave.operations.bench.runs import runs_of
from railweave.operations.bench.triage.triage import triage
from railweave.operations.store.records import Run
from tests.model.state.fuzz import mutated
from tests.operations.bench.said import NAMES, text_of


def _made_odd(text: str, dice: random.Random) -> str:
    if text[:1] in {"{", "["}:
        try:
            json.loads(text)
        except ValueError:
            text = " " + text  # no JSON: it is made odd as a text
    return mutated(text, dice)


def odd(dice: random.Random) -> str:
    """One text that no benchmark writes."""
    text = text_of(dice.choice(NAMES))
    if dice.random() < 0.3:
        text = dice.choice(text.splitlines(keepends=True) or [""]) * dice.choice((1, 3)) + text
    text = _made_odd(text, dice)
    return text + _made_odd(text_of(dice.choice(NAMES)), dice) if dice.random() < 0.1 else text


def run(count: int, seed: int) -> None:
    """Read so many odd texts, look through them, and make runs of them. Raises what a reader raises."""
    dice = random.Random(seed)  # noqa: S311 - repeatable
    for _ in range(count):
        text = odd(dice)
        try:
            found = triage(text, "a/b.txt")
            runs = runs_of(found.read, "digest", "now")
            hash(found.read.notes)
            json.dumps([Run.to_json(one) for one in runs])
            json.dumps([one.to_json() for one in found.diagnoses])
        except Exception:
            print(json.dumps(text), file=sys.stderr)
            raise


if __name__ == "__main__":
    wanted, seed, begun = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1, time.monotonic()
    run(wanted, seed)
    print(f"{wanted} odd texts read in {time.monotonic() - begun:.0f} s")
