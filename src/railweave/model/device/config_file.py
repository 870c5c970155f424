"""``config.json``: the file form of a ``DeviceConfig``, for every operating system.

The reader of running configurations writes it; comparisons and checks read it. Secrets appear as references.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from railweave.model.device.model import DeviceConfig


def to_json(config: DeviceConfig) -> str:
    """Return the configuration in its file form, which ends in a newline."""
    return _adapter().dump_json(config, indent=1).decode() + "\n"


def from_json(data: bytes | str) -> DeviceConfig:
    """Return the configuration from its file form. Raises ``pydantic.ValidationError`` if the data is not valid."""
    return _adapter().validate_json(data)


def to_document(config: DeviceConfig) -> dict[str, Any]:
    """Return the file form as mappings, lists and plain values."""
    return _adapter().dump_python(config, mode="json")


def from_document(document: dict[str, Any]) -> DeviceConfig:
    """Return the configuration from the form of ``to_document``. Raises ``pydantic.ValidationError`` if the document is not valid."""
    return _adapter().validate_python(document)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the file (docs/device-config.schema.json)."""
    schema = _adapter().json_schema()
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "config.json of railweave"}


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[DeviceConfig]:
    return TypeAdapter(DeviceConfig)
