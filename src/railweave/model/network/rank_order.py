"""Orders of servers, as ranks of a collective go through them, and how often a ring then crosses the spines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def alternating(stripes: Mapping[str, str]) -> list[str]:
    """The servers taken from each stripe in turn, as long as it has any."""
    by_stripe: dict[str, list[str]] = {}
    for name, stripe in stripes.items():
        by_stripe.setdefault(stripe, []).append(name)
    turns = max(map(len, by_stripe.values()), default=0)
    return [names[turn] for turn in range(turns) for names in by_stripe.values() if turn < len(names)]


def crossings(order: Sequence[str], stripes: Mapping[str, str]) -> int:
    """How many hops of a ring over servers in this order lead from one stripe to another."""
    return sum(stripes[one] != stripes[other] for one, other in zip(order, [*order[1:], *order[:1]], strict=True))


def fewest_crossings(order: Sequence[str], stripes: Mapping[str, str]) -> int:
    """The same where servers of a stripe follow one another: one hop out of each stripe, none where there is only one."""
    count = len({stripes[one] for one in order})
    return count if count > 1 else 0
