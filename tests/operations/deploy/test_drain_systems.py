"""Drains on stand-ins for EOS and SONiC; and what is to be typed where nothing here changes a switch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from railweave.api.deploying import deploy_apply, deploy_drain, deploy_plan, deploy_undrain
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.traffic import IdleLimit
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy import eos_network, sonic_network
from tests.operations.deploy.test_rollout import SMALL

NUMBERED = SMALL.replace("    colors:", "    underlay: {peering: numbered}\n    colors:")


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


def apply(fabric: Path, plan: Plan) -> None:
    path = fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    idle_limit = IdleLimit(every_s=0, within_s=0)
    deploy_apply(path, access=fabric.with_name("access.yaml"), settle=0, idle_limit=idle_limit)


def there_and_back(fabric: Path, what: str, changed: set[str]) -> None:
    """Drain, look whether it is the design then, and bring it back."""
    access, text = fabric.with_name("access.yaml"), fabric.read_text()
    plan = deploy_drain(fabric, [what], access=access, force=True)
    assert not plan.refused
    assert set(plan.changed) == changed
    assert not any(one.disrupts for one in plan.changed.values())
    apply(fabric, plan)
    assert not deploy_plan(fabric, live=True, access=access).changed
    apply(fabric, deploy_undrain(fabric, [what], access=access))
    assert not deploy_plan(fabric, live=True, access=access).changed
    assert fabric.read_text() == text


@pytest.mark.parametrize("text", [SMALL, NUMBERED], ids=["discovered", "numbered"])
def test_a_spine_of_eos_is_drained_and_comes_back(tmp_path: Path, text: str) -> None:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(eos_network.of_eos(text))
    with eos_network.eos_network(fabric, eos_network.runs(fabric)):
        there_and_back(fabric, "spine2", {"spine2"})


def test_a_link_of_eos_is_drained_where_its_session_has_an_address(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(eos_network.of_eos(NUMBERED))
    with eos_network.eos_network(fabric, eos_network.runs(fabric)):
        there_and_back(fabric, "stripe1-leaf1--spine2", {"stripe1-leaf1", "spine2"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "changed"), [("spine2", {"spine2"}), ("stripe1-leaf1--spine2", {"stripe1-leaf1", "spine2"})]
)
def test_a_switch_and_a_link_of_sonic_are_drained_and_come_back(tmp_path: Path, what: str, changed: set[str]) -> None:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(sonic_network.of_sonic(SMALL))
    with sonic_network.sonic_network(fabric, sonic_network.runs(fabric)):
        there_and_back(fabric, what, changed)
