"""Servers of known kinds, healthy and not: ``host check`` says of each what it should, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.host.checking import RecordedMachine, record
from railweave.host.checks.outcome import FAILED, NOT_SEEN, WARNING
from tests.host.machines import Written
from tests.host.machines.samples import SAMPLES, Sample
from tests.host.test_checks import look

README = Path(__file__).parent / "machines" / "README.md"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda one: one.name)
def test_all_that_is_wrong_is_said_and_nothing_else(sample: Sample, tmp_path: Path) -> None:
    file, parts = sample.written(tmp_path)
    machine = Written(parts)
    results = look(file, machine)
    said = {
        f"{one.outcome.verdict} {one.check.id} {one.outcome.of}".strip()
        for one in results
        if one.outcome.verdict in {FAILED, WARNING}
    }
    assert said == set(sample.wrong)
    assert {one.check.id for one in results if one.outcome.verdict == NOT_SEEN} == set(sample.unseen)
    assert all(one.outcome.remedy and one.outcome.wanted for one in results if one.outcome.verdict == FAILED)
    record(machine, tmp_path / "recorded")
    again = look(file, RecordedMachine(tmp_path / "recorded"))
    assert [(one.check.id, one.outcome) for one in again] == [(one.check.id, one.outcome) for one in results]


def test_the_table_names_every_sample() -> None:
    text = README.read_text(encoding="utf-8")
    assert [one.name for one in SAMPLES if f"| `{one.name}` |" not in text] == []
