"""An apply on a lab's routers that is killed at a random moment, and ended by ``resume``: ``python -m tests.live.lab.deploy_kills COUNT [SEED]``, root."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_history, deploy_plan, deploy_resume, deploy_status
from railweave.live.lab import life, logins
from tests.live.lab.test_deploy import CHANGED, DESIGN, designed, save

APPLY = "import sys; from railweave.api.deploying import deploy_apply; deploy_apply(sys.argv[1], lab=True, access=sys.argv[2])"
DONE = "it was done before"


def killed(fabric: Path, access: Path, after_s: float) -> str:
    """Kill an apply so many seconds after its start, and end it. What became of it, for a log."""
    plan = save(deploy_plan(fabric, lab=True, access=access, allow_cut=["backend"]), fabric.with_name("plan.json"))
    newest = max((one.number for one in deploy_history(fabric)), default=0)
    child = subprocess.Popen([sys.executable, "-c", APPLY, str(plan), str(access)])
    time.sleep(after_s)
    ended = child.poll()
    child.kill()
    child.wait()
    history = deploy_history(fabric)
    if ended is not None:
        assert ended == 0
        return DONE
    if not history or history[0].number == newest:
        return "nothing had begun"
    states = {one.device: one.state for one in deploy_status(fabric, lab=True, access=access)[1]}
    if history[0].state == "running":
        assert deploy_resume(fabric, lab=True, access=access).state == "done"
    after = {one.state for one in deploy_status(fabric, lab=True, access=access)[1]}
    assert after == {"after"}, after
    assert not deploy_plan(fabric, lab=True, access=access).changed
    return ", ".join(f"{name} {state}" for name, state in sorted(states.items()))


def main() -> None:
    """Kill so many applies, each of them from one design to the other, at random moments of the time that the first took undisturbed."""
    count, dice = int(sys.argv[1]), random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 0)  # noqa: S311 - repeatable
    with TemporaryDirectory() as folder:
        fabric = Path(folder) / "fabric.yaml"
        fabric.write_text(DESIGN)
        with designed(fabric):
            with life.attach(fabric)[1] as lab:
                access = logins.listen(lab)
            fabric.write_text(CHANGED)
            plan = save(
                deploy_plan(fabric, lab=True, access=access, allow_cut=["backend"]), fabric.with_name("plan.json")
            )
            began = time.monotonic()
            subprocess.run([sys.executable, "-c", APPLY, str(plan), str(access)], check=True)
            whole = time.monotonic() - began
            print(f"undisturbed: {whole:.1f} s", flush=True)
            number = 0
            while number < count:
                fabric.write_text(CHANGED if fabric.read_text() == DESIGN else DESIGN)
                after_s = dice.uniform(0.0, whole)
                became = killed(fabric, access, after_s)
                number += became != DONE
                print(f"{number}: killed after {after_s:.1f} s: {became}", flush=True)
            assert api.check(fabric, lab=True).good
    print(f"{count} kills: always a known state")


if __name__ == "__main__":
    main()
