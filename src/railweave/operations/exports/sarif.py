"""Findings for pipelines: SARIF 2.1.0 files (OASIS) for code scanning, and annotations of GitHub Actions."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from railweave import __version__
from railweave.counting import counted
from railweave.errors import FileLine
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.errors import InputError
    from railweave.model.findings import Finding

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {"error": "error", "warning": "warning", "info": "note"}
"""The level in SARIF of each severity."""
COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
"""The workflow command of GitHub Actions for each severity ("Workflow commands for GitHub Actions")."""
MOST_RESULTS = 25_000
"""The number of results of a run that GitHub accepts ("SARIF support for code scanning"). The most severe are kept."""


WRONG_INPUT = Rule(
    "wrong-input",
    "error",
    "design",
    "a file or option that is not valid",
    why="nothing was checked",
    fix="correct the input as the message says",
)
"""The rule of SARIF results and annotations about input that could not be read."""


def sarif(findings: Sequence[Finding], *, source: str, exit_code: int, counts: Mapping[str, int]) -> str:
    """Return findings as a SARIF 2.1.0 file.

    - ``source``: the fabric file or folder that was given. Findings that have no file are placed at its first line,
      because code scanning shows no result without a file.
    - ``exit_code``: the exit code of the verb.
    - ``counts``: what was looked at, for example the numbers of right, wrong and unseen switches, or of checks.
    """
    ordered = sorted(findings, key=lambda finding: tuple(LEVELS).index(finding.severity))
    kept = ordered[:MOST_RESULTS]
    rules = {finding.id: finding for finding in reversed(kept)}
    names = sorted(rules)
    repeated: Counter[tuple[str, str]] = Counter()
    results: list[dict[str, Any]] = []
    for finding in kept:
        key = (finding.id, finding.where)
        results.append(_result(finding, names.index(finding.id), source, repeated[key]))
        repeated[key] += 1
    left_out = len(ordered) - len(kept)
    notes = (
        [_note(f"{counted(left_out, 'finding')} left out: a run has at most {MOST_RESULTS:,} results")]
        if left_out
        else []
    )
    run = {
        "tool": {
            "driver": {
                "name": "railweave",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rules[name]) for name in names],
            }
        },
        "invocations": [
            {
                "executionSuccessful": True,
                "exitCode": exit_code,
                "toolExecutionNotifications": notes,
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
        "properties": {"good": exit_code == 0, **counts},
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"


def of_input(error: InputError) -> list[Finding]:
    """Return the problems of an input that could not be read or designed as findings, so that a pipeline shows them at their lines."""
    return [
        WRONG_INPUT.finding("", problem.what, file=problem.place.file, line=problem.place.line, fix=problem.fix)
        if isinstance(problem.place, FileLine)
        else WRONG_INPUT.finding(str(problem.place), problem.what, fix=problem.fix)
        for problem in error.problems
    ]


def _note(text: str) -> dict[str, Any]:
    return {"level": "warning", "message": {"text": text}}


def _rule(finding: Finding) -> dict[str, Any]:
    """Return the description of a finding's rule. GitHub requires all three texts."""
    name = finding.id.replace("-", " ").capitalize()
    return {
        "id": finding.id,
        "shortDescription": {"text": f"{name}."},
        "fullDescription": {
            "text": finding.why or f"{name}: the page of findings in railweave's documents explains it."
        },
        "help": {"text": finding.fix or "The message of each result states what was found."},
        "defaultConfiguration": {"level": LEVELS[finding.severity]},
    }


def _result(finding: Finding, rule: int, source: str, number: int) -> dict[str, Any]:
    """Return one result. ``rule`` is the index of its rule, and ``number`` counts earlier findings of the same rule and place."""
    text = f"{finding.where}: {finding.what}" if finding.where else finding.what
    message = ". ".join(part.rstrip(".") for part in (text, finding.why, finding.fix) if part)
    print_of = hashlib.sha256(f"{finding.id}\0{finding.where}\0{number}".encode()).hexdigest()[:32]
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(_file(finding, source))},
            "region": {"startLine": max(1, finding.line if finding.file else 1)},
        }
    }
    if finding.where:
        location["logicalLocations"] = [{"fullyQualifiedName": finding.where}]
    return {
        "ruleId": finding.id,
        "ruleIndex": rule,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{message}."},
        "locations": [location],
        "partialFingerprints": {"railweaveFinding/v1": print_of},
    }


def _file(finding: Finding, source: str) -> str:
    """Return the path of a finding's file. Findings name the fabric file and files beside it without its folder.

    A build folder stands for its ``design.json``: a result must be in a file.
    """
    given = Path(source)
    if not finding.file:
        return str(given / "design.json") if given.is_dir() else source
    beside = given.parent / finding.file
    return str(beside) if not Path(finding.file).exists() and beside.exists() else finding.file


def _relative(file: str) -> str:
    """Return a path relative to the working directory, where a pipeline has its repository, if the file is below it."""
    path = Path(file)
    if path.is_absolute():
        here = Path.cwd()
        return str(path.relative_to(here)) if path.is_relative_to(here) else file
    return file


def _uri(file: str) -> str:
    path = _relative(file)
    return Path(path).as_uri() if path.startswith("/") else quote(Path(path).as_posix())


def workflow_commands(findings: Sequence[Finding], *, source: str) -> list[str]:
    """Return findings as workflow commands of GitHub Actions, which shows them beside the lines of a pull request.

    ``source`` is the fabric file or folder of findings that have no file. Findings of severity info are left out: GitHub shows ten
    annotations of a kind for each step.
    """
    lines: list[str] = []
    for finding in findings:
        if finding.severity == "info":
            continue
        head = f"{finding.where}: {finding.what}" if finding.where else finding.what
        text = ". ".join(part.rstrip(".") for part in (head, finding.fix) if part)
        properties = {"file": _relative(_file(finding, source)), "line": str(max(1, finding.line)), "title": finding.id}
        written = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
        lines.append(f"::{COMMANDS[finding.severity]} {written}::{_escaped(text)}")
    return lines


def _escaped(text: str, more: str = "") -> str:
    """Return a text with the characters escaped that end a workflow command or, for ``more``, one of its properties."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
