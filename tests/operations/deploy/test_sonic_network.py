"""Plans made and carried out on stand-ins for SONiC: from one design to another and back, a lost session, a killed operator."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.live.reach.stand_ins import PASSWORD, StandIn
from tests.operations.deploy.sonic_box import SonicBox, normal, parsed, printed
from tests.operations.deploy.sonic_network import SonicNetwork, of_sonic, runs, sonic_network
from tests.operations.deploy.test_rollout import OTHER, SMALL

RESUME = """
import sys
from railweave.api.deploying import deploy_resume
deploy_resume(sys.argv[1], access=sys.argv[2], settle=0)
"""
LEAF = "stripe1-leaf1"


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


@contextmanager
def apart(folder: Path, *names: str) -> Iterator[SonicNetwork]:
    """Switches that run their design, but for some of another."""
    fabric, start = folder / "fabric.yaml", folder / "start.yaml"
    fabric.write_text(of_sonic(SMALL))
    start.write_text(of_sonic(OTHER))
    there = runs(start)
    with sonic_network(fabric, runs(fabric) | {name: there[name] for name in names}) as found:
        yield found


def planned(network: SonicNetwork) -> Path:
    return written(network, deploy_plan(network.fabric, live=True, access=network.access, allow_cut=["backend"]))


def written(network: SonicNetwork, plan: Plan) -> Path:
    path = network.fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    return path


@pytest.mark.slow
def test_a_switch_comes_to_its_design_and_back_though_it_is_lost_and_its_operator_killed(tmp_path: Path) -> None:
    """The log of the box has every command that is no question."""
    with apart(tmp_path, LEAF) as network:
        was, path, box = network.running(), planned(network), network.boxes[LEAF]
        deploy_status(network.fabric, access=network.access)
        assert not box.log
        deploy_apply(path, access=network.access, settle=0, dry_run=True)
        assert all("dry" in one for one in box.log)
        assert network.running() == was

        lost_at(box, "config apply-patch", network.devices[LEAF])
        with pytest.raises(StoppedError, match=LEAF):
            deploy_apply(path, access=network.access, settle=0)
        end = time.monotonic() + 120
        while box.waits and time.monotonic() < end:
            time.sleep(0.05)
        assert any(one.startswith("config rollback") for one in box.log)
        assert network.running() == was
        network.devices[LEAF].gone, box.scale = False, 1
        assert states(network) == ["before"]

        killed_at(box, "config save", network)
        assert states(network)[0] in {"waiting", "after"}
        assert deploy_resume(network.fabric, access=network.access, settle=0).state == "done"
        assert network.running() == designed(network)
        assert not unfinished(network)

        path = written(network, deploy_rollback(network.fabric, 2, access=network.access))
        deploy_apply(path, access=network.access, settle=0)
        assert network.running() == was
        assert not unfinished(network)
        assert [one.state for one in deploy_history(network.fabric)][:2] == ["done", "rolled back"]


def lost_at(box: SonicBox, command: str, device: StandIn) -> None:
    """Have a switch lost when it is told a command; its timers run out soon."""

    def lost(words: str) -> None:
        if words.startswith(command) and "dry" not in words:
            device.gone = True
            for one in list(device.connections):
                one.abort()

    box.before, box.scale = lost, 0.01


def states(network: SonicNetwork) -> list[str]:
    """What ``status`` says of the switches that change, once what is under way there has ended."""
    box, end = network.boxes[LEAF], time.monotonic() + 120
    while box.busy and time.monotonic() < end:
        time.sleep(0.05)
    return [one.state for one in deploy_status(network.fabric, access=network.access)[1]]


def killed_at(box: SonicBox, command: str, network: SonicNetwork) -> None:
    """Resume in a process of its own, and kill that when the box is told a command."""
    child = subprocess.Popen([sys.executable, "-c", RESUME, str(network.fabric), str(network.access)])

    def kill(words: str) -> None:
        if words.startswith(command) and "dry" not in words:
            os.kill(child.pid, signal.SIGKILL)
            child.wait(60)

    box.before = kill
    assert child.wait(300) == -signal.SIGKILL
    box.before = lambda _: None


def unfinished(network: SonicNetwork) -> list[str]:
    """Switches that would not come up with what they run, or have something left of a change."""
    return [name for name, box in network.boxes.items() if box.left or box.running != box.saved]


def designed(network: SonicNetwork) -> dict[str, tuple[str, str]]:
    """What every switch runs that has its design."""
    return {
        name: normal(json.loads(one["config_db.json"]), printed(parsed(one["frr.conf"])))
        for name, one in runs(network.fabric).items()
    }
