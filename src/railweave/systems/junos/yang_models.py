"""Juniper's published configuration models, loaded with libyang, and Junos statements as XML of these models.

The models are from the public repository Juniper/yang. Only its ``conf-with-extensions`` sets are usable, because
``junos:cli-feature "nokeyword"`` marks the names that are not entered on the command line.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import tempfile
from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast
from xml.etree.ElementTree import Element, SubElement, tostring

from railweave.errors import RailweaveError
from railweave.reading import file_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.systems.junos.tree import Statement


Kind = Literal["container", "list", "leaf", "leaf-list"]

_STRING_OR_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|'[^']*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ESCAPE = re.compile(r'\\[nt"\\]|\\')
_REVISION = re.compile(r"@(\d{4}-\d{2}-\d{2})")
_RELEASE = re.compile(r"\d+\.\d+[RX]\d[\w.-]*")


class ModelsError(RailweaveError):
    """The error that is raised if a folder contains no usable Junos models. The message gives the reason and the correct folder."""


def repaired(text: str) -> str:
    r"""Return the text of a YANG model with its backslashes corrected. A backslash that begins no YANG 1.1 escape is doubled.

    Junos models contain regular expressions such as ``"\d+"``. RFC 7950 section 6.1.3 allows only ``\n \t \" \\``, and libyang
    rejects other escapes.
    """

    def one_escape(match: re.Match[str]) -> str:
        return "\\\\" if match.group() == "\\" else match.group()

    def one_string(match: re.Match[str]) -> str:
        return _ESCAPE.sub(one_escape, match.group()) if match.group().startswith('"') else match.group()

    return _STRING_OR_COMMENT.sub(one_string, text)


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model set.

    - ``paths``: the file of each module, by module name.
    - ``prefix``: the common prefix of all module names.
    """

    paths: dict[str, Path]
    prefix: str

    @property
    def described(self) -> str:
        """The platform, release and revision of the models, for display. Unknown parts are left out.

        All three are derived from the names of folders and files.
        """
        root = self.paths[f"{self.prefix}root"]
        release = next((part for part in reversed(root.resolve().parts[:-1]) if _RELEASE.fullmatch(part)), "")
        revision = _REVISION.search(root.name)
        words = [f"{self.prefix.removesuffix('-conf-')} models", release, f"of {revision.group(1)}" if revision else ""]
        return " ".join(word for word in words if word)


def _module(path: Path) -> str:
    return path.stem.partition("@")[0]


def collect(folder: Path) -> ModelFiles:
    """Return the files of the model set in a folder. Models may be as published, or already corrected by ``repaired``.

    The set imports modules from a folder ``common``, which is next to ``folder`` or up to three levels higher. Raises
    ``ModelsError`` if ``folder`` has no set, more than one, or a set without the command-line extensions.
    """
    paths = {_module(path): path for path in sorted(folder.rglob("*.yang")) if path.stat().st_size}
    prefixes = sorted(name.removesuffix("root") for name in paths if name.endswith("-conf-root"))
    if len(prefixes) != 1:
        which = f"several model sets ({', '.join(prefixes)})" if prefixes else "no Junos configuration model"
        raise ModelsError(f"{folder} holds {which}; give one set's folder, such as junos-qfx/conf-with-extensions")
    prefix = prefixes[0]
    for above in folder.resolve().parents[:4]:
        if (above / "common").is_dir():
            common = {_module(path): path for path in sorted((above / "common").rglob("*.yang")) if path.stat().st_size}
            paths = {**common, **paths}
    files = (path for name, path in paths.items() if name.startswith(prefix))
    if not any('cli-feature "nokeyword' in file_text(path, errors="replace") for path in files):
        raise ModelsError(f"the models in {folder} lack Junos' command-line extensions; use conf-with-extensions")
    return ModelFiles(paths, prefix)


