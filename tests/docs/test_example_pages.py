"""docs/examples: each command of a page prints what stands below it, its picture is current, and it names every warning of its example."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.outputs.report.topology.picture import MOST_ROWS, topology_svg
from tests.conftest import EXAMPLES, ROOT, example

PAGES = sorted(path.stem for path in (ROOT / "docs" / "examples").glob("*.md"))


def text_of(name: str) -> str:
    return (ROOT / "docs" / "examples" / f"{name}.md").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_commands_print_what_stands_below_them(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"^```sh\nrailweave (.*)\n```\n\n```text\n((?:.*\n)*?)```$", text_of(name), re.MULTILINE)
    assert blocks
    for command, said in blocks:
        done = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
        assert done.exit_code == ("no path" in done.stdout), done.output
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        assert [line for line in said.splitlines() if line.rstrip() not in lines] == [], command


@pytest.mark.parametrize("name", PAGES)
def test_the_picture_is_that_of_the_example(name: str) -> None:
    picture = ROOT / "docs" / "images" / "examples" / f"{name}.svg"
    assert f"../images/examples/{name}.svg" in text_of(name)
    assert picture.read_text() == topology_svg(example(name), MOST_ROWS), "run python -m tests.docs.test_example_pages"


@pytest.mark.parametrize("name", PAGES)
def test_no_error_and_every_warning_is_on_the_page(name: str) -> None:
    golden = ROOT / "tests" / "golden" / name
    if (golden / "out" / "findings.json").exists() or (golden / "findings.json").exists():
        found = json.loads((golden / "findings.json").read_text())
        ids = {(finding["severity"], finding["id"]) for finding in found}
    else:
        lines = (golden / "digest.txt").read_text().splitlines()
        ids = {
            tuple(line.partition(":")[0].split(" "))
            for line in lines
            if re.match(r"(error|warning|info) [a-z-]+: ", line)
        }
    assert ids
    assert [each for severity, each in ids if severity == "error"] == []
    assert [each for severity, each in ids if severity == "warning" and f"`{each}`" not in text_of(name)] == []


def test_every_example_of_this_kind_has_its_page() -> None:
    named = {path.stem for path in EXAMPLES.glob("*.yaml") if f"docs/examples/{path.stem}.md" in path.read_text()}
    assert named == set(PAGES)


def main() -> None:
    """Draw the pictures again."""
    for name in PAGES:
        Path(ROOT / "docs" / "images" / "examples" / f"{name}.svg").write_text(topology_svg(example(name), MOST_ROWS))


if __name__ == "__main__":
    main()
