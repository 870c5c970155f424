"""Parser of Junos statements in curly braces or in ``set`` lines, and merging of trees.

The parser returns the same kind of tree as the renderer.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.systems.junos.tree import Statement, wordset

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WORD = re.compile(r'\n|/\*.*?\*/|#[^\n]*|"(?:[^"\\]|\\.)*"|[{};\[\]"]|[^\s{};\[\]"]+', re.DOTALL)

DEEPEST = 100
"""The greatest nesting depth of statements that the parser accepts. Real configurations are less deep."""

KEYED = wordset(
    "unit family address group neighbor dynamic-neighbor interface policy-statement term prefix-list community "
    "as-list user host server file forwarding-class class dscp dscp-ipv6 fpc pic port filter prefix route "
    "buffer-partition code-point pfc-account routing-instance route-filter prefix-list-filter trap-group view"
)
"""The keywords that are followed by a name in ``set`` lines. The name belongs to the keyword, not to the statements below it."""

NAMES_BELOW = frozenset(
    {
        ("", "interfaces"),
        ("", "vlans"),
        ("", "routing-instances"),
        *(("class-of-service", word) for word in ["interfaces", "schedulers", "scheduler-maps", "drop-profiles"]),
        ("class-of-service", "congestion-notification-profile"),
    }
)
"""The hierarchies, as (parent, keyword), below which each statement begins with a name that the operator chooses."""

BY_PLACE = frozenset({("fill-level",), ("drop-probability",)})
"""The lists whose values form pairs by position, such as the points of a curve. The operator's list replaces the whole list."""

_LIST = re.compile(r"\s\[([^\[\]\"]*)\]\s*$")
"""A pattern of a list at the end of a ``set`` line."""

COMMANDS = frozenset({"set", "delete", "insert", "rename", "activate", "deactivate", "annotate", "copy"})
"""The first words of CLI commands. Only ``set`` commands can be merged into a configuration."""


def parse(text: str) -> list[Statement]:
    """Return the statements of a text with curly braces or ``set`` lines. Raises ``RenderError``, with the line number, if a line is malformed."""
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")]
    if lines and lines[0].split()[0] in COMMANDS:
        return _parse_set(text)
    return parse_curly(text)


def parse_curly(text: str) -> list[Statement]:
    """Return the statements of a text with curly braces. Raises ``RenderError``, with the line number, if a line is malformed."""
    return _Curly(text).parse()


def _tokens(text: str) -> list[tuple[str, int]]:
    """Return (word, line number) for each word, brace and semicolon of a text, without comments."""
    tokens: list[tuple[str, int]] = []
    line = 1
    for word in _WORD.findall(text):
        if word == "\n":
            line += 1
            continue
        if word == '"':
            raise RenderError("a '\"' is not closed", line)
        if not word.startswith(("/*", "#")):
            tokens.append((word, line))
        if "\n" in word:
            line += word.count("\n")
    return tokens


class _Curly:
    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0

    def parse(self) -> list[Statement]:
        statements = self._block()
        if self.at < len(self.tokens):
            raise RenderError("unexpected '}'", self.tokens[self.at][1])
        return statements

    def _block(self, name: str = "", opened: int = 0, depth: int = 0) -> list[Statement]:
        """Return the statements up to the closing brace of the block ``name``, which was opened on line ``opened``.

        If ``opened`` is 0, there is no block, and the statements end with the text. ``depth`` is the number of blocks around the
        statements.
        """
        if depth > DEEPEST:
            raise RenderError(f"nested too deeply, in more than {DEEPEST} levels of braces", opened)
        statements: list[Statement] = []
        words: list[str] = []
        values: list[str] | None = None
        last = first = 1
        while self.at < len(self.tokens):
            word, line = self.tokens[self.at]
            if word == "}":
                if words or not opened:
                    break
                self.at += 1
                return statements
            self.at += 1
            if word == ";":
                if not words:
                    raise RenderError("a ';' without a statement", line)
                head = tuple(map(unquoted, words))
                statements.append(Statement(head, tuple(values or ()), several=values is not None, at=first))
                words, values = [], None
            elif word == "{":
                if not words:
                    raise RenderError("a '{' without a name before it", line)
                head = tuple(map(unquoted, words))
                inner = self._block(" ".join(words), line, depth + 1)
                statements.append(Statement(head, children=inner, at=first))
                words, values = [], None
            elif word == "[":
                values = self._list(line)
            else:
                first = first if words else line
                words.append(word)
                last = line
        if words:
            raise RenderError(f"{_beginning(words)!r} is not ended by ';'", last)
        if opened:
            raise RenderError(f"the '{{' of {name!r} is not closed", opened)
        return statements

    def _list(self, line: int) -> list[str]:
        values: list[str] = []
        while self.at < len(self.tokens):
            word, _ = self.tokens[self.at]
            self.at += 1
            if word == "]":
                return values
            values.append(unquoted(word))
        raise RenderError("a '[' is not closed", line)


