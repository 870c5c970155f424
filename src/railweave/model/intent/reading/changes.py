"""Fields of a file changed before it is read as a model: what variants of one file differ by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from railweave.model.intent.reading.document import plain

if TYPE_CHECKING:
    from collections.abc import Mapping


def changed(value: Any, changes: Mapping[str, str]) -> None:  # noqa: ANN401 - what a file holds
    """Put values into what a file holds, by path: ``topology.spines``, ``servers.0.stripe``; texts are read as YAML has them.

    What is not there is made, of maps alone. Where a path leads through something that has no such part nothing is changed: the model says what is wrong.
    """
    for path, text in changes.items():
        *names, last = path.split(".")
        at = value
        for name in names:
            at = _part(at, name)
        if isinstance(at, dict):
            cast("dict[str, Any]", at)[last] = plain(text)
        elif isinstance(at, list) and last.isdecimal() and int(last) < len(cast("list[Any]", at)):
            at[int(last)] = plain(text)


def _part(at: Any, name: str) -> Any:  # noqa: ANN401 - what a file holds
    if isinstance(at, dict):
        return cast("dict[str, Any]", at).setdefault(name, {})
    if isinstance(at, list) and name.isdecimal() and int(name) < len(cast("list[Any]", at)):
        return cast("list[Any]", at)[int(name)]
    return None
