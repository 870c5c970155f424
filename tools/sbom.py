#!/usr/bin/env python3
"""Write a CycloneDX 1.6 bill of materials of everything that railweave has in it, needs, or is built and tested with.

    tools/sbom.py [-o FILE]        default: dist/railweave-VERSION.cdx.json
    tools/sbom.py --record         write requirements/debian.csv from the root folders that exist here

It reads the lock files, ``requirements/licences.csv``, and the ``packages.tsv`` of each Debian root folder; ``requirements/debian.csv`` has the
recorded versions of root folders that do not exist here. Nothing is downloaded. ``scope`` is ``required`` for packages in the wheel and of every
installation, ``optional`` for those of extras, ``excluded`` for those of development.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from locked import REQUIREMENTS, ROOT, all_packages, licences

DEBIAN = REQUIREMENTS / "debian.csv"
FIELDS: tuple[str, ...] = ("root", "release", "package", "version", "architecture", "source")
PLACES = (
    ".validators/*/packages.tsv",
    ".validators/*/*/packages.tsv",
    "build/*/*/packages.tsv",
    "build/*/rxe/root/packages.tsv",
)
SCOPES = {"shipped": "required", "run": "required", "extra": "optional", "development": "excluded"}
TYPES = {"PyPI": "pypi", "crates.io": "cargo"}
UPLOT = ROOT / "src/railweave/operations/watch/console/static/uplot"
NAMESPACE = uuid.UUID("1d0d5a5b-9c0e-5a9a-8f65-6d1f6f0f7f11")
"""The namespace of serial numbers: the same components have the same serial number."""


def version() -> str:
    """Return the version of the workspace."""
    match = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None  # noqa: S101
    return match[1]


def moment() -> str:
    """Return the time of the build: ``SOURCE_DATE_EPOCH``, else the time of the last commit."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        epoch = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(epoch)))


def licensed(licence: str) -> list[dict[str, Any]]:
    """Return the ``licenses`` of a component, as an expression of SPDX."""
    return [{"expression": licence}] if licence else []


def properties(**values: str) -> list[dict[str, str]]:
    """Return properties under our own prefix."""
    return [{"name": f"railweave:{name}", "value": value} for name, value in values.items()]


def locked_components() -> list[dict[str, Any]]:
    """Return the packages of PyPI and the crates. A crate has the hash of its archive; wheels have one for each system, which the locks list."""
    table = licences()
    components: list[dict[str, Any]] = []
    for package in all_packages():
        row = table[package[:3]]
        purl = f"pkg:{TYPES[package.ecosystem]}/{package.name}@{package.version}"
        component: dict[str, Any] = {
            "type": "library",
            "bom-ref": purl,
            "name": package.name,
            "version": package.version,
            "scope": SCOPES[row.use],
            "licenses": licensed(row.licence),
            "purl": purl,
            "properties": properties(use=row.use),
        }
        if len(package.hashes) == 1:
            component["hashes"] = [{"alg": "SHA-256", "content": package.hashes[0]}]
        components.append(component)
    return components


def copied_components() -> list[dict[str, Any]]:
    """Return what is copied into the repository (uPlot), installed from npm, or loaded by the net plugin at run time.

    The table of uPlot's README has the hashes of its files. Headers of other projects are not copied: the plugin declares what it uses itself.
    """
    readme = (UPLOT / "README.md").read_text(encoding="utf-8")
    release = re.search(r"^# uPlot (\S+)", readme)
    assert release is not None  # noqa: S101
    files = re.findall(r"^\| `([^`]+)` \| `[^`]+` \| `([0-9a-f]{64})` \|$", readme, re.MULTILINE)
    uplot = f"pkg:npm/uplot@{release[1]}"
    script = (ROOT / "tools" / "sarif.sh").read_text(encoding="utf-8")
    multitool = re.search(r"^version=(\S+)", script, re.MULTILINE)
    assert multitool is not None  # noqa: S101
    sarif = f"pkg:npm/%40microsoft/sarif-multitool-linux@{multitool[1]}"
    return [
        {
            "type": "library",
            "bom-ref": uplot,
            "name": "uplot",
            "version": release[1],
            "scope": "required",
            "licenses": licensed("MIT"),
            "purl": uplot,
            "properties": properties(use="shipped", language="JavaScript"),
            "components": [
                {
                    "type": "file",
                    "bom-ref": f"{uplot}#{name}",
                    "name": (UPLOT / name).relative_to(ROOT).as_posix(),
                    "hashes": [{"alg": "SHA-256", "content": content}],
                }
                for name, content in files
            ],
        },
        {
            "type": "application",
            "bom-ref": sarif,
            "group": "@microsoft",
            "name": "sarif-multitool-linux",
            "version": multitool[1],
            "scope": "excluded",
            "licenses": licensed("MIT"),
            "purl": sarif,
            "properties": properties(use="development", language="JavaScript"),
        },
        {
            "type": "library",
            "bom-ref": "railweave-nccl-net",
            "name": "railweave-nccl-net",
            "version": version(),
            "scope": "required",
            "licenses": licensed("Apache-2.0"),
            "properties": properties(use="shipped", language="C", copied="no source or header of another project"),
        },
        {
            "type": "library",
            "bom-ref": "libibverbs",
            "name": "libibverbs",
            "scope": "optional",
            "licenses": licensed("GPL-2.0-only OR BSD-2-Clause"),
            "properties": properties(
                use="run", language="C", loaded="by the net plugin, from the system, in any version"
            ),
        },
    ]


