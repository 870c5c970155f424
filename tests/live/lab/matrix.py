"""How many faults ``railweave check --lab`` finds, drawn by a seeded die in a small lab.

``python -m tests.live.lab.matrix [FAULTS [SEED]]`` (root) makes so many faults one after another (64), and writes the table of
docs/check.md. A fault is found where there are findings that are no notes, and named right where the first of them is at the
device and the port of the fault. The network forwards as designed before each, and is without findings before every fourth.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave.live.check.check import Criteria
from railweave.live.lab import hosts, life
from railweave.live.lab.check import check
from railweave.live.lab.frr import held_sessions
from railweave.live.lab.running import Running
from railweave.model.findings import Finding
from tests.conftest import EXAMPLES, example
from tests.live.lab.drawn import KINDS, Drawn
from tests.live.lab.machine import lab

NETWORK, PART = "h100-rlb", "rails=1,spines=2"
PAGE = Path(__file__).parents[3] / "docs" / "check.md"
BEGIN, END = "<!-- faults of the lab: begin -->", "<!-- faults of the lab: end -->"
LIMIT_S = 90
CLEAN_EVERY = 4
"""After so many faults the network is checked to be without findings, before the next."""


@dataclass
class Row:
    """What came of the faults of one kind."""

    drawn: int = 0
    found: int = 0
    named: int = 0
    rules: Counter[str] = field(default_factory=Counter)


def seen(fabric: Path) -> list[Finding]:
    """Findings that are no notes."""
    return [one for one in check(fabric, Criteria(all_routes=True)).findings if one.severity != "info"]


def names(finding: Finding, drawn: Drawn) -> bool:
    """Whether a finding is at the device and the port of a fault."""
    device, _, ports = finding.where.partition(" ")
    return any(device == where and (not port or port in ports.split(" and ")) for where, port in drawn.at)


def try_one(fabric: Path, running: Running, name: str, dice: random.Random) -> tuple[Drawn, list[Finding]]:
    """Make a fault, look, and undo it; routers forward as designed afterwards, and servers have their addresses and tables."""
    drawn = KINDS[name](dice, running)
    drawn.begin()
    try:
        time.sleep(drawn.settle_s)
        found = seen(fabric)
    finally:
        drawn.end()
    with life.attach(fabric)[1] as again:  # afresh: interfaces may have been made anew
        took, left = held_sessions.wait_and_release(again, again.control_plane.routes(), LIMIT_S, poll_s=0.2)
        assert took is not None, (name, drawn.what, left[:4])
        assert hosts.wait_for_addresses(again, LIMIT_S), (name, drawn.what)
        hosts.apply_tables(again)
    return drawn, found


def whole(fabric: Path) -> None:
    """Wait until nothing is found. Raises ``AssertionError`` with what stays."""
    until = time.monotonic() + LIMIT_S
    while found := seen(fabric):
        assert time.monotonic() < until, [(one.id, one.where, one.what) for one in found]
        with life.attach(fabric)[1] as running:
            held_sessions.release(running)
        time.sleep(1)


def run(count: int, seed: int, kinds: Sequence[str] = tuple(KINDS)) -> dict[str, Row]:
    """Draw faults of every kind in turn until there are so many."""
    dice, rows = random.Random(seed), {name: Row() for name in kinds}  # noqa: S311 - repeatable
    with TemporaryDirectory() as place:
        fabric = Path(place) / "slice.yaml"
        shutil.copy(EXAMPLES / f"{NETWORK}.yaml", fabric)
        with lab(fabric, example(NETWORK), PART) as (_, _running):
            for turn in range(count):
                if turn % CLEAN_EVERY == 0:
                    whole(fabric)
                name = kinds[turn % len(kinds)]
                with life.attach(fabric)[1] as running:
                    drawn, found = try_one(fabric, running, name, dice)
                row, right = rows[name], bool(found) and names(found[0], drawn)
                row.drawn += 1
                row.found += bool(found)
                row.named += right
                row.rules[found[0].id if found else "nothing"] += 1
                told = f"{found[0].id} at {found[0].where}" if found else "nothing"
                print(f"{turn + 1} {name}, {drawn.what}: {told}{'' if right else '  <-- not named right'}", flush=True)
    return rows


def table(rows: dict[str, Row], seed: int) -> str:
    """The table of docs/check.md."""
    lines = [
        f"{sum(one.drawn for one in rows.values())} faults, seed {seed}, on `{NETWORK}`, slice `{PART}`:",
        "",
        "| fault | drawn | found | named right | first findings |",
        "|---|---|---|---|---|",
    ]
    for name, one in rows.items():
        rules = ", ".join(f"`{rule}`" if rule != "nothing" else rule for rule, _ in one.rules.most_common())
        lines.append(f"| {name} | {one.drawn} | {one.found} | {one.named} | {rules} |")
    drawn, found, named = (sum(getattr(one, word) for one in rows.values()) for word in ("drawn", "found", "named"))
    lines.append(f"| **all** | {drawn} | {found} ({found / drawn:.1%}) | {named} ({named / drawn:.1%}) | |")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    count, seed = (int(words[0]) if words else 64), (int(words[1]) if len(words) > 1 else 1)
    text = table(run(count, seed), seed)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
