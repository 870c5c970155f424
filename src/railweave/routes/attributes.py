"""Path attributes of BGP routes, interned so that a table of routes is an array of small numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Ids = NDArray[np.int32]
    Mask = NDArray[np.bool_]

NONE = -1
"""The id that stands for "no route"."""

DEFAULT_LOCAL_PREFERENCE = 100
_NO_AIGP = (1 << 20) - 1
_NO_ROUTE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Attributes:
    """What the decision process and policies look at (RFC 4271 section 5, RFC 7311, RFC 8092).

    ``communities`` holds values such as ``color:0:1`` or ``65000:1:1``; ``aigp`` is None where the attribute is absent.
    """

    protocol: Literal["direct", "bgp"]
    local_preference: int = DEFAULT_LOCAL_PREFERENCE
    aigp: int | None = None
    as_path: tuple[int, ...] = ()
    communities: frozenset[str] = frozenset()

    def colors(self) -> frozenset[str]:
        """The color communities a route carries."""
        return frozenset(value for value in self.communities if value.startswith("color:"))


class AttributeTable:
    """Attributes by id, with the sort key of the decision process for each. Lower keys win."""

    def __init__(self) -> None:
        self.items: list[Attributes] = []
        self._ids: dict[Attributes, int] = {}
        self._keys: NDArray[np.int64] = np.empty(1024, dtype=np.int64)
        self._memo: dict[object, dict[int, int]] = {}

    def id_of(self, attributes: Attributes) -> int:
        """The id of attributes, given now if they are new."""
        found = self._ids.get(attributes)
        if found is None:
            found = self._ids[attributes] = len(self.items)
            self.items.append(attributes)
            if found >= len(self._keys):
                self._keys = np.concatenate([self._keys, np.empty_like(self._keys)])
            self._keys[found] = _key(attributes)
        return found

    def keys(self, ids: Ids) -> NDArray[np.int64]:
        """The decision key of each id; the largest integer where there is no route."""
        return np.where(ids >= 0, self._keys[np.maximum(ids, 0)], _NO_ROUTE)

    def map(self, memo: object, ids: Ids, function: Callable[[Attributes], Attributes | None]) -> Ids:
        """``function`` applied to the attributes of each id; None gives "no route".

        ``memo`` names the function and all it depends on: results are kept under it.
        """
        known = self._memo.setdefault(memo, {NONE: NONE})
        distinct, inverse = np.unique(ids, return_inverse=True)
        mapped = np.empty(len(distinct), dtype=np.int32)
        for place, value in enumerate(cast("list[int]", distinct.tolist())):
            result = known.get(value)
            if result is None:
                changed = function(self.items[value])
                result = known[value] = NONE if changed is None else self.id_of(changed)
            mapped[place] = result
        return mapped[inverse]

    def having(self, ids: Ids, communities: frozenset[str]) -> Mask:
        """Which routes carry all of the communities."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        values = cast("list[int]", distinct.tolist())
        has = np.array([v >= 0 and communities <= self.items[v].communities for v in values], dtype=np.bool_)
        return has[inverse]


def _key(attributes: Attributes) -> int:
    """Local routes first, then local preference (high), AIGP (low, absent last), AS-path length (short)."""
    aigp = _NO_AIGP if attributes.aigp is None else min(attributes.aigp, _NO_AIGP - 1)
    preference = (1 << 24) - 1 - min(attributes.local_preference, (1 << 24) - 1)
    local = 0 if attributes.protocol == "direct" else 1
    return local << 60 | preference << 36 | aigp << 16 | min(len(attributes.as_path), (1 << 16) - 1)


REASONS = ("none", "only", "local", "local-preference", "aigp", "as-path", "multipath")
"""Why a route won, by code: no route, no other candidate, its own, or the first attribute that told it from the next best.

``multipath``: every candidate is in the next-hop group.
"""


def reasons(best: NDArray[np.int64], runner_up: NDArray[np.int64], candidates: NDArray[np.intp]) -> NDArray[np.uint8]:
    """The reason code of each prefix, from the best key, the best key that lost, and how many candidates there were."""
    differ = best ^ runner_up
    lost = runner_up != _NO_ROUTE
    code = np.where(candidates > 1, 6, 1).astype(np.uint8)
    code = np.where(lost & (differ >> 16 == 0), 5, code)
    code = np.where(lost & (differ >> 16 != 0), 4, code)
    code = np.where(lost & (differ >> 36 != 0), 3, code)
    return np.where(best == _NO_ROUTE, 0, code).astype(np.uint8)


def without_next_hop_scope(attributes: Attributes, asn: int, *, aigp: bool) -> Attributes:
    """Attributes as an external neighbor hears them: AS prepended, local preference gone, AIGP only where sessions carry it."""
    return replace(
        attributes,
        protocol="bgp",
        local_preference=DEFAULT_LOCAL_PREFERENCE,
        aigp=attributes.aigp if aigp else None,
        as_path=(asn, *attributes.as_path),
    )
