"""Registries in which each member is a folder, such as operating systems and NIC vendors.

A misnamed folder or file raises an error instead of being ignored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path


def found_by(paths: Iterable[str], file: str) -> dict[str, Path]:
    """Return the path of ``file`` in every folder of a registry, by folder name, in alphabetical order.

    ``paths`` are the directories to search. Raises ``ImportError`` if a package in one of them lacks the file.
    """
    from pathlib import Path

    folders = sorted(
        {
            candidate.parent
            for path in paths
            for name in (file, "__init__.py")
            for candidate in Path(path).glob(f"*/{name}")
        }
    )
    for folder in folders:
        if not (folder / file).is_file():
            raise ImportError(f"{folder} has no {file}{_meant(_entries(folder), file)}")
    return {folder.name: folder / file for folder in folders}


def check_known(folder: Path, known: Collection[str], where: str) -> None:
    """Raise ``ImportError`` if a module or file in a folder is not in ``known``. The error suggests the most similar known name.

    If no known name is similar, the error has the advice ``where`` instead.
    """
    for name in _entries(folder):
        if name not in known:
            meant = nearest(name, known)
            hint = f"did you mean {meant}?" if meant else where
            raise ImportError(f"{folder}: nothing knows {name}: {hint}")


def modules_of(folder: Path) -> set[str]:
    """Return the names of the modules and packages in a folder."""
    return {entry for entry in _entries(folder) if "." not in entry}


def _entries(folder: Path) -> list[str]:
    """Return the sorted entries of a folder: modules without ``.py``, and packages and other files by their full name."""
    there = (entry for entry in folder.iterdir() if not entry.name.startswith((".", "__")))
    return sorted(entry.stem if entry.suffix == ".py" else entry.name for entry in there)


def _meant(entries: Iterable[str], file: str) -> str:
    """Return ``: rename NAME`` for the name in ``entries`` that is most similar to ``file``, or an empty text if none is similar."""
    like = nearest(file, entries)
    return f": rename {like}" if like else ""