@dataclass(eq=False)
class SchemaNode:
    """A node of the compiled YANG schema. ``handle`` is libyang's object, from which each property is read once and then cached."""

    handle: Any

    @cached_property
    def name(self) -> str:
        """The node's name. Operators enter it on the command line, unless ``nokeyword`` is True."""
        return str(self.handle.name())

    @cached_property
    def kind(self) -> Kind:
        """The YANG keyword of the node, such as ``leaf``. Below the root, Junos models use only the keywords of ``Kind``."""
        return cast("Kind", self.handle.keyword())

    @cached_property
    def tag(self) -> str:
        """The name of the node's XML element in ElementTree's form: ``{namespace}name``."""
        util = importlib.import_module("libyang.util")
        return f"{{{util.c2str(self.handle.module().cdata.ns)}}}{self.name}"

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The names of a list's keys, in order; empty for nodes that are not lists."""
        handles = self.handle.keys() if self.kind == "list" else ()
        return tuple(str(handle.name()) for handle in handles)

    @cached_property
    def nokeyword(self) -> bool:
        """True if operators do not enter the node's name on the command line."""
        return any(
            extension.name() == "cli-feature" and "nokeyword" in (extension.argument() or "")
            for extension in self.handle.extensions()
        )

    @cached_property
    def empty(self) -> bool:
        """True if the node is a leaf without a value."""
        return self.kind == "leaf" and str(self.handle.type().basename()) == "empty"

    @cached_property
    def enums(self) -> frozenset[str]:
        """The allowed words of a leaf that is an enumeration; empty for other nodes."""
        if self.kind != "leaf" or str(self.handle.type().basename()) != "enumeration":
            return frozenset()
        return frozenset(str(enum.name()) for enum in self.handle.type().enums())

    @cached_property
    def children(self) -> dict[str, SchemaNode]:
        """The data nodes directly below the node, by name. YANG choices and cases are replaced by the data nodes in them."""
        if self.kind not in {"container", "list"}:
            return {}
        nodes = [SchemaNode(handle) for handle in self.handle.children()]
        return {child.name: child for child in reversed(nodes)}

    @cached_property
    def unnamed(self) -> list[SchemaNode]:
        """The children whose names operators do not enter on the command line, in the order of the model. List keys are left out."""
        return [child for child in reversed(self.children.values()) if child.nokeyword and child.name not in self.keys]


@dataclass(eq=False)
class Models:
    """A loaded model set.

    - ``root``: the node ``configuration``.
    - ``context``: libyang's context.
    - ``failure``: the class of libyang's errors.
    - ``described``: the names of the models and libyang's version, for display.
    """

    root: SchemaNode
    context: Any
    failure: type[Exception]
    described: str

    def refusal(self, xml: str) -> str:
        """Return libyang's error message about a configuration in XML; empty if libyang accepts the configuration."""
        try:
            data = self.context.parse_data_mem(xml, "xml", strict=True, no_state=True, validate_present=True)
        except self.failure as error:
            return str(error).removeprefix("failed to parse data tree: ")
        if data is not None:
            data.free()
        return ""


def load(folder: Path, hierarchies: Iterable[str]) -> Models:
    """Load the models of the top-level ``hierarchies`` (``system``, ``protocols`` …) from a folder.

    Hierarchies that the folder lacks are ignored. Loading a few hierarchies takes one or two seconds; loading the whole set takes 15.
    Raises ``ModelsError`` if the folder or a model cannot be used, and ``ImportError`` if libyang is not installed.
    """
    libyang = importlib.import_module("libyang")
    files = collect(folder)
    failure = cast("type[Exception]", libyang.LibyangError)
    with tempfile.TemporaryDirectory(prefix="railweave-yang-") as prepared:
        for path in files.paths.values():
            text = file_text(path, errors="replace")
            (Path(prepared) / path.name).write_text(repaired(text), encoding="utf-8")
        try:
            context = libyang.Context(prepared, explicit_compile=True)
            for module in _wanted(files, hierarchies):
                context.load_module(module)
            context.compile_schema()
        except failure as error:
            raise ModelsError(f"libyang cannot load the models in {folder}: {error}") from None
    top = next(iter(context.get_module(f"{files.prefix}root").children()))
    version = importlib.metadata.version("libyang")
    return Models(SchemaNode(top), context, failure, f"{files.described}, libyang {version}")


def _wanted(files: ModelFiles, hierarchies: Iterable[str]) -> Iterator[str]:
    """Yield the name of the root module, then those of the modules for ``hierarchies``. Hierarchies without a module are ignored."""
    yield f"{files.prefix}root"
    for name in sorted(set(hierarchies)):
        if name != "root" and f"{files.prefix}{name}" in files.paths:
            yield f"{files.prefix}{name}"


Token = str | tuple[str, ...]
"""A word of a statement, or the values of a list in brackets."""

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
"""By list: the child element whose name is not entered on the command line, although some models do not mark it.

In release 23.4, the models do not mark the first five.
"""

_NAMED_BY_USER = frozenset({"interfaces", "routing-instances", "vlans"})
_RENAMED = {("snmp", "name"): "system-name"}
"""By (parent, word on the command line): the name of the node in the models, where it differs from the word."""

_ANNOTATIONS = frozenset({"inactive:", "protect:", "replace:"})
_WITHOUT_VALUE = frozenset({"exact", "longer", "orlonger"})
"""Keywords for the kind of prefix match that no value follows."""


@dataclass(frozen=True)
class Unknown:
    """A statement that is not in the schema.

    - ``words``: the whole statement.
    - ``word``: the first word that is not in the schema.
    - ``what``: the reason.
    - ``line``: the line in the printed configuration.
    """

    words: tuple[str, ...]
    word: str
    what: str
    line: int


class _UnknownError(Exception):
    def __init__(self, words: tuple[str, ...], word: str, problem: str) -> None:
        super().__init__(words, word, problem)
        self.words, self.word, self.what = words, word, problem


