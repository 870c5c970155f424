"""The scale examples give what is committed: 8,192 GPUs built whole, once; 32,768 designed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import EXAMPLES
from tests.golden.refresh import GOLDEN
from tests.golden.scale import BUILT, DESIGNED, kept_files


@pytest.mark.parametrize("name", [*BUILT, *DESIGNED])
def test_scale_example_gives_what_is_committed(name: str, tmp_path: Path) -> None:
    fabric = Path(shutil.copy(EXAMPLES / f"{name}.yaml", tmp_path))
    made = kept_files(name, fabric, tmp_path / "out")
    place = GOLDEN / name
    kept = {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert made.keys() == kept.keys()
    assert [path for path in made if made[path] != kept[path]] == [], "read the diff, then `make golden`"
