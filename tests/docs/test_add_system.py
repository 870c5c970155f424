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
from railweave.model.config.sections import SectionReader, flat, parse
from railweave.outputs.rendering.support import FEATURES, matrix
from railweave.systems import system, systems
from railweave.systems.reading import read_state
from railweave.systems.statement_tables import tables
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
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8").partition("\n## Add a NIC vendor\n")[0])
    assert [name for name, _ in blocks] == ["system.yaml", "__init__.py"]
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
    page = (out / "runbook" / "stripe1-leaf1.md").read_text()
    assert "- [ ] 4 neighbors, all established" in page
    assert "| spine-green | eth0.0 | spine1 | 4200000001 | 60 | 4 | 15 |" in page


def test_its_configurations_are_read_back(acme: Path) -> None:
    from railweave.model.device.build import device_config

    network, acme_os = api.load(EXAMPLES / "h100-rlb.yaml", device=[":acme"]), system("acme")
    for name in ("stripe1-leaf1", "spine1"):
        config = device_config(network, name, "acme")
        files = acme_os.files(config)
        assert acme_os.reader is not None
        reading = acme_os.reader.read(files)
        assert reading.not_understood == ()
        assert reading.config.name == name
        assert [(port.name, port.peer, port.mtu, port.kind) for port in reading.config.interfaces] == [
            (port.name, port.peer, port.mtu, port.kind) for port in config.interfaces
        ]
        tree = acme_os.reader.parsed("acme.conf", files["acme.conf"])
        assert acme_os.reader.printed("acme.conf", tree.nodes) == files["acme.conf"]
    changed = {"acme.conf": "port eth0.0\n  mtu 1500\n  colour red\nmtu 9\n"}
    reading = acme_os.reader.read(changed)
    assert [(port.name, port.mtu) for port in reading.config.interfaces] == [("eth0.0", 1500)]
    assert [(one.line, one.path) for one in reading.not_understood] == [(3, "port eth0.0 / colour red"), (4, "mtu 9")]


def test_its_switches_are_asked_and_their_answers_read(acme: Path) -> None:
    from railweave.model.device.build import device_config

    config = device_config(api.load(EXAMPLES / "h100-rlb.yaml"), "stripe1-leaf1", "acme")
    asked = system("acme").state
    assert asked is not None
    questions = asked.questions(config)
    assert {one.name: one.words() for one in questions} == {"ports": "show ports | json", "bgp": "show bgp | json"}
    answers = {
        "ports": '{"eth0.0": {"admin": "up", "link": "down", "mtu": 9216}, "eth0.1": {"mtu": "much"}}',
        "bgp": '{"peers": [{"port": "eth0.0", "address": "fe80::1", "state": "Established", "as": 4200000001}, {}]}',
    }
    found = read_state("stripe1-leaf1", "acme", answers)
    assert found.interfaces is not None
    assert [(one.name, one.admin_up, one.oper_up, one.mtu) for one in found.interfaces.values()] == [
        ("eth0.0", True, False, 9216),
        ("eth0.1", None, None, None),
    ]
    assert [str(note) for note in found.notes] == [
        "stripe1-leaf1: ports (eth0.1.mtu): expected a whole number, found 'much'"
    ]
    assert found.bgp is not None
    assert [(one.interface, one.peer, one.established, one.peer_as) for one in found.bgp] == [
        ("eth0.0", "fe80::1", True, 4200000001)
    ]
    assert read_state("stripe1-leaf1", "acme", {}).interfaces is None


def test_every_row_of_its_table_is_printed_and_read(acme: Path) -> None:
    [(name, table)] = tables("acme").items()
    assert name == "TABLE"
    text = "name x\nport p\n  to y\n  mtu 64\nbgp 1 group g\n  in a\n  out b\n  peer p as 2\n"
    sections = parse(text)
    value = table.read(sections, SectionReader(sections))
    assert flat(table.printed(value)) == flat(sections)


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
