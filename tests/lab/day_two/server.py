"""A server drained in a lab: apply waits until its jobs have gone, and marks it; packets of others and, afterwards, of all arrive."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_apply
from railweave.api.draining import deploy_drain, deploy_undrain
from railweave.lab import life, logins
from railweave.lab.faults.prober import Prober
from railweave.lab.faults.traffic import QueuePair
from tests.conftest import EXAMPLES, frr_root
from tests.lab.day_two import drain

SERVER = "H100-01"
GOES_S = 15.0
"""After so many seconds its jobs have gone elsewhere."""
HEAD = [
    "| drained | ports | its flows end after | done after | packets of others lost | back in use | packets of all lost |",
    "|---|---|---|---|---|---|---|",
]


def split(pairs: list[QueuePair]) -> tuple[list[QueuePair], list[QueuePair]]:
    """Those of the server with one other, and those of the two that are left: nobody both sends and is sent to in both."""

    def between(*servers: str) -> list[QueuePair]:
        return [one for one in pairs if {one.src.partition(":")[0], one.dst.partition(":")[0]} == set(servers)]

    return between(SERVER, "H100-03"), between("H100-02", "H100-04")


def drained(fabric: Path, access: Path) -> tuple[str, list[str]]:
    """Drain and undrain the server: its row, and what was wrong."""
    text = fabric.read_text()
    plan = deploy_drain(fabric, [SERVER], lab=True, access=access)
    assert plan.drain is not None
    if wrong := list(plan.refused):
        return "", wrong
    said: list[str] = []
    own, others = split(drain.crossing(fabric, frozenset())[0])
    with life.attach(fabric)[1] as lab, Prober(lab, others) as rest, Prober(lab, own) as job:
        began = time.monotonic()
        leaves = threading.Timer(GOES_S, job.stop)
        leaves.start()
        deploy_apply(drain.saved(plan, fabric), lab=True, access=access, quiet=drain.QUIET, progress=said.append)
        took = time.monotonic() - began
        leaves.join()
        kept = rest.stop()
    for line in said:
        drain.say(f"  {line}")
    wrong += [] if took > GOES_S else [f"it was done after {took:.0f} s, while its flows went on"]
    wrong += [] if any("waiting for traffic to end" in line for line in said) else ["nothing was waited for"]
    wrong += [] if f"{SERVER}: drained" in fabric.read_text() else ["the fabric file does not say so"]
    wrong += drain.stands(fabric, access)
    back = drain.carried_out(fabric, deploy_undrain(fabric, [SERVER], lab=True, access=access), access, frozenset())
    wrong += drain.stands(fabric, access)
    wrong += [] if fabric.read_text() == text else ["the fabric file is not as it was"]
    lost = int((~kept.arrived).sum())
    wrong += [f"{count} packets lost" for count in (lost, back.lost) if count]
    ports = sum(map(len, plan.drain.ports.values()))
    row = (
        f"| {SERVER} | {ports} | {GOES_S:.0f} s | {took:.0f} s | {lost} of {kept.arrived.size:,} "
        f"| {back.seconds:.0f} s | {back.lost} of {back.sent:,} |"
    )
    return row, wrong


def tried() -> tuple[list[str], list[str]]:
    """The table, and what was wrong."""
    with TemporaryDirectory() as folder:
        fabric = Path(folder) / "fabric.yaml"
        fabric.write_text(
            (EXAMPLES / "h100-rlb.yaml")
            .read_text()
            .replace("device: qfx5240-64od", "device: qfx5240-64od\n      nos: frr")
        )
        try:
            life.up(fabric, api.load(fabric), overlay=drain.TIMERS, frr_root=frr_root())
            with life.attach(fabric)[1] as lab:
                access = logins.listen(lab)
            row, wrong = drained(fabric, access)
        finally:
            life.down(fabric)
    return [*HEAD, row], wrong
