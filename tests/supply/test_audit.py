"""The audit finds made-up advisories, and never says that nothing is known of packages that it did not compare."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import audit
import pytest
from locked import Locked

from tests.conftest import ROOT

YAML = Locked("PyPI", "pyyaml", "6.0.4", ())
SERDE = Locked("crates.io", "serde_json", "1.0.154", ())


def advisory(name: str, events: list[dict[str, str]], ecosystem: str = "PyPI", **more: Any) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM" if ecosystem == "PyPI" else "SEMVER", "events": events}]
    return {
        "id": "MADE-UP-1",
        "summary": "made up",
        "affected": [{"package": {"ecosystem": ecosystem, "name": name}, "ranges": ranges}],
    } | more


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("1.0.0", "1.0.1"),
        ("1.9", "1.10"),
        ("1.0rc1", "1.0"),
        ("1.0a2", "1.0b1"),
        ("1.0.dev3", "1.0a1"),
        ("1.0", "1.0.post1"),
        ("1.0.0-beta.2", "1.0.0-beta.10"),
        ("2.0.0-alpha", "2.0.0"),
        ("0.0.0-0", "0.1"),
    ],
)
def test_versions_sort(older: str, newer: str) -> None:
    assert audit.before(older, newer)
    assert not audit.before(newer, older)


def test_equal_versions() -> None:
    for left, right in (("1.0", "1.0.0"), ("v1.2", "1.2"), ("1.0+cu12", "1.0")):
        assert not audit.before(left, right)
        assert not audit.before(right, left)


@pytest.mark.parametrize(
    ("events", "hit", "fixed"),
    [
        ([{"introduced": "0"}], True, ""),
        ([{"introduced": "0"}, {"fixed": "6.0.5"}], True, "6.0.5"),
        ([{"introduced": "0"}, {"fixed": "6.0.4"}], False, ""),
        ([{"introduced": "6.0.5"}], False, ""),
        ([{"introduced": "0"}, {"last_affected": "6.0.4"}], True, ""),
        ([{"introduced": "0"}, {"last_affected": "6.0.3"}], False, ""),
        ([{"fixed": "5.1"}, {"introduced": "0"}, {"introduced": "6.0"}, {"fixed": "6.1"}], True, "6.1"),
        ([{"introduced": "0"}, {"fixed": "5.1"}, {"introduced": "7.0"}], False, ""),
    ],
)
def test_ranges(events: list[dict[str, str]], hit: bool, fixed: str) -> None:
    assert audit.affects(advisory("PyYAML", events)["affected"][0], YAML) == (hit, fixed)


def test_names_and_ecosystems(tmp_path: Path) -> None:
    always = [{"introduced": "0"}]
    for number, (name, ecosystem) in enumerate(
        [("Py.YAML", "PyPI"), ("pyyaml", "crates.io"), ("serde_json", "crates.io"), ("serde-json", "crates.io")]
    ):
        entry = advisory(name, always, ecosystem, id=f"MADE-UP-{number}")
        (tmp_path / f"{number}.json").write_text(json.dumps(entry))
    packages = [YAML, Locked("PyPI", "py-yaml", "1", ()), SERDE]
    hits = {(item.package.name, item.id) for item in audit.by_database(packages, tmp_path).weaknesses}
    assert hits == {("py-yaml", "MADE-UP-0"), ("serde_json", "MADE-UP-2")}


def test_listed_versions_and_withdrawn_advisories(tmp_path: Path) -> None:
    listed = {
        "id": "MADE-UP-1",
        "details": "one\ntwo",
        "affected": [{"package": {"ecosystem": "PyPI", "name": "PyYAML"}, "versions": ["6.0.4"]}],
    }
    (tmp_path / "a.json").write_text(json.dumps(listed))
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.json").write_text(
        json.dumps(listed | {"id": "MADE-UP-2", "withdrawn": "2026-01-01T00:00:00Z"})
    )
    result = audit.by_database([YAML], tmp_path)
    assert [(item.id, item.summary) for item in result.weaknesses] == [("MADE-UP-1", "one")]
    assert result.compared == 1


def test_what_was_not_compared_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(advisory("other", [{"introduced": "0"}])))
    (tmp_path / "b.json").write_text("no JSON")
    (tmp_path / "c.json").write_text('["nothing"]')
    result = audit.by_database([YAML, SERDE], tmp_path)
    assert result.compared == 1
    assert result.skipped == [
        "b.json is no advisory in OSV's format",
        "c.json is no advisory in OSV's format",
        f"1 packages of crates.io not audited: {tmp_path} has no advisory of crates.io",
    ]


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def test_an_answer_about_nothing_is_no_good_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip-audit prints "No known vulnerabilities found", and exits with 0, if its service has no answer about any package."""
    answer = {
        "dependencies": [{"name": "PyYAML", "skip_reason": "Dependency not found on PyPI and could not be audited"}]
    }
    program(tmp_path, "pip-audit", f"echo 'No known vulnerabilities found' >&2; echo '{json.dumps(answer)}'")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    result = audit.by_pip_audit([YAML])
    assert (result.compared, result.weaknesses) == (0, [])
    assert result.skipped == ["1 packages of PyPI not audited: pip-audit's database has no answer about them"]
    program(tmp_path, "pip-audit", "echo 'ConnectionError' >&2; exit 1")
    assert audit.by_pip_audit([YAML]).skipped == [
        "1 packages of PyPI not audited: pip-audit does not reach its database"
    ]
    vulnerable = {
        "name": "PyYAML",
        "version": "6.0.4",
        "vulns": [{"id": "MADE-UP-1", "description": "bad", "fix_versions": ["7"]}],
    }
    program(tmp_path, "pip-audit", f"echo '{json.dumps({'dependencies': [vulnerable]})}'; exit 1")
    assert audit.by_pip_audit([YAML]) == (1, [(YAML, "MADE-UP-1", "bad", "7")], [])


def test_exit_codes(tmp_path: Path) -> None:
    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ROOT / "tools" / "audit.py", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin:/bin"})

    done = run()
    assert done.returncode == 3
    assert "packages of PyPI not audited: pip-audit is not installed, and no --db DIR is given" in done.stdout
    assert "audit: 0 of " in done.stdout
    (tmp_path / "a.json").write_text(json.dumps(advisory("PYYAML", [{"introduced": "0"}, {"fixed": "9999"}])))
    done = run("--db", tmp_path, "--allow-skip")
    assert done.returncode == 1
    assert "PyPI pyyaml 6.0.4: MADE-UP-1: made up (fixed in 9999)" in done.stdout
    assert run("--db", tmp_path / "nothing").returncode == 2