def unquoted(word: str) -> str:
    """Return a word without the quotation marks around it."""
    if word.startswith('"'):
        return word[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return word


def from_paths(paths: Iterable[tuple[Sequence[str], int]]) -> list[Statement]:
    """Return the statements of ``set`` lines. Each path is (the words after ``set``, the line number)."""
    root = Statement((), children=[])
    for words, line in paths:
        _descend(root, list(words), line)
    return root.children or []


def _beginning(words: list[str]) -> str:
    """Return the first words of a statement for an error message. The rest is left out, because it may contain secrets."""
    return " ".join(words[:3]) + (" …" if len(words) > 3 else "")


def _parse_set(text: str) -> list[Statement]:
    paths: list[tuple[list[str], int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        several = _LIST.search(line)
        try:
            command, *words = shlex.split(line[: several.start()] if several else line)
        except ValueError as error:
            raise RenderError(str(error), number) from None
        if command != "set":
            raise RenderError(f"{command!r} cannot be merged; only set lines, or the curly form, can be", number)
        if not words:
            raise RenderError("nothing follows 'set'", number)
        if several and not several[1].split():
            raise RenderError("the list is empty", number)
        if several:
            paths += [([*words, value], number) for value in several[1].split()]
        else:
            paths.append((words, number))
    return from_paths(paths)


def _descend(root: Statement, words: list[str], line: int) -> None:
    """Add the words of a ``set`` line below ``root``. A name is joined with the keyword before it.

    The last word may be a value, or a flag in a block (``netconf ssh``); a ``set`` line does not show which. The word is then read
    as a value, and ``merge`` adds it to the block if the block exists.
    """
    at, parent, name_follows = root, "", False
    while words:
        is_name = name_follows
        width = 2 if not is_name and words[0] in KEYED and len(words) > 1 else 1
        head, words = tuple(words[:width]), words[width:]
        name_follows = (parent, head[0]) in NAMES_BELOW and not is_name
        parent = head[0]
        if not words or (len(words) == 1 and not name_follows and not is_name and width == 1):
            _add_leaf(at, head, words, line)
            return
        at = _body(at, head, line)


def _body(at: Statement, head: tuple[str, ...], line: int) -> Statement:
    """Return the block with the words ``head`` below the statement ``at``, and create the block if it does not exist.

    If ``head`` has values instead of a block, the values become statements in the new block.
    """
    children = at.children if at.children is not None else []
    at.children = children
    statement = at.child(head)
    if statement is None:
        statement = Statement(head, children=[], at=line)
        children.append(statement)
    elif statement.children is None:
        statement.children = [Statement((value,), at=statement.at) for value in statement.values]
        statement.values, statement.several = (), False
    return statement


def _add_leaf(at: Statement, head: tuple[str, ...], values: list[str], line: int) -> None:
    children = at.children if at.children is not None else []
    at.children = children
    statement = at.child(head)
    if statement is None:
        children.append(Statement(head, tuple(values), at=line))
    elif statement.children is not None:
        statement.children += [Statement((value,), at=line) for value in values]
    elif values:
        statement.values, statement.several = (*statement.values, *values), True


def merge(into: list[Statement], extra: list[Statement]) -> None:
    """Merge the statements of ``extra`` into the tree ``into``.

    Blocks are merged, and a single value is replaced. A list is extended, unless it is in ``BY_PLACE``.
    """
    for statement in extra:
        existing = next((sibling for sibling in into if sibling.words == statement.words), None)
        if existing is None and statement.children is None:
            existing = next(
                (sibling for sibling in into if sibling.children is None and _is_value_of(sibling, statement)), None
            )
            if existing is not None:
                existing.values = statement.words[len(existing.words) :]
                continue
        entry = _one_line(into, statement)
        if existing is None and entry is not None:
            entry.words = _line(statement)
        elif existing is None:
            into.append(statement)
        elif existing.children is not None:
            merge(existing.children, statement.children or [Statement((value,)) for value in statement.values])
        elif statement.words in BY_PLACE:
            existing.values = statement.values
        elif existing.several or statement.several:
            existing.values = tuple(dict.fromkeys((*existing.values, *statement.values)))
        else:
            existing.values, existing.children = statement.values, statement.children


def _line(statement: Statement) -> tuple[str, ...]:
    """Return all words of a one-line statement, including words that ``set`` lines have put into a block below it."""
    inner = statement.children or []
    return (*statement.words, *statement.values, *(word for child in inner for word in _line(child)))


def _one_line(into: list[Statement], statement: Statement) -> Statement | None:
    """Return the one-line statement in ``into`` that ``statement`` replaces, because both have the same name. Return None if there is none."""
    words = _line(statement)
    return next(
        (
            sibling
            for sibling in into
            if sibling.key and len(words) > sibling.key and words[: sibling.key] == sibling.name
        ),
        None,
    )


def _is_value_of(leaf: Statement, statement: Statement) -> bool:
    return bool(leaf.values) and not leaf.several and statement.words[: len(leaf.words)] == leaf.words
