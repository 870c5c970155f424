#!/usr/bin/env python3
"""Write how the files of a release were made, as a statement of in-toto with a predicate of SLSA v1.

    tools/provenance.py DIST --builder ID [--invocation ID] [-o FILE]        default: DIST/provenance.intoto.json

The subjects are the files in DIST, with their SHA-256. The builder's ID is an address that names who built the release, for example the workflow of a
CI service. The statement has the commit of the source, the lock files as materials, and the tools. It is not signed here: the builder signs
it. ``tools/provenance.py DIST --verify`` compares the files in DIST with the statement; the exit code is 1 if they differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from locked import CARGO_LOCKS, REQUIREMENTS, ROOT
from sbom import moment, version

NAME = "provenance.intoto.json"
BESIDE = {NAME, "SHA256SUMS"}
"""Files in DIST that are about the other files."""


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def subjects(dist: Path) -> list[dict[str, Any]]:
    """Return the files of a release with their SHA-256."""
    paths = sorted(path for path in dist.iterdir() if path.is_file() and path.name not in BESIDE)
    return [{"name": path.name, "digest": {"sha256": digest(path)}} for path in paths]


def output(*words: str) -> str:
    """Return what a command prints; empty if the command is missing or fails."""
    try:
        return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def statement(dist: Path, builder: str, invocation: str = "") -> dict[str, Any]:
    """Return the statement about the files in a folder."""
    commit = output("git", "rev-parse", "HEAD")
    changed = bool(output("git", "status", "--porcelain", "--untracked-files=no"))
    locks = [*(ROOT / name for name in CARGO_LOCKS), *sorted(REQUIREMENTS.glob("*.lock"))]
    materials = [{"uri": f"git+railweave@v{version()}", "digest": {"gitCommit": commit}}] if commit else []
    materials += [{"uri": path.relative_to(ROOT).as_posix(), "digest": {"sha256": digest(path)}} for path in locks]
    tools = {
        "rustc": output("rustc", "--version"),
        "cargo": output("cargo", "--version"),
        "python": sys.version.split()[0],
    }
    metadata = {"finishedOn": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())} | (
        {"invocationId": invocation} if invocation else {}
    )
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects(dist),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://railweave.invalid/make-release/v1",
                "externalParameters": {"target": "make release", "version": version(), "commit": commit},
                "internalParameters": {"sourceDateEpoch": moment(), "changedSinceCommit": changed},
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": builder, "version": tools}, "metadata": metadata},
        },
    }


def differences(dist: Path, written: dict[str, Any]) -> list[str]:
    """Return how the files in a folder differ from a statement."""
    stated = {item["name"]: item["digest"]["sha256"] for item in written["subject"]}
    here = {item["name"]: item["digest"]["sha256"] for item in subjects(dist)}
    return [
        *(f"{name} is missing" for name in sorted(stated.keys() - here.keys())),
        *(f"{name} is not in the statement" for name in sorted(here.keys() - stated.keys())),
        *(f"{name} has different bytes" for name in sorted(stated.keys() & here.keys()) if stated[name] != here[name]),
    ]


def main() -> int:
    """Write the statement, or compare files with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dist", type=Path)
    parser.add_argument("--builder", default="", help="address that names who built the release")
    parser.add_argument("--invocation", default="", help="address of the run of the builder")
    parser.add_argument("--verify", action="store_true", help="compare the files with the statement and write nothing")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    path = arguments.output or arguments.dist / NAME
    if arguments.verify:
        wrong = differences(arguments.dist, json.loads(path.read_text(encoding="utf-8")))
        print("\n".join(wrong) or f"{path}: every file is as it was built")
        return 1 if wrong else 0
    if "://" not in arguments.builder and not arguments.builder.startswith("urn:"):
        parser.error(
            "--builder: give an address that names who built the release, such as https://HOST/WORKFLOW or urn:builder:NAME"
        )
    text = statement(arguments.dist, arguments.builder, arguments.invocation)
    path.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    print(
        f"{path}: {len(text['subject'])} files, {len(text['predicate']['buildDefinition']['resolvedDependencies'])} materials"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
