"""What the documentation says is so: generated parts are current, links lead somewhere, ids and commands exist."""

from __future__ import annotations

import csv
import json
import re
import runpy
import shlex
from functools import cache
from pathlib import Path

import pytest
from docs.cli_reference import verbs
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.model.findings.registry import rules_of
from tests.conftest import ROOT

PAGES = [*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"]


def test_generated_parts_are_current() -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["generated"]()
    assert [path.name for path, text in generated.items() if path.read_text() != text] == [], "run `make docs`"
    tables = {path for path in generated if path.suffix == ".csv"} | {
        ROOT / "docs" / "validation.csv",
        ROOT / "docs" / "validation-field.csv",
    }  # make validation, and benchmarks/validation/field.py
    assert tables == set(ROOT.glob("docs/**/*.csv"))


MOST_WORDS = 79_300
"""Words of docs/ that are written by hand: a page that grows takes them from another. 78,000 before there was a page on security, 79,000 before anomalies could be acknowledged and silenced."""


MOST_GENERATED = 58_600
"""Words of docs/ that are generated: 56,000 before `export` had ten more targets, and tables of published results on other clusters; 58,000 before six rules of grey failures and five verbs of anomalies. Data goes into a CSV file beside its page, and what many entries share is said once."""


@cache
def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site form them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = (
        re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower().strip()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text()):
        if "://" in target or not target + anchor:
            continue
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), f"{page.name} links to {target}"
        if anchor and path.suffix == ".md":
            assert anchor in anchors(path), f"{page.name} links to {target}#{anchor}"


def test_the_site_has_every_page_once() -> None:
    listed = re.findall(r"(\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md"))


def test_the_site_lists_and_refuses() -> None:
    """What the hooks of ``make site`` do without mkdocs: the list for language models, and what a page may not load."""
    hooks = runpy.run_path(str(ROOT / "tools" / "site_hooks.py"))
    text = hooks["llms"](ROOT / "docs", [{"Start": ["index.md", {"I simulate": "start/simulate.md"}]}])
    assert text.startswith("# railweave\n\n> railweave designs the network of a GPU cluster from one file, ")
    assert "\n- [Quick start: simulate](start/simulate.md): You want to know how long" in text
    page = '<link rel="canonical" href="https://a"><a href="https://b">b</a><img src="c.png"><script src="//d/e.js"></script>'
    assert [tag[0] for tag in hooks["loaded"](page)] == ['<script src="//d/e.js">']


def test_words_are_counted_and_few() -> None:
    words = runpy.run_path(str(ROOT / "tools" / "docs_words.py"))
    rows = {page.page: page for page in words["pages"]()}
    assert rows["findings.md"].written == 0 < rows["findings.md"].generated
    assert rows["index.md"].generated == 0 < rows["index.md"].written
    assert min(rows["checks.md"][1:]) > 0
    assert words["count"]("| `a` | 2 x | – |\n|---|---|---|") == 3
    assert sum(page.written for page in rows.values()) <= MOST_WORDS
    assert sum(page.generated for page in rows.values()) <= MOST_GENERATED


def test_the_page_of_the_engine_has_every_option_of_flows() -> None:
    """docs/cli.md refers to its table, which is written by hand."""
    usage = next(verb.usage for verb in verbs() if verb.words == ("flows",))
    section = (ROOT / "docs" / "engine.md").read_text().split("### Options\n")[1].split("\n### ")[0]
    options = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", usage, re.MULTILINE))
    assert len(options) > 20
    assert options - set(re.findall(r"`(--[a-z-]+)[` ]", section)) == set()


def test_every_finding_is_documented() -> None:
    rules = rules_of("railweave")
    rows = re.findall(r"^\| `([^`]+)` \|", (ROOT / "docs" / "findings.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(rules)
    with (ROOT / "docs" / "findings.csv").open() as file:
        table = {row["id"]: row for row in csv.DictReader(file)}
    assert table.keys() == rules.keys()
    assert all(table[name]["reason"] == rule.why.replace("``", "`") for name, rule in rules.items())
    assert all(table[name]["remedy"] == rule.fix.replace("``", "`") for name, rule in rules.items())


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
        if "COMMAND [ARGS]" in result.output:  # a group: the options are those of its command
            result = CliRunner().invoke(app, [verb, words[0], "--help"])
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