def debian_rows() -> list[dict[str, str]]:
    """Return the packages of the Debian root folders: of those that exist here, and the recorded ones of the others."""
    rows: list[dict[str, str]] = []
    for place in PLACES:
        for path in sorted(ROOT.glob(place)):
            head, _, *lines = path.read_text(encoding="utf-8").splitlines()
            root = path.parent.relative_to(ROOT).as_posix()
            release = re.sub(r", SHA-256 .*", "", head.removeprefix("# "))
            rows += [dict(zip(FIELDS, (root, release, *line.split("\t")), strict=True)) for line in lines]
    here = {row["root"] for row in rows}
    if DEBIAN.exists():
        with DEBIAN.open(encoding="utf-8", newline="") as file:
            rows += [row for row in csv.DictReader(file) if row["root"] not in here]
    return sorted(rows, key=lambda row: tuple(row[name] for name in FIELDS))


def debian_components() -> list[dict[str, Any]]:
    """Return the packages of Debian, each once, with the root folders that have it."""
    roots: dict[tuple[str, str, str, str], list[str]] = {}
    for row in debian_rows():
        key = (row["package"], row["version"], row["architecture"], row["source"])
        roots.setdefault(key, []).append(row["root"])
    components: list[dict[str, Any]] = []
    for (name, release, architecture, source), folders in sorted(roots.items()):
        purl = f"pkg:deb/debian/{name.replace('+', '%2B')}@{release.replace(':', '%3A').replace('+', '%2B')}?arch={architecture}"
        components.append(
            {
                "type": "library",
                "bom-ref": purl,
                "name": name,
                "version": release,
                "scope": "excluded",
                "purl": purl,
                "properties": properties(use="development", source=source, roots=" ".join(sorted(set(folders)))),
            }
        )
    return components


def bill() -> dict[str, Any]:
    """Return the bill of materials. It depends on the sources, the root folders and the time of the build only."""
    components = locked_components() + copied_components() + debian_components()
    ref = f"pkg:pypi/railweave@{version()}"
    needed = sorted(part["bom-ref"] for part in components if part["scope"] == "required")
    serial = uuid.uuid5(NAMESPACE, json.dumps([ref, components], sort_keys=True))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "timestamp": moment(),
            "tools": {"components": [{"type": "application", "name": "tools/sbom.py", "version": version()}]},
            "component": {
                "type": "application",
                "bom-ref": ref,
                "name": "railweave",
                "version": version(),
                "licenses": licensed("Apache-2.0"),
                "purl": ref,
            },
        },
        "components": components,
        "dependencies": [{"ref": ref, "dependsOn": needed}],
    }


def main() -> int:
    """Write the bill of materials, or the record of Debian packages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "dist" / f"railweave-{version()}.cdx.json")
    parser.add_argument("--record", action="store_true", help="write requirements/debian.csv and nothing else")
    arguments = parser.parse_args()
    if arguments.record:
        rows = debian_rows()
        with DEBIAN.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(
            f"sbom: {len(rows)} packages of {len({row['root'] for row in rows})} root folders in {DEBIAN.relative_to(ROOT)}"
        )
        return 0
    text = bill()
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")
    counts = {
        scope: sum(part["scope"] == scope for part in text["components"])
        for scope in ("required", "optional", "excluded")
    }
    print(f"{arguments.output}: " + ", ".join(f"{count} {scope}" for scope, count in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
