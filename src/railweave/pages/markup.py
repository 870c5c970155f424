"""Writing XML and HTML: escaping, elements, and numbers in the shortest exact form."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, or discourages, even where escaped."""

UNSAFE = re.compile("[&<>\"'\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Those, and characters that end what they stand in: most texts have none, and are found out in one look."""

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
