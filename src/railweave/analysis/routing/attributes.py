"""Path attributes of BGP routes.

Equal attributes have the same integer ID, so that a table of routes is an array of small integers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from numpy.typing import NDArray

    Ids = NDArray[np.int32]
    Mask = NDArray[np.bool_]
    Places = NDArray[np.intp] | slice
    """A selection of prefixes: their indexes in the list of all prefixes, in ascending order, or a slice of all."""

ALL = slice(None)
"""The index that selects all prefixes."""

NONE = -1
"""The ID of "no route"."""

NO_ROUTE = np.iinfo(np.int64).max
"""The decision key (a number that ranks routes) of "no route". It is higher, and so worse, than the key of every route."""

DEFAULT_LOCAL_PREFERENCE = 100
_NO_AIGP = (1 << 20) - 1
_UNKNOWN = -2
_FIRST_SIZE = 1024


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes that the decision process and policies examine (RFC 4271 section 5, RFC 7311, RFC 8092).

    ``communities`` holds values such as ``color:0:1`` or ``65000:1:1``; ``aigp`` is None if the attribute is absent. Only the
    length of the AS path is kept (``path_length``). The AS numbers matter only for loop detection (``candidates.AsPaths``).
    """

    protocol: Literal["direct", "bgp"]
    local_preference: int = DEFAULT_LOCAL_PREFERENCE
    aigp: int | None = None
    path_length: int = 0
    communities: frozenset[str] = frozenset()


class AttributeTable:
    """Route attributes by ID, with arrays of values derived from them.

    The values of a complete routing table are looked up in one array operation.
    """

    def __init__(self) -> None:
        self.items: list[Attributes] = []
        self._ids: dict[Attributes, int] = {}
        self._keys: NDArray[np.int64] = np.full(_FIRST_SIZE, NO_ROUTE, dtype=np.int64)
        self._sets: NDArray[np.int32] = np.zeros(_FIRST_SIZE, dtype=np.int32)
        self._set_ids: dict[frozenset[str], int] = {}
        self._memo: dict[Hashable, Ids] = {}

    def id_of(self, attributes: Attributes) -> int:
        """Return the ID of attributes. New attributes get a new ID."""
        attributes_id = self._ids.get(attributes)
        if attributes_id is None:
            attributes_id = self._ids[attributes] = len(self.items)
            self.items.append(attributes)
            self._grow(attributes_id + 2)  # one more than there are: id -1 reads the last row
            self._keys[attributes_id] = _key(attributes)
            self._sets[attributes_id] = self._set_ids.setdefault(attributes.communities, len(self._set_ids))
        return attributes_id

    def _grow(self, rows: int) -> None:
        if rows > len(self._keys):
            more = len(self._keys)
            self._keys = np.pad(self._keys, (0, more), constant_values=NO_ROUTE)
            self._sets = np.pad(self._sets, (0, more))

    def keys(self, ids: Ids) -> NDArray[np.int64]:
        """Return the decision key of each route, a number that ranks routes. The lowest key is the best route.

        ``ids`` are the attribute IDs of the routes. A missing route has the key ``NO_ROUTE``.
        """
        return self._keys[ids]

    def having(self, ids: Ids, memo: Hashable, holds: Callable[[frozenset[str]], bool]) -> Mask:
        """Return a mask of the routes (given by their attribute IDs) whose communities satisfy the function ``holds``.

        ``memo`` is the cache key. It must identify ``holds`` and everything that the result of ``holds`` depends on.
        """
        known = self._memo.get(memo)
        if known is None or len(known) < len(self._set_ids):
            known = self._memo[memo] = np.array(
                [holds(community_set) for community_set in self._set_ids], dtype=np.int32
            )
        return (known[self._sets[ids]] == 1) & (ids >= 0)

    def map(self, memo: Hashable, ids: Ids, function: Callable[[Attributes], Attributes]) -> Ids:
        """Apply ``function`` to the attributes of each route, and return the IDs of the new attributes.

        ``memo`` is the cache key. It must identify ``function`` and everything that its result depends on.
        """
        known = self._memo.get(memo)
        if known is None or len(known) < len(self._keys):
            grown = np.full(len(self._keys), _UNKNOWN, dtype=np.int32)
            grown[-1] = NONE  # where id -1 looks
            if known is not None:
                grown[: len(known) - 1] = known[:-1]
            known = self._memo[memo] = grown
        result = known[ids]
        missing = result == _UNKNOWN
        if missing.any():
            for value in cast("list[int]", np.unique(ids[missing]).tolist()):
                known[value] = self.id_of(function(self.items[value]))
            result = known[ids]
        return result


def _key(attributes: Attributes) -> int:
    """Return the decision key of attributes; the lowest key is the best route.

    Local routes come first, then high local preference, low AIGP (absent last), and short AS path.
    """
    aigp = _NO_AIGP if attributes.aigp is None else min(attributes.aigp, _NO_AIGP - 1)
    preference = (1 << 24) - 1 - min(attributes.local_preference, (1 << 24) - 1)
    local = 0 if attributes.protocol == "direct" else 1
    return local << 60 | preference << 36 | aigp << 16 | min(attributes.path_length, (1 << 16) - 1)


REASONS = ("none", "only", "local", "local-preference", "aigp", "as-path", "multipath", "metric")
"""The reasons why a route is the best route. The index in this tuple is the reason's code.

- ``none``: there is no route.
- ``only``: there is no other candidate.
- ``local``: the prefix is on the device itself.
- ``local-preference``, ``aigp``, ``as-path``: the first attribute in which the route is better than the next best
  route.
- ``multipath``: every candidate is in the next-hop group.
- ``metric``: paths over other links have a higher total metric (IS-IS).
"""


def reasons(best: NDArray[np.int64], runner_up: NDArray[np.int64], candidates: NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return the reason code (index in ``REASONS``) of each prefix.

    - ``best``: the best decision key of each prefix.
    - ``runner_up``: the second-best decision key.
    - ``candidates``: the number of candidates with the best key.
    """
    differ = best ^ runner_up
    lost = runner_up != NO_ROUTE
    code = np.where(candidates > 1, 6, 1).astype(np.uint8)
    code = np.where(lost & (differ >> 16 == 0), 5, code)
    code = np.where(lost & (differ >> 16 != 0), 4, code)
    code = np.where(lost & (differ >> 36 != 0), 3, code)
    return np.where(best == NO_ROUTE, 0, code).astype(np.uint8)


def as_sent(attributes: Attributes, *, aigp: bool) -> Attributes:
    """Return the attributes that an external neighbor receives. The AS path is longer by 1, and local preference is removed.

    AIGP is kept only if ``aigp`` is True.
    """
    return replace(
        attributes,
        protocol="bgp",
        local_preference=DEFAULT_LOCAL_PREFERENCE,
        aigp=attributes.aigp if aigp else None,
        path_length=attributes.path_length + 1,
    )
