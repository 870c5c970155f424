"""The proof that a lab behaves as designed: the outcomes of its assertions, and the results of taking down its links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from railweave.junit import document, suite
from railweave.live.lab import assertions, life
from railweave.live.lab.faults.sweep import LinkOutage, sweep
from railweave.live.lab.state import locked
from railweave.pages.table import Cell, Column, Table
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from railweave.live.lab.assertions import Outcome
    from railweave.live.lab.state import Record


@dataclass(frozen=True)
class Proof:
    """The outcomes of a lab's assertions and, if requested, the result of taking down each link (``swept``).

    ``record`` identifies the lab and its timers.
    """

    record: Record
    outcomes: Sequence[Outcome]
    swept: Sequence[LinkOutage] = ()

    @property
    def good(self) -> bool:
        """True if no assertion failed, and routers converged after each link was taken down."""
        return all(result.passed for result in (*self.outcomes, *self.swept))

    @property
    def table(self) -> Table:
        """The table of assertions, one row each."""
        heads = (
            Column("verdict"),
            Column("assertion", key="id"),
            Column("took", "number", "seconds"),
            Column("evidence"),
        )
        return Table(
            heads,
            [
                (
                    "failed" if not outcome.passed else "passed" if outcome.applies else "none",
                    outcome.id,
                    Cell(outcome.seconds, f"{outcome.seconds:.1f} s"),
                    outcome.evidence,
                )
                for outcome in self.outcomes
            ],
        )

    def to_json(self) -> dict[str, Any]:
        """Return the results as the JSON object that `railweave lab test --json` prints."""
        return {
            **self.record.heading(),
            "good": self.good,
            "assertions": [outcome.to_json() for outcome in self.outcomes],
            "sweep": [result.to_json() for result in self.swept],
        }

    def to_junit(self) -> str:
        """Return JUnit XML with one test case for each assertion. The evidence is the output of the case."""
        name = f"railweave lab {self.record.network}"
        top = suite(name, (_case(name, outcome) for outcome in self.outcomes))
        top.set("time", f"{sum(outcome.seconds for outcome in self.outcomes):.2f}")
        return document(top)


def prove(
    fabric: Path,
    *,
    only: Sequence[str] = (),
    each_link: bool = False,
    retry_s: float = 15,
    progress: Callable[[str], None] = silent,
) -> Proof:
    """Check the assertions of a fabric file's running lab, or only those in ``only``.

    If ``each_link`` is True, take down each link, too. A failed assertion is tried again for ``retry_s`` seconds. Raises
    ``InputError`` for an unknown assertion, and ``LabError`` if the lab is not running or the user is not root.
    """
    life.need_root("lab test", fabric)
    assertions.check_known(only)
    record, lab = life.attach(fabric)
    with lab, locked(record.lab, "test"):
        outcomes = assertions.run(lab, only=only, retry_s=retry_s, progress=progress)
        return Proof(record, outcomes, sweep(lab, progress) if each_link else [])


def _case(name: str, outcome: Outcome) -> ET.Element:
    case = ET.Element("testcase", classname=name, name=outcome.id, time=f"{outcome.seconds:.2f}")
    if not outcome.passed:
        message = f"{outcome.failed} of {outcome.checked} fail: {outcome.title}"
        ET.SubElement(case, "failure", message=message).text = "\n".join(outcome.failures)
    elif not outcome.applies:
        ET.SubElement(case, "skipped", message="the design has nothing of the kind")
    ET.SubElement(case, "system-out").text = outcome.evidence
    return case
