"""An upgrade that is killed at a random call of a random device, and ended by ``resume``: ``python -m tests.operations.deploy.upgrade_kills COUNT [SEED]``.

Always a known state: the journal says how far it came, every switch runs the old or the new release, and ``resume`` ends with the new one
everywhere and nothing drained; ``resume --back`` with nothing drained, and no switch begun after those that were.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from railweave.api.deploying import deploy_history, deploy_plan, deploy_resume, deploy_status, deploy_upgrade
from railweave.operations.deploy.traffic import IdleLimit
from railweave.operations.deploy.upgrading import UpgradeTimeouts
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import Changing, changing, runs
from tests.operations.deploy.restarting import NEW, OLD, Fleet, of_junos, releases
from tests.operations.deploy.test_rollout import SMALL

APPLY = """
import sys
from railweave.api.deploying import deploy_apply
from railweave.operations.deploy.traffic import IdleLimit
from railweave.operations.deploy.upgrading import UpgradeTimeouts
deploy_apply(sys.argv[1], access=sys.argv[2], settle=0, idle_limit=IdleLimit(every_s=0, within_s=0), upgrade_timeouts=UpgradeTimeouts(restart_s=20, settle_s=0, every_s=0.05))
"""
SPINES = ("spine1", "spine2")
CALLS = 1520
"""About as many as a whole upgrade of both has."""


def counted(network: Changing, fleet: Fleet, pid: int, left: int) -> list[str]:
    """Kill a process at a call; what that was is in the list then."""
    at: list[str] = []

    def count(device: str, call: str) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            at.append(f"{call} on {device}")
            os.kill(pid, signal.SIGKILL)

    for name, box in network.boxes.items():
        box.before = lambda call, name=name: count(name, call)  # type: ignore[misc]
        fleet[name].before = lambda call, name=name: count(name, call)  # type: ignore[misc]
    return at


def killed(fabric: Path, seed: int) -> str:
    """Upgrade two spines, kill it, end it. Where it was killed, for a log."""
    dice = random.Random(seed)  # noqa: S311 - repeatable
    back = dice.random() < 0.3
    with changing(fabric, runs(fabric)) as network:
        fleet, text = of_junos(network), fabric.read_text()
        before = {name: sorted(box.running) for name, box in network.boxes.items()}
        plan = deploy_upgrade(
            fabric, NEW, image="http://images.example/new.img", only=SPINES, access=network.access, force=True
        )
        path = fabric.with_name("plan.json")
        write_file(path, json.dumps(plan.to_json()), private=True)
        child = subprocess.Popen([sys.executable, "-c", APPLY, str(path), str(network.access)])
        at = counted(network, fleet, child.pid, dice.randrange(1, CALLS))
        child.wait(300)
        for name, box in network.boxes.items():
            box.before = fleet[name].before = lambda _: None
        where = at[0] if at else "the end"
        history = deploy_history(fabric)
        if not history:
            assert set(releases(fleet).values()) == {OLD}, where
            return f"{where} (nothing had begun)"
        if not any(one.state == "running" for one in history):
            assert all(fleet[name].version == NEW for name in SPINES), where
            return f"{where} (it was done)"
        newest, _ = deploy_status(fabric, access=network.access)
        assert newest is not None, where
        assert newest.state == "running", where
        begun = {name for name in SPINES if fleet[name].images}
        timeouts = UpgradeTimeouts(restart_s=20, settle_s=0, every_s=0.05)
        ended = deploy_resume(
            fabric,
            access=network.access,
            settle=0,
            back=back,
            idle_limit=IdleLimit(every_s=0, within_s=0),
            upgrade_timeouts=timeouts,
        )
        assert ended.state == ("stopped" if back else "done"), where
        assert all(one.state != "running" for one in deploy_history(fabric)), where
        assert fabric.read_text() == text, (where, fabric.read_text())
        assert {name: sorted(box.running) for name, box in network.boxes.items()} == before, where
        assert not any(box.waits for box in network.boxes.values()), where
        assert not deploy_plan(fabric, live=True, access=network.access).changed, where
        new = {name for name in SPINES if fleet[name].version == NEW}
        assert new == set(SPINES) if not back else begun <= new, (where, releases(fleet))
        return f"{where}, {'ended' if back else 'resumed'}"


def main() -> None:
    """Kill so many, one after another."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    os.environ["READER"] = PASSWORD
    for number in range(seed, seed + count):
        with tempfile.TemporaryDirectory() as folder:
            fabric = Path(folder) / "fabric.yaml"
            fabric.write_text(SMALL)
            print(f"{number}: killed at {killed(fabric, number)}", flush=True)
    print(f"{count} kills: always a known state")


if __name__ == "__main__":
    main()
