"""Configuration lines and sections as a tree that can be compared, and the commands that make a change, including ``no`` lines.

``LineRules`` describes how lines of a system change: which lines hold one value, which lines are removed by ``no`` without the
value, and which lines cannot be removed. Each system's own folder defines its rules. Patterns consist of words:

- ``*`` is one word that belongs to the name of the line.
- ``=`` is one word of the value.
- ``...`` is the value: all remaining words, or all words before the next word of the pattern.

For example, ``mtu ...`` holds one value, ``neighbor * route-map = in`` holds one for each neighbor and direction, and
``map dscp ... to class *`` holds one for each class.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from railweave.model.config.sections import Section
from railweave.model.config.tree import Command, Disruption, Name, Node, Refusal, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(frozen=True)
class LineRules:
    """The rules by which configuration lines of a system change. Without a matching rule, a line changes by ``no LINE`` and the new line."""

    replaced: tuple[str, ...]
    """Patterns of lines that a new line replaces without ``no``."""
    cut: tuple[str, ...]
    """Patterns of lines whose ``no`` form has no value, for example ``no mtu``."""
    emptied: tuple[str, ...]
    """First words of section headers that the system does not let a user remove. Every line in the section is removed instead."""
    defined: tuple[str, ...]
    """Patterns that match the first words of a definition, such as a route-map. Other lines refer to the definition by its name.

    A definition is removed after all new lines are set.
    """
    defined_inside: tuple[str, ...] = ()
    """Patterns of whole lines in a section that define a name for other lines of that section.

    Such lines are removed last.
    """
    taken_with: tuple[tuple[str, str], ...] = ()
    """Pairs of patterns (removed line, line that the system removes with it), both of lines in a section.

    The new configuration keeps the second line, so it must be set again.
    """
    ended_by: tuple[tuple[str, str], ...] = ()
    """Pairs of patterns (removed line, line that the system removes with it), both of lines in a section.

    The new configuration lacks the second line, so its removal needs no command.
    """
    released: tuple[str, ...] = ()
    """First words of sections whose lines are removed first, because these lines use resources that other sections define."""
    anew_with: tuple[str, ...] = ()
    """First words of lines inside a section. If such a line changes, the whole section is removed and set again."""
    removed_as: tuple[tuple[str, str], ...] = ()
    """Pairs (pattern of a line, words to type after ``no`` to remove the line).

    They are for lines whose plain ``no`` form would leave a different line in effect.
    """
    removed_by: tuple[tuple[str, str], ...] = ()
    """Pairs (first words of a line, word that removes the line in place of ``no``, for example ``default``)."""
    narrowing: tuple[str, ...] = ("match ",)
    """First words of lines that restrict an entry, such as ``match``. They are removed last, or the entry would match everything for a while."""
    without: tuple[str, ...] = ()
    """Lines that state a default. No command is needed to remove them."""
    texts: tuple[tuple[str, str], ...] = ()
    """Pairs (first line, last line) of a text that spans several lines, such as a banner. The whole text is one statement."""
    undo_no: str = ""
    """The word to type before a line to cancel its ``no`` form. If empty, typing the line itself cancels the ``no`` form."""
    indent: str = " "
    closer: Callable[[str], str] = lambda _: "exit"
    """The function that returns the line that ends a section. Its argument is the first word of the section's header."""
    disruptions: tuple[Disruption, ...] = ()

    def definition(self, name: Name) -> Name | None:
        """Return the words by which other lines refer to a definition, such as (``route-map``, ``in``) for ``route-map in permit 10``.

        ``name`` is the name of a top-level statement. Return None if the statement is not a definition.
        """
        words = tuple(name[0].split())
        for pattern in self.defined:
            wanted = pattern.split()
            if len(words) >= len(wanted) and all(
                part in {"*", word} for part, word in zip(wanted, words, strict=False)
            ):
                return words[: len(wanted)]
        return None

    def defines(self, line: str) -> bool:
        """Return True if a line in a section defines a name that other lines of the section use."""
        return any(_fitting(pattern, "", line) is not None for pattern in self.defined_inside)

    @cached_property
    def replaced_by_word(self) -> dict[str, list[list[str]]]:
        """The patterns of ``replaced``, each as a list of its words, by first word."""
        return _by_word(self.replaced)

    @cached_property
    def cut_by_word(self) -> dict[str, list[list[str]]]:
        """The patterns of ``cut``, each as a list of its words, by first word."""
        return _by_word(self.cut)


