"""The pages of the console: markup, live values that are sent again when they change, and numbers as short text.

A live value has a key, and the elements that show the value carry the key in an attribute:

- ``data-live``: the value is the element's text.
- ``data-live-html``: the value is the element's markup, already escaped.
- ``data-live-class``: the value is the element's only changing class.
- ``data-live-fill``: the value is the filled share of a bar.

``live.js`` inserts each new value. So a page is complete without scripts, and updates contain only changed values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import localtime, strftime
from typing import TYPE_CHECKING

from railweave.pages.shell import element, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


UNKNOWN = "–"


def rate(bits_per_second: float) -> str:
    """Return ``bits_per_second`` as text, in the most readable unit: ``0``, ``940 Mb/s``, ``391 Gb/s``, ``25.6 Tb/s``."""
    if bits_per_second != bits_per_second:
        return UNKNOWN
    for unit, size in (("Tb/s", 1e12), ("Gb/s", 1e9), ("Mb/s", 1e6), ("kb/s", 1e3)):
        if bits_per_second >= size:
            return f"{bits_per_second / size:.3g} {unit}" if bits_per_second < 999.5 * size else f"{bits_per_second / size:,.0f} {unit}"  # fmt: skip
    return f"{bits_per_second:.0f} b/s" if bits_per_second >= 0.5 else "0"


def percent(share: float) -> str:
    """Return a share (0 to 1) as text in percent: ``0 %``, ``<1 %``, ``87 %``."""
    if share != share:
        return UNKNOWN
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def per_second(number: float) -> str:
    """Return packets or frames per second as text: ``0``, ``0.4``, ``1,250``."""
    if number != number:
        return UNKNOWN
    return "0" if not number else f"{number:.1g}" if number < 1 else f"{number:,.0f}"


def size(number: float) -> str:
    """Return the bytes of a buffer as text: ``0``, ``18 kB``, ``1.2 MB``."""
    if number != number:
        return UNKNOWN
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= scale:
            return f"{number / scale:.3g} {unit}" if number < 999.5 * scale else f"{number / scale:,.0f} {unit}"
    return f"{number:.0f} B" if number else "0"


def clock(at: float) -> str:
    """Return the time ``at`` (seconds since 1970) as local time, such as ``14:03:22``, preceded by the date if it is not of today."""
    there = localtime(at)
    return strftime("%H:%M:%S" if there[:3] == localtime()[:3] else "%Y-%m-%d %H:%M:%S", there)


def ago(seconds: float) -> str:
    """Return a duration as text: ``4 s``, ``12 min``, ``3 h``, ``2 days``."""
    for unit, length, least in (("days", 86400, 2 * 86400), ("h", 3600, 2 * 3600), ("min", 60, 120)):
        if seconds >= least:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


Live = dict[str, str]
"""The live values of a page, by key. A live value is sent to the browser again when it changes."""


@dataclass(frozen=True, slots=True)
class PageView:
    """A page of the console.

    - ``main``: its sections, as markup. ``heading``: its heading; empty means the name of the network.
    - ``live``: the values in its sections that are updated while the page is open, by key.
    - ``styles``: additional style sheets, as text.
    - ``scripts``: the names of its scripts.
    """

    title: str
    main: Sequence[str]
    live: Live
    styles: Sequence[str] = ()
    scripts: Sequence[str] = ()
    heading: str = ""


@dataclass
class Values:
    """The live values (values that are updated in the open page) collected while a page is written.

    Each method records a value and returns an element that shows it. Without ``markup``, the elements are empty. Updates need only
    the values, and building markup is most of the work.
    """

    live: Live = field(default_factory=dict[str, str])
    markup: bool = True

    def word(self, key: str, value: str, tag: str = "span", **attributes: object) -> str:
        """Record a value under ``key``, and return an HTML element ``tag`` that shows it as plain text. ``attributes`` are those of the element."""
        self.live[key] = value
        if not self.markup:
            return ""
        return element(tag, text(value), data_live=key, **attributes)

    def html(self, key: str, markup: str, tag: str = "div", **attributes: object) -> str:
        """Record the HTML ``markup`` under ``key``, and return an element ``tag`` that contains it. ``attributes`` are those of the element."""
        self.live[key] = markup
        if not self.markup:
            return ""
        return element(tag, markup, data_live_html=key, **attributes)

    def bar(self, key: str, share: float, shown: str, css_class: str = "", tag: str = "td") -> str:
        """Record a share under ``key``, and return a cell with a bar that is filled to ``share`` (0 to 1), and the text ``shown``.

        ``css_class`` is the class of the bar, and ``tag`` the HTML tag of the cell.
        """
        filled = "0" if share != share else f"{min(share, 1):.3f}"
        self.live[f"{key}#"] = filled
        self.live[key] = shown
        if not self.markup:
            return ""
        fill = element("i", "", class_=f"fill {css_class}".strip(), data_live_fill=f"{key}#", style=f"--fill:{filled}")
        return element(tag, fill, element("span", text(shown), data_live=key), class_="bar-cell number")


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> Live:
    """Return the values of a page that are new in ``now`` or differ from ``before``, by key."""
    return {key: value for key, value in now.items() if before.get(key) != value}
