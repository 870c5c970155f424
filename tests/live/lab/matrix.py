"""Faults made in labs by an operator's tools, and what ``check``, ``drift``, ``watch``, ``fleet check`` and ``fleet mesh`` say of each.

``python -m tests.live.lab.matrix [SEED ...] [--kinds WORD] [--lab NAME]`` (root) makes 40 faults for each seed (1, 2, 3), and writes
the table of docs/check.md where no kind is named. The lab stays up: a fault is made, its devices settle, they are asked, it is undone.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.analysis.drift.drift import drift
from railweave.analysis.drift.running import captured_texts
from railweave.live.check.check import Criteria
from railweave.live.lab import hosts, life
from railweave.live.lab.capture import collect_lab
from railweave.live.lab.check import compared
from railweave.live.lab.frr import held_sessions
from railweave.model.findings import Finding, Severity
from railweave.model.state.capture import Capture, read_capture
from railweave.outputs.folder.sources import fields_of
from tests.conftest import EXAMPLES, example
from tests.live.lab.faults import KINDS, Bench, Fault
from tests.live.lab.machine import lab

LABS = {"h100-rlb": "rails=1,spines=2", "two-planes": "rails=8-9,spines=2", "multitenancy-lab": "rails=1-2"}
"""The labs, and the slices that a small machine runs."""
COUNT, SEEDS = 40, (1, 2, 3)
PAGE = Path(__file__).parents[3] / "docs" / "check.md"
BEGIN, END = "<!-- faults of labs: begin -->", "<!-- faults of labs: end -->"
LIMIT_S = 90
WATCH_S, WATCH_LIMIT_S = 5, 8.0
"""The interval of ``watch``, and how long it is waited for after the other verbs have answered."""
ROW = "row: "
"""What a line of the output begins with that ``--table`` reads."""


@dataclass(frozen=True)
class Said:
    """What was said of a fault: the findings of ``check`` that are no notes, and what the other verbs say first.

    - ``first``: the id of the first finding of ``check``, or else of ``fleet check``; empty without any.
    - ``named``: whether that is at a device of the fault, with its cause.
    - ``false``: how many findings of ``check`` are on devices that are right.
    """

    seed: int
    kind: str
    network: str
    fault: str
    first: str
    named: bool
    false: int
    findings: tuple[str, ...]
    drift: str
    fleet: str = ""
    mesh: str = ""
    watch: str = ""

    @property
    def found(self) -> bool:
        """Whether there is any finding."""
        return bool(self.first)


@dataclass(frozen=True)
class Answers:
    """The findings of ``check`` and ``fleet check``, and what ``drift``, ``fleet mesh`` and ``watch`` say first."""

    check: Sequence[Finding]
    fleet: Sequence[Finding]
    drift: str
    mesh: str
    watch: str


def said_of(seed: int, kind: str, network: str, fault: Fault, answers: Answers) -> Said:
    """Return what was said of a fault."""
    false = [finding for finding in answers.check if finding.where.partition(" ")[0] not in fault.at]
    texts = tuple(map(_told, answers.check[:6]))
    first = next(iter([*answers.check, *answers.fleet]), None)
    named = first is not None and fault.named(first)
    rule = "" if first is None else first.id
    fleet = "; ".join(map(_told, answers.fleet[:2]))
    by = (answers.drift, fleet, answers.mesh, answers.watch)
    return Said(seed, kind, network, fault.what, rule, named, len(false), texts, *by)


def _told(finding: Finding) -> str:
    return f"{finding.id} at {finding.where}: {finding.what}"


class Trial:
    """A lab that is asked as an operator asks it. ``before`` is a capture of it as designed."""

    def __init__(self, fabric: Path, place: Path, seed: int) -> None:
        self.fabric, self.place, self.seed = fabric, place, seed
        self.line = fields_of(fabric)
        self.before: Capture | None = None
        self.number = 0

    def asked(self) -> Capture:
        """A capture of what every device says now."""
        self.number += 1
        folder = self.place / f"capture-{self.number}"
        collect_lab(self.fabric, folder, tables=True)
        return read_capture(folder)

    def findings(self, capture: Capture) -> list[Finding]:
        """What ``check`` says of a capture, without notes."""
        criteria = Criteria(before=self.before, all_routes=True, allow_unseen=("routes",), line=self.line)
        with life.attach(self.fabric)[1] as running:
            result = compared(running.plan, capture, criteria)
        return [finding for finding in result.findings if finding.severity != "info"]

    def drift(self, capture: Capture) -> str:
        """What ``drift`` says first."""
        with life.attach(self.fabric)[1] as running:
            plan = running.plan
            result = drift(plan.network, captured_texts(plan.network, capture.folder), configs=plan.configs)
        return next(
            (f"{device.device} {line.strip()}" for device in result.devices for line in result.lines()[1:3]), ""
        )

    def fleet(self) -> list[Finding]:
        """What ``fleet check`` says of the lab's servers: failures and warnings."""
        groups = api.fleet_check(self.fabric, lab=True).findings()
        levels: dict[str, Severity] = {"failed": "error", "warning": "warning"}
        return [Finding(group.check, levels[group.verdict], group.where[0], group.seen, "", "") for group in groups]

    def mesh(self) -> str:
        """What ``fleet mesh`` says first."""
        result = api.fleet_mesh(self.fabric, lab=True)
        if result.good:
            return ""
        parts = [f"{common.outcome} at {', '.join(common.what[:2]) or 'several parts'}" for common in result.common]
        return f"{len(result.failed)} of {len(result.results)} probes; {'; '.join(parts[:2])}"

    @contextmanager
    def watched(self) -> Iterator[Callable[[float], str]]:
        """Run ``watch`` of the lab; gives a function that returns the first anomaly that began since a time."""
        program = "from railweave.cli import main; main()"
        words = [sys.executable, "-c", program, "watch", str(self.fabric), "--lab", "--listen", "none", "--json"]
        log = self.place / "watch.jsonl"
        with log.open("w") as out:
            watch = subprocess.Popen([*words, "--interval", str(WATCH_S)], stdout=out, stderr=subprocess.DEVNULL)
            try:
                yield lambda since: _anomaly(log, since)
            finally:
                watch.terminate()
                watch.wait()

    def whole(self) -> None:
        """Wait until nothing is found, and keep that as the capture before. Raises ``AssertionError`` with what stays."""
        until = time.monotonic() + LIMIT_S
        self.before = None
        while findings := self.findings(capture := self.asked()):
            assert time.monotonic() < until, [(finding.id, finding.where, finding.what) for finding in findings]
            with life.attach(self.fabric)[1] as running:
                held_sessions.release(running)
            shutil.rmtree(capture.folder)
            time.sleep(1)
        self.before = capture

    def heal(self, fault: Fault) -> None:
        """Wait until routers forward as designed, and servers have their addresses and tables."""
        with life.attach(self.fabric)[1] as running:  # afresh: interfaces may have been made again
            took, left = held_sessions.wait_and_release(running, running.control_plane.routes(), LIMIT_S, poll_s=0.2)
            assert took is not None, (fault.what, left[:4])
            assert hosts.wait_for_addresses(running, LIMIT_S), fault.what
            hosts.apply_tables(running)


