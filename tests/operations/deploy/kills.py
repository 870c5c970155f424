"""An apply that is killed at a random call of a random device, and ended by ``resume``: ``python -m tests.operations.deploy.kills COUNT [SEED]``."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from railweave.api.deploying import (
    deploy_apply,
    deploy_history,
    deploy_plan,
    deploy_resume,
    deploy_rollback,
    deploy_status,
)
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import Changing, changing, runs

CHANGES = {
    "prefixes": ("fc00::/16", "fd00::/16"),
    "AS numbers": ("    colors:", "    pools: {leaf_asn: 4200300001-4200300099}\n    colors:"),
    "DSCPs": ("    colors:", "    qos: {classes: {no-loss: {dscp: [28]}}}\n    colors:"),
    "BFD": ("    colors:", "    underlay: {bfd: {minimum_interval: 700ms}}\n    colors:"),
    "MTU": ("    colors:", "    mtu: {fabric: 9100}\n    colors:"),
    "path colors": ("name: blue", "name: red"),
}
"""What the switches run otherwise before an apply: a text of the fabric file, and what stands there instead."""
APPLY = """
import sys
from railweave.api.deploying import deploy_apply
deploy_apply(sys.argv[1], access=sys.argv[2], settle=0)
"""


RESUME = """
import sys
from railweave.api.deploying import deploy_resume
deploy_resume(sys.argv[1], access=sys.argv[2], settle=0)
"""


def killed(fabric: Path, seed: int, change: str = "prefixes", *, back: bool = False) -> str:
    """Kill an apply, then its resume, resume it again, and hold what devices run against design and journal.

    ``back``: apply the change first, and kill the rollback of it. Where it was killed, for a log.
    """
    dice = random.Random(seed)  # noqa: S311 - repeatable
    wanted = {name: sorted(lines) for name, lines in runs(fabric).items()}
    start = fabric.with_name("start.yaml")
    start.write_text(fabric.read_text().replace(*CHANGES[change]))
    with changing(fabric, runs(start)) as network:
        before = {name: sorted(box.running) for name, box in network.boxes.items()}
        path = fabric.with_name("plan.json")
        plan = deploy_plan(fabric, live=True, access=network.access, allow_cut=["backend"])
        write_file(path, json.dumps(plan.to_json()), private=True)
        if back:
            deploy_apply(path, access=network.access, settle=0)
            write_file(path, json.dumps(deploy_rollback(fabric, 1, access=network.access).to_json()), private=True)
            before, wanted = wanted, before
        where = f"{change}: {kill(path, network, dice)}"
        if deploy_history(fabric)[:1] and deploy_history(fabric)[0].state == "running":
            where += f", then {kill(fabric, network, dice, RESUME)}"
        if (history := deploy_history(fabric)) and history[0].state == "running":
            _, truths = deploy_status(fabric, access=network.access)
            for one in truths:
                now, box = sorted(network.boxes[one.device].running), network.boxes[one.device]
                right = {
                    "before": now == before[one.device] and not box.waits,
                    "waiting": now == wanted[one.device] and box.waits,
                    "after": now == wanted[one.device] and not box.waits,
                }
                assert right.get(one.state, False), (where, one)
            assert deploy_resume(fabric, access=network.access, settle=0).state == "done", where
            now = {name: sorted(box.running) for name, box in network.boxes.items()}
            assert now == wanted, where
            assert not any(box.waits for box in network.boxes.values()), where
            _, truths = deploy_status(fabric, access=network.access)
            assert {one.state for one in truths} == {"after"}, where
            return where
        now = {name: sorted(box.running) for name, box in network.boxes.items()}
        assert now in (before, wanted), where
        return f"{where} (nothing to resume)"


def kill(plan: Path, network: Changing, dice: random.Random, apply: str = APPLY, calls: int = 110) -> str:
    """Apply a plan in a process of its own, by a program, and kill it at a random one of so many calls."""
    left, at = dice.randrange(1, calls), ""
    child = subprocess.Popen([sys.executable, "-c", apply, str(plan), str(network.access)])

    def count(device: str, call: str) -> None:
        nonlocal left, at
        left -= 1
        if left == 0:
            at = f"{call} on {device}"
            os.kill(child.pid, signal.SIGKILL)

    for name, box in network.boxes.items():
        box.before = lambda call, name=name: count(name, call)  # type: ignore[misc]
    child.wait(120)
    for box in network.boxes.values():
        box.before = lambda _: None
    return at or "the end"


def main() -> None:
    """Kill so many applies, one after another."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    os.environ["READER"] = PASSWORD
    from tests.operations.deploy.test_rollout import SMALL

    for number in range(seed, seed + count):
        with tempfile.TemporaryDirectory() as folder:
            fabric = Path(folder) / "fabric.yaml"
            fabric.write_text(SMALL)
            change = list(CHANGES)[number % len(CHANGES)]
            where = killed(fabric, number, change, back=bool(number // len(CHANGES) % 2))
            print(f"{number}: killed at {where}", flush=True)
    print(f"{count} kills: always a known state")


if __name__ == "__main__":
    main()
