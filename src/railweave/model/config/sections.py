"""Configuration as lines and indented sections, as in FRR, EOS and systems with a similar syntax.

The module ``tree`` of a system's folder prints the configuration. ``select`` finds lines by a pattern, which is called
a form. In a form, ``*`` matches text within a word, ``<name>`` matches and captures it, and ``**`` matches any words or levels.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from railweave.errors import RenderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


ANY = "**"


@dataclass(eq=False, slots=True)
class SelectedLine:
    """A configuration line that matched the forms (line patterns) given to ``select``. Its parents are the headers of the sections around it.

    - ``below``: the lines below the line.
    - ``words``: the text that each placeholder ``<name>`` of the forms matched in the line or its parents, by placeholder name.
    - ``path``: the text of the parents and of the line, joined by `` / ``.
    - ``chain``: the same lines as ``Section`` objects: first the parents from the top down, then the line itself.
    """

    line: str
    below: list[Section]
    path: str
    words: dict[str, str]
    chain: tuple[Section, ...] = ()

    @property
    def at(self) -> int:
        """The line number in the source text; 0 if the line was not read from a text."""
        return self.chain[-1].at

    def __getitem__(self, name: str) -> str:
        return self.words[name]


def select(sections: Iterable[Section], *forms: str) -> Iterator[SelectedLine]:
    """Yield every line that matches the forms, in configuration order.

    A form is a pattern of a line (see the module). The first form is for top-level lines, the second for the lines below them, and so on.
    The lines that match the last form are yielded.
    """
    return _select(sections, forms, "", {}, ())


def _select(
    sections: Iterable[Section], forms: tuple[str, ...], above: str, words: dict[str, str], chain: tuple[Section, ...]
) -> Iterator[SelectedLine]:
    form, deeper = forms[0], forms[1:]
    if form == ANY:
        yield from _select(sections, deeper, above, words, chain)
        for block in sections:
            if block.body:
                yield from _select(block.body, forms, f"{above}{block.line} / ", words, (*chain, block))
        return
    begins, pattern = _compiled(form)
    for block in sections:
        if not block.line.startswith(begins) or (deeper and not block.body):
            continue
        match = pattern.fullmatch(block.line)
        if not match:
            continue
        wanted = {**words, **match.groupdict()}
        if deeper:
            yield from _select(block.body or (), deeper, f"{above}{block.line} / ", wanted, (*chain, block))
        else:
            yield SelectedLine(block.line, block.body or [], above + block.line, wanted, (*chain, block))


def has(sections: Iterable[Section], *forms: str) -> bool:
    """Return True if any line matches the forms. A form is a pattern of a line; there is one form per level, as in ``select``."""
    return any(True for _ in select(sections, *forms))


@lru_cache(maxsize=1 << 10)
def _compiled(form: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Return (texts with which a line can begin, regular expression) for a form (line pattern). The beginnings allow a quick check."""
    words = form.split()
    pattern = ""
    for place, word in enumerate(words):
        if word == ANY:  # with the space before it, or at the beginning with that after it
            pattern += "(?: .*)?" if place else "(?:.* )?"
        else:
            pattern += (" " if place and words[:place] != [ANY] else "") + _word(word)
    plain = list(itertools.takewhile(lambda word: not re.search(r"[*<|]", word), words))
    return (" ".join(plain),) if plain else _choices(words[0]), re.compile(pattern)


def _choices(word: str) -> tuple[str, ...]:
    """Return the texts with which a word of a form (line pattern) can begin: its alternatives, or the text before its variable part."""
    return tuple(word.split("|")) if "|" in word else (re.split(r"[*<]", word)[0],)


def _word(word: str) -> str:
    if "|" in word:
        return f"(?:{'|'.join(map(re.escape, word.split('|')))})"
    return "".join(_part(part) for part in re.split(r"(<[^>]+>|\*)", word))


def _part(part: str) -> str:
    if part == "*":
        return r"\S+"
    wanted = re.fullmatch(r"<(\w+)(\.\.\.)?>", part)
    if wanted:
        return f"(?P<{wanted[1]}>" + (".+)" if wanted[2] else r"\S+)")
    return re.escape(part)


CLOSERS = {"exit", "exit-address-family", "exit-vni"}
"""Lines that end a section in FRR and in systems like it."""


@dataclass
class Section:
    """A line and the lines below it.

    ``body`` is None for a plain line. ``at`` is the line number in the source text.
    """

    line: str
    body: list[Section] | None = field(default=None)
    at: int = field(default=0, compare=False)


def line(text: str) -> Section:
    """Return a line without lines below it."""
    return Section(text)


def section(header: str, *parts: str | Section | Iterable[str | Section] | None) -> Section:
    """Return a section with this header.

    ``parts`` are the lines and sections below the header, in order. Parts that are None are left out.
    """
    body: list[Section] = []
    for part in parts:
        if part is None:
            continue
        items = [part] if isinstance(part, str | Section) else part
        body += [Section(item) if isinstance(item, str) else item for item in items]
    return Section(header, body)


