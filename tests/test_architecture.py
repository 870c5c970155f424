"""Wings import earlier wings only; rooms import what docs/architecture.md says, and no more; arrows point one way."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
import runpy
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from railweave.systems import systems
from tests.conftest import ROOT

ROOMS = runpy.run_path(str(ROOT / "tools" / "rooms.py"))
USER = "name == 'frr'"
"""The user of FRR's daemons in /etc/passwd has the system's name."""
ALLOWED = ROOMS["allowed"]((ROOT / "docs" / "architecture.md").read_text())


@cache
def imports(path: Path) -> list[Any]:
    """Every import of railweave in a file: each is read once, by the worker that runs these tests."""
    return ROOMS["imports"](path)


@cache
def edges() -> dict[str, dict[str, list[str]]]:
    """What each room imports of other rooms."""
    return ROOMS["edges"](imports)


def test_every_folder_is_a_wing() -> None:
    there = {path.parent.name for path in ROOMS["SOURCE"].glob("*/__init__.py")}
    assert there == set(ROOMS["WINGS"])
    for wing in ROOMS["OF_ROOMS"]:
        assert [path.name for path in (ROOMS["SOURCE"] / wing).glob("*.py")] == ["__init__.py"]


@pytest.mark.parametrize("wing", ROOMS["WINGS"])
def test_a_wing_imports_earlier_wings_only_as_its_docstring_says(wing: str) -> None:
    wings = ROOMS["WINGS"]
    found: dict[str, list[str]] = {}
    for room, others in edges().items():
        if room.split("/")[0] == wing:
            for other, files in others.items():
                found.setdefault(other.split("/")[0], []).extend(files)
    found.pop(wing, None)
    for other, files in found.items():
        assert wings.index(other) < wings.index(wing), f"{wing} comes before {other}: {', '.join(files)}"
    said = ast.get_docstring(ast.parse((ROOMS["SOURCE"] / wing / "__init__.py").read_text())) or ""
    allowed = re.search(r"^Imports: (.+?)\.$", said, re.MULTILINE | re.DOTALL)
    assert allowed, f"the docstring of {wing} does not say what it imports"
    assert re.findall(r"``(\w+)``", allowed[1]) == sorted(found, key=wings.index)


def test_every_room_is_in_the_table() -> None:
    there = {
        room
        for path in ROOMS["SOURCE"].rglob("*.py")
        if (room := ROOMS["room_of"](path.relative_to(ROOMS["SOURCE"]).with_suffix("").parts))
    }
    assert there == ALLOWED.keys()


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_what_it_may(room: str) -> None:
    found = edges().get(room, {})
    for other, files in found.items():
        assert other in ALLOWED[room], f"{room} may not import {other}: {', '.join(files)}"
    assert ALLOWED[room] == found.keys(), "the table allows what nothing needs"


def test_arrows_point_one_way() -> None:
    ROOMS["levels"]({room: set(others) for room, others in edges().items()})


def test_a_circle_is_found() -> None:
    with pytest.raises(ValueError, match="a imports b imports a"):
        ROOMS["levels"]({"a": {"b"}, "b": {"a"}})


def test_modules_next_to_the_wings_import_none() -> None:
    above = {"__init__.py", "__main__.py"}
    for path in sorted(ROOMS["SOURCE"].glob("*.py")):
        rooms = {ROOMS["room_of"](one.module) for one in imports(path)} - {""}
        assert path.name in above or not rooms, f"{path.name} imports {rooms}"


ROUND_THE_API = {"host.commands.main", "host.terminal", "host.terminal.escaped"}
"""What the command line takes from wings without the API, of the program that also runs alone on servers: its parser, and its safe output."""


def test_verbs_reach_other_wings_through_the_api() -> None:
    """What a verb does is what the function of the API does. Tables that verbs print are made of parts of pages."""
    for path in sorted((ROOMS["SOURCE"] / "cli").glob("*.py")):
        for one in imports(path):
            if one.types_only or not ROOMS["room_of"](one.module) or one.module[0] in {"api", "cli", "pages"}:
                continue
            assert ".".join(one.module) in ROUND_THE_API, f"{one.file}: {'.'.join(one.module)}"


def test_nothing_names_one_system_but_systems() -> None:
    """An operating system is known by its folder; what is common knows none of them by name. FRR is what the lab runs."""
    for path in sorted(ROOMS["SOURCE"].rglob("*.py")):
        for one in imports(path):
            if one.module[0] == "systems" and len(one.module) > 1 and ROOMS["room_of"](one.module) == "systems/NAME":
                home = path.relative_to(ROOMS["SOURCE"]).parts[:2]
                assert home[0] == "systems" or (home == ("live", "lab") and one.module[1] == "frr"), (
                    f"{one.file}: {'.'.join(one.module)}"
                )


def test_nothing_asks_whether_a_system_is_a_certain_one() -> None:
    """What differs by operating system stands in its folder: no other module compares with a system's name."""
    names = set(systems())
    for path in sorted(ROOMS["SOURCE"].rglob("*.py")):
        text = path.read_text()
        if path.relative_to(ROOMS["SOURCE"]).parts[0] == "systems" or not any(f'"{name}"' in text for name in names):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Compare):
                compared = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)} & names
                assert not compared or USER in ast.unparse(node), f"{path.name}:{node.lineno} compares with {compared}"


PLUGIN = ROOT / "plugin" / "src"


def test_sources_of_the_plugin_include_each_other_without_a_circle() -> None:
    """A .c file and the header of its name are one: what either includes, both need."""
    included: dict[str, set[str]] = {}
    for path in sorted(PLUGIN.glob("*.[ch]")):
        names = re.findall(r'^#include "(\w+)\.h"', path.read_text(), re.MULTILINE)
        here = {name for name in names if (PLUGIN / f"{name}.h").exists()} - {path.stem}
        included.setdefault(path.stem, set()).update(here)
    ROOMS["levels"](included)


def test_each_source_of_the_plugin_has_a_header() -> None:
    """But for those that only fill the tables that NCCL looks up."""
    bare = {path.stem for path in PLUGIN.glob("*.c") if not path.with_suffix(".h").exists()}
    assert bare == {"api", "tuner_api"}
    for path in PLUGIN.glob("*.c"):
        if path.stem not in bare:
            assert f'#include "{path.stem}.h"' in path.read_text(), path


def test_tests_of_the_engine_stand_in_its_folder_of_tests() -> None:
    """The manifest tells Cargo to look for none in ``src``, which compiled the library a second time: one that stands there would never run."""
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        text = path.read_text()
        assert not re.search(r"#\[(test|cfg\(.*\btest\b.*\))\]", text), path
        fences = re.findall(r"^\s*//[/!]\s*```(.*)$", text, re.MULTILINE)
        assert set(fences[::2]) <= {"text"}, f"{path}: an example that nothing compiles"


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "railweave":
            yield from ((node.module or "", alias.name) for alias in node.names if alias.name != "*")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "from railweave" in node.value:
            try:
                yield from _imported(ast.parse(textwrap.dedent(node.value)))
            except SyntaxError:
                continue


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "tools", "docs"])
def test_trials_and_their_scripts_import_what_exists(folder: str) -> None:
    """No test runs the trials, and some of their code is text. A name that was renamed in ``src`` alone is found here."""
    wrong: list[str] = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for module, name in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            if not hasattr(importlib.import_module(module), name) and not importlib.util.find_spec(f"{module}.{name}"):
                wrong.append(f"{path.relative_to(ROOT)}: {module} has no {name}")
    assert wrong == []
