"""Changes of individual values in a fabric file's text. Comments, order and everything else stay unchanged.

Each value is replaced at its place in the text. The result is then parsed and compared with the request. If the two
differ, for example because of a YAML alias, the change is refused.
"""

from __future__ import annotations

import copy
import difflib
import json
import re
from typing import TYPE_CHECKING, Any, cast

import yaml

from railweave.errors import FileLine, InputError, Problem
from railweave.model.intent.reading.document import FABRIC_START, plain
from railweave.reading import compose_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.intent.scenario import Setting

_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.%/+-]*")


def with_values(value: Any, wanted: Mapping[tuple[str, ...], Setting]) -> Any:  # noqa: ANN401 - plain YAML
    """Return a copy of a parsed document in which the values at the paths of ``wanted`` are replaced.

    Missing maps along a path are created.
    """
    changed = copy.deepcopy(value)
    for path, new in wanted.items():
        at = changed
        for key in path[:-1]:
            if not isinstance(at.get(key), dict):
                at[key] = {}
            at = at[key]
        at[path[-1]] = new
    return changed


def at_path(value: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - plain YAML
    """Return the value at a path of a parsed document, or None if the path does not exist."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = cast("Any", value).get(key)
    return value


def amended(text: str, file: str, wanted: Mapping[tuple[str, ...], Setting]) -> str:
    """Return a fabric file's text with the values at the paths of ``wanted`` replaced.

    Raises ``InputError`` with the line of the file if a value cannot be changed without changing other values too.
    """
    result = text
    for path, value in wanted.items():
        before = read_plain(result, file)
        result = _one(result, file, path, value)
        if read_plain(result, file) != with_values(before, {path: value}):
            line = _line(text, file, path)
            fix = f"write {'.'.join(path)}: {scalar(value)} yourself, where the file's form allows it"
            raise InputError([Problem(FileLine(file, line), "the value cannot be changed here alone", fix)])
    return result


def unified(before: str, after: str, file: str) -> str:
    """Return the diff from the text ``before`` to the text ``after`` of ``file`` as input for ``patch -p0``; empty if they are equal."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    return "".join(difflib.unified_diff(old, new, file, file))


def scalar(value: Setting) -> str:
    """Return a value as YAML on one line. A string is quoted if YAML would read it as a different value."""
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) and plain(value) == value else _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    """Return a text in YAML double quotes.

    Characters beyond U+FFFF are written as escapes with eight hex digits, because YAML has no surrogate pairs as JSON does.
    """
    written = (
        json.dumps(character)[1:-1] if ord(character) <= 0xFFFF else rf"\U{ord(character):08x}" for character in text
    )
    return f'"{"".join(written)}"'


def read_plain(text: str, file: str) -> Any:  # noqa: ANN401 - plain YAML
    """Return a fabric file's text, parsed into plain Python values. Raises ``SpecError`` if the text is not YAML."""
    node = compose_yaml(text, file)
    return None if node is None else _plain(node)


def _plain(node: yaml.Node) -> Any:  # noqa: ANN401 - plain YAML
    if isinstance(node, yaml.MappingNode):
        pairs = cast("list[tuple[yaml.ScalarNode, yaml.Node]]", node.value)
        return {str(plain(key.value)): _plain(value) for key, value in pairs}
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item) for item in cast("list[yaml.Node]", node.value)]
    style, text = str(getattr(node, "style", "")), str(cast("object", node.value))
    return text if style in {'"', "'", "|", ">"} else cast("object", plain(text))


def _line(text: str, file: str, path: Sequence[str]) -> int:
    at, _ = _deepest(compose_yaml(text, file), path)
    return at.start_mark.line + 1 if at is not None else 0


def _deepest(node: Any, path: Sequence[str]) -> tuple[Any, list[str]]:  # noqa: ANN401 - YAML nodes
    """Return (last node on a path that exists in the document, remaining keys of the path)."""
    inner = _below(node, path[0]) if path else None
    return (node, list(path)) if inner is None else _deepest(inner, path[1:])


def _below(node: Any, key: str) -> Any:  # noqa: ANN401 - YAML nodes
    pairs: list[tuple[Any, Any]] = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _one(text: str, file: str, path: tuple[str, ...], value: Setting) -> str:
    node, rest = _deepest(compose_yaml(text, file), path)
    starts = _line_starts(text)

    def place(mark: Any) -> int:  # noqa: ANN401 - YAML marks
        return starts[int(mark.line)] + int(mark.column)

    if node is None:
        raise InputError([Problem(FileLine(file, 1), "the file is empty", FABRIC_START)])
    if isinstance(node, yaml.MappingNode) and rest:
        if node.flow_style:
            end = place(node.end_mark) - 1  # before the bracket
            body = text[place(node.start_mark) + 1 : end].rstrip()
            comma = ", " if node.value and not body.endswith(",") else " " if node.value else ""
            return text[: place(node.start_mark) + 1] + body + comma + _flow(rest, value) + text[end:]
        return _in_block(text, node, rest, value)
    new = _flow_value(rest, value)
    start, end = place(node.start_mark), place(node.end_mark)
    if isinstance(node, yaml.ScalarNode) and node.value == "" and not node.style:
        key_end = start  # nothing stands behind the colon
        return f"{text[:key_end].rstrip(' ')} {new}{text[key_end:]}"
    return text[:start] + new + text[end:]


def _flow(keys: Sequence[str], value: Setting) -> str:
    return f"{scalar(keys[0])}: {_flow_value(keys[1:], value)}"


def _flow_value(keys: Sequence[str], value: Setting) -> str:
    return f"{{{_flow(keys, value)}}}" if keys else scalar(value)


def _in_block(text: str, node: yaml.MappingNode, keys: list[str], value: Setting) -> str:
    """Return the text with lines added at the end of the YAML block ``node``, at its indentation.

    The lines have the nested ``keys``, and ``value`` at the last of them.
    """
    rows = text.splitlines(keepends=True)
    column, last = node.start_mark.column, node.start_mark.line
    for number in range(node.start_mark.line + 1, len(rows)):
        row = rows[number]
        if not row.strip() or row.lstrip().startswith("#"):
            continue
        if len(row) - len(row.lstrip()) < column:
            break
        last = number
    made = [
        f"{' ' * (column + 2 * depth)}{scalar(key)}:{f' {scalar(value)}' if depth == len(keys) - 1 else ''}\n"
        for depth, key in enumerate(keys)
    ]
    if not rows[last].endswith("\n"):
        rows[last] += "\n"
    return "".join([*rows[: last + 1], *made, *rows[last + 1 :]])


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for row in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    return starts
