"""Servers that print without end, or what nobody can read: a failed run, and the other runs go on."""

from __future__ import annotations

import asyncio
import datetime as dt
from pathlib import Path
from time import monotonic

import pytest

from railweave.operations.bench.plan import NcclTests, PlannedRun
from railweave.operations.bench.running import carrying, shells
from railweave.operations.bench.running.carrying import ResultWriter
from railweave.operations.bench.running.pair import RunResult
from railweave.operations.bench.running.shells import HERE, ScriptOutput, Shells
from railweave.operations.store.records import Environment
from railweave.operations.store.store import opened


def ran(script: str, seen: object = None) -> ScriptOutput:
    return asyncio.run(Shells({}).ran(HERE, script, 20, seen))  # type: ignore[arg-type]


@pytest.mark.parametrize("script", ["exec yes", "exec cat /dev/zero"], ids=["lines", "one line"])
def test_an_output_without_end_is_ended(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shells, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(shells, "GRACE_S", 0.1)
    begun = monotonic()
    outcome = ran(script)
    assert outcome.lost == "its output is longer than 1 MiB"
    assert len(outcome.text) <= 1 << 20
    assert monotonic() - begun < 10


def test_lines_are_seen_whatever_their_length() -> None:
    lines: list[str] = []
    outcome = ran(f"echo a; echo; head -c {shells.LONGEST * 3} /dev/zero | tr '\\0' x; echo; printf b", lines.append)
    assert [lines[0], lines[1], len(lines[2]), lines[3]] == ["a", "", shells.LONGEST, "b"]
    assert outcome.status == 0


def test_a_line_that_cannot_be_understood_is_one_run() -> None:
    def seen(line: str) -> None:
        raise ValueError(line)

    assert ran("echo garbage", seen).lost == "the answer cannot be read: ValueError: garbage"


def test_an_output_that_cannot_be_read_is_a_failed_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str, file: str) -> object:
        if text:
            raise RecursionError
        return inner(text, file)

    inner = carrying.read
    monkeypatch.setattr(carrying, "read", read)
    test = NcclTests("all-reduce", ("gpu-1",), 1, 8, 8, 8)
    planned = PlannedRun("a", "part", "why", test, 0, 60, 1.0, 0.05)
    with opened(tmp_path / "runs.db", make=True) as store:
        keeper = ResultWriter(store, "digest", tmp_path / "outputs")
        run = keeper.keep(planned, RunResult("[" * 100), dt.datetime.now(dt.UTC), 1.0, Environment())
    assert "the answer cannot be read: RecursionError" in run.failures
    assert (tmp_path / "outputs" / "a.txt").read_text() == "[" * 100
