"""The published definitions (CRDs) of Kubernetes objects as JSON schemas: what an API server checks, but for its CEL rules.

``make validators`` collects the definitions in .validators/crds; RAILWEAVE_CRDS names a different folder.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from tests.conftest import ROOT

Document = dict[str, Any]


def folder() -> Path:
    """The folder of the definitions, which need not exist."""
    return Path(os.environ.get("RAILWEAVE_CRDS") or ROOT / ".validators" / "crds")


def definitions() -> list[Document]:
    """All definitions of the folder."""
    return [
        document
        for file in sorted(folder().glob("*.yaml"))
        for document in yaml.load_all(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        if document
    ]


@cache
def validators() -> dict[tuple[str, str], Validator]:
    """A validator for each kind of object, by (apiVersion, kind)."""
    result: dict[tuple[str, str], Validator] = {}
    for definition in definitions():
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                schema = strict(version["schema"]["openAPIV3Schema"])
                schema["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}
                key = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                result[key] = Draft202012Validator(schema)
    return result


def strict(schema: Any) -> Any:
    """A structural schema as a JSON schema that refuses unknown fields, as strict field validation does.

    Kubernetes' own words: x-kubernetes-preserve-unknown-fields allows any field, x-kubernetes-int-or-string two types, and
    and nullable allows null.
    """
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result: Document = {}
    for name, value in schema.items():
        if name == "properties":
            result[name] = {key: strict(inner) for key, inner in value.items()}
        elif name in {"items", "additionalProperties", "allOf", "anyOf", "oneOf", "not"}:
            result[name] = strict(value)
        elif name not in {"default", "description"} and not name.startswith("x-"):
            result[name] = value
    if schema.get("x-kubernetes-int-or-string"):
        result = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    elif (
        "properties" in schema
        and "additionalProperties" not in schema
        and not schema.get("x-kubernetes-preserve-unknown-fields")
    ):
        result["additionalProperties"] = False
    if schema.get("nullable"):
        result = {"anyOf": [{"type": "null"}, result]}
    return result
