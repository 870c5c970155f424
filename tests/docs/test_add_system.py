"""The how-to for a new operating system, followed to the letter: one folder, and a network is built for it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave import api
from railweave import systems as registry
from railweave.cli import main
from railweave.model.catalog import packaged
from railweave.model.catalog.definitions import system_files
from railweave.outputs.rendering.support import FEATURES, matrix
from railweave.systems import system, systems
from tests.conftest import EXAMPLES, ROOT
from tests.plugging import plug_in

PAGE = ROOT / "docs" / "howto" / "add-a-network-operating-system.md"
BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def forget() -> None:
    """What was read of the systems there are."""
    packaged.cache_clear()
    systems.cache_clear()
    system_files.cache_clear()
    system.cache_clear()
    for name in [one for one in sys.modules if one.startswith("railweave.systems.acme")]:
        del sys.modules[name]


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that the page describes, where packages of ``railweave.systems`` are looked for."""
    folder = tmp_path / "systems" / "acme"
    folder.mkdir(parents=True)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert [name for name, _ in blocks] == ["system.yaml", "__init__.py", "render.py"]
    for name, text in blocks:
        (folder / name).write_text(text, encoding="utf-8")
    plug_in(monkeypatch, registry, folder.parent)
    forget()
    yield folder
    monkeypatch.undo()
    forget()


def test_the_example_is_built_for_it(acme: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "h100-rlb.yaml"
    copy.write_text((EXAMPLES / "h100-rlb.yaml").read_text())
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", ["railweave", "build", str(copy), "--device", ":acme", "-o", str(out), "--quiet"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    text = (out / "devices" / "stripe1-leaf1" / "acme.conf").read_text()
    assert "port eth0.0\n  to spine1\n  mtu 9216\n" in text
    assert "bgp 4200001001 group spine-green\n  in from-green\n  out to-spines\n  peer eth0.0 as 4200000001\n" in text
    network = api.load(out)
    assert {(one.nos, one.release) for one in network.switches} == {("acme", "2.1")}
    found = api.verify(network)
    assert [one for one in found if one.severity == "error"] == []
    assert "acme-no-qos" in {one.id for one in found}


def test_it_has_a_column_in_the_matrix(acme: Path) -> None:
    from railweave.model.device.build import device_config

    network = api.load(EXAMPLES / "h100-rlb.yaml")
    cells = matrix("acme", [device_config(network, "stripe1-leaf1", "acme")], [])
    assert cells.keys() == {one.id for one in FEATURES}
    assert str(cells["pfc"]) == "not expressible: this example renders none"
    assert str(cells["path-color"]) == "mapped: large communities with local preference"


def test_two_designs_are_compared(acme: Path) -> None:
    old, new = api.load_pair(EXAMPLES / "h100-rlb.yaml", EXAMPLES / "h100-rlb.yaml", device=["leaf=:acme"])
    from railweave.outputs.folder.differences import diff

    changes = {one.device: one for one in diff(old, new).devices}
    assert "acme" in changes["stripe1-leaf1"].added
    assert "acme" not in changes["spine1"].added


def test_it_is_gone_afterwards() -> None:
    assert "acme" not in systems()
    with pytest.raises(KeyError):
        system("acme")
