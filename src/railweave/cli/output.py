"""Output of verbs: progress to standard error, results to standard output."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from typing import TYPE_CHECKING, Any, Protocol

import typer

from railweave.counting import counted
from railweave.errors import InputError
from railweave.host.terminal import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from railweave.api.verbs import ForPipelines
    from railweave.model.findings import Finding
    from railweave.pages.table import Table


def progress(*, quiet: bool) -> Callable[[str], None]:
    """Return a function that reports progress: on a terminal it rewrites one line, otherwise it prints a line each time."""
    terminal = sys.stderr.isatty()

    def say(text: str) -> None:
        if not quiet:
            line = escaped(text)
            print(
                f"\r\033[K{line} ..." if terminal else line, end="" if terminal else "\n", file=sys.stderr, flush=True
            )

    return say


PATIENCE_S = 2.0
"""Seconds after which a step reports its progress."""


@contextlib.contextmanager
def waiting(text: str, *, quiet: bool, after_s: float | None = None) -> Generator[None]:
    """Report progress if the work in the ``with`` block takes longer than ``after_s`` seconds (None: ``PATIENCE_S``)."""
    timer = threading.Timer(PATIENCE_S if after_s is None else after_s, progress(quiet=quiet), [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        done(quiet=quiet)


@contextlib.contextmanager
def telling(*, quiet: bool) -> Generator[Callable[[str], None]]:
    """Provide the function that ``progress`` returns inside a ``with`` block. Its line ends when the block ends, even after an error."""
    try:
        yield progress(quiet=quiet)
    finally:
        done(quiet=quiet)


def done(*, quiet: bool) -> None:
    """End the progress line of a terminal."""
    if not quiet and sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)


class Tabled(Protocol):
    """A result with a table."""

    @property
    def table(self) -> Table:
        """The table of the result."""
        ...


def write_csv(file: Path | None, result: Tabled) -> None:
    """Write the table of a result to the file of ``--csv``, if one is given. Raises ``OutputError`` if the file cannot be written."""
    from railweave.writing import write_file

    if file is not None:
        write_file(file, result.table.as_csv())


def print_json(value: Any) -> None:  # noqa: ANN401 - JSON values
    """Print a value as JSON."""
    typer.echo(json.dumps(value, indent=1))


_COLORS = {"error": "red", "warning": "yellow", "info": "blue"}


def print_findings(findings: Sequence[Finding], *, least: tuple[str, ...] = ("error", "warning", "info")) -> None:
    """Print findings as text: severity, id and place, then the problem, the reason and the fix."""
    for finding in findings:
        if finding.severity not in least:
            continue
        place = f" ({finding.place})" if finding.place else ""
        head = typer.style(finding.severity, fg=_COLORS[finding.severity])
        typer.echo(f"{head} [{finding.id}] {finding.where}: {finding.what}{place}")
        for text in (finding.why, f"-> {finding.fix}" if finding.fix else ""):
            if text:
                typer.echo(f"    {text}")


def tally(findings: Sequence[Finding]) -> str:
    """Return the number of findings by severity, for example ``1 error, 2 warnings, 3 notes``."""
    words = {"error": "error", "warning": "warning", "info": "note"}
    return ", ".join(counted(sum(finding.severity == key for finding in findings), word) for key, word in words.items())


def write_findings(
    options: ForPipelines,
    findings: Sequence[Finding],
    *,
    source: object,
    exit_code: int,
    counts: Mapping[str, int],
    as_json: bool,
) -> None:
    """Write findings as a SARIF file and as annotations, if the options ask for them.

    - ``source``: the fabric file or folder that was given. A designed network has none.
    - ``exit_code``: the exit code of the verb.
    - ``counts``: what the verb looked at, by name.
    - ``as_json``: True if programs read standard output. Annotations then go to standard error, which GitHub Actions reads too.

    Raises ``OutputError`` if the file cannot be written.
    """
    from railweave.api.exporting import findings_for_pipelines

    for line in findings_for_pipelines(options, findings, source=str(source), exit_code=exit_code, counts=counts):
        typer.echo(line, err=as_json)


@contextlib.contextmanager
def refusing(options: ForPipelines, *, source: object, as_json: bool) -> Generator[None]:
    """Write the problems of wrong input in a ``with`` block as ``write_findings`` does, and raise the error again."""
    try:
        yield
    except InputError as error:
        from railweave.api.exporting import of_input

        write_findings(options, of_input(error), source=source, exit_code=error.exit_code, counts={}, as_json=as_json)
        raise
