"""Every example builds to exactly what is committed; ``make golden`` refreshes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.refresh import GOLDEN, build_example, example_names


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module", params=example_names())
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example, built."""
    place = tmp_path_factory.mktemp(name)
    build_example(name, place)
    return place


def test_example_builds_to_what_is_committed(name: str, folder: Path) -> None:
    built, committed = _content(folder / "out"), _content(GOLDEN / name)
    assert built.keys() == committed.keys()
    assert [path for path in built if built[path] != committed[path]] == [], "read the diff, then `make golden`"


def test_example_lock_is_committed_and_current(name: str, folder: Path) -> None:
    committed = GOLDEN.parents[1] / "examples" / f"{name}.lock"
    assert (folder / f"{name}.lock").read_bytes() == committed.read_bytes()
