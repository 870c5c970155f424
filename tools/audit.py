#!/usr/bin/env python3
"""Compare every package of the lock files with known weaknesses, and say how many packages were compared.

    tools/audit.py --db DIR     by advisories in OSV's format below DIR, one JSON file each; nothing is asked of the network
    tools/audit.py              by `pip-audit` and `cargo deny check advisories`, if they are installed and reach their databases

Without an answer about a package the package counts as not audited, and the exit code is 3 (``--allow-skip``: 0). 1 means that a package
has a weakness. `cargo deny check bans licenses sources` (deny.toml) needs no database and runs if cargo-deny is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from locked import ROOT, Locked, all_packages, normal

SECONDS = 120
"""The time after which an online database has not answered."""


class Weakness(NamedTuple):
    """An advisory that a locked package falls under."""

    package: Locked
    id: str
    summary: str
    fixed: str


class Result(NamedTuple):
    """The packages that were compared, their weaknesses, and why others were not compared."""

    compared: int
    weaknesses: list[Weakness]
    skipped: list[str]


_PRE = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "post": 1, "rev": 1, "r": 1}
Key = tuple[tuple[int, int, str], ...]


def order(version: str) -> Key:
    """Return a key by which versions of PyPI and of Cargo sort. A pre-release is before its release; a build or local part counts for nothing."""
    parts: list[tuple[int, int, str]] = []
    for word in re.findall(r"\d+|[a-z]+", version.lower().lstrip("v").split("+")[0]):
        if word.isdigit():
            parts.append((0, int(word), ""))
        else:
            parts.append((_PRE.get(word, -1), 0, "" if word in _PRE else word))
    while parts and parts[-1] == (0, 0, ""):
        parts.pop()
    return tuple(parts)


def before(left: str, right: str) -> bool:
    """Report whether a version is older than another."""
    for older, newer in zip_longest(order(left), order(right), fillvalue=(0, 0, "")):
        if older != newer:
            return older < newer
    return False


def in_range(version: str, events: list[dict[str, str]]) -> tuple[bool, str]:
    """Report whether the events of a range of OSV affect a version, and name the version that fixes it."""
    affected, fixed = False, ""
    marks = [(mark, kind) for event in events for kind, mark in event.items()]
    marks.sort(key=lambda item: (order("0" if item[0] == "0" else item[0]), item[1] != "introduced"))
    for mark, kind in marks:
        if kind == "introduced" and (mark == "0" or not before(version, mark)):
            affected, fixed = True, ""
        elif kind == "fixed" and not before(version, mark):
            affected = False
        elif kind == "fixed" and affected and not fixed:
            fixed = mark
        elif kind == "last_affected" and before(mark, version):
            affected = False
    return affected, fixed


def affects(affected: dict[str, Any], package: Locked) -> tuple[bool, str]:
    """Report whether an ``affected`` entry of OSV covers a package, and name the version that fixes it."""
    target = affected.get("package", {})
    if target.get("ecosystem", "").split(":")[0] != package.ecosystem:
        return False, ""
    name = target.get("name", "")
    if (normal(name) if package.ecosystem == "PyPI" else name) != package.name:
        return False, ""
    fixes: list[str] = []
    hit = any(order(version) == order(package.version) for version in affected.get("versions", []))
    for entry in affected.get("ranges", []):
        if entry.get("type") in {"ECOSYSTEM", "SEMVER"}:
            inside, fixed = in_range(package.version, entry.get("events", []))
            hit |= inside
            fixes += [fixed] if fixed else []
    return hit, ", ".join(sorted(set(fixes)))


def advisories(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """Read the advisories below a folder, without those that were withdrawn; and name the files that are none."""
    entries: list[dict[str, Any]] = []
    wrong: list[str] = []
    for path in sorted(folder.rglob("*.json")):
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str) or "affected" not in entry:
            wrong.append(path.relative_to(folder).as_posix())
        elif not entry.get("withdrawn"):
            entries.append(entry)
    return entries, wrong


def by_database(packages: list[Locked], folder: Path) -> Result:
    """Compare packages with the advisories below a folder. An ecosystem without any advisory there was not compared."""
    entries, wrong = advisories(folder)
    ecosystems = {item.get("package", {}).get("ecosystem") for entry in entries for item in entry["affected"]}
    skipped = [f"{name} is no advisory in OSV's format" for name in wrong]
    by_name: dict[str, list[Locked]] = {}
    compared = 0
    for ecosystem in sorted({package.ecosystem for package in packages}):
        members = [package for package in packages if package.ecosystem == ecosystem]
        if ecosystem not in ecosystems:
            skipped.append(
                f"{len(members)} packages of {ecosystem} not audited: {folder} has no advisory of {ecosystem}"
            )
            continue
        compared += len(members)
        for package in members:
            by_name.setdefault(package.name, []).append(package)
    weaknesses: dict[tuple[Locked, str], Weakness] = {}
    for entry in entries:
        for item in entry["affected"]:
            name = item.get("package", {}).get("name", "")
            for package in {*by_name.get(name, []), *by_name.get(normal(name), [])}:
                hit, fixed = affects(item, package)
                if hit:
                    summary = entry.get("summary") or entry.get("details", "").split("\n")[0]
                    weaknesses[package, entry["id"]] = Weakness(package, entry["id"], summary, fixed)
    return Result(compared, sorted(weaknesses.values()), skipped)


def by_pip_audit(packages: list[Locked]) -> Result:
    """Ask pip-audit. A package about which its service has no answer was not compared: pip-audit itself then prints that it found nothing."""
    count = f"{len(packages)} packages of PyPI not audited"
    program = shutil.which("pip-audit")
    if program is None:
        return Result(0, [], [f"{count}: pip-audit is not installed, and no --db DIR is given"])
    with tempfile.TemporaryDirectory() as folder:
        compared, skipped, weaknesses = 0, 0, []
        # A name with two versions, by the release of Python, is asked about in a second file.
        waiting = list(packages)
        while waiting:
            batch = {package.name: package for package in reversed(waiting)}
            waiting = [package for package in waiting if batch[package.name] != package]
            pins = Path(folder) / "pins.txt"
            pins.write_text("".join(f"{package.name}=={package.version}\n" for package in batch.values()))
            command = [
                program,
                "--no-deps",
                "--disable-pip",
                "--progress-spinner",
                "off",
                "-f",
                "json",
                "-r",
                str(pins),
            ]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
                answers = json.loads(done.stdout)["dependencies"]
            except (subprocess.TimeoutExpired, ValueError, KeyError):
                return Result(0, [], [f"{count}: pip-audit does not reach its database"])
            for answer in answers:
                if "skip_reason" in answer:
                    skipped += 1
                    continue
                compared += 1
                for item in answer["vulns"]:
                    text = item.get("description", "").split("\n")[0]
                    weaknesses.append(
                        Weakness(batch[normal(answer["name"])], item["id"], text, ", ".join(item["fix_versions"]))
                    )
    left = [f"{skipped} packages of PyPI not audited: pip-audit's database has no answer about them"] if skipped else []
    return Result(compared, sorted(weaknesses), left)


def by_cargo_deny(packages: list[Locked]) -> Result:
    """Ask cargo-deny for advisories."""
    count = f"{len(packages)} crates not audited"
    if shutil.which("cargo-deny") is None:
        return Result(0, [], [f"{count}: cargo-deny is not installed, and no --db DIR is given"])
    command = ["cargo", "deny", "--format", "json", "check", "advisories"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return Result(0, [], [f"{count}: cargo-deny does not reach its database"])
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    crates = {(package.name, package.version): package for package in packages}
    weaknesses: list[Weakness] = []
    for line in lines:
        advisory = line.get("fields", {}).get("advisory")
        if line["type"] == "diagnostic" and advisory:
            krate = line["fields"]["graphs"][0]["Krate"]
            package = crates.get(
                (krate["name"], krate["version"]), Locked("crates.io", krate["name"], krate["version"], ())
            )
            weaknesses.append(Weakness(package, advisory["id"], advisory["title"], ""))
    if not any(line["type"] == "summary" for line in lines):
        return Result(0, [], [f"{count}: cargo-deny does not reach its database"])
    return Result(len(packages), sorted(weaknesses), [])


def policy() -> str:
    """Check the licences, bans and sources of crates by deny.toml; return why this was skipped, or an empty string. Raises ``SystemExit`` if a rule is broken."""
    if shutil.which("cargo-deny") is None:
        return "deny.toml not checked: cargo-deny is not installed (cargo install --locked cargo-deny)"
    for manifest in ("Cargo.toml", "crates/sim/fuzz/Cargo.toml"):
        command = [
            "cargo",
            "deny",
            "--manifest-path",
            manifest,
            "--config",
            "deny.toml",
            "check",
            "bans",
            "licenses",
            "sources",
        ]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"NO_COLOR": "1"}
        )
        if done.returncode:
            raise SystemExit(f"{done.stderr}audit: {manifest} breaks a rule of deny.toml")
        print(f"audit: {manifest}: {(done.stdout + done.stderr).strip().splitlines()[-1]}")
    return ""


def main() -> int:
    """Run the audit, and print what was compared and what was not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", type=Path, metavar="DIR", help="folder of advisories in OSV's format")
    parser.add_argument("--allow-skip", action="store_true", help="exit with 0 if packages were not audited")
    arguments = parser.parse_args()
    if arguments.db is not None and not arguments.db.is_dir():
        parser.error(f"--db {arguments.db}: there is no such folder")
    packages = all_packages()
    if arguments.db is not None:
        results = [by_database(packages, arguments.db)]
    else:
        results = [
            by_pip_audit([package for package in packages if package.ecosystem == "PyPI"]),
            by_cargo_deny([package for package in packages if package.ecosystem == "crates.io"]),
        ]
    skipped = [reason for result in results for reason in result.skipped]
    if reason := policy():
        skipped.append(reason)
    weaknesses = [weakness for result in results for weakness in result.weaknesses]
    for package, identity, summary, fixed in weaknesses:
        print(
            f"{package.ecosystem} {package.name} {package.version}: {identity}: {summary}"
            + (f" (fixed in {fixed})" if fixed else "")
        )
    for reason in skipped:
        print(f"audit: skipped: {reason}")
    compared = sum(result.compared for result in results)
    print(f"audit: {compared} of {len(packages)} packages compared, {len(weaknesses)} weaknesses")
    return 1 if weaknesses else 3 if skipped and not arguments.allow_skip else 0


if __name__ == "__main__":
    sys.exit(main())
