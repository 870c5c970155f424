"""Everything that is installed is in a lock, with hashes, and the locks are what pyproject.toml and requirements/*.in ask for."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import locked
import pytest
from packaging.requirements import Requirement

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = sorted(locked.REQUIREMENTS.glob("*.lock"))
INPUTS = sorted(locked.REQUIREMENTS.glob("*.in"))
LINE = re.compile(
    r"[A-Za-z0-9][\w.-]*(\[[\w,-]+\])?==[\w.!+-]+( ; [^\\]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?|    # .*"
)
PERMISSIVE = {
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CNRI-Python",
}
PERMISSIVE |= {"HPND", "ISC", "MIT", "MIT-0", "MIT-CMU", "NCSA", "PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib"}
WEAK = {"EPL-2.0", "LGPL-3.0-only", "MPL-2.0"}
"""Licences of packages that an extra installs beside railweave, which distributes none of them."""


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_a_lock_has_versions_and_hashes_and_no_address(lock: Path) -> None:
    assert [line for line in lock.read_text().splitlines() if not LINE.fullmatch(line)] == []
    packages = locked.python_packages(lock)
    assert packages
    assert [package for package in packages if not package.hashes] == []


def _lacking(lock: str, requirements: list[str]) -> list[str]:
    versions: dict[str, list[str]] = {}
    for package in locked.python_packages(locked.REQUIREMENTS / f"{lock}.lock"):
        versions.setdefault(package.name, []).append(package.version)
    lacking: list[str] = []
    for line in requirements:
        item = Requirement(line.split("  #")[0])
        if item.name == "railweave":
            extras = PROJECT["project"]["optional-dependencies"]
            lacking += [line for extra in sorted(item.extras) for line in _lacking(lock, extras[extra])]
        elif not any(item.specifier.contains(version) for version in versions.get(locked.normal(item.name), [])):
            lacking.append(f"{lock}.lock does not have {item}: run `tools/update.sh .venv/bin/python`")
    return lacking


def test_locks_satisfy_the_project() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    base = [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]]
    assert _lacking("base", base) == []
    assert _lacking("dev", [*base, *extras["dev"]]) == []
    assert _lacking("image", [*PROJECT["project"]["dependencies"], *extras["live"], *extras["watch"]]) == []
    assert _lacking("plots", extras["plots"]) == []
    assert _lacking("yang", extras["yang"]) == []
    assert _lacking("ray", [line for line in extras["ray"] if not line.startswith("railweave")]) == []


@pytest.mark.parametrize("file", [path for path in INPUTS if path.stem != "build"], ids=lambda file: file.stem)
def test_locks_satisfy_their_inputs(file: Path) -> None:
    lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
    assert _lacking(file.stem, lines) == []


def test_a_package_has_one_version_in_the_locks_of_one_environment() -> None:
    """Those that ``make`` installs one after the other into .venv."""
    versions: dict[str, set[tuple[str, ...]]] = {}
    for name in ("dev", "base", "plots", "cmake", "image"):
        of_lock: dict[str, list[str]] = {}
        for package in locked.python_packages(locked.REQUIREMENTS / f"{name}.lock"):
            of_lock.setdefault(package.name, []).append(package.version)
        for package, numbers in of_lock.items():
            versions.setdefault(package, set()).add(tuple(numbers))
    assert {package: numbers for package, numbers in versions.items() if len(numbers) > 1} == {}


EXCEPTIONS = {
    "tools/libyang.sh": {"requirements/yang"},  # its list of words begins with --require-hashes
    "Makefile": {"BUILT := "},  # used with --no-deps and --no-build-isolation
    "tools/inventory-server.sh": {
        'pip=("$python"',
        '--no-deps "$product==$version"',
        "-r /srv/requires.txt",
    },  # a given version
    "tools/try-wheel.sh": {'"$wheel"'},  # as a user installs it
    "plugin/tests/gpu/run.sh": {'"${wanted[@]}"'},  # a given version
}


def test_nothing_is_installed_without_hashes() -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "Makefile", "Containerfile", ".ci", "*.sh"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    wrong: list[str] = []
    for name in tracked:
        text = (ROOT / name).read_text().replace("\\\n", " ")
        for line in text.splitlines():
            if line.lstrip().startswith("#") or not re.search(r"\bpip (install|wheel)\b|-m pip\b|\{pip\[@\]\}", line):
                continue
            allowed = {"--require-hashes", "--no-deps --no-build-isolation", *EXCEPTIONS.get(name, ())}
            if not any(words in line for words in allowed):
                wrong.append(f"{name}: {line.strip()}")
    assert wrong == []


def test_licences_are_those_of_the_locks_and_allowed() -> None:
    table = locked.licences()
    packages = {package[:3] for package in locked.all_packages()}
    assert packages ^ table.keys() == set(), "run `tools/update.sh .venv/bin/python`"
    for row in table.values():
        assert row.licence, row
        # An expression with OR is allowed if a side of it is; with AND, every side has to be.
        allowed = PERMISSIVE | (WEAK if row.use == "extra" else set())
        if row.use != "development":
            text = row.licence.replace("(", "").replace(")", "")
            sides = [side.split(" OR ") for side in text.split(" AND ")]
            assert all(any(licence.strip() in allowed for licence in side) for side in sides), row
    assert {row.use for row in table.values()} == {"shipped", "run", "extra", "development"}


def test_cargo_locks_are_those_of_the_manifests() -> None:
    """The lock of the fuzz targets is a second one: the engine's own dependencies have to be in it."""
    engine = tomllib.loads((ROOT / "crates/sim/Cargo.toml").read_text())["dependencies"]
    for name in locked.CARGO_LOCKS:
        crates = {crate.name for crate in locked.crates(ROOT / name)}
        assert engine.keys() - crates == set(), f"{name}: run `cargo metadata` beside it"
