"""Switches, links and servers drained in a lab while packets of queue pairs flow, and brought back: none may be lost."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_apply, deploy_drain, deploy_plan, deploy_undrain
from railweave.live.lab import assertions, fib, life, logins
from railweave.live.lab.faults.measure import Prober
from railweave.live.lab.faults.traffic import QueuePair, queue_pairs, spread
from railweave.live.lab.overlay import Overlay
from railweave.operations.deploy.drain import named
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.traffic import IdleLimit
from railweave.writing import write_file
from tests.conftest import EXAMPLES, frr_root

TIMERS = Overlay(bfd_interval_ms=300)
"""BFD so that a busy machine ends no session that is well."""
FLOWS = 256
PATIENCE_S = 90.0
QUIET = IdleLimit(below_mbps=0.05, every_s=4.0, within_s=60.0)
"""Packets of this trial are small: a port with flows carries ten times that."""
HEAD = [
    "| drained | what is left | switches changed | time | packets lost, there | packets lost, back | flows that crossed it before | after |",
    "|---|---|---|---|---|---|---|---|",
]


@dataclass(frozen=True)
class Way:
    """What came of one apply: seconds, packets lost and sent, and how many flows cross what is drained before and after, by the routes."""

    seconds: float
    lost: int
    sent: int
    before: int
    after: int


def say(text: str) -> None:
    """A line on what is done."""
    print(text, flush=True)


def saved(plan: Plan, fabric: Path) -> Path:
    """A plan in its file."""
    path = fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    return path


def crossing(fabric: Path, links: frozenset[str]) -> tuple[list[QueuePair], int]:
    """Queue pairs between servers of one rail, and how many of them cross some links, by the routes of what routers run now."""
    with life.attach(fabric)[1] as lab:
        every, _ = queue_pairs(lab, lab.control_plane.routes())
        rails = {f"{server.name}:{nic.name}": nic.rail for server in lab.plan.network.servers for nic in server.nics}
    pairs = spread([one for one in every if rails[one.src] == rails[one.dst]], FLOWS)
    return pairs, sum(bool(links.intersection(one.links())) for one in pairs)


def carried_out(fabric: Path, plan: Plan, access: Path, links: frozenset[str]) -> Way:
    """Apply a plan while packets flow."""
    pairs, before = crossing(fabric, links)
    with life.attach(fabric)[1] as lab, Prober(lab, pairs) as prober:
        began = time.monotonic()
        deploy_apply(
            saved(plan, fabric), lab=True, access=access, idle_limit=QUIET, progress=lambda text: say(f"  {text}")
        )
        seconds = time.monotonic() - began
        probed = prober.stop()
    _, after = crossing(fabric, links)
    return Way(seconds, int((~probed.arrived).sum()), probed.arrived.size, before, after)


def stands(fabric: Path, access: Path) -> list[str]:
    """What is not as the fabric file has it: statements, forwarding tables, assertions, findings."""
    wrong = [] if not (plan := deploy_plan(fabric, lab=True, access=access)).changed else plan.lines()[:5]
    with life.attach(fabric)[1] as lab:
        took, left = fib.wait(lab, lab.control_plane.routes(), PATIENCE_S, poll_s=1.0)
        wrong += [] if took is not None else [str(one) for one in left[:5]]
        for one in assertions.run(lab, retry_s=PATIENCE_S):
            wrong += [f"{one.id}: {line}" for line in one.failures[:3]] if not one.passed else []
    return wrong + [str(one) for one in api.check(fabric, lab=True).findings if one.severity != "info"][:5]


def drained(fabric: Path, access: Path, what: str) -> tuple[str, list[str]]:
    """Drain and undrain one thing: its row, and what was wrong."""
    text = fabric.read_text()
    plan = deploy_drain(fabric, [what], lab=True, access=access)
    if plan.refused:
        say(f"{what}: refused: {plan.refused[0]}")
        plan = deploy_drain(fabric, [what], lab=True, access=access, force=True)
    assert plan.drain is not None
    wrong = list(plan.refused)
    if wrong:
        return "", wrong
    for line in plan.lines():
        say(f"  {line}")
    links = named(api.load(fabric), what).links
    there = carried_out(fabric, plan, access, links)
    say(f"{what}: {there}")
    wrong += stands(fabric, access)
    for name in plan.drain.names:
        wrong += [] if f"{name}: drained" in fabric.read_text() else [f"the fabric file does not say {name}: drained"]
    if there.after:
        wrong.append(f"{there.after} flows still cross {what}")
    back = carried_out(fabric, deploy_undrain(fabric, [what], lab=True, access=access), access, links)
    say(f"{what}, back: {back}")
    wrong += stands(fabric, access)
    wrong += [] if fabric.read_text() == text else ["the fabric file is not as it was"]
    wrong += [f"{way.lost} packets lost" for way in (there, back) if way.lost]
    wrong += [] if there.before == back.after > 0 else [f"{there.before} flows crossed it before, {back.after} do now"]
    left = plan.drain.lines[0] if plan.drain.lines else ""
    row = (
        f"| {what} | {left} | {len(plan.changed)} | {there.seconds:.0f} s, back {back.seconds:.0f} s | {there.lost} of {there.sent:,} "
        f"| {back.lost} of {back.sent:,} | {there.before} | {there.after} |"
    )
    return row, [f"{what}: {one}" for one in wrong]


def tried(
    text: str | None = None, things: tuple[str, ...] = ("spine4", "stripe1-leaf1--spine1", "blue")
) -> tuple[list[str], list[str]]:
    """The table, and what was wrong."""
    text = text or (EXAMPLES / "h100-rlb.yaml").read_text().replace(
        "device: qfx5240-64od", "device: qfx5240-64od\n      nos: frr"
    )
    rows, wrong = list[str](), list[str]()
    with TemporaryDirectory() as folder:
        fabric = Path(folder) / "fabric.yaml"
        fabric.write_text(text)
        try:
            life.up(fabric, api.load(fabric), overlay=TIMERS, frr_root=frr_root())
            with life.attach(fabric)[1] as lab:
                access = logins.listen(lab)
            for what in things:
                row, found = drained(fabric, access, what)
                rows.append(row)
                wrong += found
                if found:
                    break
        finally:
            life.down(fabric)
    return [*HEAD, *rows], wrong
