#!/usr/bin/env python3
"""Write ``requirements/licences.csv``: the licence and the use of every package of every lock.

``tools/update.sh`` runs this after the locks have changed. It needs the network, pip, setuptools and packaging (``requirements/update.lock``).
Licences of PyPI are those of each package's own metadata, by SPDX; licences of crates are those that ``cargo metadata`` reports. A package
whose metadata name no licence that this script can read is a row without a licence, and exit code 1.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from locked import CARGO_LOCKS, LICENCES, ROOT, Licence, Locked, all_packages, normal
from packaging.requirements import Requirement

if TYPE_CHECKING:
    from collections.abc import Iterable

SPDX = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license version 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "artistic license": "Artistic-1.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd-3": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd 3-clause or apache-2.0": "BSD-3-Clause OR Apache-2.0",
    "gnu general public license v3 (gplv3)": "GPL-3.0-only",
    "gnu general public license v3 or later (gplv3+)": "GPL-3.0-or-later",
    "gpl2": "GPL-2.0-only",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "lgpl": "LGPL-3.0-or-later",
    "lgpl with exceptions": "LGPL-3.0-or-later",
    "lgplv3": "LGPL-3.0-only",
    "mit licence": "MIT",
    "mit license": "MIT",
    "mit-license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "new bsd": "BSD-3-Clause",
    "nvidia proprietary software": "LicenseRef-NVIDIA-Proprietary",
    "psf": "PSF-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the mit license (mit)": "MIT",
    "the unlicense (unlicense)": "Unlicense",
}
"""Names of licences in metadata without an SPDX expression, in lower case. A plain "BSD" is the three-clause form in all of them."""
KNOWN = {"pysnmp": "BSD-2-Clause"}
"""Licences of packages whose metadata name none, by the files in them."""
LONGEST = 60
"""Characters of a licence field that names a licence; a longer one holds its text."""
PYTHONS = ("3.11", "3.12", "3.13")


def reports(packages: list[Locked]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the metadata of packages of PyPI by name and version. Nothing is installed, and conditions of the locks are left out."""
    metadata: dict[tuple[str, str], dict[str, Any]] = {}
    waiting = list(packages)
    while waiting:
        batch = {package.name: package for package in reversed(waiting)}
        waiting = [package for package in waiting if batch[package.name] != package]
        with tempfile.TemporaryDirectory() as folder:
            pins, report = Path(folder) / "pins.txt", Path(folder) / "report.json"
            pins.write_text("".join(f"{package.name}=={package.version}\n" for package in batch.values()))
            command = f"-m pip install --quiet --dry-run --ignore-installed --no-deps --no-build-isolation --python-version {PYTHONS[-1]}"
            subprocess.run(
                [sys.executable, *command.split(), "--target", folder, "--report", report, "-r", pins], check=True
            )
            for item in json.loads(report.read_text())["install"]:
                entry = item["metadata"]
                metadata[normal(entry["name"]), batch[normal(entry["name"])].version] = entry
    return metadata


def licence_of(entry: dict[str, Any]) -> str:
    """Return the licence of a package's metadata as an SPDX expression; empty if the metadata name none."""
    if expression := entry.get("license_expression"):
        return str(expression)
    text = (entry.get("license") or "").strip()
    first = text.splitlines()[0].strip() if text else ""
    if 0 < len(text) <= LONGEST and text == first and first.lower() not in {"dual license", "other", "unknown"}:
        return SPDX.get(first.lower(), first)
    classes = [line.split(" :: ")[-1] for line in entry.get("classifier", []) if line.startswith("License ::")]
    named = sorted({SPDX[name.lower()] for name in classes if name.lower() in SPDX})
    return " OR ".join(named) or SPDX.get(first.lower(), "")


