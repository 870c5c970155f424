"""Read sections of lines and keep note of what was understood, so that what was not can be said, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.select import select

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.config.sections import Section
    from railweave.model.config.select import Selected


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