def _anomaly(log: Path, since: float) -> str:
    """Return the first anomaly of a log of ``watch`` that began after a time, and is no note."""
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
    begun = [
        line for line in lines if line["change"] == "opened" and line["first"] >= since and line["severity"] != "info"
    ]
    return next((f"{line['id']} at {line['where']}: {line['what']}" for line in begun), "")


def try_one(trial: Trial, fault: Fault, anomaly: Callable[[float], str]) -> Answers | None:
    """Make a fault, ask, and undo it. None where this kernel cannot make it."""
    since = time.time()
    try:
        fault.begin()
    except AssertionError as error:
        print(f"not made: {str(error)[:300]}", flush=True)
        return None
    try:
        time.sleep(fault.settle_s)
        capture = trial.asked()
        fleet, mesh = trial.fleet(), trial.mesh()
        until = time.monotonic() + WATCH_LIMIT_S
        while not (watch := anomaly(since)) and time.monotonic() < until:
            time.sleep(0.5)
    finally:
        fault.end()
    answers = Answers(trial.findings(capture), fleet, trial.drift(capture), mesh, watch)
    shutil.rmtree(capture.folder)
    trial.heal(fault)
    return answers


@contextmanager
def bench_of(network: str, dice: random.Random, seed: int) -> Iterator[tuple[Trial, Bench, Callable[[float], str]]]:
    """A lab that is up, and gone afterwards."""
    with TemporaryDirectory() as place:
        fabric = Path(place) / f"{network}.yaml"
        shutil.copy(EXAMPLES / fabric.name, fabric)  # for its lines
        with lab(fabric, example(network), LABS[network]) as (_, running):
            trial = Trial(fabric, Path(place), seed)
            trial.whole()
            with trial.watched() as anomaly:
                yield trial, Bench(running, dice), anomaly


