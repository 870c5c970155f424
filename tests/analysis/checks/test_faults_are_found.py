"""Faults drawn over everything that matters in configurations are found, and named on their line."""

from __future__ import annotations

import pytest
from tests.mutants.score import score

from railweave.systems import systems

NUMBER = 40
"""Of each system here; ``python -m tests.mutants.score SYSTEM 500`` draws more by hand."""


@pytest.mark.slow
@pytest.mark.parametrize("nos", systems())
def test_faults_are_found_and_named(nos: str) -> None:
    result = score(nos, seed=7, number=NUMBER)
    assert result.number >= NUMBER - 4
    assert result.found >= 97, result.wrong
    assert result.named >= 90, result.wrong
