"""A refusal names the change that mends it: the change is made in each file of ``tests/wrong``, and the file is then designed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from railweave.outputs.folder.designing import design_file
from tests.conftest import ROOT
from tests.wrong.remedies import NOT_A_CHANGE, REMEDIES

WRONG = ROOT / "tests" / "wrong"


@pytest.mark.parametrize("name", REMEDIES)
def test_what_a_refusal_says_to_do_mends_it(name: str, tmp_path: Path) -> None:
    says, *changes = REMEDIES[name]
    name = name.partition("#")[0]
    assert says in (WRONG / f"{name}.error").read_text()
    files = [Path(shutil.copy(file, tmp_path)) for file in WRONG.glob(f"{name}.*") if file.suffix != ".error"]
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        (file,) = (file for file in files if old in file.read_text())
        text = file.read_text()
        at = text.rindex(old)  # what is said twice is wrong where it is said last
        file.write_text(text[:at] + new + text[at + len(old) :])
    network, _ = design_file(tmp_path / f"{name}.yaml")
    assert network.switches


def test_every_refusal_has_its_remedy_tried_or_a_reason() -> None:
    names = {file.stem for file in WRONG.glob("*.yaml")}
    given = " ".join(NOT_A_CHANGE.values()).split()
    without = {
        name for name in names if name in given or any(part.endswith("-") and name.startswith(part) for part in given)
    }
    tried = {name.partition("#")[0] for name in REMEDIES}
    assert tried <= names
    assert names - tried - without == set()
    assert all(any(name == part or part.endswith("-") for name in names) for part in given)
