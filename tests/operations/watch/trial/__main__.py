"""``make trial NAME=watch``: `railweave watch` beside the programs that operators have. Its figures go into docs/watch.md.

``python -m tests.operations.watch.trial`` (root). Ends with ``watch-trial: ok``.
"""

from __future__ import annotations

import subprocess
import sys

from railweave.writing import write_file
from tests.conftest import ROOT
from tests.live.lab.machine import needs_lab
from tests.operations.watch.trial import gnmi, otlp, programs, stack
from tests.operations.watch.trial.stack import WAYS, say

PAGE = ROOT / "docs" / "watch.md"
BEGIN, END = "<!-- watch-trial: begin -->", "<!-- watch-trial: end -->"


def table(figures: dict[str, float], leaves: int) -> list[str]:
    """The figures as they stand in the page."""
    rows = ["| | |", "|---|---|"]
    rows += [
        f"| told by {who} | {figures[who]:.1f} s after the port was shut, {figures[f'{who} ended']:.1f} s after it was opened |"
        for who in WAYS
    ]
    rows.append(
        f"| rules that Prometheus and vmalert evaluate, none of them wrong | {figures['rules']} over {figures['series']:,} series |"
    )
    rows.append(
        f"| killed with SIGKILL | lost {figures['lost_s']:.1f} s of samples; Prometheus told that nothing is watched after {figures['gone_s']:.0f} s |"
    )
    rows += otlp.rows(figures)
    return [*rows, f"| one gNMI target, read by `railweave watch` and by pyGNMI | {leaves} leaves, alike |"]


def main() -> int:
    """All parts. Gives the exit status."""
    why = (needs_lab.args[0] and needs_lab.kwargs["reason"]) or programs.missing() or otlp.missing()
    if why:
        say(f"watch-trial: cannot run here: {why}")
        return 1
    try:
        leaves = gnmi.run()["leaves"]
        say(f"gNMI: {leaves} leaves are alike for pyGNMI and for us")
        figures = stack.run() | otlp.run()
    except (AssertionError, subprocess.SubprocessError) as wrong:
        say(f"{wrong}\nwatch-trial: failed")
        return 1
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    write_file(PAGE, "\n".join([f"{before}{BEGIN}", *table(figures, leaves), f"{END}{rest.partition(END)[2]}"]))
    say("watch-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
