"""The file ``manifest.json``: the record of the files that a build wrote into its folder, each with its digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import SpecError
from railweave.reading import read_json

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
VERSION = 1
HELD = ".railweave.held"
"""The lock file of a running build. It records the process, user, machine and start time, and is removed when the build ends."""
STAGING = ".railweave-"
"""The prefix of the temporary folders in which a build writes its files before it moves them into place."""


def digest(content: bytes) -> str:
    """Return the digest of a file's content, as written in the manifest."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Manifest:
    """The record of an earlier build: the digest of each file, and a key for each folder that is rendered separately.

    The key identifies the inputs from which the folder was rendered.
    """

    files: dict[str, str]
    rendered: dict[str, str]


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of an earlier build, or an empty manifest if there is none or it cannot be read."""
    try:
        data: object = read_json(folder / MANIFEST)
    except (OSError, SpecError):
        return Manifest({}, {})
    manifest = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if manifest.get("railweave") != VERSION or not isinstance(manifest.get("files"), dict):
        return Manifest({}, {})
    return Manifest(*(_words(manifest.get(part)) for part in ("files", "rendered")))


def _words(data: object) -> dict[str, str]:
    named = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    return {str(name): str(value) for name, value in named.items() if is_below(str(name))}


def is_below(name: str) -> bool:
    """Return True if a relative path stays inside its folder."""
    parts = name.split("/")  # pathlib takes a second more for 18,000
    return not name.startswith("/") and ".." not in parts and any(part not in {"", "."} for part in parts)
