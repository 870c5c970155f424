"""Plans made and carried out on stand-ins for Junos."""

from __future__ import annotations

import json
import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.api.deploying import (
    deploy_apply,
    deploy_drain,
    deploy_history,
    deploy_log,
    deploy_plan,
    deploy_resume,
    deploy_rollback,
    deploy_status,
    deploy_undrain,
)
from railweave.cli.app import app
from railweave.errors import InputError, OutputError
from railweave.model.state.device_state import DeviceState
from railweave.operations.deploy import journal
from railweave.operations.deploy.conflicts import purpose
from railweave.operations.deploy.plan import plan_of
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.traffic import IdleLimit
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.kills import CHANGES, kill, killed
from tests.operations.deploy.network import Changing, changing, runs

SMALL = """\
name: small
fabrics:
  backend:
    topology: {stripes: 1, spines: 2, link_speed: 400G}
    leaf: {device: qfx5240-64od, nos: junos}
    spine: {device: qfx5240-64od, nos: junos}
    colors: [{name: green}, {name: blue}]
    addressing: {server_pool: "fc00::/16"}
servers:
  - {names: "gpu-[1-2]", model: dgx-h100-2gpu, stripe: stripe1}
"""
OTHER = SMALL.replace("fc00::/16", "fd00::/16")


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    path = tmp_path / "fabric.yaml"
    path.write_text(SMALL)
    return path


def other(folder: Path) -> dict[str, list[str]]:
    """What the switches of another design run."""
    path = folder / "other.yaml"
    path.write_text(OTHER)
    return runs(path)


def planned(fabric: Path, access: Path, **options: object) -> Path:
    plan = deploy_plan(fabric, live=True, access=access, allow_cut=["backend"], **options)  # type: ignore[arg-type]
    path = fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    return path


def test_nothing_is_planned_where_every_switch_runs_its_design(fabric: Path) -> None:
    with changing(fabric, runs(fabric)) as network:
        plan = deploy_plan(fabric, live=True, access=network.access)
        assert not plan.changed
        assert not plan.waves
        assert not plan.refused


def test_a_network_that_does_not_answer_has_no_plan(fabric: Path) -> None:
    with changing(fabric, runs(fabric)) as network:
        for device in network.devices.values():
            device.gone = True
        plan = deploy_plan(fabric, live=True, access=network.access)
        assert plan.refused == ["no switch answered"]
        assert set(plan.silent) == set(network.devices)
        assert not any("runs its design" in line for line in plan.lines())


def test_a_plan_and_a_status_change_nothing(fabric: Path) -> None:
    """The logs of the stand-ins have every call that is no question."""
    with changing(fabric, other(fabric.parent)) as network:
        path = planned(fabric, network.access)
        assert [box.log for box in network.boxes.values()] == [[]] * len(network.boxes)
        deploy_apply(path, access=network.access, settle=0, dry_run=True)
        before = [list(box.log) for box in network.boxes.values()]
        assert not any("commit confirmed" in log for log in before)
        _, truths = deploy_status(fabric, access=network.access)
        assert {one.state for one in truths} == {"before"}
        assert [box.log for box in network.boxes.values()] == before


