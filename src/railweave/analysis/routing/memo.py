"""A memo of results: values by all that they follow from, each worked out once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

T = TypeVar("T")


class Memo:
    """Values by key. Those in ``known`` are found too, and nothing is added there: further ones go with this object."""

    def __init__(self, known: Memo | None = None) -> None:
        self._known: Mapping[Hashable, object] = known.values if known else {}
        self.values: dict[Hashable, object] = {}

    def __call__(self, key: Hashable, work_out: Callable[[], T]) -> T:
        """The value of a key, worked out now if it is new; it must not be None."""
        found = self._known.get(key)
        if found is None:
            found = self.values.get(key)
        if found is None:
            found = self.values[key] = work_out()
        return cast("T", found)
