"""XML as the tree of lists and maps that Junos has for JSON: ``{"tag": [{"data": "text", "attributes": {...}}]}``.

Namespaces are left off, for they change with the release. No document type, and so no entity, is accepted.
"""

from __future__ import annotations

from typing import Any, NoReturn
from xml.parsers import expat

MOST_DEPTH = 100


def parse_xml(text: str) -> dict[str, Any]:
    """The tree of an XML text; one after the first is left aside, as a prompt after the answer. Raises ``ValueError``."""
    root: dict[str, Any] = {}
    inside: list[dict[str, Any]] = [root]
    texts: list[list[str]] = [[]]
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if len(inside) > MOST_DEPTH:
            raise ValueError(f"nested more than {MOST_DEPTH} deep")
        element: dict[str, Any] = {}
        if attributes:
            element["attributes"] = attributes
        inside[-1].setdefault(tag.rpartition(":")[2], []).append(element)
        inside.append(element)
        texts.append([])

    def end(_: str) -> None:
        element, text = inside.pop(), "".join(texts.pop()).strip()
        if text and not element.keys() - {"attributes"}:
            element["data"] = text

    def said(text: str) -> None:
        texts[-1].append(text)

    def refuse(*_: object) -> NoReturn:
        raise ValueError("it has a document type, and no device's answer has one")

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = said
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        after_the_end = error.code == expat.errors.codes[expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
        if not after_the_end or len(inside) > 1:
            raise ValueError(f"line {error.lineno}: {expat.ErrorString(error.code)}") from None
    return root
