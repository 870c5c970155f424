"""Device and host files of a build folder against what its design renders to: edited by hand, missing, or from another version."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from railweave.findings import Finding

FIXES = {
    "devices": "put the statement under `extra:` of the role, or build again",
    "hosts": "change it in the fabric file, under `hosts:` or `host_routing:`, or build again",
}

FILE_MISSING = Rule(
    id="file-missing",
    severity="error",
    applies="folder",
    says="a device or server file of a build folder is gone",
    why="the folder is not whole",
    fix="build it again",
)
FILE_EDITED = Rule(
    id="file-edited",
    severity="warning",
    applies="folder",
    says="a device or server file of a build folder is not what its design renders to",
    why="checks look at the design, so they do not see the change; the next build overwrites it",
    fix=FIXES["devices"],
)

_SECRET = re.compile(r"<secret:[^>]*>")


def text_in(folder: Path, name: str) -> str | None:
    """The text of a file in the folder; None where it is gone or cannot be read."""
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def differences(folder: Path, rendered: Mapping[str, str]) -> Iterator[Finding]:
    """A finding for every file that is not what the design renders to; secrets put in are no difference."""
    for name, text in rendered.items():
        found = text_in(folder, name)
        kind, *device, file = name.split("/")
        owner = "".join(device) or file  # files that all servers share have none
        if found is None:
            yield FILE_MISSING.finding(owner, f"{name} is missing", file=name)
        elif found != text and (line := _first_difference(text, found)):
            what = f"{name} is not what the design renders to, from line {line} on"
            yield FILE_EDITED.finding(owner, what, fix=FIXES[kind], file=name, line=line)


def _first_difference(text: str, found: str) -> int:
    """The first line that differs, 1-based; 0 where only secrets do."""
    wanted, lines = text.splitlines(), found.splitlines()
    for number, (one, other) in enumerate(zip(wanted, lines, strict=False), 1):
        pattern = ".*".join(re.escape(part) for part in _SECRET.split(one))
        if one != other and not (_SECRET.search(one) and re.fullmatch(pattern, other)):
            return number
    return min(len(wanted), len(lines)) + 1 if len(wanted) != len(lines) else 0
