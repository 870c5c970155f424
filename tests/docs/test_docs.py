"""What the documentation says is so: generated parts are current, links lead somewhere, ids and commands exist."""

from __future__ import annotations

import json
import re
import runpy
import shlex

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.model.findings.registry import rules_of
from tests.conftest import ROOT

PAGES = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"]


def test_generated_parts_are_current() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["generated"]()
    assert [path.name for path, text in generated.items() if path.read_text() != text] == [], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_finding_is_documented() -> None:
    rows = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "findings.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(rules_of("railweave"))


def test_commands_of_the_readme_exist(capfd: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^\$ (railweave [^|\n]+)", text, re.MULTILINE) + re.findall(
        r"`(railweave [a-z]+[^`]*)`", text
    )
    assert len(commands) >= 5
    for command in commands:
        verb, *words = shlex.split(command)[1:]
        result = CliRunner().invoke(app, [verb, "--help"])
        assert result.exit_code == 0, command
        text = result.output + capfd.readouterr().out  # the engine prints its help itself
        for option in (word for word in words if word.startswith("--")):
            assert option in text, f"{command}: {verb} has no {option}"


def test_paths_output_in_the_readme_is_real() -> None:
    result = CliRunner().invoke(
        app,
        [
            "paths",
            str(ROOT / "examples" / "h100-rlb.yaml"),
            "--src",
            "H100-01:gpu0_eth",
            "--dst",
            "H100-03:gpu0_eth",
            "--qps",
            "4",
        ],
    )
    shown = re.search(r"--qps 4\n(.*?)\n\.\.\.\n", (ROOT / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    assert result.stdout.startswith(shown[1])


def test_schema_describes_the_examples_keys() -> None:
    schema = json.loads((ROOT / "docs" / "fabric.schema.json").read_text())
    assert schema["$schema"].endswith("2020-12/schema")
    assert set(schema["properties"]) >= {"name", "fabrics", "servers", "management", "overrides", "sites"}
