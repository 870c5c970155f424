"""What every HTML page has around its content: head, style, navigation, sections, and pictures in narrow windows.

A page loads nothing: style, script and data are inside, so that it can be mailed, archived, and opened on a machine that
has no network.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.report.markup import asset, element, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""Content security policy of the page: the browser itself refuses every request to a network."""

SMALLEST = 0.8
"""Least scale at which page.css shows a picture; a narrower window scrolls it."""

MARGINS = 58
"""Pixels of a window left and right of a picture: the page's margins and the picture's border."""


def html_page(
    title: str,
    styles: Sequence[str],
    *,
    header: Sequence[str],
    main: Sequence[str],
    links: Iterable[tuple[str, str]] = (),
    footer: str = "",
    scripts: Sequence[str] = (),
) -> str:
    """A whole page as HTML; everything but ``title`` and ``footer`` is markup, or style.

    ``styles`` follow the style that all pages share; ``links`` are the id and the title of each section that the
    navigation names, none for a page without navigation; ``scripts`` are elements that stand last.
    """
    navigation = "".join(element("a", text(name), href=f"#{id_}") for id_, name in links)
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>',
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            element("title", text(title)),
            element("style", "\n".join([asset("page.css"), *styles])),
            "</head>\n<body>",
            element("header", element("div", *header, class_="wide")),
            *([element("nav", element("div", navigation, class_="wide"), aria_label="Sections")] if navigation else []),
            element("main", *main, class_="wide"),
            *([element("footer", text(footer), class_="wide")] if footer else []),
            *scripts,
            "</body>\n</html>\n",
        ]
    )


def section(name: str, title: str, about: str, content: str) -> str:
    """A section with its heading; ``about`` is a text that says what it holds, ``content`` is markup."""
    said = element("p", text(about), class_="about") if about else ""
    return element("section", element("h2", text(title)), said, content, id=name)


def still_picture(svg: str) -> tuple[str, str]:
    """A topology on a page without script: its markup, and the style that shows a hint where the window has to scroll it."""
    found = re.search(r"--natural:([\d.]+)px", svg)
    narrow = (float(found[1]) * SMALLEST if found else 0.0) + MARGINS
    hint = element("p", "The picture is wider than this window: scroll it sideways.", class_="wider")
    style = f".wider{{display:none}}@media(max-width:{narrow:.0f}px){{.wider{{display:block}}}}"
    return hint + element("div", svg, class_="picture", tabindex=0), style
