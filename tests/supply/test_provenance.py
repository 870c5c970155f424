"""The provenance of a release names every file and every lock, and shows a file that was changed."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import locked

from tests.conftest import ROOT


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "tools" / "provenance.py", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_statement_is_written_and_compared(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"wheel")
    (tmp_path / "b.tar.gz").write_bytes(b"sdist")
    done = run(tmp_path)
    assert done.returncode == 2
    assert "--builder: give an address" in done.stderr
    done = run(tmp_path, "--builder", "https://ci.invalid/release", "--invocation", "https://ci.invalid/runs/7")
    assert done.returncode == 0, done.stderr
    text = json.loads((tmp_path / "provenance.intoto.json").read_text())
    assert (text["_type"], text["predicateType"]) == (
        "https://in-toto.io/Statement/v1",
        "https://slsa.dev/provenance/v1",
    )
    assert text["subject"] == [
        {"name": "a.whl", "digest": {"sha256": hashlib.sha256(b"wheel").hexdigest()}},
        {"name": "b.tar.gz", "digest": {"sha256": hashlib.sha256(b"sdist").hexdigest()}},
    ]
    details = text["predicate"]["runDetails"]
    assert details["builder"]["id"] == "https://ci.invalid/release"
    assert details["metadata"]["invocationId"] == "https://ci.invalid/runs/7"
    materials = {item["uri"]: item["digest"] for item in text["predicate"]["buildDefinition"]["resolvedDependencies"]}
    locks = {"Cargo.lock", "crates/sim/fuzz/Cargo.lock"} | {
        f"requirements/{path.name}" for path in locked.REQUIREMENTS.glob("*.lock")
    }
    assert locks <= materials.keys()
    assert materials["Cargo.lock"] == {"sha256": hashlib.sha256((ROOT / "Cargo.lock").read_bytes()).hexdigest()}

    (tmp_path / "SHA256SUMS").write_text("is about the others")
    assert run(tmp_path, "--verify").returncode == 0
    (tmp_path / "a.whl").write_bytes(b"another wheel")
    (tmp_path / "b.tar.gz").unlink()
    (tmp_path / "c.deb").write_bytes(b"new")
    done = run(tmp_path, "--verify")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "b.tar.gz is missing",
        "c.deb is not in the statement",
        "a.whl has different bytes",
    ]
