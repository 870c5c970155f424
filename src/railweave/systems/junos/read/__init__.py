"""Junos configuration text to ``DeviceConfig``: curly, ``set`` lines, XML and JSON.

Every form becomes a trie of words (``words``), groups are expanded in it (``inheritance``), and each subject takes the words that it
understands. Where a text does not say what a configuration must have, it is empty: no name, the address 0.0.0.0, speed 0.
Secrets are read as references; one whose value was put in is ``secret:?``, whatever it is.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.tree import Step
from railweave.model.device.reading import Reading, Said, said
from railweave.systems.junos.changes import JunosTree, config_tree
from railweave.systems.junos.read.forms import Lines, lines
from railweave.systems.junos.read.inheritance import inherit
from railweave.systems.junos.read.shape import of_paths, shaped
from railweave.systems.junos.read.subjects import configuration
from railweave.systems.junos.read.words import Word, statements
from railweave.systems.junos.tree import Statement, quoted, to_curly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.reading import Kind

__all__ = ["parsed", "printed", "read"]

_GROUP = re.compile(r"groups \S+ (?!when )")
"""Before a statement of a group, which matters as much as it would at its place."""
_OF_TWO_WORDS = frozenset(
    {
        "system",
        "protocols",
        "class-of-service",
        "policy-options",
        "routing-options",
        "forwarding-options",
        "security",
        "chassis",
    }
)
"""Hierarchies that are told apart by their second word too."""


def read(texts: Mapping[str, str]) -> Reading:
    """The configuration that the texts of one device hold, by file name.

    Texts whose names differ by what follows the last dot are one configuration in several forms, as ``junos.conf`` and
    ``junos.set``: it is read from the first, and what another has that the first has not is not understood.
    Raises ``RenderError`` with the line where the form of a text is broken.
    """
    files = list(texts)
    found = {file: lines(text) for file, text in texts.items()}
    stems: dict[str, str] = {}
    first = [file for file in files if stems.setdefault(PurePath(file).stem, file) == file]
    top = Word("")
    ends: dict[tuple[str, ...], Word] = {}
    for file in first:
        number = files.index(file)
        for path, at in found[file].active:
            ends[path] = top.add(path, number, at)
    inherit(top)
    config = configuration(top)
    result = [*_said(top, files), *(one for file in files for one in _beside(file, found[file]))]
    for file in files:
        if file not in first:
            result += _same(file, found[file], ends)
    return Reading(config, tuple(result))


def _said(top: Word, files: list[str]) -> Iterator[Said]:
    """Every statement; a list on one line is one."""
    irrelevant = catalog().systems["junos"].reads.irrelevant
    each: dict[int, list[tuple[int, str, str, bool]]] = {number: [] for number in range(len(files))}
    fixed: list[Said] = []
    own = (one for one in statements(top) if not one[0].inherited)
    for (number, at, above), group in groupby(own, lambda one: (one[0].file, one[0].at, one[1][:-1])):
        ends = list(group)
        words = [path[-1] for _, path in ends]
        path = " ".join((*above, words[0] if len(words) == 1 else f"[ {' '.join(words)} ]"))
        kinds: set[Kind] = {word.kind for word, _ in ends}
        if kinds == {"irrelevant"}:
            fixed.append(Said(files[number], at, _hierarchy(above or tuple(words)), path, "irrelevant"))
        else:
            each[number].append((at, _hierarchy((*above, *words)), path, "unknown" not in kinds))
    for number, rows in each.items():
        bare = [(at, part, _GROUP.sub("", path), understood) for at, part, path, understood in rows]
        for (_, _, path, _), one in zip(rows, said(files[number], bare, irrelevant), strict=True):
            yield one if one.path == path else replace(one, path=path)
    yield from fixed


def _beside(file: str, found: Lines) -> Iterator[Said]:
    """Lines that are no statements, and statements that are not in force."""
    for path, at in found.asleep:
        yield Said(file, at, _hierarchy(path), " ".join(map(quoted, path)), "irrelevant")
    for text, at, kind in found.other:
        yield Said(file, at, text.split()[0], text, kind)


def _same(file: str, found: Lines, ends: Mapping[tuple[str, ...], Word]) -> Iterator[Said]:
    """The statements of another form of what was read."""
    irrelevant = catalog().systems["junos"].reads.irrelevant
    each = [(at, _hierarchy(path), " ".join(map(quoted, path)), ends.get(path)) for path, at in found.active]
    rows = [(at, part, text, word is not None and word.kind == "understood") for at, part, text, word in each]
    yield from said(file, rows, irrelevant)


def _hierarchy(path: tuple[str, ...]) -> str:
    if path[0] == "routing-instances":
        return " ".join((path[0], *path[2:3]))
    return " ".join(path[:2]) if path[0] in _OF_TWO_WORDS else path[0]


def parsed(file: str, text: str) -> ConfigTree:
    """A text as the tree that is compared; what is not in force is not in it."""
    del file
    found = lines(text)
    return config_tree(shaped(found.curly) if found.curly is not None else of_paths(found.active))


def printed(file: str, nodes: Sequence[Node]) -> str:
    """The nodes of a tree as text: ``set`` lines for a file of that name, else curly."""
    if file.endswith(".set"):
        added = [Step("add", (), node, (at,)) for at, node in enumerate(nodes)]
        return "".join(f"{line}\n" for line in JunosTree(tuple(nodes)).commands(added))
    return to_curly(map(_statement, nodes))


def _statement(node: Node) -> Statement:
    if node.children:
        return Statement(node.name, children=[_statement(one) for one in node.children])
    if node.listed:
        return Statement(node.name, node.values, several=True)
    return Statement((*node.name, *node.values))
