"""The folder of an export. A later export of the same target removes files that it no longer writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, OutputError, Problem
from railweave.manifest import is_below
from railweave.writing import Folder, write_below

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_export(folder: Path, target: str, files: Mapping[str, str]) -> None:
    """Write the files of a target, and remove those that an earlier export of the target wrote and this one does not.

    Otherwise, a file of a server that has left the design would be applied together with the others. The hidden file
    ``.railweave-TARGET`` has the names of the written files. It is written last, so that an export that was interrupted is completed by
    the next one. Raises ``InputError`` if ``folder`` is a file, and ``OutputError`` if a file cannot be written or removed.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError([Problem(Option("--output"), f"{folder} is a file", "name a folder")])
    listing = f".railweave-{target}"
    write_below(folder, files)
    try:
        with Folder(folder) as opened:
            before = (opened.read(listing) or b"").decode(errors="replace").splitlines()
            for name in before:
                if name not in files and is_below(name) and opened.read(name) is not None:
                    opened.remove(name)
    except OSError as error:
        raise OutputError(f"cannot remove old files from {folder}: {error.strerror or error}") from error
    write_below(folder, {listing: "".join(f"{name}\n" for name in sorted(files))})
