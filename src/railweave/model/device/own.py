"""What a network holds of the fabric file, as a device's own types."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")


class _Same:
    """A part of the fabric file, told from others by which object it is: all switches of a fabric have the same."""

    def __init__(self, given: BaseModel) -> None:
        self.given = given

    def __hash__(self) -> int:
        return id(self.given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.given is self.given


def own_type(kind: type[T], given: BaseModel) -> T:
    """A part of the fabric file as the type of a device whose fields have the same names; others are left."""
    return _converted(kind, _Same(given))


@lru_cache(maxsize=1024)
def _converted(kind: type[T], one: _Same) -> T:
    return _adapter(kind).validate_python(one.given.model_dump())


@lru_cache(maxsize=64)
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)