@dataclass(frozen=True)
class SectionTree:
    """A configuration tree of lines and sections, with a system's rules for changing them. ``ConfigTree`` explains the members."""

    nodes: tuple[Node, ...]
    rules: LineRules
    keeps_empty: bool = True

    @property
    def disruptions(self) -> tuple[Disruption, ...]:
        """The disruptions in the system's rules."""
        return self.rules.disruptions

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the lines to type for the changes ``steps``, including the line that ends each section. They have this order:

        - Removals, except those in the last group, from the end of the file upwards.
        - New lines, in the order of the file.
        - Removals of definitions, and of lines that restrict an entry. Other lines may use a definition until then. An entry
          without its restriction would match too much.
        """
        rules = self.rules
        removed = sorted(
            (step for step in steps if step.kind == "remove"), key=lambda removal: removal.place, reverse=True
        )
        removed = sorted(
            self._ending(removed),
            key=lambda removal: not (*removal.above, removal.node.name)[0][0].startswith(rules.released),
        )
        put = [step for step in steps if step.kind != "remove"]
        put = sorted([*put, *self._taken(removed, put)], key=lambda change: change.place)
        touched = {rules.definition(change.above[0] if change.above else change.node.name) for change in put}
        late = [
            removal.node.values[0].startswith(rules.narrowing) or rules.defines(removal.node.values[0])
            if removal.above
            else rules.definition(removal.node.name) not in {*touched, None}
            for removal in removed
        ]
        first = [removal for removal, is_late in zip(removed, late, strict=True) if not is_late]
        last = [removal for removal, is_late in zip(removed, late, strict=True) if is_late]
        forest: list[Section] = []
        for step in (*first, *put, *last):
            body = forest
            for name in step.above:
                if not body or body[-1].line != name[0] or body[-1].body is None:
                    body.append(Section(name[0], []))
                body = _body(body[-1])
            if step.kind == "remove":
                _join(body, _removal(step.node, rules))
            else:
                _join(body, [_section(step.node)])
        return [line for section in forest for line in _printed(section, rules, 0)]

    def refused(self, steps: Sequence[Step]) -> tuple[Refusal, ...]:
        """Return (), whatever the ``steps`` are: for systems with lines and sections, railweave cannot predict which commands are refused."""
        del steps
        return ()

    def _ending(self, removed: Sequence[Step]) -> list[Step]:
        """Return the steps of ``removed`` that need a command.

        A line that disappears together with another removed line (``ended_by``) needs none.
        """
        ends = {
            (step.above[0], f"{' '.join(words)} "): step
            for step in removed
            for line, whole in self.rules.ended_by
            if len(step.above) == 1 and (words := _fitting(line, whole, step.node.values[0])) is not None
        }
        return [
            step
            for step in removed
            if not any(
                step.above
                and step.above[0] == top
                and step is not by
                and f"{step.node.values[0]} ".startswith(beginning)
                for (top, beginning), by in ends.items()
            )
        ]

    def _taken(self, removed: Sequence[Step], put: Sequence[Step]) -> list[Step]:
        """Return steps that set lines again after the system removed them together with a removed line (``taken_with``).

        ``put`` holds the steps that set lines in this change. Their lines are left out of the result.
        """
        gone = {
            (step.above[0], " ".join(words))
            for step in removed
            for line, with_it in self.rules.taken_with
            if step.above and (words := _fitting(line, with_it, step.node.values[0])) is not None
        }
        known = {(addition.above, addition.node.name) for addition in put}
        return [
            restored
            for top, beginning in gone
            for restored in _lines_below(self.nodes, top, beginning)
            if (restored.above, restored.node.name) not in known
        ]


def _fitting(pattern: str, wanted: str, line: str) -> list[str] | None:
    """Return the first words of the line that the system removes together with ``line``. Return None if ``line`` does not match ``pattern``.

    ``wanted`` is the pattern of the line that is removed too. Its lines begin with the same words as ``line``. So the result is the
    beginning of ``line``, with as many words as ``wanted``. In ``pattern``, ``*`` matches any word.
    """
    parts, words = pattern.split(), line.split()
    fits = len(parts) == len(words) and all(part in {"*", word} for part, word in zip(parts, words, strict=True))
    return words[: len(wanted.split())] if fits else None


def _lines_below(nodes: Sequence[Node], top: Name, beginning: str) -> Iterator[Step]:
    """Yield a step that sets the line again, for each line that starts with ``beginning`` in the section named ``top`` of ``nodes``."""
    for at, section in enumerate(nodes):
        if section.name == top:
            yield from _lines(section, (top,), (at,), f"{beginning} ")


def _lines(section: Node, above: tuple[Name, ...], place: tuple[int, ...], beginning: str) -> Iterator[Step]:
    for at, node in enumerate(section.children or ()):
        if node.children is not None:
            yield from _lines(node, (*above, node.name), (*place, at), beginning)
        elif f"{node.values[0]} ".startswith(beginning):
            yield Step("add", above, node, (*place, at))


def _body(section: Section) -> list[Section]:
    section.body = [] if section.body is None else section.body
    return section.body


def section_tree(sections: Iterable[Section], rules: LineRules) -> SectionTree:
    """Return the configuration tree of a system's sections, with the rules by which the system's lines change."""
    return SectionTree(_nodes(sections, rules), rules)


def sections(nodes: Iterable[Node]) -> list[Section]:
    """Return the nodes of a tree as lines and sections, which can be printed."""
    return [_section(node) for node in nodes]


def _nodes(sections: Iterable[Section], rules: LineRules) -> tuple[Node, ...]:
    nodes: dict[Name, Node] = {}
    for section in _reopened(_with_texts(sections, rules)):
        name = name_of_line(section.line, rules) if section.body is None else _header(section, rules)
        if name in nodes:  # a second line of the kind: then each stands for itself
            name = (section.line,)
        if name in nodes and nodes[name].values != (section.line,):  # after `no LINE`, which has the name of LINE
            name = (section.line, "")
        children = None if section.body is None else _nodes(section.body, rules)
        nodes.setdefault(name, Node(name, (section.line,), children, at=section.at))
    return tuple(nodes.values())


def _reopened(sections: Iterable[Section]) -> list[Section]:
    """Return the sections, with sections of equal headers joined. The joined section keeps the position of the first."""
    joined: list[Section] = []
    first: dict[str, Section] = {}
    for section in sections:
        if section.body is None:
            joined.append(section)
        elif section.line in first:
            _body(first[section.line]).extend(section.body)
        else:
            first[section.line] = Section(section.line, [*section.body], at=section.at)
            joined.append(first[section.line])
    return joined


def _with_texts(sections: Iterable[Section], rules: LineRules) -> Iterator[Section]:
    """Yield the sections. The lines of one multi-line text (``LineRules.texts``), such as a banner, are joined into a single line."""
    ends = dict(rules.texts)
    left = iter(sections)
    for section in left:
        if section.body is None and section.line in ends:
            inner = itertools.takewhile(lambda other, end=ends[section.line]: other.line != end, left)
            yield Section(
                "\n".join([section.line, *(other.line for other in inner), ends[section.line]]), at=section.at
            )
        else:
            yield section


def _header(section: Section, rules: LineRules) -> Name:
    """Return the name of a section in the tree: its header, and the inner lines whose change rebuilds the section (``anew_with``)."""
    inner = [
        child.line for child in section.body or () if child.body is None and child.line.startswith(rules.anew_with)
    ]
    return (section.line, *inner) if rules.anew_with else (section.line,)


def name_of_line(line: str, rules: LineRules) -> Name:
    """Return the words that distinguish a line from the other lines of its section: usually the line without its value.

    ``no LINE`` has the same name as ``LINE``, because it is a different value of the same statement.
    """
    opens, _, text = line.partition("\n")
    if text:
        return (opens, "")
    bare = line.removeprefix("no ")
    words = bare.split()
    for pattern in rules.replaced_by_word.get(words[0], ()):
        name = _matched(pattern, words)
        if name is not None:
            return name
    return (bare,)


def _matched(pattern: list[str], words: list[str]) -> Name | None:
    """Return the words of a line that matches the pattern, without the words of its value. Return None if it does not match.

    An empty word at the end of the result distinguishes it from the name of a line that matches no pattern.
    """
    if "..." in pattern[:-1]:
        at = pattern.index("...")
        after = len(pattern) - at - 1
        if len(words) <= at + after:
            return None
        pattern = [*pattern[:at], *["="] * (len(words) - at - after), *pattern[at + 1 :]]
    name: list[str] = []
    for at, wanted in enumerate(pattern):
        if wanted == "...":
            return (" ".join(name), "")
        if at >= len(words) or (wanted not in {"*", "="} and wanted != words[at]):
            return None
        if wanted != "=":
            name.append(words[at])
    return (" ".join(name), "") if len(words) == len(pattern) else None


def _removal(node: Node, rules: LineRules) -> list[Section]:
    line = node.values[0].partition("\n")[0]
    if line in rules.without:
        return []
    if node.children is not None and line.startswith(rules.emptied):
        inner = [section for child in reversed(node.children) for section in _removal(child, rules)]
        return [Section(line, inner)] if inner else []
    if line.startswith("no "):
        bare = line.removeprefix("no ")
        return [Section(f"{rules.undo_no} {bare}" if rules.undo_no else bare)]
    for pattern, whole in rules.removed_as:
        if node.children is None and (words := _fitting(pattern, whole, line)) is not None:
            return [Section(f"no {' '.join(words)}")]
    word = next((word for start, word in rules.removed_by if line.startswith(start)), "no")
    return [Section(f"{word} {line if node.children is not None else _cut(line, rules)}")]


def _cut(line: str, rules: LineRules) -> str:
    words = line.split()
    for pattern in rules.cut_by_word.get(words[0], ()):
        if _matched(pattern, words) is not None:
            kept = len(pattern) - 1 if pattern[-1] == "..." else len(words) - (len(pattern) - pattern.index("...") - 1)
            return " ".join(words[:kept])
    return line


def _join(body: list[Section], more: list[Section]) -> None:
    """Append the sections ``more`` to ``body``. A section with the same header as the last one of ``body`` is merged into it."""
    for section in more:
        last = body[-1] if body else None
        if last is not None and last.line == section.line and last.body is not None and section.body is not None:
            _join(last.body, section.body)
        else:
            body.append(section)


def _section(node: Node) -> Section:
    children = None if node.children is None else [_section(child) for child in node.children]
    return Section(node.values[0], children)


def _printed(section: Section, rules: LineRules, depth: int) -> list[str]:
    lines = f"{rules.indent * depth}{section.line}".split("\n")
    if section.body is not None:
        lines += [line for child in section.body for line in _printed(child, rules, depth + 1)]
        lines.append(f"{rules.indent * depth}{rules.closer(section.line.split()[0])}")
    return lines


def _by_word(patterns: Iterable[str]) -> dict[str, list[list[str]]]:
    by_word: dict[str, list[list[str]]] = {}
    for pattern in patterns:
        words = pattern.split()
        by_word.setdefault(words[0], []).append(words)
    return by_word
