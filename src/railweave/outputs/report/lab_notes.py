"""Notes about the lab's ``frr.conf``: of no concern to switches that run another system, so one row says them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.outputs.rendering.network import EMULATION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network

CANNOT = "frr.conf cannot express "

LAB_NOTES = Rule(
    id="frr-*",
    severity="info",
    applies="report",
    says="what `frr.conf` cannot express, in one row: all `frr-no-KEY` and `frr-peer-as` of a network without FRR switches",
    why="the switches of this design do not load frr.conf; findings.json has each note",
)


def lab_notes_joined(network: Network, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with the notes about ``frr.conf`` as one where no switch runs FRR."""
    notes = [one for one in findings if one.severity == "info" and one.id.startswith(f"{EMULATION}-")]
    if len(notes) < 2 or any(switch.nos == EMULATION for switch in network.switches):
        return list(findings)
    what = "; ".join(dict.fromkeys(one.what.removeprefix(CANNOT) for one in notes))
    places = ", ".join(dict.fromkeys(one.where for one in notes))
    joined = LAB_NOTES.finding(places, f"lab file only: {CANNOT}{what}")
    rest = [one for one in findings if one not in notes]
    return [*rest, joined]
