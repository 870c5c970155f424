"""CONTRIBUTING.md, followed to the letter: a check is one module, a switch model one entry."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from railweave.analysis import checks as room
from railweave.analysis.checks.checks import checks, run_checks
from railweave.analysis.checks.subject import Subject
from railweave.model.catalog import catalog
from railweave.model.catalog.hardware import SwitchModel
from railweave.model.findings.registry import rules_of
from railweave.outputs.folder.designing import design_file
from tests.conftest import EXAMPLES, ROOT, example

BLOCKS = dict(
    re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
)


@pytest.fixture
def loopbacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module of the page, where the modules of ``railweave.analysis.checks`` are looked for."""
    (tmp_path / "loopbacks.py").write_text(BLOCKS["src/railweave/analysis/checks/loopbacks.py"])
    monkeypatch.setattr(room, "__path__", [*room.__path__, str(tmp_path)])
    rules_of.cache_clear()
    yield
    monkeypatch.undo()
    sys.modules.pop("railweave.analysis.checks.loopbacks", None)
    rules_of.cache_clear()


def test_where_a_change_goes_exists() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text()
    table = page[page.index("## Where a change goes") : page.index("## Running tests")]
    paths = [
        path
        for row in re.findall(r"^\| .* \| (.*) \|$", table, re.MULTILINE)
        for path in re.findall(r"`(\S*/\S*)`", row)
    ]
    assert len(paths) > 30
    for path in paths:
        places = [ROOT, ROOT / "src" / "railweave"]
        name = path.replace("NAME", "*").replace("VENDOR", "*").rstrip("/")
        assert any(any(place.glob(name)) for place in places), path


def test_a_check_is_one_module(loopbacks: None) -> None:
    subject = Subject.of(example("h100-rlb"))
    assert "no-loopback" in checks()
    assert not [one for one in run_checks(subject) if one.id == "no-loopback"]
    bare = {name: replace(one, loopback="") if name == "spine1" else one for name, one in subject.configs.items()}
    [found] = checks()["no-loopback"].run(Subject(subject.network, bare))
    assert (found.id, found.severity, found.where) == ("no-loopback", "warning", "spine1")
    assert found.fix == "set `pools.router_ids`"


def test_it_is_gone_afterwards() -> None:
    assert "no-loopback" not in checks()


def test_a_switch_model_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = yaml.safe_load(BLOCKS["src/railweave/model/catalog/switches.yaml"])
    [name] = entry
    monkeypatch.setitem(catalog().switches, name, SwitchModel.model_validate(entry[name]))
    network, _ = design_file(EXAMPLES / "mi300x-leaf-24.yaml", device=[f"leaf={name}:frr"])
    assert {one.model for one in network.switches if one.role == "leaf"} == {name}
