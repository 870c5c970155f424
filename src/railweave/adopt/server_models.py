"""Server models, guessed from the names and speeds of the NICs that leaves are joined with."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from railweave.adopt.order import natural
from railweave.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.adopt.wiring import End


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


def _lists() -> list[tuple[str, ...]]:
    return [group.names for model in catalog().servers.values() for group in model.nics.values()]


def model_of(names: frozenset[str], speed_gbps: int) -> tuple[str, str] | None:
    """The model whose NICs, of one group, have these names and this speed, and that group; the nearest where none has.

    A model of as many NICs and the same speed comes next: its NICs have other names.
    """
    best: tuple[tuple[bool, bool, int], str, str] | None = None
    for model, known in catalog().servers.items():
        for group, own in known.nics.items():
            speed = catalog().nics[own.nic].speed_gbps == speed_gbps
            rank = (not speed, not names <= set(own.names), abs(len(own.names) - len(names)))
            if best is None or rank < best[0]:
                best = (rank, model, group)
    if best is None or best[0][0] or (best[0][1] and best[0][2]):
        return None
    return best[1], best[2]
