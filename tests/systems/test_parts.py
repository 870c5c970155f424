"""Parts of a system's folder: none vanishes because its file is misnamed, and each that is missing has its reason."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave import systems as registry
from railweave.model.catalog.definitions import system_files
from railweave.systems import system, systems
from railweave.systems.loader import PARTS
from tests.plugging import plug_in

MODULE = """
def trees(config): return {}
def mistakes(config): return []
"""
THERE = ("render", "changes", "read", "state", "telemetry", "transaction", "upgrade", "lint", "validator", "runbook")
DEFINITION = """
lint: {id: acme-lint, says: all is well}
modules: [names]
without: {outage: nobody knows its commands, first_boot: it has none}
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A system's folder with everything but two parts, where packages of ``railweave.systems`` are looked for."""
    folder = tmp_path / "systems" / "acme"
    folder.mkdir(parents=True)
    for name in (*THERE, "names"):
        (folder / f"{name}.py").write_text("VALIDATOR = 'a validator'\n")
    (folder / "__init__.py").write_text(MODULE)
    (folder / "system.yaml").write_text(DEFINITION)
    plug_in(monkeypatch, registry, folder.parent)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    forget()
    yield folder
    monkeypatch.undo()
    forget()


def forget() -> None:
    for kept in (systems, system_files, system):
        kept.cache_clear()
    for name in [one for one in sys.modules if one.startswith("railweave.systems.acme")]:
        del sys.modules[name]


def test_parts_are_found_or_missing_on_purpose(acme: Path) -> None:
    found = system("acme")
    assert found.outage is None
    assert found.first_boot is None
    assert found.without == {"outage": "nobody knows its commands", "first_boot": "it has none"}
    assert found.validators == ("a validator",)
    for name in ("reader", "state", "telemetry", "transaction", "upgrade", "runbook"):
        assert getattr(found, name) is not None


def test_a_part_may_be_a_value_and_the_others_have_one_reason(acme: Path) -> None:
    for name in (*THERE, "names"):
        (acme / f"{name}.py").unlink()
    (acme / "__init__.py").write_text("render = read = 'a table'\n")
    (acme / "system.yaml").write_text("without: {outage: nobody knows its commands, others: not written yet}\n")
    found = system("acme")
    assert found.reader == "a table"
    assert found.state is None
    assert found.without == {name: "not written yet" for name in PARTS if name not in {"render", "read"}} | {
        "outage": "nobody knows its commands"
    }
    (acme / "sate.py").write_text("")
    system.cache_clear()
    with pytest.raises(ImportError, match=r"acme: nothing knows sate: did you mean state\?"):
        system("acme")


@pytest.mark.parametrize("part", [one for one in THERE if one not in {"render", "changes", "lint"}])
def test_a_misnamed_part_is_an_error(acme: Path, part: str) -> None:
    (acme / f"{part}.py").rename(acme / f"{part}s.py")
    with pytest.raises(ImportError, match=rf"acme: nothing knows {part}s: did you mean {part}\?"):
        system("acme")


def test_a_misnamed_package_is_an_error(acme: Path) -> None:
    (acme / "read.py").unlink()
    (acme / "reed").mkdir()
    (acme / "reed" / "__init__.py").write_text("")
    with pytest.raises(ImportError, match="nothing knows reed"):
        system("acme")


@pytest.mark.parametrize("part", [one for one in PARTS if one in THERE and one not in {"render", "changes", "lint"}])
def test_a_part_that_is_missing_needs_a_reason(acme: Path, part: str) -> None:
    (acme / f"{part}.py").unlink()
    with pytest.raises(ImportError, match=f"has no {part}: add it, or give the reason in system.yaml under `without`"):
        system("acme")


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("outage:", "outrage:", "a system has no part outrage: did you mean outage"),
        ("first_boot: it has none", "first_boot: it has none, read: nobody can", "without: read is not missing"),
        ("modules: [names]", "", "nothing knows names: if it is no part of a system, name it in system.yaml"),
        ("modules: [names]", "modules: [names, tree]", "modules: there is no tree"),
        ("lint: {id", "lints: {id", "`lint` .* must be there exactly if the folder has lint rules"),
    ],
)
def test_a_wrong_definition_is_an_error(acme: Path, old: str, new: str, wrong: str) -> None:
    (acme / "system.yaml").write_text(DEFINITION.replace(old, new))
    with pytest.raises(ImportError, match=wrong):
        system("acme")


@pytest.mark.parametrize(("part", "function"), [("changes", "trees"), ("lint", "mistakes")])
def test_a_part_that_nothing_uses_is_an_error(acme: Path, part: str, function: str) -> None:
    (acme / "__init__.py").write_text(MODULE.replace(f"def {function}(", "def another("))
    with pytest.raises(ImportError, match=f"acme has no function {function} that uses it"):
        system("acme")


def test_a_folder_with_a_misnamed_definition_is_an_error(acme: Path) -> None:
    (acme / "system.yaml").rename(acme / "sytem.yaml")
    system_files.cache_clear()
    with pytest.raises(ImportError, match=r"acme has no system\.yaml: rename sytem\.yaml"):
        systems()


@pytest.mark.parametrize("nos", systems())
def test_every_part_of_every_system_can_be_imported(nos: str) -> None:
    found = system(nos)
    assert all(found.part(name) is not None for name in set(PARTS) - found.without.keys())
    assert all(len(reason) > 20 for reason in found.without.values())


def test_a_module_cannot_take_the_place_of_a_function(acme: Path) -> None:
    (acme / "mistakes.py").write_text("")
    (acme / "system.yaml").write_text(DEFINITION.replace("modules: [names]", "modules: [names, mistakes]"))
    with pytest.raises(ImportError, match="mistakes: no module may have the name of a system's function"):
        system("acme")
