"""Every leaf field of the fabric file, from its models, and other values for it, from its type."""

from __future__ import annotations

import types
import typing
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from railweave.model.intent.fabric import FabricFile

if typing.TYPE_CHECKING:
    from collections.abc import Iterator

Path = tuple[str, ...]
"""Keys from the top of the file; ``*`` stands for a key of a map and for a place in a list."""


@dataclass(frozen=True)
class Leaf:
    """A field that holds no further model: where it stands, of which type it is, and its limits."""

    path: Path
    type: Any
    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        return ".".join(self.path)

    def chooses(self) -> bool:
        """Whether the values are a few words."""
        return any(typing.get_origin(one) is typing.Literal for one in _arms(self.type))

    def others(self, now: object) -> list[object]:
        """Valid values besides ``now``: every other word of a choice, else one; none where the type does not tell."""
        kinds = [one for one in _arms(self.type) if one is not type(None)]
        words = [word for kind in kinds if typing.get_origin(kind) is typing.Literal for word in typing.get_args(kind)]
        if words:
            return [word for word in words if word != now]
        if bool in kinds:
            return [not now]
        if isinstance(now, bool) or not isinstance(now, int | float):
            return []
        below = self.least is not None and now - 1 < self.least
        above = self.most is not None and now + 1 > self.most
        return [] if below and above else [now + 1 if below or not above else now - 1]


def leaves() -> list[Leaf]:
    """Every leaf field of the fabric file, in its order."""
    return list(_leaves(FabricFile, ()))


def _leaves(model: type[BaseModel], above: Path) -> Iterator[Leaf]:
    for name, info in model.model_fields.items():
        path = (*above, name)
        inside = list(_models(info.annotation, path))
        for one, place in inside:
            yield from _leaves(one, place)
        turned_off = inside and type(None) in _arms(info.annotation) and info.default is not None
        if not inside or turned_off:
            limits = {
                key: getattr(one, key) for one in info.metadata for key in ("ge", "gt", "le") if hasattr(one, key)
            }
            yield Leaf(path, info.annotation, limits.get("ge", limits.get("gt")), limits.get("le"))


def _models(annotation: Any, at: Path) -> Iterator[tuple[type[BaseModel], Path]]:
    """The models inside a type, and where they stand."""
    for kind in _arms(annotation):
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield kind, at
        elif typing.get_origin(kind) in {dict, tuple}:
            for inner in typing.get_args(kind)[-1 if typing.get_origin(kind) is dict else 0 :]:
                yield from _models(inner, (*at, "*"))


def _arms(annotation: Any) -> list[Any]:
    """What a type may be, without what annotates it."""
    if hasattr(annotation, "__metadata__"):
        return _arms(annotation.__origin__)
    if typing.get_origin(annotation) in {typing.Union, types.UnionType}:
        return [arm for one in typing.get_args(annotation) for arm in _arms(one)]
    return [annotation]
