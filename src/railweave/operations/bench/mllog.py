"""MLPerf training logs: lines of ``:::MLLOG`` with a JSON object (mlcommons/logging, ``mllog.py``).

Steps come from ``tracked_stats``, which NVIDIA's submissions log for each, and blocks from ``block_start`` and ``block_stop``. Types of
values differ by submitter: numbers as strings, None, empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.operations.bench.lines import Line, Note, Notes, count, measured, value, words
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Sequence

MARK = ":::MLLOG"


@dataclass(frozen=True, slots=True)
class Step:
    """A step as ``tracked_stats`` reports it: the progress of training (samples or tokens seen), and the step's duration in seconds."""

    line: int
    at: int | None
    seconds: float


@dataclass(frozen=True, slots=True)
class Block:
    """The time between ``block_start`` and ``block_stop``, and the samples of it where they are said."""

    line: int
    seconds: float
    samples: int | None


@dataclass(frozen=True, slots=True)
class Training:
    """One training run. Times are milliseconds since 1970. ``settings`` are events with a plain value: submission, batch, parallelism.

    ``throughput`` is the last that was tracked, in samples (of language models tokens) per second. ``status`` is ``success`` or
    ``aborted``; empty where the log has no end.
    """

    file: str
    line: int
    benchmark: str
    settings: tuple[tuple[str, str], ...]
    began_ms: int | None
    ended_ms: int | None
    status: str
    steps: tuple[Step, ...]
    blocks: tuple[Block, ...]
    throughput: float | None
    accuracies: tuple[tuple[int, float], ...]
    notes: tuple[Note, ...] = ()

    @property
    def seconds_to_train(self) -> float | None:
        """From ``run_start`` to ``run_stop``; None if one is missing, or the clock was set back between them."""
        if self.began_ms is None or self.ended_ms is None or self.ended_ms < self.began_ms:
            return None
        return (self.ended_ms - self.began_ms) / 1e3


@dataclass
class _Run:
    line: int
    settings: dict[str, str]
    steps: list[Step]
    blocks: list[Block]
    accuracies: list[tuple[int, float]]
    began: int | None = None
    ended: int | None = None
    block: int | None = None
    status: str = ""
    throughput: float | None = None


def read_mllog(lines: Sequence[Line], notes: Notes) -> list[Training]:
    """The runs of a log: each ``submission_benchmark`` or ``run_start`` after an end begins another. Never raises."""
    runs: list[_Run] = []
    for line in lines:
        _, mark, text = line.text.partition(MARK)
        if not mark:
            continue
        try:
            given = parse_json(text.strip())
        except ValueError as error:
            notes.add(line.number, f"not JSON behind {MARK}: {error}", text)
            continue
        if not isinstance(given, dict):
            notes.add(line.number, f"no object behind {MARK}", text)
            continue
        event = cast("dict[str, Any]", given)
        if not runs or (runs[-1].ended is not None and event.get("key") in {"submission_benchmark", "run_start"}):
            runs.append(_Run(line.number, {}, [], [], []))
        _take(runs[-1], line.number, event, notes)
    return [_whole(run, notes.file) for run in runs]


def _take(run: _Run, line: int, event: dict[str, Any], notes: Notes) -> None:
    key, time_ms = words(event.get("key")), count(event.get("time_ms"))
    metadata = event.get("metadata")
    more = cast("dict[str, Any]", metadata) if isinstance(metadata, dict) else {}
    given = event.get("value")
    if key == "run_start":
        run.began = time_ms
    elif key == "run_stop":
        run.ended, run.status = time_ms, words(more.get("status"))
        if run.began is not None and time_ms is not None and time_ms < run.began:
            notes.add(line, "the time to train is left out: negative, the run ends before it starts")
    elif key in {"block_start", "block_stop"}:
        _block(run, line, key, time_ms, more, notes)
    elif key == "tracked_stats":
        _tracked(run, line, given, more, notes)
    elif key == "eval_accuracy":
        accuracy = value(given)  # of some models a loss, which may be negative
        if accuracy is None and given is not None:
            notes.add(line, "eval_accuracy is no number", str(given))
        elif accuracy is not None:
            run.accuracies.append((line, accuracy))
    elif key and isinstance(given, str | int | float) and str(given):
        run.settings.setdefault(key, str(given))
    elif not key:
        notes.add(line, "an event without a key", str(event))


def _block(run: _Run, line: int, key: str, time_ms: int | None, more: dict[str, Any], notes: Notes) -> None:
    if key == "block_start":
        run.block = time_ms
    elif run.block is not None and time_ms is not None and time_ms >= run.block:
        run.blocks.append(Block(line, (time_ms - run.block) / 1e3, count(more.get("samples_count"))))
        run.block = None
    else:
        notes.add(line, "a block that stops without a start")


def _tracked(run: _Run, line: int, given: object, more: dict[str, Any], notes: Notes) -> None:
    stats = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    seconds = measured(stats.get("train_step_timing", stats.get("train_step_time")), "time of a step", line, notes)
    if seconds is not None:
        run.steps.append(Step(line, count(more.get("step", more.get("samples_count"))), seconds))
    throughput = measured(stats.get("throughput"), "throughput", line, notes)
    run.throughput = run.throughput if throughput is None else throughput


def _whole(run: _Run, file: str) -> Training:
    return Training(
        file=file,
        line=run.line,
        benchmark=run.settings.get("submission_benchmark", ""),
        settings=tuple(run.settings.items()),
        began_ms=run.began,
        ended_ms=run.ended,
        status=run.status,
        steps=tuple(run.steps),
        blocks=tuple(run.blocks),
        throughput=run.throughput,
        accuracies=tuple(run.accuracies),
    )
