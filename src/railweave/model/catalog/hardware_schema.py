"""The JSON Schema of hardware files, for editors."""

from __future__ import annotations

from typing import Any, cast

from railweave.model.catalog.hardware import Hardware


def hardware_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12): with ``extends`` a model has its other fields from the one that it names."""
    schema = Hardware.model_json_schema()
    definitions = cast("dict[str, dict[str, Any]]", schema["$defs"])
    for section in Hardware.model_fields:
        reference = schema["properties"][section]["additionalProperties"]["$ref"]
        model = definitions[reference.rpartition("/")[2]]
        model["properties"] = {
            "extends": {"type": "string", "description": "a known model that has whatever is not given here"},
            **model["properties"],
        }
        model["if"] = {"not": {"required": ["extends"]}}
        model["then"] = {"required": model.pop("required")}
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "railweave hardware file"}
