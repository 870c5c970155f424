"""Findings in the forms of pipelines. ``make trial NAME=pipelines`` takes those of every example, the hooks and the workflow."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.model.findings import Finding
from railweave.operations.exports.sarif import MOST_RESULTS, sarif, workflow_commands
from tests.conftest import EXAMPLES, ROOT

MULTITOOL = ROOT / ".validators/sarif/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
EARLIER = ROOT / "tests/earlier/7958d393"


def validated(file: Path) -> None:
    """Validate a file by the rules of SARIF and of GitHub."""
    if not MULTITOOL.exists():
        pytest.skip(f"no {MULTITOOL.name} (make validators)")
    words = [str(MULTITOOL), "validate", str(file), "--rule-kind", "Sarif;Ghas"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Analysis completed successfully" in done.stdout, done.stdout
    assert "error" not in done.stdout, done.stdout


def ran(*words: str | Path) -> tuple[int, str]:
    """Run a command line; return its exit code and its standard output."""
    result = CliRunner().invoke(app, [*map(str, words), "-q"])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result.exit_code, result.stdout


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (("verify", EXAMPLES / "mi300x-leaf-24.yaml", "--design-only"), {"good": True}),
        (("check", EARLIER / "build", EARLIER / "capture"), {"good": False, "expected": 131, "devices_answered": 2}),
        (
            ("drift", EARLIER / "small.yaml", EARLIER / "capture"),
            {"good": False, "expected": 4, "right": 1, "not_seen": 2},
        ),
        (("diff", EXAMPLES / "h100-rlb.yaml", EXAMPLES / "h100-rlb-8up.yaml"), {"good": False}),
        (("diff", EXAMPLES / "h100-rlb.yaml", EXAMPLES / "h100-rlb.yaml"), {"good": True, "changes": 0}),
    ],
)
def test_a_verb_writes_what_it_found_and_what_it_looked_at(
    words: tuple[str | Path, ...], counts: dict[str, int], tmp_path: Path
) -> None:
    file = tmp_path / "found.sarif"
    code, text = ran(*words, "--sarif", file, "--github")
    [run] = json.loads(file.read_text())["runs"]
    properties = run["properties"]
    assert {key: properties[key] for key in counts} == counts
    assert (code == 0) == properties["good"]
    assert run["invocations"][0]["exitCode"] == code
    levels = [result["level"] for result in run["results"]]
    assert levels == sorted(levels, key=["error", "warning", "note"].index)
    commands = [line for line in text.splitlines() if line.startswith("::")]
    assert len(commands) == sum(level != "note" for level in levels)
    assert all(result["locations"][0]["physicalLocation"]["region"]["startLine"] > 0 for result in run["results"])
    validated(file)


def test_a_switch_that_was_not_captured_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "found.sarif"
    ran("drift", EARLIER / "small.yaml", EARLIER / "capture", "--sarif", file)
    [run] = json.loads(file.read_text())["runs"]
    unseen = [result for result in run["results"] if result["ruleId"] == "not-captured"]
    assert [result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] for result in unseen] == [
        "stripe1-leaf2",
        "spine2",
    ]
    assert {result["level"] for result in unseen} == {"error"}


def test_annotations_go_to_standard_error_beside_json(tmp_path: Path) -> None:
    words = ["drift", str(EARLIER / "small.yaml"), str(EARLIER / "capture"), "--github", "--json"]
    result = CliRunner().invoke(app, words)
    json.loads(result.stdout)
    assert result.stderr.startswith("::error file=")


def test_annotations_do_not_mix_with_what_programs_read() -> None:
    words = [
        "diff",
        str(EXAMPLES / "h100-rlb.yaml"),
        str(EXAMPLES / "h100-rlb-8up.yaml"),
        "--as",
        "cables",
        "--github",
        "-q",
    ]
    result = CliRunner().invoke(app, words)
    assert result.stderr.startswith("::warning ")
    assert "::" not in result.stdout


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["verify", str(EXAMPLES / "h100-rlb.yaml"), "--sarif", str(tmp_path / "found.json")]
    )
    assert "does not end in .sarif" in str(result.exception)


FINDING = Finding(
    "link-down", "error", "leaf1", "50% of ports, in 2 rows: down\nnow", fix="look", file="a b,c.yaml", line=3
)


def test_signs_with_a_meaning_in_workflow_commands_are_escaped() -> None:
    [line] = workflow_commands([FINDING], source="fabric.yaml")
    assert (
        line == "::error file=a b%2Cc.yaml,line=3,title=link-down::leaf1: 50%25 of ports, in 2 rows: down%0Anow. look"
    )


def test_paths_are_relative_to_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inside, outside = (
        Finding("id", "error", "leaf1", "wrong", file=str(folder / "a b.yaml"), line=3)
        for folder in (tmp_path, Path("/srv"))
    )
    results = json.loads(sarif([inside, outside], source="fabric.yaml", exit_code=1, counts={}))["runs"][0]["results"]
    uris = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert uris == ["a%20b.yaml", "file:///srv/a%20b.yaml"]


def test_the_same_finding_has_the_same_fingerprint_whatever_else_is_found() -> None:
    def prints(*findings: Finding) -> list[str]:
        results = json.loads(sarif(findings, source="f.yaml", exit_code=1, counts={}))["runs"][0]["results"]
        return [result["partialFingerprints"]["railweaveFinding/v1"] for result in results]

    other = Finding("other", "error", "leaf2", "wrong")
    assert prints(FINDING)[0] == prints(other, FINDING)[1]
    assert len(set(prints(FINDING, FINDING, other))) == 3


def test_more_results_than_github_takes_are_counted() -> None:
    many = [Finding("id", "info", "leaf1", "note")] * MOST_RESULTS + [FINDING]
    [run] = json.loads(sarif(many, source="f.yaml", exit_code=1, counts={}))["runs"]
    assert len(run["results"]) == MOST_RESULTS
    assert run["results"][0]["level"] == "error", "the most severe are kept"
    [note] = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].startswith("1 finding left out")


def test_wrong_input_is_shown_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "clusters"
    folder.mkdir()
    (folder / "f.yaml").write_text((EXAMPLES / "h100-rlb.yaml").read_text().replace("spines: 4", "spines: 4000"))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["verify", "clusters/f.yaml", "--sarif", "f.sarif", "--github", "-q"])
    assert "::error file=clusters/f.yaml,line=16,title=wrong-input::" in result.stdout
    [run] = json.loads((tmp_path / "f.sarif").read_text())["runs"]
    assert run["invocations"][0]["exitCode"] == 2
    assert run["results"][0]["locations"][0]["physicalLocation"]["region"] == {"startLine": 16}
    validated(tmp_path / "f.sarif")


def test_findings_name_files_beside_the_fabric_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "f.yaml").write_text("")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "design.json").write_text("")
    monkeypatch.chdir(tmp_path)
    finding = Finding("id", "error", "leaf1", "wrong", file="f.yaml", line=3)
    assert "file=a/f.yaml,line=3" in workflow_commands([finding], source="a/f.yaml")[0]
    assert (
        "file=build/design.json,line=1" in workflow_commands([Finding("id", "error", "leaf1", "x")], source="build")[0]
    )
