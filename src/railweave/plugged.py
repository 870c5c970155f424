"""Registries that find folders by their files. A folder or file with a wrong name raises an error, so that it is not overlooked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path


def found_by(paths: Iterable[str], file: str) -> dict[str, Path]:
    """Return the file of every folder in a registry, by the folder's name, in alphabetical order.

    ``paths`` are the locations of the registry's packages. Raises ``ImportError`` for a package that lacks the file.
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
    """Raise ``ImportError`` if a module or file in a folder has an unknown name. ``where`` is the advice on the correct name."""
    for name in _entries(folder):
        if name not in known:
            meant = nearest(name, known)
            hint = f"did you mean {meant}?" if meant else where
            raise ImportError(f"{folder}: nothing knows {name}: {hint}")


def modules_of(folder: Path) -> set[str]:
    """Return the names of the modules and packages in a folder."""
    return {entry for entry in _entries(folder) if "." not in entry}


def _entries(folder: Path) -> list[str]:
    """Return the entries of a folder: modules and packages without their suffix, other files with it."""
    there = (entry for entry in folder.iterdir() if not entry.name.startswith((".", "__")))
    return sorted(entry.stem if entry.suffix == ".py" else entry.name for entry in there)


def _meant(entries: Iterable[str], file: str) -> str:
    """Return advice to rename the entry that resembles ``file``, or an empty string if none does."""
    like = nearest(file, entries)
    return f": rename {like}" if like else ""