def draws(seed: int, kinds: Sequence[str], count: int) -> list[tuple[str, str]]:
    """Kinds in an order that is drawn, each with the network that it is tried in first."""
    dice = random.Random(seed)  # noqa: S311 - repeatable
    order = list(kinds)
    dice.shuffle(order)
    names = list(LABS)
    dice.shuffle(names)
    return [(kind, names[place % len(names)]) for place, kind in enumerate(order * (1 + count // len(order)))]


def run(seed: int, kinds: Sequence[str], count: int, only: str = "") -> list[Said]:
    """Make so many faults of kinds that are drawn. A kind that one lab has nothing for goes to the next."""
    rows: list[Said] = []
    left = draws(seed, kinds, count)
    share = -(-count // len(LABS)) if not only else count
    for network in [only] if only else list(dict.fromkeys(network for _, network in left)):
        dice = random.Random(f"{seed} {network}")  # noqa: S311 - repeatable
        until = min(count, len(rows) + share)
        while len(rows) < until and any(only or first == network for _, first in left):
            with bench_of(network, dice, seed) as (trial, bench, anomaly):
                try:
                    _in_lab(trial, bench, anomaly, network, rows, left, until, every=bool(only))
                except AssertionError as error:
                    print(f"NOT UNDONE, so the lab is made again: {str(error)[:400]}", flush=True)
    return rows


def _in_lab(
    trial: Trial,
    bench: Bench,
    anomaly: Callable[[float], str],
    network: str,
    rows: list[Said],
    left: list[tuple[str, str]],
    until: int,
    *,
    every: bool,
) -> None:
    """Make the faults that are for this network, until there are ``until`` rows."""
    for entry in list(left):
        kind, first = entry
        if len(rows) >= until:
            return
        if first != network and not every:
            continue
        left.remove(entry)
        fault = next((drawn for _ in range(8) if (drawn := KINDS[kind](bench)) is not None), None)
        if fault is None:
            names = list(LABS)
            if not every:
                left.append((kind, names[(names.index(network) + 1) % len(names)]))
            continue
        answers = try_one(trial, fault, anomaly)
        if answers is None:
            continue
        rows.append(said_of(trial.seed, kind, network, fault, answers))
        print(line(rows[-1], len(rows)), flush=True)
        print(f"{ROW}{json.dumps(asdict(rows[-1]))}", flush=True)
        trial.whole()


def line(said: Said, number: int) -> str:
    """What was said of a fault, and what is wrong with that."""
    wrong = "" if said.named else "  <-- NOT NAMED" if said.found else "  <-- NOT FOUND"
    false = f"  <-- {said.false} FALSE" if said.false else ""
    first, *more = [text[:300] for text in said.findings] or ["nothing"]
    also = "".join(f"\n      also {text}" for text in more)
    others = "".join(f"\n   {verb}: {getattr(said, verb)[:160]}" for verb in ("drift", "fleet", "mesh", "watch"))
    return f"{number} {said.network} {said.kind}, {said.fault}\n   {first}{wrong}{false}{also}{others}"


def table(rows: Sequence[Said]) -> str:
    """The table of docs/check.md."""
    lines = [
        "| seed | faults | found by `check` or `fleet check` | named first, with device and cause | findings on devices that are right | found by `drift` | `fleet check` | `fleet mesh` | `watch` |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for seed in sorted({said.seed for said in rows}):
        mine = [said for said in rows if said.seed == seed]
        counts = (len(mine), sum(said.found for said in mine), sum(said.named for said in mine))
        others = [sum(bool(getattr(said, verb)) for said in mine) for verb in ("drift", "fleet", "mesh", "watch")]
        false = sum(said.false for said in mine)
        lines.append(f"| {seed} | {' | '.join(map(str, [*counts, false, *others]))} |")
    lines += ["", "| kind | drawn | found | named | first findings |", "|---|---|---|---|---|"]
    for kind in KINDS:
        if mine := [said for said in rows if said.kind == kind]:
            rules = ", ".join(dict.fromkeys(f"`{said.first}`" if said.found else "nothing" for said in mine))
            counts = (len(mine), sum(said.found for said in mine), sum(said.named for said in mine))
            lines.append(f"| {kind} | {' | '.join(map(str, counts))} | {rules} |")
    return "\n".join(lines)


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--kinds", default="", help="words of which one is in the names of kinds, with | between them")
    parser.add_argument("--lab", default="")
    parser.add_argument("--table", nargs="*", type=Path, default=[], help="what earlier runs printed: the table of it")
    parser.add_argument("--count", type=int, default=COUNT)
    given = parser.parse_args(words)
    kinds = [name for name in KINDS if any(word in name for word in given.kinds.split("|"))]
    count = given.count if not given.kinds else len(kinds)
    rows = [
        Said(**json.loads(text.removeprefix(ROW)))
        for file in given.table
        for text in file.read_text(encoding="utf-8").splitlines()
        if text.startswith(ROW)
    ] or [said for seed in given.seeds for said in run(seed, kinds, count, given.lab)]
    text = table(rows)
    print(text)
    if not given.kinds and not given.lab:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
