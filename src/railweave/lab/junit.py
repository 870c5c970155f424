"""Assertions as JUnit XML, which continuous integration shows (the format of Ant's junitreport, as Jenkins and GitLab read)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.lab.assertions import Outcome


def junit(suite: str, outcomes: Sequence[Outcome]) -> str:
    """One test case for each assertion; the evidence is its output."""
    top = ET.Element(
        "testsuite",
        name=suite,
        tests=str(len(outcomes)),
        failures=str(sum(not one.passed for one in outcomes)),
        skipped=str(sum(not one.applies for one in outcomes)),
        time=f"{sum(one.seconds for one in outcomes):.2f}",
    )
    for one in outcomes:
        case = ET.SubElement(top, "testcase", classname=suite, name=one.id, time=f"{one.seconds:.2f}")
        if not one.passed:
            what = f"{one.failed} of {one.checked} fail: {one.title}"
            ET.SubElement(case, "failure", message=what).text = "\n".join(one.failures)
        elif not one.applies:
            ET.SubElement(case, "skipped", message="the design has nothing of the kind")
        ET.SubElement(case, "system-out").text = one.evidence
    ET.indent(top)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"