def parse(text: str) -> list[Section]:
    """Return the sections of a text, nested by indentation.

    Raises ``RenderError`` with the line number if the indentation is invalid.
    """
    top = Section("", [])
    stack: list[tuple[int, Section]] = [(-1, top)]
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.strip()
        depth = len(raw) - len(raw.lstrip(" "))
        if words in CLOSERS:  # what it closes is a section, also where nothing is in it
            closed = next((block for at, block in reversed(stack) if at == depth), None)
            if closed is not None and closed.body is None:
                closed.body = []
        if not words or words.startswith("!") or words in {*CLOSERS, "end"}:
            continue
        if "\t" in raw[: depth + 1]:
            raise RenderError("indent with spaces", number)
        while stack[-1][0] >= depth:
            stack.pop()
        parent = stack[-1][1]
        if parent.body is None:
            parent.body = []
        made = Section(words, at=number)
        parent.body.append(made)
        stack.append((depth, made))
    return top.body or []


def merge(into: list[Section], extra: Iterable[Section]) -> None:
    """Merge the sections ``extra`` into ``into``: lines below the same header are joined, and existing lines stay as they are."""
    for block in extra:
        existing = next((other for other in into if other.line == block.line), None)
        if existing is None:
            into.append(block)
        elif block.body is not None:
            existing.body = existing.body or []
            merge(existing.body, block.body)


def printed(sections: Iterable[Section], closer: Callable[[str], str]) -> list[str]:
    """Return the lines of sections, indented by one space per level. Top-level sections are separated by ``!``.

    ``closer`` takes the first word of a section and returns the line that ends the section.
    """
    lines: list[str] = []

    def add(block: Section, depth: int) -> None:
        lines.append(f"{' ' * depth}{block.line}")
        if block.body is not None:
            for child in block.body:
                add(child, depth + 1)
            lines.append(f"{' ' * depth}{closer(block.line.split()[0])}")

    for block in sections:
        add(block, 0)
        if block.body is not None:
            lines.append("!")
    return lines


def flat(sections: Iterable[Section], above: str = "") -> list[str]:
    """Return every line that has no lines below it, as its parent headers and the line joined by `` / ``.

    ``above`` is put before the top-level headers.
    """
    result: list[str] = []
    for block in sections:
        here = f"{above} / {block.line}" if above else block.line
        result += flat(block.body, here) if block.body else [here]
    return result


Known = Literal["understood", "irrelevant", ""]
"""The result of reading a line: understood, irrelevant (no effect), or "" for not understood."""


class SectionReader:
    """A reader of sections that records which lines railweave understands.

    A line that is read is marked as understood, with its parent headers.
    """

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections
        self._understood: set[int] = set()
        self._irrelevant: set[int] = set()

    def each(self, *forms: str, below: SelectedLine | None = None) -> Iterator[SelectedLine]:
        """Mark as understood and yield every line that matches these forms (patterns of lines, see ``select``).

        The search starts at the top level, or below the line ``below``.
        """
        for selected in select(self.sections if below is None else below.below, *forms):
            self._understood.update(id(section) for section in selected.chain)
            yield selected

    def last(self, *forms: str, below: SelectedLine | None = None) -> SelectedLine | None:
        """Mark every line that matches these forms as understood, and return the last of them. Return None if no line matches.

        A later line overrides earlier lines. The search starts at the top level, or below the line ``below``.
        """
        lines = list(self.each(*forms, below=below))
        return lines[-1] if lines else None

    def mark_understood(self, *lines: Section) -> None:
        """Mark lines as understood that no form describes, for example the lines of free text."""
        self._understood.update(map(id, lines))

    def mark_irrelevant(self, section: Section) -> None:
        """Mark a line as irrelevant: it is understood, and has no effect."""
        self._understood.add(id(section))
        self._irrelevant.add(id(section))

    def mark_unknown(self, line: Section | SelectedLine) -> None:
        """Mark a line as not understood although it was read. Callers do so if railweave does not support the line's value."""
        self._understood.discard(id(line.chain[-1] if isinstance(line, SelectedLine) else line))

    def unknown_lines(self, lines: Iterable[Section], above: str, irrelevant: Callable[[str], bool]) -> tuple[str, ...]:
        """Return the paths of the lines that are not understood. A line is left out if ``irrelevant`` returns True for its path.

        ``above`` is the path of the section that contains ``lines``.
        """
        return tuple(
            section.line
            for section in lines
            if id(section) not in self._understood and not irrelevant(f"{above} / {section.line}")
        )

    def lines(self) -> Iterator[tuple[Section, str, Known]]:
        """Yield (line, path of its parent lines joined by `` / ``, result of reading the line) for every line."""
        return self._lines(self.sections, "")

    def _lines(self, sections: Sequence[Section], above: str) -> Iterator[tuple[Section, str, Known]]:
        for block in sections:
            here = f"{above}{block.line}"
            yield block, here, self.known(block)
            if block.body:
                yield from self._lines(block.body, f"{here} / ")

    def known(self, section: Section) -> Known:
        """Return the result of reading a line: understood, irrelevant, or "" for not understood."""
        if id(section) not in self._understood:
            return ""
        return "irrelevant" if id(section) in self._irrelevant else "understood"
