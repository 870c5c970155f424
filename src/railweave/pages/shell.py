"""The frame of every HTML page: head, style, navigation, sections, and pictures in narrow windows.

A page that is a file loads nothing: style, script and data are inside the page. It can be mailed, archived, and opened on a machine
without a network. A page that is served (the console of ``railweave watch``) loads its style and scripts from its server.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from railweave.reading import packaged_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 forbids or discourages, even if escaped."""

UNSAFE = re.compile("[&<>\"'\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""The characters that ``text`` must replace: characters of ``ILLEGAL``, and characters to escape.

Most texts contain none of them, so one search with this pattern is enough.
"""

CHARACTER_EM = 0.6
"""The assumed mean width of a character in a sans-serif font, in em. It is high enough that texts never exceed their estimated width."""


def text(value: object) -> str:
    """Return a value as escaped text, safe between tags and inside quoted attributes of XML and HTML."""
    plain = str(value)
    if UNSAFE.search(plain) is None:
        return plain
    clean = ILLEGAL.sub("\ufffd", plain)
    for raw, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        clean = clean.replace(raw, safe)
    return clean


def number(value: float) -> str:
    """Return a coordinate with at most one decimal, such as 12 or 12.5."""
    shown = f"{value:.1f}".removesuffix(".0")
    return "0" if shown == "-0" else shown


@cache
def _attribute(key: str) -> str:
    """Return the attribute name for a keyword: ``class_`` becomes ``class``, ``data_a`` becomes ``data-a``."""
    return key.rstrip("_").replace("_", "-")


def element(tag: str, *children: str, **attributes: object) -> str:
    """Return an XML or HTML element as text. ``children`` must be markup; attribute values are escaped.

    The keyword ``class_`` becomes the attribute ``class``, and ``data_a`` becomes ``data-a``. An attribute with the value None is left out.
    """
    parts = [tag]
    for key, value in attributes.items():
        if value is not None:
            shown = number(value) if isinstance(value, float) else text(value)
            parts.append(f'{_attribute(key)}="{shown}"')
    opening = " ".join(parts)
    return f"<{opening}>{''.join(children)}</{tag}>" if children else f"<{opening}/>"


def width(value: str, size: float) -> float:
    """Return the estimated width of a text in pixels, in a sans-serif font of ``size`` pixels."""
    return len(value) * size * CHARACTER_EM


def json_for_script(value: object) -> str:
    """Return compact JSON that is safe inside a ``<script>`` element, because nothing in it can end the element."""
    raw = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return raw.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str, package: str = "railweave.pages") -> str:
    """Return the text of a style sheet or script in a package. ``railweave.pages`` has the style sheets and scripts that all pages share."""
    return packaged_text(files(package).joinpath(name)).strip()


POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""The content security policy of a page. With it, the browser refuses all network requests."""

SMALLEST = 0.8
"""The smallest scale at which ``page.css`` shows a picture. If the window is too narrow for this scale, the picture scrolls."""

MARGINS = 58
"""The space on the left and right of a picture in pixels, both sides together: the page's margins and the picture's border."""


def html_page(
    title: str,
    styles: Sequence[str],
    *,
    header: Sequence[str],
    main: Sequence[str],
    links: Iterable[tuple[str, str]] = (),
    footer: str = "",
    scripts: Sequence[str] = (),
    sheets: Sequence[str] = (),
    here: str = "",
) -> str:
    """Return a complete HTML page. ``title`` and ``footer`` are plain text; all other arguments are markup or CSS.

    - ``styles`` follow the style that all pages share.
    - ``header``, ``main`` are the markup of the page's head and of its body, part by part.
    - ``links`` are the entries of the navigation as (section ID or page path, title). Without links there is no navigation.
    - ``scripts`` are elements at the end of the page.
    - ``sheets`` are the addresses of all style sheets, for a page from a server. The server then sends the content security policy.
    - ``here`` is the path of the page itself, if the navigation names pages.
    """
    navigation = "".join(_link(where, name, here) for where, name in links)
    policy = [] if sheets else [f'<meta http-equiv="Content-Security-Policy" content="{text(POLICY)}">']
    inside = "\n".join(styles if sheets else [asset("page.css"), *styles])
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>',
            '<meta charset="utf-8">',
            *policy,
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            element("title", text(title)),
            *(f'<link rel="stylesheet" href="{text(sheet)}">' for sheet in sheets),
            element("style", inside) if inside else "",
            "</head>\n<body>",
            element("header", element("div", *header, class_="wide")),
            *(
                [element("nav", element("div", navigation, class_="wide"), aria_label="Pages" if here else "Sections")]
                if navigation
                else []
            ),
            element("main", *main, class_="wide"),
            *([element("footer", text(footer), class_="wide")] if footer else []),
            *scripts,
            "</body>\n</html>\n",
        ]
    )


def _link(where: str, name: str, here: str) -> str:
    """Return a navigation link to a section (an ID) or a page (a path with a leading slash). ``here`` is the path of the current page."""
    if not where.startswith("/"):
        return element("a", text(name), href=f"#{where}")
    current = where == here
    return element(
        "a", text(name), href=where, class_="here" if current else None, aria_current="page" if current else None
    )


def section(name: str, title: str, about: str, content: str) -> str:
    """Return a section with its heading. ``name`` is its HTML ID. ``about`` is a text that introduces the section; ``content`` is markup."""
    intro = element("p", text(about), class_="about") if about else ""
    return element("section", element("h2", text(title)), intro, content, id=name)


def still_picture(svg: str) -> tuple[str, str]:
    """Return (markup, CSS) of an SVG drawing for a page without scripts. If the window is too narrow, a hint to scroll appears."""
    match = re.search(r"--natural:([\d.]+)px", svg)
    narrow = (float(match[1]) * SMALLEST if match else 0.0) + MARGINS
    hint = element("p", "The picture is wider than this window: scroll it sideways.", class_="wider")
    style = f".wider{{display:none}}@media(max-width:{narrow:.0f}px){{.wider{{display:block}}}}"
    return hint + element("div", svg, class_="picture", tabindex=0), style
