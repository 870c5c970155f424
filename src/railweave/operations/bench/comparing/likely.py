"""What is likely to hold a row back: the simulator's account of it, the part that explains slow pairs, and what its fraction looks like."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.operations.bench.comparing.parts import crossed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.operations.bench.comparing.estimate import Estimate
    from railweave.operations.bench.comparing.pairs import Pair
    from railweave.operations.bench.comparing.predicting import Foretold
    from railweave.operations.bench.comparing.verdicts import Row

WORDS = {2: "half", 3: "a third", 4: "a quarter"}
NEAR = 0.08
"""How near a fraction is to be taken for one of these, as a part of it."""
MOST = 4
"""Sentences about a row."""


def with_causes(
    rows: Iterable[Row], pairs: Sequence[Pair], estimate: Estimate, accounts: Mapping[str, Foretold]
) -> list[Row]:
    """Rows with what is likely to hold them back. ``accounts``: what was predicted now, by the id of a run."""
    by_run = {pair.run: pair for pair in pairs}
    found: list[Row] = []
    for row in rows:
        said = list(row.likely)
        if row.bad or row.verdict == "too few repeats":
            of = [by_run[run] for run in row.runs if run in by_run]
            said += _suspects(of, estimate) + _fraction(row, of)
        said += [
            sentence
            for run in row.runs[-1:]
            if run in accounts and row.key in accounts[run].rows
            for sentence in accounts[run].rows[row.key][1]
        ]
        found.append(replace(row, likely=tuple(dict.fromkeys(said))[:MOST]))
    return found


def _suspects(pairs: Sequence[Pair], estimate: Estimate) -> list[str]:
    """The parts that stand out among all pairs, and that this one crosses."""
    here = {one for pair in pairs for one in crossed(pair)}
    return [
        f"It crosses {one.part.to_text()}: {one.to_text()}."
        for one in estimate.suspects
        if (one.part.kind, one.part.name) in here
    ]


def _fraction(row: Row, pairs: Sequence[Pair]) -> list[str]:
    """What half, a third or a quarter of what it should be looks like."""
    if row.ratio is None:
        return []
    for count, word in WORDS.items():
        if abs(row.ratio * count - 1) <= NEAR:
            if any(":" in link for pair in pairs for link in pair.links):
                return [
                    f"It gets {word} of what it should: as if a link of its way ran at {word} of its rate, or {count} runs took it at once."
                ]
            return [
                f"It gets {word} of what it should: as where {count} queue pairs share an uplink and others are idle, or a link runs at {word} of its rate."
            ]
    return []
