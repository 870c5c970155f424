"""The trial of drawn changes finds an effect that a plan states wrongly."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from railweave.model.catalog import in_force
from railweave.operations.deploy.moments import WaveEffect
from railweave.operations.deploy.waves import UNDISTURBED
from tests.operations.deploy.drawn_changes import Drawn, differences
from tests.operations.deploy.test_mixed import texts
from tests.operations.deploy.test_moments import ROUTE_TARGET, planned


def test_the_trial_finds_no_difference_in_a_plan_and_each_false_statement_in_another(tmp_path: Path) -> None:
    plan, old, new = planned(tmp_path, "multitenancy-lab", "eos", ROUTE_TARGET, "64513:{tenant*100}")
    change = Drawn("route targets", False, old, new, tmp_path, texts(old))
    first, *others = plan.waves
    with in_force(new.catalog):
        assert list(differences(change, plan)) == []
        silent = replace(first, effect=WaveEffect(1), risks=(UNDISTURBED.format("1 state of the network"),))
        lines = list(differences(change, replace(plan, waves=(silent, *others))))
        assert "wave 1: no effect stated, and routes move" in lines
        assert any("cut and not stated" in line for line in lines)
        swapped = replace(others[0], effect=replace(others[0].effect, cuts=first.effect.cuts))
        late = replace(others[-1], effect=replace(others[-1].effect, cuts=first.effect.cuts))
        assert any(
            "stated as cut" in line for line in differences(change, replace(plan, waves=(first, *others[:-1], late)))
        )
        assert list(differences(change, replace(plan, waves=(first, swapped, *others[1:])))) != []
