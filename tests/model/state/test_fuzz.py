"""No answer makes a reader raise, whatever is in it (``tests/model/state/fuzz.py``)."""

from __future__ import annotations

import pytest

from tests.model.state.fuzz import run


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_odd_answers_are_read_without_an_exception(seed: int) -> None:
    run(6_000, seed)
