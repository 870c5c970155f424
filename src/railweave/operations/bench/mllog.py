"""MLPerf training logs: ``:::MLLOG`` lines with a JSON object (mlcommons/logging, ``mllog.py``).

Steps come from ``tracked_stats``, which NVIDIA's submissions log for each step. Blocks come from ``block_start`` and ``block_stop``.
The types of values depend on the submitter: numbers may be strings, None or empty.
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
    """The time between ``block_start`` and ``block_stop``, and the number of samples in the block if the log states it."""

    line: int
    seconds: float
    samples: int | None


@dataclass(frozen=True, slots=True)
class Training:
    """A training run. Times are milliseconds since 1970.

    - ``settings``: events with a plain value, such as submission, batch size and parallelism.
    - ``throughput``: the last logged throughput, in samples per second (tokens per second for language models).
    - ``accuracies``: (line, accuracy) of each evaluation; some models log a loss instead.
    - ``status``: ``success`` or ``aborted``; empty if the log does not have the end of the run.
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
        """The seconds from ``run_start`` to ``run_stop``; None if either is missing, or if the clock was set back in between."""
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
    """Return the training runs of a log. Never raises an error; ``notes`` collects the lines that cannot be read.

    A new run begins at each ``submission_benchmark``, and at a ``run_start`` that follows the end of a run.
    """
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
