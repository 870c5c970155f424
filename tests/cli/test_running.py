"""Files as they stand and configurations as switches have them: ``verify``, ``drift``, ``paths`` with ``--running``."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.test_exit_codes import SAME_RAIL, run
from tests.outputs.folder.fabrics import fabric


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Path, Path]:
    """A fabric file, and the folder it is built into."""
    file, out = fabric(tmp_path / "in"), tmp_path / "out"
    assert run(monkeypatch, "build", file, "-o", out) == 0
    return file, out


def _edited(out: Path, old: str, new: str, device: str = "stripe1-leaf1", file: str = "junos.conf") -> int:
    """Change a file of a build folder; the line where it was changed."""
    path = out / "devices" / device / file
    text = path.read_text()
    match = re.search(old, text)
    assert match is not None
    path.write_text(text[: match.start()] + match.expand(new) + text[match.end() :])
    return text.count("\n", 0, match.start()) + 1


def _json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str | Path
) -> tuple[int, Any]:
    capsys.readouterr()  # what was said before
    code = run(monkeypatch, *arguments, "--json")
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        (r"mtu \d+;", "mtu 1500;", "mtu-differs"),
        (r"minimum-interval \d+;", "minimum-interval 50;", "bfd-differs"),
        (r"pfc-priority 3", "pfc-priority 4", "pfc-differs|classifier-differs"),
        (r"fill-level \[ (\d+) (\d+) \]", r"fill-level [ \2 \1 ]", "ecn-differs"),
        (r"router-id [\d.]+", "router-id 10.9.9.9", "address-differs"),
        (r"(?s)\Z", "system { login { user evil { class super-user; } } }\n", "login-differs|statement-not-designed"),
    ],
)
def test_verify_names_what_a_file_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    built: tuple[Path, Path],
    old: str,
    new: str,
    name: str,
) -> None:
    line = _edited(built[1], old, new)
    code, found = _json(monkeypatch, capsys, "verify", built[1])
    named = [one for one in found["findings"] if re.fullmatch(name, one["id"])]
    assert [one["file"] for one in named][:1] == ["devices/stripe1-leaf1/junos.conf"]
    assert abs(named[0]["line"] - line) <= 1
    assert code == (1 if named[0]["severity"] == "error" else 0)


def test_verify_of_the_design_alone_leaves_files_alone(
    monkeypatch: pytest.MonkeyPatch, built: tuple[Path, Path]
) -> None:
    _edited(built[1], r"mtu \d+;", "mtu 1500;")
    assert run(monkeypatch, "verify", built[1]) == 1
    assert run(monkeypatch, "verify", built[1], "--design-only") == 0


@pytest.mark.parametrize("text", ["", "system {\n"])
def test_a_file_that_cannot_be_read_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: tuple[Path, Path], text: str
) -> None:
    (built[1] / "devices" / "stripe1-leaf1" / "junos.conf").write_text(text)
    code, found = _json(monkeypatch, capsys, "verify", built[1])
    assert code == 1
    assert "file-unreadable" in {one["id"] for one in found["findings"]}


def test_drift_of_what_was_built_is_none(monkeypatch: pytest.MonkeyPatch, built: tuple[Path, Path]) -> None:
    assert run(monkeypatch, "drift", *built) == 0


def test_drift_says_what_differs_and_what_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: tuple[Path, Path]
) -> None:
    line = _edited(built[1], r"export to-spines;", "export none;")
    code, found = _json(monkeypatch, capsys, "drift", *built)
    assert code == 1
    [device] = found["devices"]
    assert device["device"] == "stripe1-leaf1"
    assert line in {one["line"] for one in device["different"]}
    assert found["effects"]["lost"] or found["effects"]["moved"], "the leaf's prefixes are advertised to nobody"
    assert found["findings"], "the checks say of the running network what they do not say of the designed one"
    assert run(monkeypatch, "verify", built[0], "--running", built[1]) == 1
    capsys.readouterr()
    assert run(monkeypatch, "paths", built[0], *SAME_RAIL) == 0
    assert run(monkeypatch, "paths", built[0], *SAME_RAIL, "--running", built[1]) in {0, 1}


def test_a_switch_that_was_not_captured_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: tuple[Path, Path]
) -> None:
    shutil.rmtree(built[1] / "devices" / "stripe1-leaf1")
    code, found = _json(monkeypatch, capsys, "drift", *built)
    assert (code, found["missing"], found["equal"]) == (1, ["stripe1-leaf1"], True), "nothing is known of it"
    code, found = _json(monkeypatch, capsys, "drift", *built, "--only", "spine1")
    assert (code, found["missing"], found["compared"]) == (0, [], 1)
    assert run(monkeypatch, "drift", *built, "--only", "stripe1-leaf1") == 1
    assert run(monkeypatch, "drift", *built, "--only", "spine9") == 2
    assert "--only spine9: the network has no such switch" in capsys.readouterr().err
    code, found = _json(monkeypatch, capsys, "verify", built[0], "--running", built[1] / "devices")
    assert [one["where"] for one in found["findings"] if one["id"] == "not-captured"] == ["stripe1-leaf1"]


def test_statements_that_all_switches_of_a_role_have_are_adopted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: tuple[Path, Path]
) -> None:
    file, out = built
    for leaf in sorted((out / "devices").glob("*leaf*")):
        _edited(out, r"\Z", "event-options { policy own { events cosd_unknown; } }\n", leaf.name)
    assert run(monkeypatch, "drift", file, out, "--adopt") == 1
    assert "adopted: " in capsys.readouterr().out
    [wanted] = yaml.safe_load(file.read_text())["fabrics"].values()
    assert "event-options" in wanted["leaf"]["extra"]["junos"]
    assert run(monkeypatch, "drift", file, out) == 0, "what was adopted is designed"


def test_statements_of_one_switch_are_adopted_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: tuple[Path, Path]
) -> None:
    file, out = built
    _edited(out, r"\Z", "event-options { policy own { events cosd_unknown; } }\n", "stripe1-leaf1")
    assert run(monkeypatch, "drift", file, out, "--adopt") == 1
    assert "(extra of stripe1-leaf1)" in capsys.readouterr().out
    written = yaml.safe_load(file.read_text())
    assert "event-options" in written["overrides"]["devices"]["stripe1-leaf1"]["extra"]["junos"]
    assert run(monkeypatch, "drift", file, out) == 0, "what was adopted is designed"


def test_a_switch_does_not_lose_what_its_role_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], built: tuple[Path, Path]
) -> None:
    """One leaf has a statement of its own, and all leaves have another: that goes to the role, and is said of the one."""
    file, out = built
    for leaf in sorted((out / "devices").glob("*leaf*")):
        _edited(out, r"\Z", "event-options { policy own { events cosd_unknown; } }\n", leaf.name)
    _edited(
        out, r"\Z", "access { address-assignment { neighbor-discovery-router-advertisement own; } }\n", "stripe1-leaf1"
    )
    assert run(monkeypatch, "drift", file, out, "--adopt") == 1
    assert "not adopted: " in capsys.readouterr().out
    written = yaml.safe_load(file.read_text())
    assert "overrides" not in written
    [wanted] = written["fabrics"].values()
    assert "event-options" in wanted["leaf"]["extra"]["junos"]


def test_what_is_no_capture_is_bad_use(
    monkeypatch: pytest.MonkeyPatch, built: tuple[Path, Path], tmp_path: Path
) -> None:
    assert run(monkeypatch, "drift", built[0], tmp_path / "nowhere") == 2
    assert run(monkeypatch, "verify", built[0], "--running", tmp_path / "nowhere") == 2
    assert run(monkeypatch, "drift", built[1], built[1], "--adopt") == 2
