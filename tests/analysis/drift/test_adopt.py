"""Statements of devices' own are written into the fabric file, which keeps all else."""

from __future__ import annotations

import pytest
import yaml

from railweave.analysis.drift.adopt import with_extra
from railweave.errors import InputError

ROLE = ("fabrics", "gpu", "leaf")
LINES = ["set system processes a", "set system processes b"]


def _extra(text: str) -> str:
    return yaml.safe_load(text)["fabrics"]["gpu"]["leaf"]["extra"]["junos"]


@pytest.mark.parametrize(
    "text",
    [
        "fabrics:\n  gpu:\n    leaf:\n      device: x   # a comment\n    spine: {device: y}\n# the end\n",
        "fabrics:\n  gpu:\n    leaf:\n      extra:\n        eos: |\n          hostname x\n      device: x\n",
        "fabrics:\n  gpu:\n    stripes: 2\nname: x\n",
    ],
)
def test_a_block_is_made_where_none_is(text: str) -> None:
    made = with_extra(text, "x.yaml", ROLE, "junos", LINES)
    assert _extra(made).splitlines() == LINES
    kept = [line for line in made.splitlines() if line in text.splitlines()]
    assert kept == text.splitlines(), "comments and order stay"
    left = yaml.safe_load(made)
    del left["fabrics"]["gpu"]["leaf"]["extra"]["junos"]
    before = yaml.safe_load(text)
    before["fabrics"]["gpu"].setdefault("leaf", {}).setdefault("extra", {})
    assert left == before


def test_a_block_that_stands_is_added_to() -> None:
    text = "fabrics:\n  gpu:\n    leaf:\n      extra:\n        junos: |\n          set system a\n\n          set system b\n      device: x\n"
    made = with_extra(text, "x.yaml", ROLE, "junos", LINES)
    assert [line for line in _extra(made).splitlines() if line] == ["set system a", "set system b", *LINES]
    assert yaml.safe_load(made)["fabrics"]["gpu"]["leaf"]["device"] == "x"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("fabrics:\n  gpu:\n    leaf: {device: x}\n", 3),
        ("fabrics:\n  gpu:\n    leaf:\n      extra:\n        junos: set system a\n", 5),
        (
            "fabrics:\n  gpu:\n    leaf:\n      extra:\n        junos: |\n          system {\n            a;\n          }\n",
            5,
        ),
    ],
)
def test_what_cannot_be_added_to_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InputError) as error:
        with_extra(text, "x.yaml", ROLE, "junos", LINES)
    assert f"x.yaml:{line}" in str(error.value)