def needed(wanted: Iterable[Requirement], metadata: dict[tuple[str, str], dict[str, Any]]) -> set[str]:
    """Return the names of the packages that requirements need, with what these need, on Linux with any Python of ``PYTHONS``."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for (name, _), entry in metadata.items():
        entries.setdefault(name, []).append(entry)
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(normal(item.name), frozenset(item.extras)) for item in wanted if applies(item, frozenset())]
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        for entry in entries.get(name, []):
            items = [Requirement(line) for line in entry.get("requires_dist") or []]
            waiting += [(normal(item.name), frozenset(item.extras)) for item in items if applies(item, extras)]
    return {name for name, _ in seen}


def applies(item: Requirement, extras: frozenset[str]) -> bool:
    """Report whether a requirement holds on Linux with a Python of ``PYTHONS`` and one of the extras."""
    if item.marker is None:
        return True
    return any(
        item.marker.evaluate(
            {"python_version": version, "python_full_version": f"{version}.0", "sys_platform": "linux", "extra": extra}
        )
        for version in PYTHONS
        for extra in ("", *extras)
    )


def python_rows(packages: list[Locked]) -> list[Licence]:
    """Return the rows of the packages of PyPI."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    metadata = reports(packages)
    run = needed(map(Requirement, project["dependencies"]), metadata)
    extras = [line for name, lines in project["optional-dependencies"].items() if name != "dev" for line in lines]
    extra = needed(map(Requirement, extras), metadata)
    rows: list[Licence] = []
    for package in packages:
        use = "run" if package.name in run else "extra" if package.name in extra else "development"
        licence = KNOWN.get(package.name) or licence_of(metadata[package.name, package.version])
        rows.append(Licence(*package[:3], licence, use))
    return rows


def crate_rows(packages: list[Locked]) -> list[Licence]:
    """Return the rows of the crates. A crate is shipped if code of it is linked: neither a macro nor what a build script needs."""

    def metadata(lock: str, *words: str) -> dict[str, Any]:
        manifest = (ROOT / lock).with_name("Cargo.toml")
        command = ["cargo", "metadata", "--locked", "--format-version", "1", "--manifest-path", str(manifest), *words]
        return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)

    licence: dict[tuple[str, str], str] = {}
    for lock in CARGO_LOCKS:
        for crate in metadata(lock)["packages"]:
            licence[crate["name"], crate["version"]] = (crate["license"] or "").replace("/", " OR ")
    linux = metadata(CARGO_LOCKS[0], "--filter-platform", "x86_64-unknown-linux-gnu")
    crates = {crate["id"]: crate for crate in linux["packages"]}
    nodes = {node["id"]: node for node in linux["resolve"]["nodes"]}
    waiting = [key for key, crate in crates.items() if crate["name"] in {"railweave-sim", "railweave-pysim"}]
    shipped: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key in shipped or any("proc-macro" in target["kind"] for target in crates[key]["targets"]):
            continue
        shipped.add(key)
        waiting += [dep["pkg"] for dep in nodes[key]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    linked = {(crates[key]["name"], crates[key]["version"]) for key in shipped}
    return [
        Licence(*package[:3], licence.get(package[1:3], ""), "shipped" if package[1:3] in linked else "development")
        for package in packages
    ]


def main() -> int:
    """Write the table; 1 if a package has no licence in it."""
    packages = all_packages()
    rows = python_rows([package for package in packages if package.ecosystem == "PyPI"])
    rows += crate_rows([package for package in packages if package.ecosystem != "PyPI"])
    with LICENCES.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Licence._fields)
        writer.writerows(sorted(rows))
    without = [row for row in rows if not row.licence]
    print(f"licences: {len(rows)} packages in {LICENCES.relative_to(ROOT)}, {len(without)} without a licence")
    for row in without:
        print(
            f"licences: {row.ecosystem} {row.name} {row.version} names no licence that is known: add it to KNOWN in tools/licences.py"
        )
    return 1 if without else 0


if __name__ == "__main__":
    sys.exit(main())
