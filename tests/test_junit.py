"""JUnit documents: counts of suites, and no character that a reader of XML refuses."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from railweave.junit import document, suite, suites


def _case(kind: str) -> ET.Element:
    case = ET.Element("testcase", classname="leaf1", name="rule")
    if kind:
        ET.SubElement(case, kind, message="said \x1b[31m\ud800\ufffe").text = "and\x00 that\tin\ntwo lines"
    return case


def test_counts_are_those_of_the_cases() -> None:
    both = suites("net", [suite("leaf1", map(_case, ["failure", "error", "skipped", ""])), suite("leaf2", [_case("")])])
    assert [one.get("tests") for one in both] == ["4", "1"]
    assert both.attrib == {"name": "net", "tests": "5", "failures": "1", "errors": "1", "skipped": "1"}


def test_any_answer_can_be_read_again() -> None:
    text = document(suite("leaf1", [_case("failure")]))
    text.encode()
    failure = ET.fromstring(text).find("testcase/failure")  # noqa: S314 - our own text
    assert failure is not None
    assert failure.get("message") == "said \ufffd[31m\ufffd\ufffd"
    assert failure.text == "and\ufffd that\tin\ntwo lines"
