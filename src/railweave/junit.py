"""JUnit XML reports for continuous integration (the format of Ant's junitreport, which Jenkins and GitLab read)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterable

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""The characters that XML 1.0 forbids or discourages. Device answers may contain any of them."""
_KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def suite(name: str, cases: Iterable[ET.Element]) -> ET.Element:
    """Return a ``testsuite`` element with the cases as children. Its attributes count the tests, failures, errors and skipped cases."""
    test_suite = ET.Element("testsuite", name=name)
    test_suite.extend(cases)
    test_suite.set("tests", str(len(test_suite)))
    for count, element in _KINDS.items():
        test_suite.set(count, str(sum(case.find(element) is not None for case in test_suite)))
    return test_suite


def suites(name: str, members: Iterable[ET.Element]) -> ET.Element:
    """Return a ``testsuites`` element that holds the suites ``members``, with the sums of their counts."""
    test_suites = ET.Element("testsuites", name=name)
    test_suites.extend(members)
    for count in ("tests", *_KINDS):
        test_suites.set(count, str(sum(int(member.get(count, "0")) for member in test_suites)))
    return test_suites


def document(top: ET.Element) -> str:
    """Return the XML text of a report with the root element ``top``. Characters that XML does not allow become U+FFFD."""
    for element in top.iter():
        element.text = _ILLEGAL.sub("\ufffd", element.text) if element.text else element.text
        for name, value in element.items():
            element.set(name, _ILLEGAL.sub("\ufffd", value))
    ET.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"
