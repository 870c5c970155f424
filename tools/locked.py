"""The packages that lock files name: packages of PyPI in ``requirements/*.lock``, crates in ``Cargo.lock``, and the table of their licences."""

from __future__ import annotations

import csv
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "requirements"
CARGO_LOCKS = ("Cargo.lock", "crates/sim/fuzz/Cargo.lock")
LICENCES = REQUIREMENTS / "licences.csv"
_PIN = re.compile(r"^([A-Za-z0-9][\w.-]*)==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


class Locked(NamedTuple):
    """A package of a lock: its ecosystem by OSV's name, its name and version, and the SHA-256 of its files."""

    ecosystem: str
    name: str
    version: str
    hashes: tuple[str, ...]


class Licence(NamedTuple):
    """A row of the table of licences: the licence by SPDX, and the use of the package.

    The use is ``shipped`` (in the wheel), ``run`` (needed by every installation), ``extra`` (needed by an extra) or ``development``.
    """

    ecosystem: str
    name: str
    version: str
    licence: str
    use: str


def normal(name: str) -> str:
    """Return a name of PyPI in its normal form: lower case, with single dashes."""
    return re.sub(r"[-_.]+", "-", name).lower()


def python_packages(lock: Path) -> list[Locked]:
    """Read a lock of pip; a name has several versions if these depend on the release of Python."""
    packages: list[Locked] = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if match := _PIN.match(line):
            packages.append(Locked("PyPI", normal(match[1]), match[2], ()))
        elif match := _HASH.search(line):
            packages[-1] = packages[-1]._replace(hashes=(*packages[-1].hashes, match[1]))
    return packages


def crates(lock: Path) -> list[Locked]:
    """Read a lock of Cargo. The crates of the workspace have no source and are left out."""
    entries = tomllib.loads(lock.read_text(encoding="utf-8")).get("package", [])
    return [
        Locked("crates.io", entry["name"], entry["version"], (entry["checksum"],) if "checksum" in entry else ())
        for entry in entries
        if "source" in entry
    ]


def all_packages(root: Path = ROOT) -> list[Locked]:
    """Return every package of every lock once, sorted by ecosystem, name and version."""
    entries = [
        package for lock in sorted((root / "requirements").glob("*.lock")) for package in python_packages(lock)
    ] + [package for name in CARGO_LOCKS for package in crates(root / name)]
    return sorted({package[:3]: package for package in entries}.values())


def licences(table: Path = LICENCES) -> dict[tuple[str, str, str], Licence]:
    """Return the table of licences by ecosystem, name and version."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = [Licence(**row) for row in csv.DictReader(file)]
    return {row[:3]: row for row in rows}
