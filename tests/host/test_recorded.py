"""Twelve servers of other people, without a design: nothing is wrong with them, and what is changed in their answers is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.host import discovery
from railweave.host.checking import RecordedMachine, record
from railweave.host.checks import server as running
from railweave.host.checks.outcome import ALL, NOT_SEEN
from tests.drawn import some
from tests.host.machines import Written
from tests.host.machines.plans import plan
from tests.host.machines.recorded import FAULTS, RECORDINGS, Recording, drawn
from tests.host.test_checks import healthy as as_planned
from tests.host.test_checks import look, wrong

README = Path(__file__).parent / "machines" / "README.md"


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: one.name)
def test_a_healthy_server_has_no_finding(recording: Recording, tmp_path: Path) -> None:
    machine = Written(recording.parts())
    results = running.run(discovery.discovered(machine), running.chosen(()))
    assert wrong(results) == []
    seen = {one.check.id for one in results if one.outcome.verdict == "ok"}
    assert len(seen) > 40
    unseen = {one.check.id for one in results if one.outcome.verdict == NOT_SEEN}
    assert not unseen or not recording.tools >= {"mlnx_qos", "lldpctl"}
    discovery.facts(discovery.discovered(machine))
    record(machine, tmp_path / "recorded")
    again = running.run(discovery.discovered(RecordedMachine(tmp_path / "recorded")), running.chosen(()))
    assert [(one.check.id, one.outcome) for one in again] == [(one.check.id, one.outcome) for one in results]


def test_point_to_point_addresses_are_no_finding_with_a_design_either(tmp_path: Path) -> None:
    file, document = plan("mi300x-leaf-31", tmp_path)
    assert {one["prefix"].rpartition("/")[2] for nic in document["nics"] for one in nic["addresses"]} == {"31"}
    results = look(file, Written(as_planned(document)))
    assert wrong(results) == []
    assert [one.check.id for one in results if one.outcome.verdict == NOT_SEEN] == []


@pytest.mark.slow
def test_changed_answers_are_found() -> None:
    """Of 100 drawn changes at least 97 are found: `make trial NAME=recorded-servers`. A day draws 20."""
    [seed] = some(range(1, 1000), 1, "recorded servers")
    missed = drawn(20, seed)
    assert len(missed) <= 1, missed


def test_every_change_is_of_a_check_that_runs_without_a_design() -> None:
    assert all(not ALL[one.check].design for one in FAULTS)
    assert len({one.check for one in FAULTS}) > 55
    text = README.read_text(encoding="utf-8")
    assert [one.name for one in RECORDINGS if f"| `{one.name}` |" not in text] == []
