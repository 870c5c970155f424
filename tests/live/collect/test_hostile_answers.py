"""Answers that fill the memory, cannot be read or take too long: a failed query, and the others are kept."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from railweave.live.collect import collect, queries
from railweave.live.collect.plan import CollectTarget
from railweave.live.collect.queries import Outcome
from railweave.live.reach.target import MachineLogin, Target
from railweave.model.state.question import Question

QUESTIONS = tuple(Question(name, "text", {"ssh": f"show {name}"}) for name in ("version", "interfaces"))


def captured(folder: Path, answer: str) -> Outcome:
    """The outcome of a device that gives one answer to all it is asked."""

    class Transport:
        async def ask(self, _: Question) -> str:
            return answer

        async def close(self) -> None: ...

    async def opened(*_: object) -> Transport:
        return Transport()

    asked = [CollectTarget(Target("leaf1", ("ssh",), MachineLogin("x", "x")), "junos", QUESTIONS)]
    [outcome] = asyncio.run(collect.captured(asked, folder, {}, at_once=1, attempts=1, open_by=opened))  # type: ignore[arg-type]
    return outcome


def test_the_answers_of_a_device_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_OF_DEVICE", 1 << 20)
    outcome = captured(tmp_path / "capture", "x" * (1 << 20))
    assert (outcome.answered, list(outcome.failed)) == (1, ["interfaces"])
    assert "longer than 1 MiB" in outcome.failed["interfaces"]


def test_a_capture_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "MOST_OF_CAPTURE", 1000)
    outcome = captured(tmp_path / "capture", "x" * 1000)
    assert (outcome.answered, list(outcome.failed)) == (1, ["interfaces"])


def test_an_answer_whose_secrets_are_not_hidden_in_time_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collect, "HIDING_S", 0.05)
    monkeypatch.setattr(collect, "SHORT", 0)
    monkeypatch.setattr(collect.gate, "redacted", lambda _: time.sleep(1))
    begun = time.monotonic()
    outcome = captured(tmp_path / "capture", "x")
    assert time.monotonic() - begun < 0.9
    assert set(outcome.failed) == {"version", "interfaces"}
    assert not list((tmp_path / "capture").glob("*/*"))


@pytest.mark.parametrize("short", [0, 1 << 16])
def test_an_answer_whose_secrets_cannot_be_hidden_is_one_answer(
    short: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def redacted(text: str) -> str:
        if not seen:
            seen.append(text)
            raise RecursionError
        return text

    seen: list[str] = []
    monkeypatch.setattr(collect.gate, "redacted", redacted)
    monkeypatch.setattr(collect, "SHORT", short)
    outcome = captured(tmp_path / "capture", "x")
    assert outcome.failed == {"version": "the answer cannot be read: RecursionError"}
    assert outcome.answered == 1
