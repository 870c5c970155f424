"""A lab is a living network, too: `check --lab` finds nothing wrong with it, then what was broken, by its cause. Root only."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.lab.faults import matrix
from railweave.lab.faults.kinds import effect as effect_of
from railweave.lab.running import Running
from tests.conftest import EXAMPLES, example
from tests.lab.machine import lab, needs_lab

pytestmark = needs_lab


def checked(fabric: Path, *more: str) -> tuple[int, list[dict[str, str]]]:
    """The exit code, and the findings that are no notes."""
    done = CliRunner().invoke(app, ["check", str(fabric), "--lab", "--json", *more])
    assert done.exit_code in {0, 1}, done.output
    found = json.loads(done.stdout)
    assert found["silent"] == []
    return done.exit_code, [one for one in found["findings"] if one["severity"] != "info"]


def broken(running: Running, fabric: Path, **fault: str) -> list[tuple[str, str]]:
    """What is found while a fault lasts; the lab is settled again afterwards."""
    [target] = matrix.targets(running, [{"at": "0s", "for": "5s", **fault}])
    effect = effect_of(running, target)
    effect.begin()
    try:
        _, found = checked(fabric)
    finally:
        effect.end()
    return [(one["id"], one["where"]) for one in found]


def test_a_lab_is_as_designed_and_what_is_broken_is_found(tmp_path: Path) -> None:
    fabric = tmp_path / "slice.yaml"
    shutil.copy(EXAMPLES / "h100-rlb.yaml", fabric)  # for its lines
    with lab(fabric, example("h100-rlb"), "rails=1,spines=2") as (_, running):
        assert checked(fabric) == (0, [])
        assert checked(fabric, "--all-routes") == (0, [])
        found = broken(running, fabric, kind="link-down", link="stripe1-leaf1--spine1")
        assert found
        assert {id_ for id_, _ in found} <= {"port-down", "port-shut"}
        assert any("stripe1-leaf1" in where or "spine1" in where for _, where in found)
