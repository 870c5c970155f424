"""Findings as JUnit XML, which continuous integration shows (the format of Ant's junitreport, as Jenkins and GitLab read)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from railweave.live.identity import SILENT

if TYPE_CHECKING:
    from railweave.findings import Finding
    from railweave.live.check import Checked

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow, or discourages: devices may answer anything."""


def junit(checked: Checked) -> str:
    """A test case for each device and rule: failed by errors and warnings.

    Skipped is what follows from a cause that is told elsewhere, and what a silent device was not compared with.
    """
    by_case: dict[tuple[str, str], list[Finding]] = {}
    for one in checked.findings:
        by_case.setdefault((one.where.partition(" ")[0], one.id), []).append(one)
    devices = list(dict.fromkeys([*checked.devices, *(device for device, _ in by_case)]))
    suites = ET.Element("testsuites", name=checked.network.name)
    for device in devices:
        silent = device not in checked.answered
        cases = [
            _case(device, rule, by_case.get((device, rule), []), silent=silent and rule != SILENT.id)
            for rule in checked.rules
        ]
        suite = ET.SubElement(
            suites,
            "testsuite",
            name=device,
            tests=str(len(cases)),
            failures=str(sum(one.find("failure") is not None for one in cases)),
            errors="0",
            skipped=str(sum(one.find("skipped") is not None for one in cases)),
        )
        suite.extend(cases)
    for name in ("tests", "failures", "skipped"):
        suites.set(name, str(sum(int(one.get(name, "0")) for one in suites)))
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(device: str, rule: str, found: list[Finding], *, silent: bool) -> ET.Element:
    case = ET.Element("testcase", classname=device, name=rule)
    bad = [one for one in found if one.severity != "info"]
    if bad:
        failure = ET.SubElement(case, "failure", type=bad[0].severity, message=_clean(bad[0].what))
        failure.text = "\n".join(_clean(_text(one)) for one in bad)
    elif found:
        ET.SubElement(case, "skipped", message=_clean(f"{found[0].what}; {found[0].why}"))
    elif silent:
        ET.SubElement(case, "skipped", message="the device did not answer")
    return case


def _text(one: Finding) -> str:
    place = f" ({one.file}:{one.line})" if one.line else ""
    return f"{one.where}: {one.what}{place}\n    {one.why}\n    -> {one.fix}"


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
