#!/usr/bin/env python3
"""Compare what two checkouts build: every example as it is, and for every operating system (`--device :NOS`).

    tools/compare_outputs.py OLD NEW               two checkouts, or files that `--save` has written
    tools/compare_outputs.py OLD --save old.json   the digests of one checkout, for later
    tools/compare_outputs.py OLD NEW --meaning     sentences may differ, nothing else

Every file of every output folder is compared byte for byte, and so is what a refused build says. One thing is left out:
the stamps in manifest.json, which follow from the program's own source. With `--meaning` findings are equal in id, severity,
file and line; runbooks have the same commands in the same order; files of devices and hosts are equal but for lines that are
comments; a refused build has the same exit status and names the same lines of files; what a build says, the report and the
digests in manifest.json are free; everything else is equal byte for byte. Exits 0 where all is equal, 1 where anything
differs. A checkout needs the engine built in its `src/railweave` (`make`), or beside this script's interpreter.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

Digests = dict[str, dict[str, str]]
"""By example and device: the digest of every file, by its path; of a refused build what it said."""


def systems(checkout: Path) -> list[str]:
    """The operating systems of a checkout: folders with a system.yaml."""
    return sorted({path.parent.name for path in (checkout / "src" / "railweave").glob("*/*/system.yaml")})


COMMENT = re.compile(rb"\s*(?:#(?!!)|!|/\*|<!--)")
BLOCK = re.compile(rb"^\s*```.*?^\s*```", re.MULTILINE | re.DOTALL)
PLACE = re.compile(rb"^(?:error: )?(\S+?:\d+):", re.MULTILINE)
FINDING = ("id", "severity", "file", "line")


def digest(name: str, content: bytes, *, meaning: bool) -> str:
    """The digest of one file, or of what it means; of the manifest without the stamps of the program."""
    if name == "manifest.json":
        files = json.loads(content)["files"]
        content = json.dumps(sorted(files) if meaning else files, sort_keys=True).encode()
    elif meaning:
        content = meant(name, content)
    return hashlib.sha256(content).hexdigest()


def meant(name: str, content: bytes) -> bytes:
    """A file without its sentences, as far as its name tells where they are."""
    if name == "report.html":
        return b""
    if name.endswith(".md"):
        return b"\n".join(BLOCK.findall(content))
    if name == "findings.json":
        return json.dumps(findings(json.loads(content))).encode()
    if name == "design.json":
        design = json.loads(content)
        return json.dumps({**design, "findings": findings(design["findings"])}).encode()
    if name.startswith(("devices/", "hosts/")) and not name.endswith(".json"):
        return b"\n".join(line for line in content.splitlines() if not COMMENT.match(line))
    return content


def findings(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """What stays of findings, in their order."""
    return [[row.get(field) for field in FINDING] for row in rows]


def messages(said: bytes, status: int, *, meaning: bool) -> str:
    """The digest of what a build says; where only its meaning counts, of the places that a refused one names."""
    if meaning:
        said = b"\n".join(PLACE.findall(said)) if status else b""
    return hashlib.sha256(said).hexdigest()


def called(checkout: Path, words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a command line of a checkout in a folder."""
    command = [sys.executable, "-c", "from railweave.cli import main; main()", *words]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "NO_COLOR": "1", "COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)


def built(checkout: Path, example: Path, device: str, folder: Path, *, meaning: bool) -> dict[str, str]:
    """Build one example in a folder of its own, and take the digests of all that it wrote, the lock included."""
    copy, out = folder / "examples", folder / "out"
    copy.mkdir()
    for path in example.parent.glob(f"{example.stem}.*"):
        shutil.copy(path, copy / path.name)
    words = ["build", f"examples/{example.name}", "-o", "out", "--quiet", *(["--device", device] if device else [])]
    done = called(checkout, words, folder)
    if done.returncode and not device:
        sys.exit(f"{checkout}: {example.name} does not build:\n{done.stderr.decode()}")
    found = {"exit status": str(done.returncode), "messages": messages(done.stderr, done.returncode, meaning=meaning)}
    for path in (*out.rglob("*"), *copy.rglob("*")):
        if path.is_file():
            name = str(path.relative_to(out if out in path.parents else folder))
            found[name] = digest(name, path.read_bytes(), meaning=meaning)
    return found


def digests(place: Path, only: str, *, meaning: bool) -> Digests:
    """The digests of a checkout, building everything, or those that a file holds."""
    if place.is_file():
        return {key: value for key, value in json.loads(place.read_text()).items() if fnmatch.fnmatch(key, f"{only} *")}
    found: Digests = {}
    for example in sorted((place / "examples").glob("*.yaml")):
        if not fnmatch.fnmatch(example.stem, only):
            continue
        for device in ("", *(f":{nos}" for nos in systems(place))):
            with tempfile.TemporaryDirectory(prefix="railweave-") as folder:
                key = f"{example.stem} {device or 'as it is'}"
                found[key] = built(place, example, device, Path(folder), meaning=meaning)
                print(f"{place}: {key}: {len(found[key]) - 2} files", file=sys.stderr, flush=True)
    return found


def differences(old: Digests, new: Digests) -> list[str]:
    """A line for everything that differs."""
    lines: list[str] = []
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key), new.get(key)
        if before is None or after is None:
            lines.append(f"{key}: only in the {'new' if before is None else 'old'} checkout")
            continue
        lines += [f"{key}: {name}" for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    return lines


def main() -> int:
    """Compare, or save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path, nargs="?")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the digests of OLD, and compare nothing")
    parser.add_argument("--only", default="*", metavar="GLOB", help="examples whose names match; default: all")
    parser.add_argument("--meaning", action="store_true", help="let sentences differ; see above")
    given = parser.parse_args()
    old = digests(given.old.resolve(), given.only, meaning=given.meaning)
    if given.save is not None:
        given.save.write_text(json.dumps(old, indent=1) + "\n")
        return 0
    if given.new is None:
        parser.error("give a second checkout, or --save FILE")
    new = digests(given.new.resolve(), given.only, meaning=given.meaning)
    lines = differences(old, new)
    print("\n".join(lines) or f"equal: {len(old)} builds, {sum(len(one) - 2 for one in old.values())} files")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
