"""Servers as devices of a wave: the real ``railweave host`` in namespaces, switches as stand-ins for Junos."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from railweave.api.deploying import (
    deploy_apply,
    deploy_history,
    deploy_plan,
    deploy_resume,
    deploy_rollback,
    deploy_status,
)
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.rollout import StoppedError
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.netns import needs_root, until
from tests.operations.deploy.network import runs
from tests.operations.deploy.servers import ServerBox, host_files, with_servers
from tests.operations.deploy.test_rollout import OTHER, SMALL

pytestmark = [needs_root, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.yaml"
    path.write_text(SMALL)
    (tmp_path / "other.yaml").write_text(OTHER)
    return path


def planned(fabric: Path, access: Path, *only: str) -> Path:
    plan = deploy_plan(fabric, live=True, access=access, servers=True, only=only, allow_cut=["backend"])
    assert plan.refused == []
    return saved(fabric, plan)


def saved(fabric: Path, plan: Plan) -> Path:
    path = fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    return path


def test_servers_come_to_their_design_after_the_switches(fabric: Path) -> None:
    other = fabric.with_name("other.yaml")
    with with_servers(fabric, runs(other), host_files(other)) as (network, boxes):
        assert all("fd00" in "".join(box.tables()) for box in boxes.values())
        plan = deploy_plan(fabric, live=True, access=network.access, servers=True, allow_cut=["backend"])
        path = saved(fabric, plan)
        assert [wave.devices for wave in plan.waves][-2:] == [("gpu-1",), ("gpu-2",)]
        assert not any(box.folder.joinpath("deploy").exists() for box in boxes.values())
        assert deploy_apply(path, access=network.access, settle=0).state == "done"
        for name, box in boxes.items():
            assert box.file.read_text() == host_files(fabric)[name]
            assert not any("fd00" in line for line in box.tables())
            assert not list(box.folder.glob("deploy/*"))
        assert not deploy_plan(fabric, live=True, access=network.access, servers=True).changed


APPLY = """
import sys
from railweave.api.deploying import deploy_apply
deploy_apply(sys.argv[1], access=sys.argv[2], settle=0)
"""
"""An operator, who can be killed."""


def killed(path: Path, access: Path, box: ServerBox, part: str) -> None:
    """Apply a plan, and kill the operator when a server is told something with certain words; the server does it nevertheless."""
    child = subprocess.Popen([sys.executable, "-c", APPLY, str(path), str(access)])

    def kill(command: str) -> None:
        if part in command:
            box.device.before = lambda _: None
            os.kill(child.pid, signal.SIGKILL)

    box.device.before = kill
    assert child.wait(120) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("part", "state"), [("rest; carry_out after.json", "waiting"), ("install after.json && rm -f armed", "after")]
)
def test_an_operator_who_is_killed_while_a_server_is_changed_can_resume(fabric: Path, part: str, state: str) -> None:
    wanted = host_files(fabric)
    with with_servers(fabric, runs(fabric), {"gpu-1": host_files(fabric.with_name("other.yaml"))["gpu-1"]}) as (
        network,
        boxes,
    ):
        box = boxes["gpu-1"]
        path = planned(fabric, network.access, "gpu-1")
        killed(path, network.access, box, part)
        until(
            lambda: box.file.read_text() == wanted["gpu-1"] or "fc00" in "".join(box.tables()),
            "what was told is done",
            60,
        )
        until(lambda: box.waits() == (state == "waiting"), state, 60)
        until(lambda: not box.device.busy, "the server has nothing more to do", 60)
        assert [one.state for one in deploy_status(fabric, access=network.access)[1]] == [state]
        assert deploy_resume(fabric, access=network.access, settle=0).state == "done"
        assert not box.waits()
        assert box.file.read_text() == wanted["gpu-1"]


def test_a_server_goes_back_by_itself_when_nobody_is_left_to_confirm(fabric: Path) -> None:
    other = host_files(fabric.with_name("other.yaml"))["gpu-1"]
    with with_servers(fabric, runs(fabric), {"gpu-1": other}) as (network, boxes):
        box = boxes["gpu-1"]
        was = box.tables()
        path = planned(fabric, network.access, "gpu-1")
        work = APPLY.replace("settle=0", "settle=0, confirm_within=8")
        child = subprocess.Popen([sys.executable, "-c", work, str(path), str(network.access)])

        def kill(command: str) -> None:
            if "carry_out after.json" in command:
                os.kill(child.pid, signal.SIGKILL)

        box.device.before = kill
        child.wait(120)
        until(lambda: any(box.folder.glob("deploy/*/back.log")) and not box.waits(), "it went back by itself", 60)
        assert box.tables() == was
        assert box.file.read_text() == other


def test_a_server_on_which_apply_is_killed_half_way_is_as_it_was(fabric: Path) -> None:
    other = host_files(fabric.with_name("other.yaml"))["gpu-1"]
    with with_servers(fabric, runs(fabric), {"gpu-1": other}) as (network, boxes):
        box = boxes["gpu-1"]
        was = box.tables()
        path = planned(fabric, network.access, "gpu-1")
        box.first_on_path("ip", KILLING.format(flag=box.folder / "kill", ip=shutil.which("ip")))
        (box.folder / "kill").touch()
        with pytest.raises(StoppedError, match="the change was not taken: gpu-1") as stopped:
            deploy_apply(path, access=network.access, settle=0)
        assert stopped.value.back
        assert not (box.folder / "kill").exists()
        assert box.tables() == was
        assert box.file.read_text() == other
        assert not box.waits()
        assert deploy_history(fabric)[0].state == "stopped"


KILLING = """#!/bin/sh
# Of the first batch it does two lines, and kills who gave it.
if [ "$2" = -batch ] && [ -e {flag} ]; then
  rm {flag}
  head -n 2 | {ip} "$@"
  kill -9 $PPID
  exit 1
fi
exec {ip} "$@"
"""


def test_a_server_that_has_nothing_gets_its_file_and_loses_it_again(fabric: Path) -> None:
    """And nothing of a wave is changed before the user's command was good, which is given its number, devices and servers."""
    with with_servers(fabric, runs(fabric), {"gpu-1": ""}) as (network, boxes):
        box, said = boxes["gpu-1"], fabric.with_name("said")
        was, path = box.tables(), planned(fabric, network.access, "gpu-1")
        command = f'echo "$RAILWEAVE_WAVE $RAILWEAVE_DEVICES $RAILWEAVE_SERVERS" > {said}; exit 3'
        with pytest.raises(StoppedError, match="--wait-for ended with 3: nothing of wave 1 was changed"):
            deploy_apply(path, access=network.access, settle=0, wait_for=command)
        assert said.read_text() == "1 gpu-1 gpu-1\n"
        assert box.tables() == was
        assert deploy_apply(path, access=network.access, settle=0, wait_for="true").state == "done"
        assert box.file.read_text() == host_files(fabric)["gpu-1"]
        assert box.tables() != was
        back = saved(fabric, deploy_rollback(fabric, 2, access=network.access))
        deploy_apply(back, access=network.access, settle=0)
        assert box.tables() == was
        assert not box.file.exists()
        assert [one.state for one in deploy_history(fabric)] == ["done", "rolled back", "stopped"]
