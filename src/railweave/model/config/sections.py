"""Configuration as lines and sections that indentation tells apart: FRR, EOS, and what is written like them.

A system's own ``tree`` says how they are printed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.config.select import select

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from railweave.model.config.select import Selected


CLOSERS = {"exit", "exit-address-family", "exit-vni"}
"""What ends a section, in FRR and in what is like it."""


@dataclass
class Section:
    """A line, and what stands below it; ``body`` is None for a plain line. ``at`` is its number in the text it was read from."""

    line: str
    body: list[Section] | None = field(default=None)
    at: int = field(default=0, compare=False)


def line(text: str) -> Section:
    """A plain line."""
    return Section(text)


def section(header: str, *parts: str | Section | Iterable[str | Section] | None) -> Section:
    """A section with a body, in order; None parts are left out."""
    body: list[Section] = []
    for part in parts:
        if part is None:
            continue
        items = [part] if isinstance(part, str | Section) else part
        body += [Section(item) if isinstance(item, str) else item for item in items]
    return Section(header, body)


def parse(text: str) -> list[Section]:
    """Sections of a text; indentation tells what stands below what. Raises ``RenderError`` with the line."""
    top = Section("", [])
    stack: list[tuple[int, Section]] = [(-1, top)]
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.strip()
        depth = len(raw) - len(raw.lstrip(" "))
        if words in CLOSERS:  # what it closes is a section, also where nothing is in it
            closed = next((one for at, one in reversed(stack) if at == depth), None)
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
    """Merge sections: bodies of the same header are joined, lines that stand already are left alone."""
    for one in extra:
        found = next((other for other in into if other.line == one.line), None)
        if found is None:
            into.append(one)
        elif one.body is not None:
            found.body = found.body or []
            merge(found.body, one.body)


def printed(sections: Iterable[Section], closer: Callable[[str], str]) -> list[str]:
    """Lines of sections, one space deeper per level; ``closer`` gives what ends a section by its first word.

    Sections at the top are separated by ``!``.
    """
    lines: list[str] = []

    def add(one: Section, depth: int) -> None:
        lines.append(f"{' ' * depth}{one.line}")
        if one.body is not None:
            for child in one.body:
                add(child, depth + 1)
            lines.append(f"{' ' * depth}{closer(one.line.split()[0])}")

    for one in sections:
        add(one, 0)
        if one.body is not None:
            lines.append("!")
    return lines


def flat(sections: Iterable[Section], above: str = "") -> list[str]:
    """Every line with the headers above it, joined by `` / ``."""
    result: list[str] = []
    for one in sections:
        here = f"{above} / {one.line}" if above else one.line
        result += flat(one.body, here) if one.body else [here]
    return result


class Taking:
    """The sections of a text. Whoever takes a line understands it, and the headers that it stands below."""

    def __init__(self, sections: Sequence[Section]) -> None:
        self.sections = sections
        self._understood: set[int] = set()

    def each(self, *forms: str, below: Selected | None = None) -> Iterator[Selected]:
        """Take every line of these forms (``select``), at the top or below a line that was taken."""
        for one in select(self.sections if below is None else below.below, *forms):
            self._understood.update(id(section) for section in one.chain)
            yield one

    def last(self, *forms: str, below: Selected | None = None) -> Selected | None:
        """Take every line of these forms; the last of them, which is the one that holds."""
        found = list(self.each(*forms, below=below))
        return found[-1] if found else None

    def take(self, *lines: Section) -> None:
        """Take lines by themselves, as those of a text that no form describes."""
        self._understood.update(map(id, lines))

    def leave(self, one: Selected) -> None:
        """Give a line back whose words were not understood after all."""
        self._understood.discard(id(one.chain[-1]))

    def lines(self) -> Iterator[tuple[Section, str, bool]]:
        """Every line with those above it, joined by `` / ``, and whether it was understood."""
        return self._lines(self.sections, "")

    def _lines(self, sections: Sequence[Section], above: str) -> Iterator[tuple[Section, str, bool]]:
        for one in sections:
            here = f"{above}{one.line}"
            yield one, here, id(one) in self._understood
            if one.body:
                yield from self._lines(one.body, f"{here} / ")
