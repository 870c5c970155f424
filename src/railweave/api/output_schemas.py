"""The JSON Schemas of what verbs print with ``--json`` (docs/export/pipelines.md#schemas-of-outputs)."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from railweave.errors import Argument, InputError, Problem
from railweave.nearest import nearest
from railweave.reading import packaged_text, parse_json

DRAFT = "https://json-schema.org/draft/2020-12/schema"
EXIT_CODES = {
    "0": "good: everything that was expected is right (warnings included)",
    "1": "not good: an error was found, something expected was not seen, or two things differ; the help of the verb says which",
    "2": "wrong use or wrong input: the output is the object of `$defs/error`",
    "130": "interrupted",
}
ERROR = "error"
"""The name of the schema of errors, which all verbs share."""


@cache
def _schemas() -> dict[str, Any]:
    text = packaged_text(resources.files("railweave.api").joinpath("output_schemas.json"))
    schemas: dict[str, Any] = parse_json(text)
    return schemas


def verbs_with_output() -> list[str]:
    """Return the verbs whose output has a schema, such as ``deploy plan``."""
    return sorted(name for name in _schemas() if name != ERROR)


def output_schema(verb: str) -> dict[str, Any]:
    """Return the JSON Schema of a verb's output, with its version.

    The schema was made from recorded outputs, and tests check every output against it. Objects may get more keys in a later release
    of the same version. The version goes up if a key that is always present is removed.

    Raises ``InputError`` if there is no such verb.
    """
    if verb not in verbs_with_output():
        close = nearest(verb, verbs_with_output())
        fix = f"did you mean {close}?" if close else f"verbs are {', '.join(verbs_with_output())}"
        raise InputError([Problem(Argument("verb"), f"no verb {verb!r} prints JSON", fix)])
    entry = _schemas()[verb]
    return {
        "$schema": DRAFT,
        "$id": f"urn:railweave:output:{verb.replace(' ', '-')}:{entry['version']}",
        "title": f"railweave {verb} --json",
        "version": entry["version"],
        "exitCodes": EXIT_CODES,
        "anyOf": [{"$ref": "#/$defs/result"}, {"$ref": "#/$defs/error"}],
        "$defs": {"result": entry["schema"], "error": _schemas()[ERROR]["schema"]},
    }
