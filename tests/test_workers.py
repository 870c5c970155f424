"""Rendering on several cores gives what rendering on one does, in the same order."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from railweave.errors import NetworkPart, Problem, SpecError
from railweave.workers import LEAST, spread, spreading

NAMES = [str(number) for number in range(LEAST)]


@pytest.mark.parametrize("count", [3, LEAST])
def test_results_come_in_order(count: int) -> None:
    extra = "not sent to the workers"
    names = [f"device-{number}" for number in range(count)]
    assert spread(lambda name: f"{name} {extra}", names) == [f"{name} {extra}" for name in names]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_many_devices_are_rendered_elsewhere() -> None:
    *others, last = spread(lambda _: os.getpid(), NAMES)
    assert os.getpid() not in others
    assert last == os.getpid()


@pytest.mark.parametrize("place", [NAMES[7], NAMES[-1]])
def test_a_mistake_is_raised_wherever_it_is(place: str) -> None:
    def fail(name: str) -> str:
        if name == place:
            raise KeyError(name)
        return name

    with pytest.raises(KeyError, match=place):
        spread(fail, NAMES)


def test_an_error_of_a_worker_keeps_its_problems() -> None:
    problem = Problem(NetworkPart("leaf1"), "is wrong", "mend it")

    def fail(name: str) -> str:
        if name == "7":
            raise SpecError([problem])
        return name

    with pytest.raises(SpecError) as caught:
        spread(fail, NAMES)
    assert caught.value.problems == [problem]


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_several_at_once_and_none_is_left() -> None:
    before, names = children(), NAMES
    for _ in range(20):
        with spreading(str.upper, names) as one, spreading(str.lower, names) as two:
            assert spread(str.title, names) == two() == one() == names
    assert children() == before


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_workers_end_where_nobody_asks_for_results() -> None:
    before = children()
    with spreading(lambda name: time.sleep(0 if name == NAMES[-1] else 60), NAMES):
        assert children() > before
    assert children() == before


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_a_worker_that_is_killed_is_missed() -> None:
    parent = os.getpid()
    with pytest.raises(RuntimeError, match="a worker ended with status -9"):
        spread(lambda _: os.getpid() == parent or os.kill(os.getpid(), signal.SIGKILL), NAMES)


def test_a_thread_does_the_work_itself() -> None:
    """A fork of a thread would wait at its end for the threads that are not in it."""
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(spread, lambda _: os.getpid(), NAMES).result(60)
    assert found == [os.getpid()] * LEAST
