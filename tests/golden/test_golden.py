"""Every example builds to exactly what is committed; ``make golden`` refreshes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.refresh import GOLDEN, build_example, example_names


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", example_names())
def test_example_builds_to_what_is_committed(name: str, tmp_path: Path) -> None:
    built, committed = _content(build_example(name, tmp_path)), _content(GOLDEN / name)
    assert built.keys() == committed.keys()
    assert [path for path in built if built[path] != committed[path]] == [], "read the diff, then `make golden`"


@pytest.mark.parametrize("name", example_names())
def test_example_lock_is_committed_and_current(name: str, tmp_path: Path) -> None:
    build_example(name, tmp_path)
    committed = GOLDEN.parents[1] / "examples" / f"{name}.lock"
    assert (tmp_path / f"{name}.lock").read_bytes() == committed.read_bytes()
