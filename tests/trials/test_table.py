"""The table of trials names modules that are there, and no other name runs one."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.trials.__main__ import TRIALS, main


@pytest.mark.parametrize("name", sorted(TRIALS))
def test_a_trial_is_there(name: str) -> None:
    module = TRIALS[name].module
    spec = find_spec(module)
    assert spec is not None
    assert spec.submodule_search_locations is None or find_spec(f"{module}.__main__")


def test_a_name_that_there_is_not_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such"]) == 2
    said = capsys.readouterr().out
    assert "no trial 'no-such'" in said
    assert all(name in said for name in TRIALS)