@dataclass(frozen=True, eq=False)
class _Place:
    """The XML element to which statements are added, with its schema node and the words of its path.

    If ``entries_of`` is set, as within ``drop-profiles { … }``, each statement is an entry of that list.
    """

    node: SchemaNode
    element: Element
    words: tuple[str, ...]
    entries_of: SchemaNode | None = None


@dataclass(eq=False)
class Conversion:
    """The conversion of a configuration to XML.

    - ``root``: the schema node ``configuration``.
    - ``unknown``: the statements that are not in the schema. The XML does not contain them.
    - ``origins``: the (words, line in the printed configuration) of each XML element.
    - ``key_counts``: the number of list keys in each XML element.
    """

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
        """Convert top-level statements in order, and add them to the XML. Statements that are not in the schema are added to ``unknown``."""
        for statement in statements:
            self._statement(statement, _Place(self.root, self.element, ()))

    def text(self) -> str:
        """Return the XML of all statements added so far."""
        return tostring(self.element, encoding="unicode")

    def _statement(self, statement: Statement, above: _Place | None) -> None:
        self._line += 1
        place = None if above is None else self._descend(statement, above)
        if statement.children is not None:
            for child in statement.children:
                self._statement(child, place)
            self._line += 1

    def _descend(self, statement: Statement, above: _Place) -> _Place | None:
        """Return the place in the XML for a statement's block. ``above`` is the place of the surrounding block.

        If the statement is not in the schema, add it to ``unknown`` and return None.
        """
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
        """Return the schema node for the next word of a statement in ``place``.

        If the word is the node's name, it is removed from ``tokens``, the remaining words.
        """
        node, word = place.node, tokens[0]
        name = _RENAMED.get((node.name, word), word) if isinstance(word, str) else ""
        hidden = node.children.get(UNMARKED.get(node.name, ""))
        named = node.children.get(name) if name not in node.keys else None
        if named is not None and not named.nokeyword:
            tokens.popleft()
            return named
        if hidden is not None and node.name in _NAMED_BY_USER:
            return hidden
        child = _unnamed(node, word) or hidden
        if child is None:
            shown = word if isinstance(word, str) else f"[ {' '.join(word)} ]"
            raise _UnknownError(place.words, shown, "no such word here")
        return child

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
            for alternative in _alternatives(value, tokens):
                self._leaf(place.element, node, alternative, words)
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
        """Return the XML element of the schema node ``node`` with the list keys ``keys`` inside ``parent``. If it does not exist, create it.

        ``words`` are the words that lead to the element. For a new element, the words are recorded in ``origins``.
        """
        element = self._entries.get((parent, node.tag, keys))
        if element is None:
            element = SubElement(parent, node.tag)
            for key, value in zip(node.keys, keys, strict=False):
                SubElement(element, node.children[key].tag).text = value
            self._entries[parent, node.tag, keys] = element
            self.key_counts[element] = len(keys)
            self.origins[element] = (words, self._line)
        return element


def _unnamed(node: SchemaNode, word: Token) -> SchemaNode | None:
    """Return the child of ``node`` whose content can be ``word``, if the child's name is not entered before it. None if no child matches.

    If several children match, the order is: an enumeration that contains the word, a list, a leaf-list, a leaf, a
    container.
    """
    for child in node.unnamed:
        if isinstance(word, str) and word in child.enums:
            return child
    for kind in ("list", "leaf-list", "leaf", "container"):
        for child in node.unnamed:
            if child.kind == kind and not child.enums and not child.empty:
                return child
    return None


def _alternatives(value: Token, tokens: deque[Token]) -> tuple[str, ...]:
    """Return the values of a leaf-list. ``value`` is the next word, or several values in brackets.

    A policy expression in parentheses is one value; its other words are removed from ``tokens``.
    """
    if value != "(":
        return (value,) if isinstance(value, str) else value
    words = ["("]
    while tokens and words[-1] != ")":
        token = tokens.popleft()
        words.append(token if isinstance(token, str) else " ".join(token))
    return (" ".join(words),)


def _key_values(node: SchemaNode, tokens: deque[Token]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield (key values, words) for each entry of the YANG list ``node`` that the remaining words of a statement (``tokens``) describe.

    Several values in brackets give one entry for each value. The words of an entry are the key names that the statement contains, and then
    the key values that are not empty. All words that are read are removed from ``tokens``. A statement may have the name of a key before
    its value, for example ``drop-profile-map loss-priority any protocol any``.

    The key ``choice-ident`` contains a keyword, and the key ``choice-value`` the word after the keyword. ``choice-value`` is empty in two
    cases:

    - ``choice-ident`` is the first key. In ``community add NAME``, the name is the third key.
    - The keyword has no value, as in ``prefix-list-filter NAME orlonger``.
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
