"""``railweave hardware``, and how an unknown model is answered."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.errors import InputError
from tests.conftest import EXAMPLES

FOLDER = str(EXAMPLES / "hardware")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_models_are_listed_with_where_they_come_from() -> None:
    found = json.loads(run("hardware", "list", "switches", "--hardware", FOLDER, "--json"))
    origins = {one["name"]: one["origin"] for one in found}
    assert origins["qfx5240-64od"] == "package"
    assert origins["acme-32x800"] == f"{FOLDER}/acme.yaml:4"
    assert {one["section"] for one in found} == {"switches"}
    text = run("hardware", "list", "--hardware", FOLDER)
    assert re.search(rf"^switches  acme-32x800 +{FOLDER}/acme\.yaml:4  ", text, re.MULTILINE)
    assert "gpu: 8 x connectx-7 (400G)" in text


def test_what_is_shown_is_a_hardware_file(tmp_path: Path) -> None:
    for number, model in enumerate(("qfx5240-64od", "thor2", "dgx-h100", "osfp-800g-dr8", "z9864f-on")):
        text = run("hardware", "show", model)
        assert text.startswith(f"# {model}: package\n# ")
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "own.yaml").write_text(text)
        assert json.loads(run("hardware", "show", model, "--hardware", str(folder), "--json")) == json.loads(
            run("hardware", "show", model, "--json")
        )


def test_what_is_assumed_is_said_first() -> None:
    assert "# assumed: buffer.cell: assumed: as Tomahawk 5" in run("hardware", "show", "qfx5230-64cd")


@pytest.mark.parametrize("words", [("--nic", "cx99"), ("--switch", "acme")])
def test_an_unknown_model_says_how_to_add_one(tmp_path: Path, words: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=r"hardware file.*--hardware DIR.*docs/hardware\.md"):
        CliRunner().invoke(app, ["init", str(tmp_path / "x"), "--gpus", "64", *words], catch_exceptions=False)


def test_a_fabric_is_sized_with_models_of_one_s_own(tmp_path: Path) -> None:
    words = ("--gpus", "64", "--nic", "acme-4gpu", "--switch", "acme-32x800", "--hardware", FOLDER)
    run("init", str(tmp_path / "x"), *words)
    assert "acme-32x800" in (tmp_path / "x" / "rail-64.yaml").read_text()
