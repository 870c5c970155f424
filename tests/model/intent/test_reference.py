"""The schema and the reference that come from the models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.reading.document import read_document
from railweave.model.intent.reference import fabric_reference, fabric_schema
from tests.conftest import EXAMPLES

TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
WORDS = {
    *(
        "$defs",
        "$ref",
        "$schema",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "propertyNames",
        "items",
        "prefixItems",
    ),
    *("anyOf", "const", "enum", "default", "description", "title", "examples", "pattern", "minimum", "maximum"),
    *("exclusiveMinimum", "minItems", "maxItems", "minLength", "maxLength", "minProperties"),
}


def models(model: type[BaseModel], seen: dict[str, type[BaseModel]]) -> dict[str, type[BaseModel]]:
    """Every model below ``model``, by name."""
    seen[model.__name__] = model
    for info in model.model_fields.values():
        for inner in classes_in(info.annotation):
            if inner.__name__ not in seen:
                models(inner, seen)
    return seen


def classes_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models that an annotation names."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in getattr(annotation, "__args__", ()):
        yield from classes_in(argument)


MODELS = models(FabricFile, {})


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema, and every schema in it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for key in ("properties", "patternProperties", "$defs"):
        for inner in schema.get(key, {}).values():
            yield from subschemas(inner)
    for key in ("items", "additionalProperties"):
        yield from subschemas(schema.get(key))
    for key in ("anyOf", "prefixItems"):
        for inner in schema.get(key, ()):
            yield from subschemas(inner)


def test_the_schema_is_draft_2020_12_by_structure() -> None:
    schema = fabric_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema
    found = list(subschemas(schema))
    assert len(found) > 100
    for one in found:
        assert one.keys() <= WORDS
        kind = one.get("type", [])
        assert {kind} <= TYPES if isinstance(kind, str) else set(kind) <= TYPES
        assert set(one.get("required", ())) <= one.get("properties", {}).keys()
        re.compile(one.get("pattern", ""))
        if "$ref" in one:
            assert one["$ref"].removeprefix("#/$defs/") in schema["$defs"]


def test_the_schema_is_closed_to_unknown_keys() -> None:
    schema = fabric_schema()
    objects = [schema, *(one for one in schema["$defs"].values() if one.get("type") == "object")]
    assert len(objects) == len(MODELS)
    assert all(one["additionalProperties"] is False for one in objects)


def test_the_models_were_found() -> None:
    assert {"FabricFile", "Fabric", "Qos", "TrafficClass", "CableOverride", "SnmpUser"} <= MODELS.keys()


@pytest.mark.parametrize("name", MODELS)
def test_every_model_and_field_is_described(name: str) -> None:
    assert MODELS[name].__doc__
    for field, info in MODELS[name].model_fields.items():
        assert info.description, f"{name}.{field}"


@pytest.mark.parametrize("name", MODELS)
def test_the_reference_has_a_section_for_every_model_and_a_row_for_every_field(name: str) -> None:
    text = fabric_reference()
    assert text.count(f"\n## {name}\n") == 1
    section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", section, re.MULTILINE)
    assert [field for field, _ in rows] == list(MODELS[name].model_fields)
    for field, rest in rows:
        cells = re.split(r"(?<!\\)\|", rest)
        assert len(cells) == 3, f"{name}.{field}"
        assert all(cell.strip() for cell in cells), f"{name}.{field}"
        assert "~" not in rest
        assert "<class" not in rest


def test_links_of_the_reference_lead_somewhere() -> None:
    text = fabric_reference()
    anchors = {name.lower() for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)}
    links = set(re.findall(r"\]\(#(\w+)\)", text))
    assert len(links) > 10
    assert links <= anchors


@pytest.mark.parametrize("name", ["h100-rlb", "h100-rlb-8up"])
def test_the_schema_accepts_the_examples(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    document = read_document(EXAMPLES / f"{name}.yaml").value
    jsonschema.Draft202012Validator(fabric_schema()).validate(document)


def test_the_schema_accepts_shorthand_and_refuses_what_the_models_refuse() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(fabric_schema())
    fabric = {
        "topology": {"stripes": ["s[1-2]"], "spines": "p[1-4]"},
        "leaf": {"device": "qfx5240-64od"},
        "qos": {"classes": {"no-loss": {"dynamic_threshold": 7}, "cnp": None}},
    }
    good = {"name": "x", "fabrics": {"a": fabric}}
    assert list(validator.iter_errors(good)) == []
    fabric["qos"] = {"buffers": {"lossless": 200}}
    assert [error.validator for error in validator.iter_errors(good)] == ["maximum"]
