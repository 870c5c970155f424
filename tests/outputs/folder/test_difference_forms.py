"""Each form of a diff says what it has no commands for; a pair on other switches is a change on those."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave import api
from railweave.model.config.compare import compare
from railweave.model.config.section_tree import LineRules, section_tree
from railweave.model.config.sections import parse
from railweave.outputs.folder.differences import NetworkDiff
from railweave.systems.dell_sonic.changes import RULES as DELL
from railweave.systems.eos.changes import RULES as EOS
from tests.outputs.folder.fabrics import fabric


def _fewer(folder: Path, device: str) -> NetworkDiff:
    old, new = fabric(folder / "old", ("spines: 2", "spines: 3")), fabric(folder / "new")
    return api.diff(old, new, device=[device], old_device=[device])


@pytest.mark.parametrize("nos", ["eos", "dell_sonic"])
def test_a_spine_that_is_gone_is_said(tmp_path: Path, nos: str) -> None:
    lines = _fewer(tmp_path, f":{nos}").command_lines(nos)
    assert any(line.startswith("! ") and "is gone" in line for line in lines)
    assert any(line.strip().startswith("no ") for line in lines)


def test_what_a_patch_leaves_to_do_is_said(tmp_path: Path) -> None:
    left = "\n".join(_fewer(tmp_path, ":sonic").not_as_patches("sonic", "config_db.json"))
    assert "in none of its lists" in left
    assert "config reload" in left
    assert "frr.conf changes too" in left
    assert "is gone" in left


def test_another_system_is_said(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    found = api.diff(file, file, new_device=[":eos"])
    assert all("takes its whole configuration" in line for line in found.command_lines("eos"))
    assert found.command_lines("eos")


@pytest.mark.parametrize(
    ("rules", "old", "new", "lines"),
    [
        (EOS, "banner login\nhands off\nEOF", "", ["no banner login"]),
        (EOS, "banner login\na\nEOF", "banner login\nb\nEOF", ["banner login", "b", "EOF"]),
        (EOS, "qos map dscp 1 2 to traffic-class 3", "", ["no qos map dscp 1 2"]),
        (DELL, "interface Eth1/1\n shutdown\nexit", "", []),
    ],
)
def test_lines_that_a_switch_would_refuse(rules: LineRules, old: str, new: str, lines: list[str]) -> None:
    assert compare(section_tree(parse(old), rules), section_tree(parse(new), rules)).commands == lines
