"""The ``status:`` section (planned, drained or failed switches, servers and links), and functions that edit its lines."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import yaml
from pydantic import AfterValidator, WithJsonSchema

from railweave.model.intent.base import WrongValueError, count_of, expand
from railweave.reading import compose_yaml, packaged_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


Status = Literal["planned", "active", "drained", "failed"]
"""Status of a device or link.

- ``planned``: not delivered or cabled yet.
- ``active``: in service.
- ``drained``: deliberately out of service.
- ``failed``: broken.
"""

_EXAMPLES = [
    "H100-[17-32]",
    "stripe2-*",
    "H100-03:gpu0_eth",
    "plane2",
    "stripe1-leaf1--spine2",
    "stripe1-leaf1:et-0/0/0:0--spine2",
]


def _pattern(text: str) -> str:
    for end in text.split("--"):
        device, colon, port = end.partition(":")
        if not device or (colon and not port):
            raise WrongValueError(
                f"{text!r} is not a valid name of a device or link",
                "write a name, a host list (H100-[01-04]), a name with `*`, SERVER:NIC, a plane, or a link as A--B or A:port--B:port",
            )
        count_of(device)
    return text


Pattern = Annotated[
    str, AfterValidator(_pattern), WithJsonSchema({"type": "string", "minLength": 1, "examples": _EXAMPLES})
]
"""A pattern for switches, servers or links: a name in which ``*`` matches any characters, or a host list."""


@lru_cache(maxsize=256)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that returns True for names that match a pattern.

    The pattern is a host list, or text in which ``*`` matches any characters.
    """
    parts = expand(pattern) if "[" in pattern else [pattern]
    if "*" not in pattern:
        return frozenset(parts).__contains__
    regex = re.compile("|".join(".*".join(map(re.escape, part.split("*"))) for part in parts))
    return lambda name: regex.fullmatch(name) is not None


_KEY = "status"


def with_drained(text: str, patterns: Collection[str]) -> str:
    """Return the fabric file's text with each pattern marked ``drained`` under ``status:``.

    The new lines come last, because later lines override earlier ones.
    """
    for pattern in patterns:
        text = _without(text, pattern)
        text = _with(text, pattern, "drained")
    return text


def without_drained(text: str, patterns: Collection[str]) -> str:
    """Return the fabric file's text without the ``status:`` lines of these patterns. An empty ``status:`` section is removed."""
    for pattern in patterns:
        text = _without(text, pattern)
    return text


def with_active(text: str, patterns: Collection[str]) -> str:
    """Return the fabric file's text with an ``active`` line for each pattern.

    These lines override earlier lines for whole groups.
    """
    for pattern in patterns:
        text = _with(text, pattern, "active")
    return text


def _status(text: str) -> tuple[yaml.ScalarNode, yaml.Node] | None:
    """Return the YAML nodes of the ``status:`` key and its value, or None if the text has no such key."""
    root = compose_yaml(text, "")
    pairs = cast("list[tuple[yaml.ScalarNode, yaml.Node]]", root.value if isinstance(root, yaml.MappingNode) else [])
    return next((pair for pair in pairs if pair[0].value == _KEY), None)


def _lines_of(node: yaml.Node) -> list[tuple[yaml.ScalarNode, yaml.ScalarNode]]:
    return (
        cast("list[tuple[yaml.ScalarNode, yaml.ScalarNode]]", node.value) if isinstance(node, yaml.MappingNode) else []
    )


def _key(pattern: str) -> str:
    """Return a pattern as a YAML key, quoted if necessary."""
    try:
        plain: Any = packaged_yaml(f"{pattern}: x")
    except yaml.YAMLError:
        plain = None
    return pattern if plain == {pattern: "x"} else json.dumps(pattern, ensure_ascii=False)


def _as_block(text: str) -> str:
    """Return the text with ``status:`` in block style, one line per entry, if ``status:`` was a one-line map."""
    statement = _status(text)
    if statement is None or not (isinstance(statement[1], yaml.MappingNode) and statement[1].flow_style):
        return text
    key, value = statement
    rows = "".join(f"\n  {_key(name.value)}: {status.value}" for name, status in _lines_of(value))
    before, after = text[: key.end_mark.index], text[value.end_mark.index :]
    comment, newline, rest = after.partition("\n")
    comment = f"  {comment.strip()}" if comment.strip() else ""
    return f"{before}:{comment}{rows}{newline or ''}{rest}"


def _with(text: str, pattern: str, status: Status) -> str:
    text = _as_block(text)
    statement = _status(text)
    line = f"{_key(pattern)}: {status}"
    if statement is None:
        return f"{text.rstrip(chr(10))}\n\n{_KEY}:\n  {line}\n"
    rows = text.splitlines(keepends=True)
    entries = _lines_of(statement[1])
    at = entries[-1][1].end_mark.line if entries else statement[0].start_mark.line
    column = entries[-1][0].start_mark.column if entries else 2
    rows[at] = rows[at] if rows[at].endswith("\n") else f"{rows[at]}\n"
    rows.insert(at + 1, f"{' ' * column}{line}\n")
    return "".join(rows)


def _without(text: str, pattern: str) -> str:
    statement = _status(text)
    if statement is None or all(name.value != pattern for name, _ in _lines_of(statement[1])):
        return text
    text = _as_block(text)
    statement = _status(text)
    assert statement is not None  # noqa: S101 - it was there, and has a line
    key, value = statement
    rows = text.splitlines(keepends=True)
    entries = _lines_of(value)
    gone = {line for name, end in entries if name.value == pattern for line in _span(name, end)}
    if all(name.value == pattern for name, _ in entries):
        gone.add(key.start_mark.line)
    kept = [row for line, row in enumerate(rows) if line not in gone]
    if key.start_mark.line in gone and kept and not "".join(kept[key.start_mark.line - 1 :]).strip():
        while kept and not kept[-1].strip():  # the empty line before it, at the end of the file
            kept.pop()
    return "".join(kept)


def _span(name: yaml.ScalarNode, value: yaml.ScalarNode) -> range:
    return range(name.start_mark.line, value.end_mark.line + 1)
