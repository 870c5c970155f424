"""The frame around the content of every HTML page: head, style, navigation, sections, and pictures in narrow windows.

A page that is a file loads nothing. Style, script and data are inside the page, so that it can be mailed, archived, and opened on a
machine without a network. A page that is served (the console of ``railweave watch``) loads its style and scripts from its server.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, or discourages, even where escaped."""

UNSAFE = re.compile("[&<>\"'\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""The same characters, and those that end the text around them. Most texts have none, and one search shows this."""

CHARACTER_EM = 0.6
"""Mean width of a character of a sans-serif font, in em; wide enough that estimated text always fits."""


def text(value: object) -> str:
    """A value as character data, safe between tags and inside quoted attributes of XML and HTML."""
    plain = str(value)
    if UNSAFE.search(plain) is None:
        return plain
    clean = ILLEGAL.sub("\ufffd", plain)
    for raw, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;"), ("'", "&#39;")):
        clean = clean.replace(raw, safe)
    return clean


def number(value: float) -> str:
    """A coordinate with at most one decimal: ``12``, ``12.5``."""
    shown = f"{value:.1f}".removesuffix(".0")
    return "0" if shown == "-0" else shown


@cache
def _attribute(key: str) -> str:
    """The name of an attribute: ``class_`` stands for ``class``, ``data_a`` for ``data-a``."""
    return key.rstrip("_").replace("_", "-")


def element(tag: str, *children: str, **attributes: object) -> str:
    """An element. Children are markup; attributes are escaped here.

    ``class_`` stands for ``class`` and ``data_a`` for ``data-a``; None leaves an attribute out.
    """
    parts = [tag]
    for key, value in attributes.items():
        if value is not None:
            shown = number(value) if isinstance(value, float) else text(value)
            parts.append(f'{_attribute(key)}="{shown}"')
    opening = " ".join(parts)
    return f"<{opening}>{''.join(children)}</{tag}>" if children else f"<{opening}/>"


def width(value: str, size: float) -> float:
    """Estimated width of a text in a sans-serif font of ``size`` pixels, in pixels."""
    return len(value) * size * CHARACTER_EM


def json_for_script(value: object) -> str:
    """Compact JSON that may stand inside a ``<script>`` element: nothing in it can end the element."""
    raw = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return raw.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str, package: str = "railweave.pages") -> str:
    """The text of a style sheet or script that lies in a package: by default in this one, for all pages."""
    return files(package).joinpath(name).read_text(encoding="utf-8").strip()


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
    sheets: Sequence[str] = (),
    here: str = "",
) -> str:
    """Return a whole page as HTML; everything but ``title`` and ``footer`` is markup, or style.

    - ``styles`` follow the style that all pages share.
    - ``links`` are the id and title of each section that the navigation names, or the path of another page; none: no navigation.
    - ``scripts`` are elements at the end of the page.
    - ``sheets`` are the addresses of style sheets of a served page, the shared one among them; the server then sends the policy.
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
    """A link of the navigation, to a section or a page."""
    if not where.startswith("/"):
        return element("a", text(name), href=f"#{where}")
    current = where == here
    return element(
        "a", text(name), href=where, class_="here" if current else None, aria_current="page" if current else None
    )


def section(name: str, title: str, about: str, content: str) -> str:
    """A section with its heading; ``about`` is a text that says what it holds, ``content`` is markup."""
    intro = element("p", text(about), class_="about") if about else ""
    return element("section", element("h2", text(title)), intro, content, id=name)


def still_picture(svg: str) -> tuple[str, str]:
    """A topology on a page without script: its markup, and the style that shows a hint where the window has to scroll it."""
    match = re.search(r"--natural:([\d.]+)px", svg)
    narrow = (float(match[1]) * SMALLEST if match else 0.0) + MARGINS
    hint = element("p", "The picture is wider than this window: scroll it sideways.", class_="wider")
    style = f".wider{{display:none}}@media(max-width:{narrow:.0f}px){{.wider{{display:block}}}}"
    return hint + element("div", svg, class_="picture", tabindex=0), style
