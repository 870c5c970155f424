"""The IS-IS adjacencies of FRRouting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.protocols import IsisAdjacency

if TYPE_CHECKING:
    from railweave.model.state.values import Value


def adjacencies(answer: Value | None) -> tuple[IsisAdjacency, ...] | None:
    """The adjacencies of ``show isis neighbor json`` (FRR's isisd/isis_adjacency.c).

    In the brief form a circuit has the interface's name; in the detailed form the interface is an object that has the state too.
    """
    if answer is None:
        return None
    found: list[IsisAdjacency] = []
    for area in answer.all("areas"):
        for one in area.all("circuits"):
            within = one.one("interface")
            detail = bool(within.keys)
            name = within.one("name").text() if detail else within.text()
            if name is not None:
                state = within.one("state") if detail else one.one("state")
                found.append(IsisAdjacency(name, one.one("adj").text(), state.lower(), one.one("level").integer()))
    return tuple(found)
