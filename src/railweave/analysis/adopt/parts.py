"""Parts of a device's configuration as the fabric file has them: what is not the file's own default."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pydantic import BaseModel


def given(value: object, default: BaseModel) -> dict[str, Any]:
    """The fields of a device's part that differ from those of the same name of a part of the fabric file."""
    found: dict[str, Any] = {}
    for one in dataclasses.fields(value):  # type: ignore[arg-type]
        if not hasattr(default, one.name):
            continue
        mine, usual = getattr(value, one.name), getattr(default, one.name)
        if dataclasses.is_dataclass(mine) and not isinstance(mine, type) and usual is not None:
            inner = given(mine, usual)
            if inner:
                found[one.name] = inner
        elif plain(mine) != _plain_model(usual):
            found[one.name] = plain(mine)
    return found


def plain(value: object) -> Any:  # noqa: ANN401 - YAML values
    """A value as YAML has it."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: plain(mine)
            for one in dataclasses.fields(value)
            if (mine := getattr(value, one.name)) != _default(one)
        }
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in cast("list[Any]", value)]
    return str(value) if isinstance(value, str) else value


def _default(one: dataclasses.Field[Any]) -> object:
    """What a field has by itself; what equals nothing, where it must be given."""
    if one.default_factory is not dataclasses.MISSING:
        return one.default_factory()
    return one.default


def _plain_model(value: object) -> Any:  # noqa: ANN401 - YAML values
    dump = getattr(value, "model_dump", None)
    if isinstance(value, tuple | list):
        found = cast("list[Any]", value)
        return None if any(hasattr(one, "model_dump") for one in found) else plain(found)
    return plain(dump() if dump is not None else value)


def common(values: list[Any]) -> tuple[Any, int]:
    """The value that most have, and how many have another."""
    keys = [repr(one) for one in values]
    most = max(dict.fromkeys(keys), key=keys.count)
    return values[keys.index(most)], len(keys) - keys.count(most)
