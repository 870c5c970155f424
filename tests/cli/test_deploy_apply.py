"""What ``railweave deploy`` asks and says before a plan is applied."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.cli.deploy_output import planned
from railweave.cli.failures import run
from railweave.operations.deploy.changes import DeviceChange
from railweave.operations.deploy.plan import Drain, Plan
from railweave.operations.deploy.waves import Wave


def plan(**more: object) -> Plan:
    change = DeviceChange("leaf1", "junos", commands={"junos.conf": ("set system name <secret:root>",)})
    given = {"live": True, "devices": (change,), "waves": (Wave(("leaf1",), "it"),), "silent": {}, **more}
    return Plan("fabric.yaml", "0", "2026-01-01", **given)  # type: ignore[arg-type]


def saved(folder: Path, **more: object) -> Path:
    path = folder / "plan.json"
    path.write_text(json.dumps(plan(**more).to_json()))
    return path


def test_without_a_digest_a_machine_gets_an_error_and_no_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(app, ["deploy", "apply", str(saved(tmp_path)), "--json"]) == 2
    printed = capsys.readouterr()
    (problem,) = json.loads(printed.out)["problems"]
    assert (problem["option"], printed.err) == ("--digest", "")


@pytest.mark.parametrize("words", [(), ("--digest", "0"), ("--json",), ("--yes",)])
def test_a_refused_plan_is_refused_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    assert run(app, ["deploy", "apply", str(saved(tmp_path, live=False)), *words]) == 2
    printed = capsys.readouterr()
    assert "the plan is refused: it was made from a capture, which has no secrets" in printed.out + printed.err
    assert "type the digest" not in printed.out
    assert not printed.err.startswith("error: plan:")


@pytest.mark.parametrize(
    ("lab", "access", "words"),
    [
        (True, None, "--lab --secrets FILE"),
        (False, Path("my access.yaml"), "--access 'my access.yaml' --secrets FILE"),
        (True, Path("lab.yaml"), "--lab --access lab.yaml --secrets FILE"),
        (False, None, "--secrets FILE"),
    ],
)
def test_the_command_that_is_shown_reaches_the_devices_as_they_were_reached(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], lab: bool, access: Path | None, words: str
) -> None:
    path = tmp_path / "plan.json"
    planned(plan(), path, lab=lab, access=access, as_json=False)
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == f"apply it: railweave deploy apply {path} {words} --digest {plan().digest}"


def test_the_help_says_which_verbs_change_devices() -> None:
    said = " ".join(CliRunner().invoke(app, ["deploy", "--help"]).output.split())
    assert "Only `apply`, `resume` and `campaign` change devices" in said


def test_arguments_of_functions_are_not_named_to_who_wrote_a_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(app, ["deploy", "plan", "fabric.yaml", "-o", str(tmp_path / "plan.json")]) == 2
    assert capsys.readouterr().err.startswith("error: give exactly one of: CAPTURE, --live, --lab\n")
    assert run(app, ["check", "fabric.yaml"]) == 2
    assert capsys.readouterr().err.startswith("error: give exactly one of: CAPTURE, --live, --lab\n")


def test_a_capture_that_shows_nothing_to_change_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "plan.json"
    same = plan(live=False, devices=(DeviceChange("leaf1", "junos"),), waves=())
    planned(same, path, lab=False, access=None, as_json=False)
    assert capsys.readouterr().out == (
        f"nothing to change: every device that answered runs its design\nno plan is written to {path}\n"
    )
    assert not path.exists()


def test_a_switch_without_an_answer_is_named_once() -> None:
    silent = {"leaf2": "192.0.2.7:22: Connection lost"}
    assert "left out: leaf2: 192.0.2.7:22: Connection lost" in plan(silent=silent).lines()
    drain = Drain(("leaf2",), back=False, before="", after="", refused=("leaf2 did not answer: Connection lost",))
    assert [line for line in plan(silent=silent, drain=drain).lines() if "leaf2" in line] == [
        "refused: leaf2 did not answer: Connection lost"
    ]
