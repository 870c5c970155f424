"""Switches, links and servers drained and brought back, on stand-ins for Junos: refused, carried out, taken back, measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from railweave import api
from railweave.api.deploying import (
    deploy_apply,
    deploy_drain,
    deploy_history,
    deploy_plan,
    deploy_rollback,
    deploy_undrain,
)
from railweave.errors import InputError
from railweave.model.state.device_state import DeviceState
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.traffic import IdleLimit
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import Changing, changing, runs
from tests.operations.deploy.test_rollout import SMALL

TAGGED = SMALL.replace("    colors:", "    underlay: {path_color: local-preference}\n    colors:")
"""The same by large communities and local preference."""
AT_ONCE = IdleLimit(every_s=0, within_s=0)


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


@pytest.fixture(params=[SMALL, TAGGED], ids=["dpf", "local-preference"])
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Changing]:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(f"# ours\n{request.param}")
    with changing(fabric, runs(fabric)) as found:
        yield found


def saved(network: Changing, plan: Plan) -> Path:
    path = network.fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    return path


def drain(network: Changing, *what: str, force: bool = True) -> Plan:
    return deploy_drain(network.fabric, what, access=network.access, force=force)


def apply(network: Changing, plan: Plan, idle_limit: IdleLimit = AT_ONCE) -> None:
    deploy_apply(saved(network, plan), access=network.access, settle=0, idle_limit=idle_limit)


def running(network: Changing) -> dict[str, list[str]]:
    return {name: sorted(box.running) for name, box in network.boxes.items()}


def test_a_spine_is_drained_and_comes_back(network: Changing) -> None:
    text, before = network.fabric.read_text(), running(network)
    plan = drain(network, "spine2")
    assert not plan.refused
    assert plan.changed
    assert any("as-path-prepend" in line for line in plan.changed["spine2"].shown)
    apply(network, plan)
    assert network.fabric.read_text() == f"{text}\nstatus:\n  spine2: drained\n"
    assert running(network) != before
    assert not deploy_plan(network.fabric, live=True, access=network.access).changed, "it is its design now"
    checked = api.check(network.fabric, live=True, access=network.access, allow_unseen=["path-colors"])
    assert checked.good, ("what is drained is expected nowhere", [finding.what for finding in checked.findings])
    apply(network, deploy_undrain(network.fabric, ["spine2"], access=network.access))
    assert network.fabric.read_text() == text
    assert running(network) == before


def test_a_drain_says_what_is_left_and_is_refused_where_a_path_color_would_be_gone(network: Changing) -> None:
    plan = drain(network, "blue", force=False)
    assert plan.drain is not None
    assert plan.drain.names == ("spine2",)
    assert any("path color blue would be gone" in one for one in plan.refused)
    assert any("keeps least, 50%" in one for one in plan.lines())
    assert "+  spine2: drained" in plan.lines()
    with pytest.raises(InputError, match="path color blue would be gone"):
        apply(network, plan)
    assert "drained" not in network.fabric.read_text()


def test_it_is_not_drained_while_its_ports_carry_traffic(network: Changing) -> None:
    sent = 0

    def carries(_: str, state: DeviceState) -> DeviceState:
        nonlocal sent
        sent += 10**9
        ports = {name: replace(one, in_bytes=sent) for name, one in (state.interfaces or {}).items()}
        return replace(state, interfaces=ports)

    plan = drain(network, "spine2")
    network.state.spoiled, network.state.moving = carries, True
    with pytest.raises(StoppedError, match=r"spine2, and traffic has not: spine2 \S+ carries .* Mb/s"):
        apply(network, plan)
    assert "spine2: drained" in network.fabric.read_text()
    assert deploy_history(network.fabric)[0].state == "stopped"
    network.state.moving, network.state.spoiled = False, lambda _, state: state
    again = drain(network, "spine2")
    assert not again.changed
    apply(network, again)
    assert deploy_history(network.fabric)[0].state == "done"


def test_the_fabric_file_is_as_it_was_where_the_check_fails(network: Changing) -> None:
    text, before = network.fabric.read_text(), running(network)
    plan = drain(network, "spine2")

    def down(_: str, state: DeviceState) -> DeviceState:
        broken = any("as-path-prepend" in line for box in network.boxes.values() for line in box.running)
        return replace(state, bgp=()) if broken else state

    network.state.spoiled = down
    with pytest.raises(StoppedError, match="the check after the change failed"):
        apply(network, plan)
    assert network.fabric.read_text() == text
    assert running(network) == before


def test_a_fabric_file_that_changed_since_the_plan_is_left_alone(network: Changing) -> None:
    plan = drain(network, "spine2")
    network.fabric.write_text(network.fabric.read_text() + "description: another\n")
    with pytest.raises(InputError, match="has changed since the plan was made"):
        apply(network, plan)


def test_a_rollback_of_a_drain_brings_the_fabric_file_back_too(network: Changing) -> None:
    text, before = network.fabric.read_text(), running(network)
    apply(network, drain(network, "spine2"))
    apply(network, deploy_rollback(network.fabric, 1, access=network.access))
    assert running(network) == before
    assert network.fabric.read_text() == text


def test_what_came_half_way_is_ended_by_the_same_again(network: Changing) -> None:
    text, before = network.fabric.read_text(), running(network)
    apply(network, drain(network, "spine2"))
    drained, name = running(network), next(iter(drain(network, "spine2").devices)).device
    box = network.boxes[name]
    box.running, box.candidate, box.history = before[name], list(before[name]), [list(before[name])]
    again = drain(network, "spine2")
    assert set(again.changed) == {name}
    apply(network, again)
    assert running(network) == drained
    network.fabric.write_text(text)  # as an end of the drain that kept nothing but the file
    back = deploy_undrain(network.fabric, ["spine2"], again=True, access=network.access)
    apply(network, back)
    assert running(network) == before
    assert network.fabric.read_text() == text


def drifted(network: Changing, name: str, old: str, new: str) -> None:
    """A switch runs another line than its design has."""
    box = network.boxes[name]
    assert any(old in line for line in box.running)
    box.running = [line.replace(old, new) for line in box.running]
    box.candidate, box.history = list(box.running), [list(box.running)]


def test_a_drain_leaves_pending_differences_alone_and_lists_them(network: Changing) -> None:
    """And so does its end; ``also_pending`` takes them."""
    drifted(network, "spine2", "mtu 9216", "mtu 9000")
    before = running(network)
    plan = drain(network, "spine2")
    assert not plan.refused
    change = plan.changed["spine2"]
    assert not any("mtu" in line for line in change.shown)
    assert change.pending
    assert all("mtu 9216 (was 9000)" in line for line in change.pending)
    assert f"spine2 pending, not in this plan: {change.pending[0]}" in plan.lines()
    assert not any("MTU" in wave.effect.subjects for wave in plan.waves)
    both = deploy_drain(network.fabric, ["spine2"], access=network.access, force=True, also_pending=True)
    assert not both.changed["spine2"].pending
    assert set(both.changed["spine2"].shown) == {*change.shown, *change.pending}
    apply(network, plan)
    assert sum("mtu 9000" in line for line in network.boxes["spine2"].running) > 0
    apply(network, deploy_undrain(network.fabric, ["spine2"], access=network.access))
    assert running(network) == before


def test_a_drain_is_refused_where_a_pending_difference_is_in_its_way(network: Changing) -> None:
    plain = drain(network, "spine2").changed["spine2"]
    line = next(line for line in plain.shown if "as-path-prepend" in line)
    place = line[2:].partition("as-path-prepend")[0].replace(" / ", " ").strip()
    box = network.boxes["spine2"]
    box.running = [*box.running, f'set {place} as-path-prepend "65000"']
    box.candidate, box.history = list(box.running), [list(box.running)]
    refused = drain(network, "spine2").refused
    assert any("is different on the device: `deploy plan` first, or take all differences" in why for why in refused)
    assert not deploy_drain(network.fabric, ["spine2"], access=network.access, force=True, also_pending=True).refused


def test_a_server_is_drained_without_a_change_of_any_switch(network: Changing) -> None:
    text = network.fabric.read_text()
    plan = drain(network, "gpu-1", force=False)
    assert not plan.refused
    assert not plan.changed
    assert plan.drain is not None
    assert set(plan.drain.ports) == {"stripe1-leaf1", "stripe1-leaf2"}
    apply(network, plan)
    assert "gpu-1" in api.load(network.fabric).absent
    apply(network, deploy_undrain(network.fabric, ["gpu-1"], access=network.access))
    assert network.fabric.read_text() == text


def test_a_leaf_alone_is_refused_by_the_nics_that_it_cuts_off(network: Changing) -> None:
    assert any("2 NICs would be cut off: gpu-1:" in one for one in drain(network, "stripe1-leaf1", force=False).refused)


@pytest.mark.parametrize(
    ("what", "why"), [("spine9", "no switch, server, link or path color"), ("spine1--spine2", "no")]
)
def test_what_is_not_there_is_refused(network: Changing, what: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        drain(network, what)
    with pytest.raises(InputError, match="not drained"):
        deploy_undrain(network.fabric, ["spine2"], access=network.access)


def test_a_switch_that_does_not_answer_is_not_drained(network: Changing) -> None:
    network.devices["spine2"].gone = True
    assert any("spine2 did not answer" in one for one in drain(network, "spine2").refused)


def test_a_link_is_drained_at_the_end_that_can_tell_it_from_others(network: Changing) -> None:
    before = running(network)
    plan = drain(network, "stripe1-leaf1--spine2")
    assert not plan.refused
    assert set(plan.changed) == {"stripe1-leaf1"}, "the spine's session is one of a group, which has no other name"
    apply(network, plan)
    assert running(network) != before
    apply(network, deploy_undrain(network.fabric, ["stripe1-leaf1--spine2"], access=network.access))
    assert running(network) == before
