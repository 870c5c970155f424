"""Junos statements into the XML of the published models, led by their schema.

The command line leaves out names that the XML has (``nokeyword``: ``interfaces et-0/0/0`` is an ``interface`` whose
``name`` is et-0/0/0), prints several leaves on one line, and joins list keys; the schema tells where.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, tostring

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.systems.junos.tree import Statement
    from railweave.systems.junos.yang_models import SchemaNode

Token = str | tuple[str, ...]
"""A word, or the values of a bracketed list."""

UNMARKED = {
    "prefix-list": "prefix-list-item",
    "host": "contents",
    "file": "contents",
    "user": "contents",
    "console": "contents",
    "interfaces": "interface",
    "routing-instances": "instance",
    "vlans": "vlan",
}
"""Lists whose names are not typed although some releases' models do not mark them (23.4 lacks the first five)."""

_NAMED_BY_USER = frozenset({"interfaces", "routing-instances", "vlans"})
_RENAMED = {("snmp", "name"): "system-name"}
"""Words of the command line that the models call otherwise."""

_ANNOTATIONS = frozenset({"inactive:", "protect:", "replace:"})
_WITHOUT_VALUE = frozenset({"exact", "longer", "orlonger"})
"""Kinds of prefix match after which no value follows."""


@dataclass(frozen=True)
class Unknown:
    """A statement the schema does not have: its words, the word at fault, and its line in the printed tree."""

    words: tuple[str, ...]
    word: str
    what: str
    line: int


class _UnknownError(Exception):
    def __init__(self, words: tuple[str, ...], word: str, what: str) -> None:
        super().__init__(words, word, what)
        self.words, self.word, self.what = words, word, what


@dataclass(frozen=True, eq=False)
class _Place:
    """Where statements go. ``entries_of`` is set within ``drop-profiles { … }``: each of them is an entry of that list."""

    node: SchemaNode
    element: Element
    words: tuple[str, ...]
    entries_of: SchemaNode | None = None


@dataclass(eq=False)
class Conversion:
    """The XML of a configuration. ``origins`` gives for each element its words and its line in the printed tree."""

    root: SchemaNode
    unknown: list[Unknown] = field(default_factory=list[Unknown])
    origins: dict[Element, tuple[tuple[str, ...], int]] = field(
        default_factory=dict[Element, tuple[tuple[str, ...], int]]
    )
    key_counts: dict[Element, int] = field(default_factory=dict[Element, int])
    _entries: dict[tuple[Element, str, tuple[str, ...]], Element] = field(
        default_factory=dict[tuple[Element, str, tuple[str, ...]], Element]
    )
    _line: int = 0

    def __post_init__(self) -> None:
        self.element = Element(self.root.tag)

    def add(self, statements: Sequence[Statement]) -> None:
        """Convert top-level statements, in order."""
        for statement in statements:
            self._statement(statement, _Place(self.root, self.element, ()))

    def text(self) -> str:
        """The whole as XML."""
        return tostring(self.element, encoding="unicode")

    def _statement(self, statement: Statement, above: _Place | None) -> None:
        self._line += 1
        place = None if above is None else self._descend(statement, above)
        if statement.children is not None:
            for child in statement.children:
                self._statement(child, place)
            self._line += 1

    def _descend(self, statement: Statement, above: _Place) -> _Place | None:
        """Where a statement's body goes; None where the schema does not know it."""
        tokens: deque[Token] = deque(statement.words)
        if statement.several:
            tokens.append(statement.values)
        else:
            tokens.extend(statement.values)
        place = above
        try:
            while tokens:
                if tokens[0] in _ANNOTATIONS:
                    tokens.popleft()
                    continue
                node = place.entries_of or self._child(place, tokens)
                place = self._enter(node, tokens, place)
            if place.entries_of is not None and statement.children is None:
                raise _UnknownError(place.words, place.entries_of.name, "a name is missing")  # noqa: TRY301
        except _UnknownError as error:
            rest = tuple(word for token in tokens for word in ((token,) if isinstance(token, str) else token))
            self.unknown.append(Unknown((*error.words, *rest), error.word, error.what, self._line))
            return None
        return place

    def _child(self, place: _Place, tokens: deque[Token]) -> SchemaNode:
        """The node that the next word stands for; the word is taken where it is the node's name."""
        node, word = place.node, tokens[0]
        name = _RENAMED.get((node.name, word), word) if isinstance(word, str) else ""
        hidden = node.children.get(UNMARKED.get(node.name, ""))
        named = node.children.get(name) if name not in node.keys else None
        if named is not None and not named.nokeyword:
            tokens.popleft()
            return named
        if hidden is not None and node.name in _NAMED_BY_USER:
            return hidden
        found = _unnamed(node, word) or hidden
        if found is None:
            shown = word if isinstance(word, str) else f"[ {' '.join(word)} ]"
            raise _UnknownError(place.words, shown, "no such word here")
        return found

    def _enter(self, node: SchemaNode, tokens: deque[Token], place: _Place) -> _Place:
        typed = not (place.entries_of or node.nokeyword or UNMARKED.get(place.node.name) == node.name)
        words = (*place.words, node.name) if typed else place.words
        if node.kind == "container":
            return _Place(node, self._element(place.element, node, (), words), words)
        if node.kind == "list":
            return self._list(node, tokens, _Place(place.node, place.element, words))
        if node.empty:
            self._leaf(place.element, node, None, words)
            return place
        if not tokens:
            raise _UnknownError(words, node.name, "a value is missing")
        value = tokens.popleft()
        if node.kind == "leaf-list":
            for one in _alternatives(value, tokens):
                self._leaf(place.element, node, one, words)
        elif isinstance(value, str) or len(value) == 1:
            self._leaf(place.element, node, value if isinstance(value, str) else value[0], words)
        else:
            raise _UnknownError(words, node.name, "takes one value, not a list")
        return place

    def _leaf(self, parent: Element, node: SchemaNode, value: str | None, words: tuple[str, ...]) -> None:
        element = SubElement(parent, node.tag)
        element.text = value
        self.origins[element] = ((*words, value) if value is not None else words, self._line)

    def _list(self, node: SchemaNode, tokens: deque[Token], place: _Place) -> _Place:
        if not tokens:
            return _Place(place.node, place.element, place.words, entries_of=node)
        if not node.keys:
            element = SubElement(place.element, node.tag)
            self.origins[element] = (place.words, self._line)
            return _Place(node, element, place.words)
        last = place
        for keys, typed in _key_values(node, tokens):
            words = (*place.words, *typed)
            last = _Place(node, self._element(place.element, node, keys, words), words)
        return last

    def _element(self, parent: Element, node: SchemaNode, keys: tuple[str, ...], words: tuple[str, ...]) -> Element:
        """The container or list entry of that name and keys: the one there is, or a new one."""
        found = self._entries.get((parent, node.tag, keys))
        if found is None:
            found = SubElement(parent, node.tag)
            for key, value in zip(node.keys, keys, strict=False):
                SubElement(found, node.children[key].tag).text = value
            self._entries[parent, node.tag, keys] = found
            self.key_counts[found] = len(keys)
            self.origins[found] = (words, self._line)
        return found


