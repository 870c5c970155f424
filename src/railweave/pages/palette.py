"""The hues and dash patterns of path colors (classes of uplinks) in drawings.

An operator who names a path color ``red`` expects it to be red. So a name that is a CSS color determines the hue, and every other
name gets the next free hue. The shades are readable on paper and on a dark screen, and readers with color-vision deficiency can
tell them apart (hues after Okabe and Ito, "Color Universal Design"). Path colors that share a hue have different dash patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

HUES: dict[str, tuple[str, str]] = {
    "blue": ("#0067b1", "#5aa9f2"),
    "orange": ("#d97c00", "#f7b23b"),
    "green": ("#009468", "#3fd6a4"),
    "magenta": ("#c2488f", "#f190c4"),
    "sky": ("#3a9fd4", "#a5defa"),
    "brown": ("#7a5230", "#cda983"),
    "purple": ("#7b4bb0", "#c3a0ee"),
    "red": ("#bf1f2f", "#f2555c"),
    "yellow": ("#a58600", "#f2df5c"),
    "grey": ("#6b7686", "#a5b0bf"),
    "black": ("#1c2531", "#eef2f7"),
}
"""The shades of each hue as (on a light background, on a dark background)."""

CSS_NAMES: dict[str, str] = {
    **{hue: hue for hue in HUES if hue != "sky"},
    **dict.fromkeys(("navy", "royalblue", "dodgerblue", "steelblue", "darkblue", "mediumblue"), "blue"),
    **dict.fromkeys(("darkorange", "coral", "tomato", "orangered"), "orange"),
    **dict.fromkeys(("lime", "teal", "olive", "darkgreen", "limegreen", "seagreen", "forestgreen"), "green"),
    **dict.fromkeys(("fuchsia", "pink", "hotpink", "deeppink", "orchid"), "magenta"),
    **dict.fromkeys(("skyblue", "cyan", "aqua", "turquoise", "lightblue", "deepskyblue"), "sky"),
    **dict.fromkeys(("sienna", "chocolate", "saddlebrown", "tan", "peru"), "brown"),
    **dict.fromkeys(("violet", "indigo", "rebeccapurple", "darkviolet", "plum"), "purple"),
    **dict.fromkeys(("maroon", "crimson", "darkred", "firebrick", "salmon"), "red"),
    **dict.fromkeys(("gold", "khaki", "goldenrod"), "yellow"),
    **dict.fromkeys(("gray", "silver", "white", "slategray", "slategrey", "darkgray", "darkgrey"), "grey"),
}
"""The hue for each CSS color name."""

TURN = ("blue", "orange", "green", "magenta", "brown", "sky", "purple")
"""The hues for names that are not CSS colors, in the order in which they are used."""

DASHES = ("", "7 3", "2 3", "9 3 2 3")
"""The dash patterns (SVG ``stroke-dasharray``) of lines: for the first, second and further path colors (classes of uplinks) of one hue."""


class Color(Protocol):
    """A path color (a class of uplinks): its name, and its index in the fabric."""

    @property
    def index(self) -> int:
        """The number of the color in its fabric, from 1."""
        ...

    @property
    def name(self) -> str:
        """The name that the fabric file gives."""
        ...


class Fabric(Protocol):
    """A fabric: its name, and its path colors (classes of uplinks)."""

    @property
    def name(self) -> str:
        """The name that the fabric file gives."""
        ...

    @property
    def colors(self) -> Sequence[Color]:
        """The path colors, in the order of their indices."""
        ...


class Network(Protocol):
    """A network: its fabrics, in order."""

    @property
    def fabrics(self) -> Sequence[Fabric]:
        """The fabrics, in order."""
        ...


@dataclass(frozen=True, slots=True)
class Stroke:
    """The drawing style of one path color (class of uplinks): its CSS class, its shades on light and dark pages, and its dash pattern."""

    css_class: str
    light: str
    dark: str
    dash: str


def strokes(colors: Sequence[Color], fabric: int) -> dict[int, Stroke]:
    """Return the drawing style of every path color (class of uplinks) of a fabric, by ``Color.index``.

    ``fabric`` is the fabric's position in the network, from 1.
    """
    named = {color.index: CSS_NAMES.get(color.name.lower()) for color in colors}
    free = [hue for hue in TURN if hue not in named.values()] or list(TURN)
    used: dict[str, int] = {}
    result: dict[int, Stroke] = {}
    turn = 0
    for color in colors:
        hue = named[color.index]
        if hue is None:
            hue = free[turn % len(free)]
            turn += 1
        light, dark = HUES[hue]
        result[color.index] = Stroke(f"k{fabric}-{color.index}", light, dark, DASHES[used.get(hue, 0) % len(DASHES)])
        used[hue] = used.get(hue, 0) + 1
    return result


def network_strokes(network: Network) -> dict[str, dict[int, Stroke]]:
    """Return the drawing style of every path color (class of uplinks) of a network: by fabric name, then by ``Color.index``."""
    return {fabric.name: strokes(fabric.colors, place) for place, fabric in enumerate(network.fabrics, 1)}


def stroke_rules(all_strokes: dict[str, dict[int, Stroke]]) -> str:
    """Return the CSS rules of all path colors (classes of uplinks), for light and dark pages.

    The classes have the numbers of fabric and color: ``.k1-2`` for a line, ``.s1-2`` for a swatch. ``all_strokes`` is the result of
    ``network_strokes``.
    """
    every = [stroke for by_index in all_strokes.values() for stroke in by_index.values()]
    light = [
        f".{stroke.css_class}{{stroke:{stroke.light}{f';stroke-dasharray:{stroke.dash}' if stroke.dash else ''}}}"
        f".{swatch_class(stroke)}{{background:{stroke.light}}}"
        for stroke in every
    ]
    dark = [
        f".{stroke.css_class}{{stroke:{stroke.dark}}}.{swatch_class(stroke)}{{background:{stroke.dark}}}"
        for stroke in every
    ]
    return "".join(light) + (f"@media screen and (prefers-color-scheme:dark){{{''.join(dark)}}}" if dark else "")


def swatch_class(stroke: Stroke) -> str:
    """Return the CSS class of the swatch (a small colored area) of a path color, from the color's drawing style."""
    return "s" + stroke.css_class[1:]


def line_colors() -> str:
    """Return the CSS for the colors of chart lines, on a light and on a dark page."""
    hues = [HUES[name] for name in TURN]
    light = "".join(f"--k{place}:{hue[0]};" for place, hue in enumerate(hues))
    dark = "".join(f"--k{place}:{hue[1]};" for place, hue in enumerate(hues))
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
