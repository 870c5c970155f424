"""Every JSON that a verb prints in a test has the schema that `railweave schema output VERB` prints.

With ``RAILWEAVE_RECORD_OUTPUTS=FOLDER`` outputs are recorded instead, for tools/output_schemas.py.
"""

from __future__ import annotations

import importlib.util
import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from railweave.api.output_schemas import output_schema
from railweave.cli import output

# Typer 0.29 has its own copy of click.
_CLICK = importlib.import_module(
    "typer._click.globals" if importlib.util.find_spec("typer._click") else "click.globals"
)
RECORD = os.environ.get("RAILWEAVE_RECORD_OUTPUTS")


@cache
def validator(verb: str) -> Draft202012Validator:
    """Return the validator of a verb's outputs."""
    return Draft202012Validator(output_schema(verb))


def unknown_keys(value: Any, schema: dict[str, Any], at: str = "") -> list[str]:
    """Return the places of keys that a schema does not name. Objects may have more keys, but then the schema is not complete."""
    found: list[str] = []
    if isinstance(value, dict):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        for key, member in value.items():
            if key not in properties and others is None:
                found.append(f"{at}/{key}")
            else:
                found += unknown_keys(member, properties.get(key, others), f"{at}/{key}")
    elif isinstance(value, list):
        for member in value:
            found += unknown_keys(member, schema.get("items", {}), f"{at}/[]")
    return found


def check(verb: str, value: Any) -> None:
    """Check that an output has its verb's schema, and that the schema names all of its keys."""
    wrong = [f"{error.json_path}: {error.message[:200]}" for error in validator(verb).iter_errors(value)]
    assert not wrong, f"railweave {verb} --json: {wrong[:5]}: run tools/output_schemas.py, if this is meant"
    schema = output_schema(verb)["$defs"]["error" if isinstance(value, dict) and "error" in value else "result"]
    more = sorted(set(unknown_keys(value, schema)))
    assert not more, (
        f"railweave {verb} --json: not in the schema: {more[:5]}: run tools/output_schemas.py, if this is meant"
    )


def watch() -> None:
    """Check, or record, every value that a verb prints as JSON in this process. The verbs' modules are not imported yet."""
    plain = output.print_json

    def print_json(value: Any) -> None:
        plain(value)
        verb = _verb()
        printed = json.loads(json.dumps(value))
        if RECORD:
            file = Path(RECORD) / f"{os.getpid()}.jsonl"
            with file.open("a") as recorded:
                recorded.write(json.dumps({"verb": verb, "output": printed}) + "\n")
        elif verb != "schema":
            check(verb, printed)

    output.print_json = print_json


def _verb() -> str:
    """Return the verb that runs, or ``verify`` if none does: errors are printed after the verb has ended, and are alike for all verbs."""
    context = _CLICK.get_current_context(silent=True)
    if context is None:
        return "error" if RECORD else "verify"
    words: list[str] = []
    while context.parent is not None:
        words.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(words)