def _unnamed(node: SchemaNode, word: Token) -> SchemaNode | None:
    """Which untyped child takes a word: an enumeration that has it, else a list, a leaf-list, a leaf, a container."""
    for child in node.unnamed:
        if isinstance(word, str) and word in child.enums:
            return child
    for kind in ("list", "leaf-list", "leaf", "container"):
        for child in node.unnamed:
            if child.kind == kind and not child.enums and not child.empty:
                return child
    return None


def _alternatives(value: Token, tokens: deque[Token]) -> tuple[str, ...]:
    """The values of a leaf-list; a policy expression in parentheses is one value."""
    if value != "(":
        return (value,) if isinstance(value, str) else value
    words = ["("]
    while tokens and words[-1] != ")":
        token = tokens.popleft()
        words.append(token if isinstance(token, str) else " ".join(token))
    return (" ".join(words),)


def _key_values(node: SchemaNode, tokens: deque[Token]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The key values of each entry that the words name, and the words as typed.

    Keys ``choice-ident`` and ``choice-value`` hold a word and what follows it: in ``community add NAME`` the value is
    empty and the name is the third key, in ``prefix-list-filter NAME orlonger`` nothing follows. Names of further keys
    are typed where there are several (``loss-priority any protocol any``).
    """
    values: list[Token] = []
    typed: list[str] = []
    for key in node.keys:
        if len(tokens) > 1 and tokens[0] == key:
            typed.append(key)
            tokens.popleft()
        before = values[-1] if values else None
        leads = node.keys[0] == "choice-ident"
        if not tokens or (key == "choice-value" and (leads or before in _WITHOUT_VALUE)):
            values.append("")
            continue
        values.append(tokens.popleft())
    lists = [value for value in values if isinstance(value, tuple)]
    for place in range(len(lists[0]) if lists else 1):
        keys = tuple(value if isinstance(value, str) else value[min(place, len(value) - 1)] for value in values)
        yield keys, (*typed, *(key for key in keys if key))
