"""What groups of devices advertise to their neighbors: a route, or none, for each prefix; equal tables are one object."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.analysis.routing.attributes import NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from railweave.analysis.routing.as_paths import AsPaths
    from railweave.analysis.routing.attributes import Ids, Mask
    from railweave.analysis.routing.memo import Memo


@dataclass(eq=False)
class RouteColumn:
    """The attributes of a route for each prefix, by their ids, as long as its AS path is, but without its numbers."""

    ids: Ids

    @cached_property
    def present(self) -> Mask:
        """For which prefixes there is a route."""
        return self.ids != NONE

    @cached_property
    def empty(self) -> bool:
        """Whether there is a route for none."""
        return not self.present.any()


@dataclass(eq=False)
class PathColumn:
    """The AS path of a route for each prefix, by their ids."""

    ids: NDArray[np.int32]
    _paths: AsPaths

    @cached_property
    def loops(self) -> Mapping[int, bytes]:
        """The prefixes whose path holds an AS number, by that number: places as the bytes of an array."""
        return self._paths.places_by_asn(self.ids)


@dataclass(eq=False)
class Advertised:
    """What a group advertises to its neighbors, before the device's own AS number is put in front of the paths."""

    routes: RouteColumn
    paths: PathColumn


class Interned:
    """Columns and what they make up, so that comparing is comparing references."""

    def __init__(self, paths: AsPaths, memo: Memo) -> None:
        self._as_paths, self._memo = paths, memo

    def routes(self, ids: Ids) -> RouteColumn:
        """The column of these routes. The array is kept and must not be written again."""
        return self._memo(("routes", ids.tobytes()), lambda: RouteColumn(ids))

    def paths(self, ids: NDArray[np.int32]) -> PathColumn:
        """The column of these AS paths; the same holds."""
        return self._memo(("AS paths", ids.tobytes()), lambda: PathColumn(ids, self._as_paths))

    def advertised(self, routes: RouteColumn, paths: PathColumn) -> Advertised:
        """Both together."""
        return self._memo(("advertised", routes, paths), lambda: Advertised(routes, paths))
