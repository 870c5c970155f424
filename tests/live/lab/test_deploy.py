"""Changes of a design brought onto a lab's routers by ``deploy``, and taken back, on FRR itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from railweave import api
from railweave.api.deploying import (
    deploy_acknowledge,
    deploy_apply,
    deploy_history,
    deploy_plan,
    deploy_resume,
    deploy_rollback,
    deploy_status,
)
from railweave.live.lab import assertions, life, logins
from railweave.live.lab.frr import routers
from railweave.live.lab.kernel import processes, shaping
from railweave.live.lab.running import Running
from railweave.operations.deploy.gate import Check
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.waves import UNUSED
from railweave.writing import write_file
from tests.conftest import frr_root
from tests.live.fleet.lab_servers import needs_sshd
from tests.live.lab.machine import needs_lab, needs_nft
from tests.operations.deploy.test_rollout import SMALL

pytestmark = needs_lab
DESIGN = SMALL.replace("junos", "frr")
CHANGED = DESIGN.replace(
    "    colors:", "    underlay: {bfd: {minimum_interval: 700ms}}\n    mtu: {fabric: 9100}\n    colors:"
)
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


def acknowledged(fabric: Path) -> None:
    """Every cable of a router is seen by LLDP; the hardware, which a lab does not have, has to be accepted as unseen by name."""
    leaf = "stripe1-leaf1"
    hidden = ["model", "serial-number"]
    until(lambda: deploy_acknowledge(fabric, [leaf], lab=True, allow_unseen=hidden)[0].good)
    [compared] = deploy_acknowledge(fabric, [leaf], lab=True)
    assert [line.partition(" ")[0] for line in compared.refused] == hidden
    assert {row["subject"]: row["right"] for row in compared.subjects if row["right"]} == {
        "host-name": 1,
        "cables": 2,
        "server-cables": 2,
    }


@pytest.mark.slow
@needs_nft
def test_a_change_of_design_comes_onto_the_routers_and_back(tmp_path: Path) -> None:
    fabric, file = tmp_path / "fabric.yaml", tmp_path / "plan.json"
    fabric.write_text(DESIGN)
    with designed(fabric):
        assert not deploy_plan(fabric, lab=True).changed
        acknowledged(fabric)
        fabric.write_text(CHANGED)
        plan = deploy_plan(fabric, lab=True, allow_cut=["backend"])
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
        fabric.write_text(
            DESIGN.replace("gpu-[1-2]", "gpu-[1-3]").replace("link_speed", "oversubscription: 2, link_speed")
        )
        grown = deploy_plan(fabric, lab=True, servers=True)
        assert not grown.refused
        assert grown.silent["gpu-3"].startswith("the lab was brought up without it")
        # With fewer uplinks the ports of servers move: of those that the lab has, and of no other.
        assert set(grown.changed) == {"stripe1-leaf1", "stripe1-leaf2", "gpu-1", "gpu-2"}
        rows = {row.attached[0]: row for wave in grown.waves for row in wave.effect.ports}
        assert set(rows) == {f"gpu-{server}:gpu{nic}_eth" for server in (1, 2) for nic in (0, 1)}
        assert all(row.certain and row.later for row in rows.values())
        assert not any(UNUSED in wave.risks for wave in grown.waves)
        absent = {nic.leaf_port for nic in api.load(fabric).server("gpu-3").nics}
        assert absent
        assert not any(re.search(rf"\b{port}\b", line) for line in grown.lines() for port in absent)


@pytest.mark.slow
def test_a_router_that_refuses_a_line_leaves_the_network_as_it_was(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(DESIGN)
    with designed(fabric):
        fabric.write_text(CHANGED.replace("leaf: {", 'leaf: {extra: {frr: "nonsense that no daemon knows"}, '))
        plan = deploy_plan(fabric, lab=True, allow_cut=["backend"])
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
        plan = save(deploy_plan(fabric, lab=True, allow_cut=["backend"]), tmp_path / "plan.json")
        work = (
            "import sys; from railweave.api.deploying import deploy_apply\n"
            "from railweave.operations.deploy.gate import Check\n"
            "async def never(self, devices, now, then):\n"
            "    import asyncio; print('waits', flush=True); await asyncio.sleep(1000)\n"
            "Check.after = never\n"
            "deploy_apply(sys.argv[1], lab=True, confirm_within=4)\n"
        )
        child = subprocess.Popen([sys.executable, "-c", work, str(plan)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline().strip() == "waits"
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


def at_the_check(patch: pytest.MonkeyPatch, do: Callable[[], None]) -> None:
    """Do something between the commit of the first wave and its check."""
    real, left = Check.after, [do]

    async def after(
        self: Check,
        devices: Sequence[str],
        now: Mapping[str, Mapping[str, str]],
        then: Mapping[str, Mapping[str, str]],
    ) -> list[str]:
        if left:
            left.pop()()
        return await real(self, devices, now, then)

    patch.setattr(Check, "after", after)


def dies(running: Running, router: str) -> None:
    """All daemons of a router end at once."""
    pids = [routers.daemon_pid(running.place, router, one) for one in running.frr.daemons]
    processes.end(one for one in pids if one is not None)


def states(fabric: Path, access: Path) -> set[str]:
    """What switches turn out to run."""
    return {one.state for one in deploy_status(fabric, lab=True, access=access)[1]}


@needs_sshd
@pytest.mark.slow
def test_whatever_breaks_between_commit_and_confirmation_ends_in_a_known_state(tmp_path: Path) -> None:
    """Over SSH: the way to every switch is lost, a switch dies, and a link that the change has nothing to do with breaks."""
    fabric, file = tmp_path / "fabric.yaml", tmp_path / "plan.json"
    fabric.write_text(DESIGN)
    with designed(fabric), life.attach(fabric)[1] as running:
        access = logins.listen(running)
        fabric.write_text(CHANGED)
        save(deploy_plan(fabric, lab=True, access=access), file)

        def stopped(do: Callable[[], None], why: str, settle: float) -> None:
            with pytest.MonkeyPatch.context() as patch:
                at_the_check(patch, do)
                with pytest.raises(StoppedError, match=why):
                    deploy_apply(file, lab=True, access=access, confirm_within=5, settle=settle)

        stopped(lambda: logins.close(running.place), "their timers must", 0)
        assert states(fabric, access) == {"unknown"}
        logins.listen(running)
        until(lambda: states(fabric, access) == {"before"})
        assert deploy_resume(fabric, lab=True, access=access, back=True).state == "stopped"

        link = next(one for one in running.plan.network.cables if one.kind == "fabric" and "spine1" in one.name).name
        stopped(lambda: shaping.set_links(running, [link], "down"), "the check after the change failed: .*", 1)
        shaping.set_links(running, [link], "up")
        assert states(fabric, access) == {"before"}
        assert deploy_history(fabric)[0].state == "stopped"

        stopped(lambda: dies(running, "spine1"), "spine1: ", 0)
        assert states(fabric, access) == {"before", "unknown"}
        routers.restart(running.place, running.frr, running.plan.configs["spine1"], "zebra")
        assert deploy_resume(fabric, lab=True, access=access).state == "done"
        assert states(fabric, access) == {"after"}
        assert not deploy_plan(fabric, lab=True, access=access).changed
