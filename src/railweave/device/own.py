"""What a network holds of the fabric file, as a device's own types."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from pydantic import TypeAdapter

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")


def own_type(kind: type[T], given: BaseModel) -> T:
    """A part of the fabric file as the type of a device whose fields have the same names; others are left."""
    return _adapter(kind).validate_python(given.model_dump())


@lru_cache(maxsize=64)
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)
