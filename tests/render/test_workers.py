"""Rendering on several cores gives what rendering on one does, in the same order."""

from __future__ import annotations

import os

import pytest

from railweave.render.workers import LEAST, spread


@pytest.mark.parametrize("count", [3, LEAST])
def test_results_come_in_order(count: int) -> None:
    extra = "not sent to the workers"
    names = [f"device-{number}" for number in range(count)]
    assert spread(lambda name: f"{name} {extra}", names) == [f"{name} {extra}" for name in names]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_many_devices_are_rendered_elsewhere() -> None:
    assert os.getpid() not in spread(lambda _: os.getpid(), [str(number) for number in range(LEAST)])


def test_a_mistake_in_a_worker_is_raised() -> None:
    def fail(name: str) -> str:
        raise KeyError(name)

    with pytest.raises(KeyError, match="7"):
        spread(fail, ["7"] * LEAST)
