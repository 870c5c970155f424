"""Server models, guessed from the names and speeds of the NICs that leaves are joined with."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from railweave.analysis.adopt.order import natural
from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.analysis.adopt.wiring import End


def rails_of(nics: Iterable[End]) -> dict[End, int]:
    """The rail of each NIC, from 1: its place among its server's, as a model's list has them, else in the order of names."""
    by_server: dict[str, list[End]] = defaultdict(list)
    for one in nics:
        if one.device:
            by_server[one.device].append(one)
    found: dict[End, int] = {}
    for own in by_server.values():
        names = {one.port for one in own}
        listed = next((names_of for names_of in _lists() if names <= set(names_of)), None)
        order = list(listed) if listed else sorted(names, key=natural)
        found |= {one: order.index(one.port) + 1 for one in own}
    return found


MOST_NICS = 8
"""NICs of one fabric that a server of ours gets at most."""

FEW_NICS = 2
"""Those of the smallest server model with such NICs."""


def known_nics(names: Iterable[str]) -> bool:
    """Whether a server model has NICs of these names."""
    return any(set(names) <= set(one) for one in _lists())


def rails(names: Iterable[str]) -> int:
    """The rails of a server with NICs of these names: of the smallest model that has them, else as many as there are."""
    own = set(names)
    return min((len(one) for one in _lists() if own <= set(one)), default=len(own))


def _lists() -> list[tuple[str, ...]]:
    return [group.names for model in catalog().servers.values() for group in model.nics.values()]


def model_of(sets: Sequence[tuple[frozenset[str], int]]) -> tuple[str, list[str]] | None:
    """The model that has a group of NICs for each of these sets of names, with their speed, and these groups.

    Names count less than numbers and speeds. None where no model has as many NICs of these speeds.
    """
    best: tuple[tuple[int, int, int], str, list[str]] | None = None
    for model, known in catalog().servers.items():
        groups: list[str] = []
        unlike = other = 0
        for names, speed in sets:
            ranked = sorted(
                (
                    (
                        catalog().nics[own.nic].speed_gbps != speed,
                        not names <= set(own.names),
                        abs(len(own.names) - len(names)),
                        group,
                    )
                    for group, own in known.nics.items()
                    if group not in groups
                ),
            )
            if not ranked or ranked[0][0] or (ranked[0][1] and ranked[0][2]):
                break
            unlike += ranked[0][1]
            other += ranked[0][2]
            groups.append(ranked[0][3])
        else:
            rank = (unlike, other, len(known.nics) - len(groups))
            if best is None or rank < best[0]:
                best = (rank, model, groups)
    return (best[1], best[2]) if best else None
