"""Assertions of a lab as JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from railweave.junit import document, suite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.live.lab.assertions import Outcome


def junit(name: str, outcomes: Sequence[Outcome]) -> str:
    """One test case for each assertion; the evidence is its output."""
    top = suite(name, (_case(name, one) for one in outcomes))
    top.set("time", f"{sum(one.seconds for one in outcomes):.2f}")
    return document(top)


def _case(name: str, one: Outcome) -> ET.Element:
    case = ET.Element("testcase", classname=name, name=one.id, time=f"{one.seconds:.2f}")
    if not one.passed:
        what = f"{one.failed} of {one.checked} fail: {one.title}"
        ET.SubElement(case, "failure", message=what).text = "\n".join(one.failures)
    elif not one.applies:
        ET.SubElement(case, "skipped", message="the design has nothing of the kind")
    ET.SubElement(case, "system-out").text = one.evidence
    return case
