"""Sections of one kind by the names in their headers; a range of names stands for a section each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.eos.read.values import interface_names, number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking


class Stanzas:
    """What stands below ``interface``. Asking for lines takes them; the last line of a kind holds."""

    def __init__(self, taking: Taking) -> None:
        self.taking = taking
        self._found = [(interface_names(one["names"]), one) for one in taking.each("interface <names...>")]
        self.names = tuple(dict.fromkeys(name for names, _ in self._found for name in names))

    def each(self, *forms: str) -> Iterator[tuple[str, Selected]]:
        """Every line of these forms, with the interface that it stands below."""
        for names, header in self._found:
            if header.below:
                for one in self.taking.each(*forms, below=header):
                    for name in names:
                        yield name, one

    def last(self, *forms: str) -> dict[str, Selected]:
        """The line of these forms that holds, by interface."""
        return dict(self.each(*forms))

    def word(self, form: str) -> dict[str, str]:
        """The word ``value`` of a form, by interface."""
        return {name: one["value"] for name, one in self.each(form)}

    def number(self, form: str, low: int = 0, high: int = 2**32 - 1) -> dict[str, int]:
        """The number ``value`` of a form, by interface; lines with another word are not understood."""
        found: dict[str, int] = {}
        for name, one in self.each(form):
            value = number(one["value"], low, high)
            if value is None:
                self.taking.leave(one)
            else:
                found[name] = value
        return found

    def flag(self, line: str) -> dict[str, bool]:
        """Whether a line is there, by interface; ``no`` and ``default`` before it say that it is not."""
        found: dict[str, bool] = {}
        for name, one in self.each(f"** {line}"):
            before = one.line.removesuffix(line).strip()
            if before in {"", "no", "default"}:
                found[name] = not before
            else:
                self.taking.leave(one)
        return found
