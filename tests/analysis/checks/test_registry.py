"""One registry: whatever makes a finding is a rule that is found, and says what its findings say."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

from railweave.model.catalog import catalog
from railweave.model.findings import SEVERITIES
from railweave.model.findings.registry import FindingPlace, Rule, check, lint, rules_of
from railweave.systems import systems

SOURCES = sorted((ROOT / "src" / "railweave").rglob("*.py"))
APPLIES = {"design", "rendering", "build", "network", "folder", "validator", "report", "living", "run"}


def test_nothing_but_a_rule_makes_a_finding() -> None:
    made = {
        file.name
        for file in SOURCES
        if "Finding(" in (text := file.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "Finding"
    }
    assert made == {"registry.py", "store.py"}, "the store of a watch reads back what rules have made"


def test_every_rule_is_found() -> None:
    """Rules are constants of modules: one made inside a function would be in no table."""
    rules, wrong = rules_of("railweave"), []
    for file in SOURCES:
        text = file.read_text()
        if file.name == "lints.py" or (
            "findings.registry" not in text and "common_gaps" not in text
        ):  # lints: the next test
            continue
        tree = ast.parse(text)
        makers = {
            name.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            and node.module in {"railweave.model.findings.registry", "railweave.systems.common_gaps"}
            for name in node.names
        } & {"Rule", "check", "note", "warning"}
        made_here = [
            node
            for node in tree.body
            if file.name == "common_gaps.py" and isinstance(node, ast.FunctionDef) and node.name in {"note", "warning"}
        ]
        makers |= {function.name for function in made_here}
        their_own = {id(node) for function in made_here for node in ast.walk(function)}
        inside = {id(inner) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for inner in node.body}
        deep = {id(node) for body in ast.walk(tree) if id(body) in inside for node in ast.walk(body)}
        for node in ast.walk(tree):
            if id(node) in their_own:  # a function that gives rules a severity
                continue
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers:
                given = [*node.args[:1], *(key.value for key in node.keywords if key.arg == "id")]
                if id(node) in deep or not isinstance(given[0], ast.Constant) or given[0].value not in rules:
                    wrong.append(f"{file.name}:{node.lineno}")
    assert wrong == []


def test_every_system_with_a_lint_has_a_rule_that_runs_it() -> None:
    folders = {file.parents[1].name for file in SOURCES if file.parent.name == "lint" and file.name == "__init__.py"}
    lints = {name: one.lint for name, one in catalog().systems.items() if one.lint is not None}
    assert lints.keys() == folders
    assert all(rules_of("railweave")[one.id].check is not None for one in lints.values())


def test_every_rule_says_what_and_why() -> None:
    for rule in rules_of("railweave").values():
        assert rule.severity in SEVERITIES
        assert rule.sometimes is None or rule.sometimes in SEVERITIES
        assert rule.applies in APPLIES | set(systems()), rule.id
        assert bool(rule.holds) != bool(rule.fault), rule.id
        assert bool(rule.holds) or rule.check is None, f"{rule.id}: a check says what must hold"
        assert rule.why, rule.id


def test_findings_of_the_examples_are_of_rules() -> None:
    rules = rules_of("railweave")
    files = sorted((ROOT / "tests" / "golden").glob("*/findings.json"))
    assert len(files) >= 8
    for file in files:
        for one in json.loads(file.read_text()):
            rule = rules[one["id"]]
            assert one["severity"] in {rule.severity, rule.sometimes}, one


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of checks that nothing imports."""
    folder = tmp_path / "toy_rules"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    head = "from railweave.model.findings.registry import Rule, check\n"
    look = '@check("toy-{0}", "error", applies="toy", why="w", fix="f")\ndef look(read):\n    """{0} holds."""\n    yield "{0}"\n'
    (folder / "second.py").write_text(head + look.format("second"))
    (folder / "first.py").write_text(
        head + look.format("first") + 'OTHER = Rule("toy-other", "info", "toy", "so", "why")\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    rules_of.cache_clear()
    for name in [one for one in sys.modules if one.startswith("toy_rules")]:
        del sys.modules[name]


def test_a_check_is_found_by_being_in_a_module_of_the_package(package: Path) -> None:
    assert list(rules_of(package.name)) == ["toy-first", "toy-other", "toy-second"]
    found = lint(package.name, object(), "leaf", "toy.conf")
    assert [(one.id, one.severity, one.where, one.what, one.file) for one in found] == [
        ("toy-first", "error", "leaf", "first", "devices/leaf/toy.conf"),
        ("toy-second", "error", "leaf", "second", "devices/leaf/toy.conf"),
    ]


def test_two_rules_with_one_id_are_refused(package: Path) -> None:
    (package / "third.py").write_text((package / "second.py").read_text())
    with pytest.raises(ValueError, match="toy-second"):
        rules_of(package.name)


@pytest.mark.parametrize("sentences", [{}, {"fault": "it is so", "holds": "It is not so."}])
def test_a_rule_says_what_was_found_or_what_must_hold(sentences: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="toy-rule"):
        Rule("toy-rule", "error", "toy", why="because", **sentences)


def test_the_page_of_findings_heads_each_sentence_as_what_it_is() -> None:
    """A rule of ``bench triage`` that holds "The results of a test contain no wrong values." stood under "what is wrong"."""
    headings: dict[str, tuple[str, str]] = {}
    heading = ""
    for line in (ROOT / "docs" / "findings.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.replace("\\|", "").split("|")]
        if line.startswith("| id |"):
            heading = cells[3]
        elif line.startswith("| `"):
            headings[cells[1].strip("`")] = heading, cells[3]
    for rule in rules_of("railweave").values():
        assert headings[rule.id][0] == ("what must hold" if rule.holds else "what was found"), rule.id
    assert headings["run-wrong-data"] == ("what must hold", "The results of a test contain no wrong values.")


def test_a_check_says_only_what_is_its_own() -> None:
    other = Rule("toy-other", "info", "toy", "so it is", "because")

    @check("toy-own", "error", applies="toy", why="why", fix="fix", sometimes="warning")
    def own(read: object):
        """It holds.

        And more.
        """
        del read
        yield FindingPlace("leaf", "one")
        yield FindingPlace("spine", "two", "a.yaml", 3, severity="warning", why="", fix="other")
        yield other.finding("leaf")

    assert (own.holds, own.fault) == ("It holds.", "")
    with pytest.raises(ValueError, match="toy-own"):
        own.finding("leaf")
    assert [tuple(one.to_json().values()) for one in own.run(None)] == [
        ("toy-own", "error", "leaf", "", 0, "one", "why", "fix"),
        ("toy-own", "warning", "spine", "a.yaml", 3, "two", "", "other"),
        ("toy-other", "info", "leaf", "", 0, "so it is", "because", ""),
    ]
