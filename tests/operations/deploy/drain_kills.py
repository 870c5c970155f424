"""A drain, or its end, that is killed at a random call of a random device, and ended by ``resume``: ``python -m tests.operations.deploy.drain_kills COUNT [SEED]``.

Always a known state: devices and fabric file are before or after, as the journal says, and the end is that which was asked for.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
from pathlib import Path

from railweave.api.deploying import (
    deploy_apply,
    deploy_drain,
    deploy_history,
    deploy_resume,
    deploy_status,
    deploy_undrain,
)
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.traffic import IdleLimit
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.kills import kill
from tests.operations.deploy.network import Changing, changing, runs
from tests.operations.deploy.test_rollout import SMALL

AT_ONCE = IdleLimit(every_s=0, within_s=0)
APPLY = """
import sys
from railweave.api.deploying import deploy_apply
from railweave.operations.deploy.traffic import IdleLimit
deploy_apply(sys.argv[1], access=sys.argv[2], settle=0, idle_limit=IdleLimit(every_s=0, within_s=0))
"""
Stand = tuple[str, dict[str, list[str]]]


def stand(network: Changing) -> Stand:
    """The fabric file's text, and what every switch runs."""
    return network.fabric.read_text(), {name: sorted(box.running) for name, box in network.boxes.items()}


def saved(network: Changing, plan: Plan) -> Path:
    """A plan in its file."""
    path = network.fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    return path


def killed(fabric: Path, seed: int) -> str:
    """Drain or undrain a spine, kill it, end it by ``resume`` or ``resume --back``. Where it was killed, for a log."""
    dice = random.Random(seed)  # noqa: S311 - repeatable
    back, undrain = dice.random() < 0.5, dice.random() < 0.5
    with changing(fabric, runs(fabric)) as network:
        whole = stand(network)
        plan = deploy_drain(fabric, ["spine2"], access=network.access, force=True)
        deploy_apply(saved(network, plan), access=network.access, settle=0, idle_limit=AT_ONCE)
        drained = stand(network)
        before, after = (drained, whole) if undrain else (whole, drained)
        plan = deploy_undrain(fabric, ["spine2"], access=network.access)
        if not undrain:
            deploy_apply(saved(network, plan), access=network.access, settle=0)
            assert stand(network) == whole
            plan = deploy_drain(fabric, ["spine2"], access=network.access, force=True)
        assert stand(network) == before
        number = deploy_history(fabric)[0].number
        at = kill(saved(network, plan), network, dice, APPLY, calls=130)
        where = f"{at}{', undraining' if undrain else ''}"
        newest = deploy_history(fabric)[0]
        if newest.number == number:
            assert stand(network) == before, where
            return f"{where} (nothing had begun)"
        text, running = stand(network)
        assert text in {before[0], after[0]}, where
        if newest.state != "running":
            assert stand(network) == after, where
            return f"{where} (it was done)"
        truths = deploy_status(fabric, access=network.access)[1]
        for one in truths:
            box, now = network.boxes[one.device], running[one.device]
            right = {
                "before": now == before[1][one.device] and not box.waits,
                "waiting": now == after[1][one.device] and box.waits,
                "after": now == after[1][one.device] and not box.waits,
            }
            assert right.get(one.state, False), (where, one)
        ended = deploy_resume(fabric, access=network.access, settle=0, back=back, idle_limit=AT_ONCE)
        assert ended.state == ("stopped" if back else "done"), where
        assert not any(box.waits for box in network.boxes.values()), where
        if not back:
            assert stand(network) == after, where
            return f"{where}, resumed"
        changed = [name for name in plan.changed if stand(network)[1][name] != before[1][name]]
        assert network.fabric.read_text() == (after[0] if changed else before[0]), where
        for name, lines in stand(network)[1].items():
            assert lines in (before[1][name], after[1][name]), where
        return f"{where}, taken back{', what was kept stays' if changed else ''}"


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
