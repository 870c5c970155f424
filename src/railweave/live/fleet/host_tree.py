"""``host.json`` as a tree of statements, so that changes of a server are shown in the same way as changes of a switch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import RenderError
from railweave.model.config.tree import Command, Disruption, Node, Refusal, Step
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


FILE = "host.json"
"""The name of a server's plan in a build folder."""
AMISS = "not in place"
"""The key under which the text of a server's running state lists the routes and rules that the kernel lacks."""
TABLES = ("routes", "rules")
"""The keys of ``host.json`` whose content is applied to the kernel."""
_DISRUPTIONS = tuple(
    Disruption(kind, "traffic of this path", f"the server's {kind} of it go", "docs/deploy.md") for kind in TABLES
)


@dataclass(frozen=True)
class HostTree:
    """The statements of a ``host.json`` (``nodes``). One command applies the whole file to a server.

    ``keeps_empty`` means that a statement remains when the last statement below it is removed. ``disruptions`` are those that changes of
    the file can cause.
    """

    nodes: tuple[Node, ...]
    keeps_empty: bool = True
    disruptions: tuple[Disruption, ...] = _DISRUPTIONS

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the command that applies the whole file, or no command if there are no changes (``steps``)."""
        return [f"railweave host apply --host-file {FILE}"] if steps else []

    def refused(self, steps: Sequence[Step]) -> Sequence[Refusal]:
        """Return an empty list, because ``host apply`` itself reports which changes (``steps``) it refuses."""
        del steps
        return ()


def without_amiss(texts: Mapping[str, str]) -> dict[str, str]:
    """Return a server's texts, by file, without their key ``AMISS`` (routes and rules that the kernel lacks), so that only files are compared."""
    return {file: _without(text) for file, text in texts.items()}


def _without(text: str) -> str:
    if not text.strip():
        return text
    return json.dumps({name: value for name, value in parse_json(text).items() if name != AMISS}, indent=1) + "\n"


def only_environment(first: str, other: str) -> bool:
    """Return True if two texts of ``host.json`` are equal, or differ only in the environment variables of jobs.

    The kernel does not use these variables, and a job may set them itself.
    """
    kept, changed = (
        {name: value for name, value in cast("dict[str, Any]", parse_json(text)).items() if name != "job"}
        for text in (first, other)
    )
    return kept == changed


def parsed(text: str) -> HostTree:
    """Return the tree of a ``host.json``; an empty text has no statements. Raise ``RenderError`` if it is not a JSON object."""
    try:
        document: Any = parse_json(text) if text.strip() else {}
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
    """Return ``item``, a route, a rule or an address of ``host.json``, as one line of names and values."""
    return " ".join(f"{name} {_word(value)}" for name, value in item.items() if not isinstance(value, list | dict))


def _word(value: Any) -> str:  # noqa: ANN401 - JSON
    return value if isinstance(value, str) else json.dumps(value)
