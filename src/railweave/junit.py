"""JUnit XML, which continuous integration shows (the format of Ant's junitreport, as Jenkins and GitLab read)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, or discourages: devices may answer anything."""
_KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def suite(name: str, cases: Iterable[ET.Element]) -> ET.Element:
    """A suite of test cases, with how many there are, and how many of them failed, broke and were skipped."""
    found = ET.Element("testsuite", name=name)
    found.extend(cases)
    found.set("tests", str(len(found)))
    for count, element in _KINDS.items():
        found.set(count, str(sum(one.find(element) is not None for one in found)))
    return found


def suites(name: str, members: Iterable[ET.Element]) -> ET.Element:
    """Several suites, with their counts added up."""
    found = ET.Element("testsuites", name=name)
    found.extend(members)
    for count in ("tests", *_KINDS):
        found.set(count, str(sum(int(one.get(count, "0")) for one in found)))
    return found


def document(top: ET.Element) -> str:
    """The text of a file. Characters that XML does not allow become U+FFFD, wherever they stand."""
    for one in top.iter():
        one.text = _ILLEGAL.sub("\ufffd", one.text) if one.text else one.text
        for name, value in one.items():
            one.set(name, _ILLEGAL.sub("\ufffd", value))
    ET.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"
