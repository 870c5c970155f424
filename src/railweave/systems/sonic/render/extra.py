"""The operator's own statements: tables of ``config_db.json`` as JSON, lines of ``frr.conf``, or the one and then the other."""

from __future__ import annotations

import json

from railweave.config.sections import Section
from railweave.config.sections import parse as parse_frr
from railweave.errors import RenderError
from railweave.systems.sonic.render.tables import Tables
from railweave.systems.sonic.render.tables import parse as parse_tables


def parts(text: str) -> tuple[Tables, list[Section]]:
    """Tables and routing statements. Raises ``RenderError`` with the line where either cannot be read."""
    if not text.lstrip().startswith("{"):
        return {}, parse_frr(text)
    try:
        _, end = json.JSONDecoder().raw_decode(text.lstrip())
    except json.JSONDecodeError as error:
        raise RenderError(f"line {error.lineno}: {error.msg}") from None
    end += len(text) - len(text.lstrip())
    return parse_tables(text[:end]), parse_frr(text[end:])
