"""The text of a fabric file, from plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast, get_args, get_origin

import yaml
from pydantic import BaseModel

from railweave.model.intent.fabric import FabricFile

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def fabric_text(document: Mapping[str, Any]) -> str:
    """The fabric file: parts below one another, small ones in one line."""
    return yaml.dump(
        _ordered(document, FabricFile),
        Dumper=_Plain,
        sort_keys=False,
        allow_unicode=True,
        width=120,
        default_flow_style=None,
    )


class _Plain(yaml.SafeDumper):
    """Writes what stands twice twice, and text of several lines as a block."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401 - PyYAML's
        del data
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    represent = cast("Callable[..., yaml.ScalarNode]", dumper.represent_scalar)  # pyright: ignore[reportUnknownMemberType]
    return represent("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _text)


def _ordered(value: Any, model: type[BaseModel]) -> Any:  # noqa: ANN401 - YAML values
    """The keys of a part in the order of its reference, and those of the parts in it."""
    if not isinstance(value, dict):
        return value
    part = cast("dict[str, Any]", value)
    made: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        if name not in part:
            continue
        inner, one = _inner(field.annotation), part[name]
        if inner is not None and isinstance(one, dict) and get_origin(field.annotation) is dict:
            made[name] = {key: _ordered(each, inner) for key, each in cast("dict[str, Any]", one).items()}
        else:
            made[name] = _ordered(one, inner) if inner is not None and isinstance(one, dict) else one
    return made | {key: one for key, one in part.items() if key not in made}


def _inner(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 - a type
    """The part of the fabric file that a field is, or maps names to."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _inner(one)) is not None), None)
