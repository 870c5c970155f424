"""The example fabrics that come with railweave."""

from __future__ import annotations

from pathlib import Path

from railweave.errors import FileLine, InputError, Option, Problem
from railweave.reading import packaged_bytes
from railweave.writing import write_below

FOLDER = Path(__file__).parent / "_examples"
"""The folder of the examples. In a checkout, the folder is a link to ``examples/``."""

SUFFIXES = ("yaml", "inventory.csv")


def example_names() -> list[str]:
    """Return the names of the examples, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def example_files(name: str) -> dict[str, bytes]:
    """Return the files of an example by name, the fabric file first. Raise ``InputError`` for an unknown example."""
    if name not in example_names():
        raise InputError(
            [
                Problem(
                    Option("--example"), f"there is no example {name!r}", f"examples are {', '.join(example_names())}"
                )
            ]
        )
    sources = [FOLDER / f"{name}.{suffix}" for suffix in SUFFIXES]
    return {source.name: packaged_bytes(source) for source in sources if source.exists()}


def check_new(target: Path) -> None:
    """Raise ``InputError`` if ``target`` is a folder that is not empty, or a path that is not a folder. A missing path is accepted."""
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError([Problem(FileLine(str(target)), "exists and is not an empty folder", "choose another")])


def write_new(target: Path, files: dict[str, bytes]) -> list[Path]:
    """Write files into a new or empty folder, and return their paths.

    Raises ``InputError`` for any other target, and ``OutputError`` if the folder cannot be written.
    """
    check_new(target)
    write_below(target, files)
    return [target / name for name in files]
