"""The result of checking a running network, as JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from railweave.junit import document, suite, suites
from railweave.live.check.identity import SILENT

if TYPE_CHECKING:
    from railweave.live.check.check import Checked
    from railweave.model.findings import Finding


def junit(checked: Checked) -> str:
    """A test case for each device and rule: failed by errors and warnings.

    Skipped is what follows from a cause that is told elsewhere, and what a silent device was not compared with.
    """
    by_case: dict[tuple[str, str], list[Finding]] = {}
    for one in checked.findings:
        by_case.setdefault((one.where.partition(" ")[0], one.id), []).append(one)
    devices = list(dict.fromkeys([*checked.devices, *(device for device, _ in by_case)]))
    return document(
        suites(
            checked.network.name,
            (
                suite(
                    device,
                    (
                        _case(
                            device,
                            rule,
                            by_case.get((device, rule), []),
                            silent=device not in checked.answered and rule != SILENT.id,
                        )
                        for rule in checked.rules
                    ),
                )
                for device in devices
            ),
        )
    )


def _case(device: str, rule: str, found: list[Finding], *, silent: bool) -> ET.Element:
    case = ET.Element("testcase", classname=device, name=rule)
    bad = [one for one in found if one.severity != "info"]
    if bad:
        failure = ET.SubElement(case, "failure", type=bad[0].severity, message=bad[0].what)
        failure.text = "\n".join(_text(one) for one in bad)
    elif found:
        ET.SubElement(case, "skipped", message=f"{found[0].what}; {found[0].why}")
    elif silent:
        ET.SubElement(case, "skipped", message="the device did not answer")
    return case


def _text(one: Finding) -> str:
    place = f" ({one.file}:{one.line})" if one.line else ""
    return f"{one.where}: {one.what}{place}\n    {one.why}\n    -> {one.fix}"
