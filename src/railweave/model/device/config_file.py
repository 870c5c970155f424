"""Reading and writing of ``config.json``, the file that holds a ``DeviceConfig`` in the same way for every operating system.

railweave writes the file when it reads running configurations; comparisons and checks read it. Secrets appear as
references such as ``secret:bgp``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter

from railweave.model.device.model import DeviceConfig


def to_json(config: DeviceConfig) -> str:
    """Return a configuration as the text of ``config.json``, which ends in a newline."""
    return _adapter().dump_json(config, indent=1).decode() + "\n"


def from_json(data: bytes | str) -> DeviceConfig:
    """Return the configuration in the text of a ``config.json``. Raises ``pydantic.ValidationError`` if the data is not valid."""
    return _adapter().validate_json(data)


def to_document(config: DeviceConfig) -> dict[str, Any]:
    """Return a configuration with the structure of ``config.json``, as dicts, lists, strings and numbers."""
    return _adapter().dump_python(config, mode="json")


def from_document(document: dict[str, Any]) -> DeviceConfig:
    """Return the configuration in a result of ``to_document``. Raises ``pydantic.ValidationError`` if the document is not valid."""
    return _adapter().validate_python(document)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of ``config.json`` (docs/device-config.schema.json)."""
    schema = _adapter().json_schema()
    return {**schema, "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "config.json of railweave"}


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[DeviceConfig]:
    return TypeAdapter(DeviceConfig)
