"""The IS-IS adjacencies of an EOS switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.state.protocols import IsisAdjacency

if TYPE_CHECKING:
    from railweave.model.state.values import Value

_LEVELS = {"level-1": 1, "level-2": 2, "level-1-2": 3}


def adjacencies(answer: Value | None) -> tuple[IsisAdjacency, ...] | None:
    """The adjacencies of ``show isis neighbors vrf all``, of every VRF and instance: the form that ANTA reads."""
    if answer is None:
        return None
    return tuple(
        IsisAdjacency(
            interface,
            one.one("hostname").text() or system,
            one.one("state").lower(),
            _LEVELS.get(one.one("level").lower() or ""),
        )
        for _, vrf in answer.one("vrfs").entries()
        for _, instance in vrf.one("isisInstances").entries()
        for system, neighbor in instance.one("neighbors").entries()
        for one in neighbor.all("adjacencies")
        if (interface := one.one("interfaceName").text()) is not None
    )
