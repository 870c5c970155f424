"""Changes of a design brought onto a lab's routers by ``deploy``, and taken back, on FRR itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from railweave import api
from railweave.api.deploying import (
    deploy_apply,
    deploy_history,
    deploy_plan,
    deploy_resume,
    deploy_rollback,
    deploy_status,
)
from railweave.deploy.plan import Plan
from railweave.deploy.rollout import StoppedError
from railweave.lab import assertions, life
from railweave.writing import write_file
from tests.conftest import frr_root
from tests.deploy.test_rollout import SMALL
from tests.lab.machine import needs_lab

pytestmark = needs_lab
DESIGN = SMALL.replace("junos", "frr")
CHANGED = DESIGN.replace("    colors:", "    underlay: {bfd: {minimum_interval: 700ms}}\n    colors:")
LIMIT_S = 120


@contextmanager
def designed(fabric: Path) -> Iterator[None]:
    """A lab with the designed timers: those are what changes."""
    try:
        life.up(fabric, api.load(fabric), frr_root=frr_root())
        yield
    finally:
        life.down(fabric)


def save(plan: Plan, path: Path) -> Path:
    write_file(path, json.dumps(plan.to_json()), private=True)
    return path


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.slow
def test_a_change_of_design_comes_onto_the_routers_and_back(tmp_path: Path) -> None:
    fabric, file = tmp_path / "fabric.yaml", tmp_path / "plan.json"
    fabric.write_text(DESIGN)
    with designed(fabric):
        assert not deploy_plan(fabric, lab=True).changed
        fabric.write_text(CHANGED)
        plan = deploy_plan(fabric, lab=True)
        assert len(plan.changed) == 4
        deploy_apply(save(plan, file), lab=True)
        assert not deploy_plan(fabric, lab=True).changed
        assert api.check(fabric, lab=True).good
        with life.attach(fabric)[1] as running:
            assert [one.id for one in assertions.run(running) if not one.passed] == []
        back = deploy_rollback(fabric, 1, lab=True)
        fabric.write_text(DESIGN)
        deploy_apply(save(back, file), lab=True)
        assert not deploy_plan(fabric, lab=True).changed
        assert [one.state for one in deploy_history(fabric)] == ["done", "rolled back"]


@pytest.mark.slow
def test_a_router_that_refuses_a_line_leaves_the_network_as_it_was(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(DESIGN)
    with designed(fabric):
        fabric.write_text(CHANGED.replace("leaf: {", 'leaf: {extra: {frr: "nonsense that no daemon knows"}, '))
        plan = deploy_plan(fabric, lab=True)
        with pytest.raises(
            StoppedError,
            match=r"the rehearsal failed, and nothing was changed: stripe1-leaf1: .*nonsense that no daemon",
        ):
            deploy_apply(save(plan, tmp_path / "plan.json"), lab=True)
        fabric.write_text(DESIGN)
        assert not deploy_plan(fabric, lab=True).changed


@pytest.mark.slow
def test_routers_go_back_by_themselves_when_nobody_is_left_to_confirm(tmp_path: Path) -> None:
    """The operator's process is killed while a router waits: the router's own timer ends it, and ``resume`` goes on."""
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(DESIGN)
    with designed(fabric):
        fabric.write_text(CHANGED)
        plan = save(deploy_plan(fabric, lab=True), tmp_path / "plan.json")
        work = (
            "import sys; from railweave.api.deploying import deploy_apply\n"
            "from railweave.deploy.gate import Check\n"
            "async def never(self, devices, texts, *, wait):\n"
            "    import asyncio; print('waits', wait, flush=True); await asyncio.sleep(1000 if wait else 0); return []\n"
            "Check.__call__ = never\n"
            "deploy_apply(sys.argv[1], lab=True, confirm_within=4)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", work, str(plan)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert [child.stdout.readline().strip() for _ in range(2)] == ["waits False", "waits True"]
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        first = deploy_status(fabric, lab=True)[1]
        assert {one.device: one.state for one in first}["spine1"] in {"waiting", "before"}
        until(lambda: {one.state for one in deploy_status(fabric, lab=True)[1]} == {"before"})
        newest, _ = deploy_status(fabric, lab=True)
        assert newest is not None
        assert newest.state == "running"  # it was interrupted, as status says
        assert deploy_resume(fabric, lab=True).state == "done"
        assert not deploy_plan(fabric, lab=True).changed
