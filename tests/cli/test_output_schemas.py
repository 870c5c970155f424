"""`railweave schema output VERB`: every verb that prints JSON has a schema. tests/printed_json.py checks the outputs of all other tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.main import get_command
from typer.testing import CliRunner

from railweave.api.output_schemas import output_schema, verbs_with_output
from railweave.cli.app import PARSED_ELSEWHERE, VERBS, app
from railweave.errors import InputError
from tests import printed_json
from tests.conftest import EXAMPLES, ROOT

WITHOUT = {
    "watch": "runs until it is stopped",
    "deploy acknowledge": "prints the line that it keeps",
}
"""Verbs without an output to describe."""


def commands() -> set[str]:
    """Return the verbs that the command line has, with their subcommands."""
    found: set[str] = set()
    for name in VERBS.keys() - PARSED_ELSEWHERE:
        command = get_command(app).commands[name]
        inner = getattr(command, "commands", None)
        found |= {f"{name} {word}" for word in inner} if inner else {name}
    return found


def test_every_verb_has_a_schema() -> None:
    assert commands() - set(verbs_with_output()) - WITHOUT.keys() == set()


@pytest.mark.parametrize("verb", verbs_with_output())
def test_a_schema_is_one(verb: str) -> None:
    schema = output_schema(verb)
    Draft202012Validator.check_schema(schema)
    assert schema["$id"].endswith(f":{schema['version']}")
    assert set(schema["exitCodes"]) == {"0", "1", "2", "130"}


def test_the_command_prints_schemas_and_their_names() -> None:
    result = CliRunner().invoke(app, ["schema", "output", "deploy", "plan"])
    assert json.loads(result.output) == output_schema("deploy plan")
    names = json.loads(CliRunner().invoke(app, ["schema", "output"]).output)
    assert "deploy plan" in names
    assert "error" not in names


def test_a_verb_that_does_not_exist_is_refused_with_a_like_one() -> None:
    with pytest.raises(InputError, match=r"did you mean deploy plan\?"):
        output_schema("deploy plam")
    result = CliRunner().invoke(app, ["schema", "outputs"])
    assert "write `railweave schema output VERB`" in str(result.exception)


HOST = EXAMPLES.parent / "tests/earlier/7958d393/host.json"


@pytest.mark.parametrize(
    "words",
    [
        ["host", "plan", "--host-file", str(HOST)],
        ["host", "gids", "--host-file", str(HOST), "--sysfs", "no-such-sysfs"],
        ["host", "env", "--host-file", str(HOST), "--sysfs", "no-such-sysfs"],
        ["host", "check", "--host-file", "missing.json"],
        ["host", "check", "--list"],
        ["flows", "--topology", "star:hosts=2", "--traffic", "permutation:bytes=1MB"],
        ["flows", "--topology", "no-such-shape", "--traffic", "permutation:bytes=1MB"],
    ],
)
def test_verbs_with_a_parser_of_their_own_print_what_their_schema_says(words: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "railweave", *words, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    printed_json.check(" ".join(words[: 1 + (words[0] == "host")]), json.loads(done.stdout))


def test_a_change_of_an_output_is_seen() -> None:
    """The check of all outputs fails where a key is missing, is new, or has another type."""
    words = ["verify", str(EXAMPLES / "mi300x-leaf-24.yaml"), "--design-only", "--json", "-q"]
    result = json.loads(CliRunner().invoke(app, words).stdout)
    printed_json.check("verify", result)
    without = {name: value for name, value in result.items() if name != "good"}
    for changed in (without, result | {"more": 1}, result | {"good": "yes"}):
        with pytest.raises(AssertionError, match=r"tools/output_schemas\.py"):
            printed_json.check("verify", changed)


def test_the_schemas_are_in_the_package() -> None:
    assert (ROOT / "src/railweave/api/output_schemas.json").stat().st_size > 10_000
