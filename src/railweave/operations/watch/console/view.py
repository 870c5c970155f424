"""What a page of the console is: markup, made once, and live values in it that are sent again when they change.

A live value has a key; the elements that show it carry the key: ``data-live`` as their text, ``data-live-html`` as markup that was escaped here,
``data-live-class`` as their only changing class, ``data-live-fill`` as how full a bar is. ``live.js`` puts a new value where its key is. So a page is right
as it comes, without any script, and afterwards only what has changed travels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.pages.markup import element, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Live = dict[str, str]
"""Live values by their keys."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A page: ``title``, its sections as markup, the live values in them, style of its own, and the names of its scripts."""

    title: str
    main: Sequence[str]
    live: Live
    styles: Sequence[str] = ()
    scripts: Sequence[str] = ()
    heading: str = ""


@dataclass
class Values:
    """Live values that are gathered while a page is written: what a method gives is an element that shows the value under its key.

    Without ``markup`` only the values are wanted, which is most of the work of an update: elements are empty then.
    """

    live: Live = field(default_factory=dict[str, str])
    markup: bool = True

    def word(self, key: str, value: str, tag: str = "span", **attributes: object) -> str:
        """An element whose text is the value."""
        self.live[key] = value
        if not self.markup:
            return ""
        return element(tag, text(value), data_live=key, **attributes)

    def html(self, key: str, markup: str, tag: str = "div", **attributes: object) -> str:
        """An element whose content is markup."""
        self.live[key] = markup
        if not self.markup:
            return ""
        return element(tag, markup, data_live_html=key, **attributes)

    def bar(self, key: str, share: float, shown: str, css_class: str = "", tag: str = "td") -> str:
        """A cell with a bar that is filled by a share of one, and its text."""
        filled = "0" if share != share else f"{min(share, 1):.3f}"
        self.live[f"{key}#"] = filled
        self.live[key] = shown
        if not self.markup:
            return ""
        fill = element("i", "", class_=f"fill {css_class}".strip(), data_live_fill=f"{key}#", style=f"--fill:{filled}")
        return element(tag, fill, element("span", text(shown), data_live=key), class_="bar-cell number")


def table(heads: Sequence[str], rows: Sequence[str], *, numbers: int = 0, name: str = "", caption: str = "") -> str:
    """A table of rows of markup. Its last ``numbers`` columns are numbers; ``name`` is its id."""
    first = len(heads) - numbers
    cells = [
        element("th", text(head), scope="col", class_="number" if place >= first else None)
        for place, head in enumerate(heads)
    ]
    said = element("caption", text(caption)) if caption else ""
    inner = element("table", said, element("thead", element("tr", *cells)), element("tbody", *rows), id=name or None)
    return element("div", element("div", inner, class_="scroll", tabindex=0), class_="table")


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> Live:
    """The values that are new or other than before."""
    return {key: value for key, value in now.items() if before.get(key) != value}
