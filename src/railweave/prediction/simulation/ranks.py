"""In which order a job's servers hold its ranks, which of them take part, and how many processes each has.

NCCL and RCCL keep the order of ranks between servers, and ranks come from the host file. So the order decides between
which servers a ring's messages go, and with that which of them cross the spines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.model.intent.names import expand
from railweave.model.network.rank_order import alternating, crossings, fewest_crossings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ALTERNATE = "stripes-alternate"
"""One server of each stripe in turn: every hop of a ring between servers of two stripes then crosses the spines."""

MOST_SHOWN = 16
"""Servers that a text names; of more, the first and the last."""


def ordered(stripes: Mapping[str, str], asked: str | None) -> list[str]:
    """The servers that take part, in order of their ranks.

    ``stripes`` has the stripe of each server there is, in the network's order, which stands where nothing is ``asked``. What is asked is
    ``stripes-alternate``, how many of the first take part, or names and lists of names with commas between:
    ``H100-01,H100-[03-04],H100-02``. Raises ``InputError`` for a name that is not there or is there twice, and for more
    servers than there are.
    """
    if asked is None:
        return list(stripes)
    if asked.strip().isdecimal():
        return _first(list(stripes), int(asked))
    if asked.strip() == ALTERNATE:
        return alternating(stripes)
    fix = f"servers are {shown(list(stripes))}; write names, lists as H100-[01-04], or {ALTERNATE}"
    found: list[str] = []
    for word in lists(asked):
        try:
            names = expand(word)
        except ValueError as error:
            raise InputError([Problem(Option("--hosts"), str(error), fix)]) from None
        for name in names:
            if name not in stripes or name in found:
                what = f"{name} is named twice" if name in found else f"there is no server {name!r} in this job"
                raise InputError([Problem(Option("--hosts"), what, fix)])
            found.append(name)
    return found


def _first(names: list[str], count: int) -> list[str]:
    if not 1 <= count <= len(names):
        raise InputError([Problem(Option("--hosts"), f"{count} servers", f"give 1 to {len(names)}, or names")])
    return names[:count]


def order_text(order: Sequence[str], stripes: Mapping[str, str], processes: int) -> str:
    """The order of ranks for people, with what it makes of a ring where servers are on several stripes."""
    text = f"{shown(order)}; {processes} process{'' if processes == 1 else 'es'} each"
    crossing, least = crossings(order, stripes), fewest_crossings(order, stripes)
    if not least:
        return text
    return f"{text}; {crossing} of {len(order)} hops of a ring cross the spines" + (
        "" if crossing == least else f", {least} would do with the servers of a stripe together"
    )


def shown(names: Sequence[str]) -> str:
    """Servers in order."""
    if len(names) <= MOST_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_SHOWN - 1])}, … {names[-1]} ({len(names)})"


def lists(text: str) -> list[str]:
    """What stands between commas that are not in brackets: names and lists of names."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [word.strip() for word in found]