DRY = """
import sys
from railweave.api.deploying import deploy_apply
deploy_apply(sys.argv[1], access=sys.argv[2], settle=0, dry_run=True)
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_dry_run_that_was_killed_is_never_resumed_as_an_apply(fabric: Path, seed: int) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        before = {name: list(box.running) for name, box in network.boxes.items()}
        path = planned(fabric, network.access)
        at = kill(path, network, random.Random(seed), DRY, calls=14)  # noqa: S311 - repeatable
        assert at != "the end"
        [revision] = deploy_history(fabric)
        assert revision.state == "running", at
        ended = deploy_resume(fabric, access=network.access, settle=0)
        assert (ended.state, ended.why) == ("stopped", "tried only (--dry-run), ended after an interruption"), at
        assert {name: list(box.running) for name, box in network.boxes.items()} == before, at
        assert not any("commit confirmed" in line for box in network.boxes.values() for line in box.log), at
        deploy_apply(path, access=network.access, settle=0, dry_run=True)  # nothing stands in the way of the next


def test_a_network_comes_to_its_design_and_back(fabric: Path) -> None:
    wanted, before = runs(fabric), other(fabric.parent)
    with changing(fabric, before) as network:
        was = {name: list(box.running) for name, box in network.boxes.items()}
        path = planned(fabric, network.access)
        revision = deploy_apply(path, access=network.access, settle=0)
        assert revision is not None
        assert revision.state == "done"
        assert {name: sorted(box.running) for name, box in network.boxes.items()} == {
            name: sorted(lines) for name, lines in wanted.items()
        }
        assert not any(box.waits for box in network.boxes.values())
        assert not deploy_plan(fabric, live=True, access=network.access).changed
        back = deploy_rollback(fabric, 1, access=network.access)
        write_file(path, json.dumps(back.to_json()), private=True)
        deploy_apply(path, access=network.access, settle=0)
        assert {name: sorted(box.running) for name, box in network.boxes.items()} == {
            name: sorted(lines) for name, lines in was.items()
        }
        assert [one.state for one in deploy_history(fabric)] == ["done", "rolled back"]
        newest, truths = deploy_status(fabric, access=network.access)
        assert newest is not None
        assert {one.state for one in truths} == {"after"}
        first, log, steps = deploy_log(fabric, 1)
        assert first.state == "rolled back"
        assert log[0].line == "4 devices tried the change, found it good, and discarded it"
        assert log[-1].line.endswith("changed, checked and kept")
        assert {(one.device, one.verb) for one in steps} == {
            (name, verb) for name in network.boxes for verb in ("rehearse", "commit", "confirm")
        }
        shown = CliRunner().invoke(app, ["deploy", "history", str(fabric), "1"])
        assert shown.exit_code == 0
        assert all(one.line in shown.output for one in log)
        assert json.loads(CliRunner().invoke(app, ["deploy", "history", str(fabric), "1", "--json"]).output)["steps"]


def state_of(network: Changing) -> dict[str, list[str]]:
    return {name: sorted(box.running) for name, box in network.boxes.items()}


def test_a_device_that_refuses_its_change_leaves_every_device_as_it_was(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        was = state_of(network)
        path = planned(fabric, network.access)
        network.boxes["spine2"].candidate_refused = True
        with pytest.raises(StoppedError, match=r"nothing was changed: spine2: .*not within range"):
            deploy_apply(path, access=network.access, settle=0)
        assert state_of(network) == was
        assert not any("commit confirmed" in one for box in network.boxes.values() for one in box.log)
        assert [one.state for one in deploy_history(fabric)] == ["stopped"]
        shown = CliRunner().invoke(app, ["deploy", "history", str(fabric), "1"]).output
        assert "rehearse of spine2 in wave 0: " in shown
        assert "not within range" in shown


def test_a_plan_is_refused_where_a_device_has_moved_since(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        path = planned(fabric, network.access)
        box = network.boxes["stripe1-leaf1"]
        box.running = [*box.running, "set system location building here"]
        was = state_of(network)
        box.running.remove(gone := next(line for line in box.running if " bfd-liveness-detection multiplier " in line))
        was = state_of(network)
        with pytest.raises(StoppedError) as stopped:
            deploy_apply(path, access=network.access, settle=0)
        text = str(stopped.value)
        assert text.startswith("stripe1-leaf1: the running configuration has changed since the plan was made (")
        assert "+ system / location / building here" in text
        assert f"- protocols / bgp / group {gone.split()[4]} / bfd-liveness-detection / multiplier" in text
        assert state_of(network) == was


def test_a_wave_after_which_the_check_fails_is_taken_back(fabric: Path) -> None:
    wanted, before = runs(fabric), other(fabric.parent)
    with changing(fabric, before) as network:
        was = state_of(network)

        def spoiled(name: str, state: DeviceState) -> DeviceState:
            if name != "spine2" or sorted(network.boxes["spine2"].running) == was["spine2"]:
                return state
            return replace(state, bgp=tuple(replace(one, state="Active") for one in state.bgp or ()))

        network.state.spoiled = spoiled
        with pytest.raises(StoppedError, match="the check after the change failed: spine2") as stopped:
            deploy_apply(planned(fabric, network.access), access=network.access, settle=0)
        assert stopped.value.back
        assert stopped.value.wave == 2
        now = state_of(network)
        assert now["spine1"] == sorted(wanted["spine1"])  # the first wave was confirmed, and stays
        assert {name: lines for name, lines in now.items() if name != "spine1"} == {
            name: lines for name, lines in was.items() if name != "spine1"
        }
        assert not any(box.waits for box in network.boxes.values())


def test_a_device_that_is_lost_goes_back_by_itself(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent), scale=2) as network:
        was = state_of(network)
        device = network.devices["spine1"]

        def lost(name: str) -> None:
            if name == "unlock-configuration" and network.boxes["spine1"].waits:
                device.gone = True
                device.connections[-1].abort()

        network.boxes["spine1"].before = lost
        with pytest.raises(StoppedError, match="spine1"):
            deploy_apply(planned(fabric, network.access), access=network.access, settle=0)
        end = time.monotonic() + 60
        while network.boxes["spine1"].waits and time.monotonic() < end:
            time.sleep(0.1)
        assert state_of(network) == was


def test_an_apply_that_was_killed_before_anything_was_kept_can_be_told_and_resumed(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        plan = deploy_plan(fabric, live=True, access=network.access, allow_cut=["backend"])
        with journal.at_work(fabric) as rows:
            rows.begin(plan, "railweave-small-{number}-abcdef")
        _, truths = deploy_status(fabric, access=network.access)
        assert {one.state for one in truths} == {"before"}
        assert deploy_resume(fabric, access=network.access, settle=0).state == "done"
        assert not deploy_plan(fabric, live=True, access=network.access).changed


def test_a_second_operator_is_told_who_is_at_work(fabric: Path) -> None:
    with (
        changing(fabric, other(fabric.parent)) as network,
        journal.at_work(fabric),
        pytest.raises(OutputError, match=rf"process {os.getpid()}\) is at work"),
    ):
        deploy_apply(planned(fabric, network.access), access=network.access, settle=0)


def test_a_plan_that_was_edited_is_refused(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        path = planned(fabric, network.access)
        path.write_text(path.read_text().replace("fc00:", "fc01:", 1))
        with pytest.raises(InputError, match="it was modified after it was made"):
            deploy_apply(path, access=network.access, settle=0)


def test_a_plan_older_than_the_fabric_file_is_refused(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        path = planned(fabric, network.access)
        fabric.write_text(SMALL.replace("name: blue", "name: red"))
        with pytest.raises(InputError, match="the fabric file has changed since the plan was made"):
            deploy_apply(path, access=network.access, settle=0)
        assert not any(box.log for box in network.boxes.values())


def test_what_somebody_else_commits_meanwhile_is_left_alone(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        was = state_of(network)
        box = network.boxes["spine1"]

        def somebody(call: str) -> None:
            if call == "get-commit-information" and not box.waits:
                box.wait("somebody else's", "set system location building here")

        path = planned(fabric, network.access)
        box.before = somebody
        with pytest.raises(StoppedError, match="spine1: a commit waits to be confirmed there already") as stopped:
            deploy_apply(path, access=network.access, settle=0)
        assert stopped.value.back
        assert box.waits
        assert "set system location building here" in box.running
        now = state_of(network)
        assert {**now, "spine1": []} == {**was, "spine1": []}


def test_status_says_what_someone_else_changed(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        deploy_apply(planned(fabric, network.access), access=network.access, settle=0)
        network.boxes["spine1"].running.append("set system location building here")
        shown = {one.device: one for one in deploy_status(fabric, access=network.access)[1]}
        assert [name for name, one in shown.items() if one.state == "otherwise"] == ["spine1"]
        assert "someone else changed + system / location / building here" in shown["spine1"].sentence()


def test_a_change_of_the_design_and_a_drain_of_the_same_switch_are_named(fabric: Path) -> None:
    """Two plans, one journal: each names the other, and a rollback does not end a drain in silence."""
    with changing(fabric, other(fabric.parent)) as network:
        staged = planned(fabric, network.access)
        drain = deploy_drain(fabric, ["spine2"], access=network.access, force=True)
        path = fabric.with_name("drain.json")
        write_file(path, json.dumps(drain.to_json()), private=True)
        deploy_apply(path, access=network.access, settle=0, idle_limit=IdleLimit(every_s=0, within_s=0))
        with pytest.raises(
            InputError,
            match=r"has changed since the plan was made; since then: revision 1, a drain of spine2, by .*, also on .*spine2",
        ):
            deploy_apply(staged, access=network.access, settle=0)
        plan = deploy_plan(fabric, live=True, access=network.access, allow_cut=["backend"])
        [conflict] = plan.conflicts
        assert conflict.startswith("spine2: spine2 is drained (revision 1, a drain of spine2, by ")
        assert not plan.refused
        assert f"conflict: {conflict}" in plan.lines()
        assert plan_of(json.loads(json.dumps(plan.to_json()))) == plan
        write_file(path, json.dumps(plan.to_json()), private=True)
        deploy_apply(path, access=network.access, settle=0)
        with journal.opened(fabric) as rows:
            assert [purpose(rows.plan(one.number)) for one in rows.revisions()] == [
                "a change of the design",
                "a drain of spine2",
            ]


def test_going_back_before_an_open_drain_is_refused_and_later_changes_are_named(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        deploy_apply(planned(fabric, network.access), access=network.access, settle=0)
        path = fabric.with_name("drain.json")
        write_file(
            path,
            json.dumps(deploy_drain(fabric, ["spine2"], access=network.access, force=True).to_json()),
            private=True,
        )
        deploy_apply(path, access=network.access, settle=0, idle_limit=IdleLimit(every_s=0, within_s=0))
        back = deploy_rollback(fabric, 1, access=network.access)
        assert any("revision 2, a drain of spine2" in why and "`deploy undrain` first" in why for why in back.refused)
        assert not deploy_rollback(fabric, 2, access=network.access).refused
        undrain = deploy_undrain(fabric, ["spine2"], access=network.access)
        write_file(path, json.dumps(undrain.to_json()), private=True)
        deploy_apply(path, access=network.access, settle=0)
        back = deploy_rollback(fabric, 1, access=network.access)
        assert not back.refused
        assert [line.partition(",")[0] for line in back.conflicts] == ["revision 2", "revision 3"]


def test_trying_changes_nothing(fabric: Path) -> None:
    with changing(fabric, other(fabric.parent)) as network:
        was = state_of(network)
        deploy_apply(planned(fabric, network.access), access=network.access, settle=0, dry_run=True)
        assert state_of(network) == was
        assert not any(box.commits for box in network.boxes.values())


@pytest.mark.slow
@pytest.mark.parametrize("back", [False, True], ids=["apply", "rollback"])
@pytest.mark.parametrize("change", CHANGES)
def test_whoever_is_killed_at_any_step_can_resume(fabric: Path, change: str, back: bool) -> None:
    killed(fabric, sum(map(ord, change)) + back, change, back=back)
