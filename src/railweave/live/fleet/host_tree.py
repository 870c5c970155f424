"""``host.json`` as a tree of statements, so that what changes on a server is told as what changes on a switch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import RenderError
from railweave.model.config.tree import Command, Disruption, Node, Refusal, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


FILE = "host.json"
"""The plan of a server, by its name in a build folder."""
AMISS = "not in place"
"""The key under which the text of a running server has what its own plan says and its kernel has not."""
TABLES = ("routes", "rules")
"""The keys of what the kernel gets."""
_DISRUPTIONS = tuple(
    Disruption(kind, "traffic of this path", f"the server's {kind} of it go", "docs/deploy.md") for kind in TABLES
)


@dataclass(frozen=True)
class HostTree:
    """The statements of a ``host.json``. A server takes it as a whole, by one command."""

    nodes: tuple[Node, ...]
    keeps_empty: bool = True
    disruptions: tuple[Disruption, ...] = _DISRUPTIONS

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the commands that bring the server to this tree."""
        return [f"railweave host apply --host-file {FILE}"] if steps else []

    def refused(self, steps: Sequence[Step]) -> Sequence[Refusal]:
        """Nothing: ``host apply`` itself says what it does not do."""
        del steps
        return ()


def without_amiss(texts: Mapping[str, str]) -> dict[str, str]:
    """The texts of a server as its file was, whatever its kernel had of it."""
    return {file: _without(text) for file, text in texts.items()}


def _without(text: str) -> str:
    if not text.strip():
        return text
    return json.dumps({name: value for name, value in json.loads(text).items() if name != AMISS}, indent=1) + "\n"


def only_environment(first: str, other: str) -> bool:
    """Return whether two texts differ only in the environment of jobs, or not at all.

    The kernel has nothing of the environment, and a job may set the environment itself.
    """
    kept, changed = (
        {name: value for name, value in cast("dict[str, Any]", json.loads(text)).items() if name != "job"}
        for text in (first, other)
    )
    return kept == changed


def parsed(text: str) -> HostTree:
    """The tree of a ``host.json``; an empty text has no statement. Raises ``RenderError``."""
    try:
        document: Any = json.loads(text) if text.strip() else {}
    except ValueError:
        raise RenderError("it is no JSON") from None
    if not isinstance(document, dict):
        raise RenderError("it is no JSON object")
    return HostTree(_members(cast("dict[str, Any]", document)))


def _members(fields: dict[str, Any]) -> tuple[Node, ...]:
    nodes: dict[tuple[str, ...], Node] = {}
    for key, value in fields.items():
        for node in _of(key, value):
            nodes[node.name] = node
    return tuple(nodes.values())


def _of(key: str, value: Any) -> Iterator[Node]:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        yield Node((key,), children=_members(cast("dict[str, Any]", value)))
    elif isinstance(value, list):
        for element in cast("list[Any]", value):
            if isinstance(element, dict):
                item = cast("dict[str, Any]", element)
                nested: dict[str, Any] = {name: each for name, each in item.items() if isinstance(each, list | dict)}
                named = str(item["netdev"]) if "netdev" in item else _words(item)
                plain = {} if "netdev" not in item else {k: v for k, v in item.items() if k not in nested}
                yield Node((key, named), children=_members({**plain, **nested}) or None)
            else:
                yield Node((key, _word(element)))
    else:
        yield Node((key,), (_word(value),))


def _words(item: dict[str, Any]) -> str:
    """Return the content of a route, a rule or an address as one line."""
    return " ".join(f"{name} {_word(value)}" for name, value in item.items() if not isinstance(value, list | dict))


def _word(value: Any) -> str:  # noqa: ANN401 - JSON
    return value if isinstance(value, str) else json.dumps(value)
