"""``manifest.json``: what a build wrote into its folder, the digest of every file."""

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
"""The file that is locked while a build runs; it says by whom, and goes with it."""
STAGING = ".railweave-"
"""The start of the names of folders in which a build writes its files before it moves them into place."""


def digest(content: bytes) -> str:
    """The identity of a file's content in the manifest."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Manifest:
    """The record of an earlier build: the digest of every file, and the stamp of every folder that was rendered on its own."""

    files: dict[str, str]
    rendered: dict[str, str]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an earlier build; an empty one where there was none."""
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
    """Return whether a path stays inside the folder that it is relative to."""
    parts = name.split("/")  # pathlib takes a second more for 18,000
    return not name.startswith("/") and ".." not in parts and any(part not in {"", "."} for part in parts)
