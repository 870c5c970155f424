"""The operator's own statements: tables of ``config_db.json`` as JSON, lines of ``frr.conf``, or the one and then the other."""

from __future__ import annotations

import json

from railweave.errors import RenderError
from railweave.model.config.sections import Section
from railweave.model.config.sections import parse as parse_frr
from railweave.systems.sonic.tables import Tables
from railweave.systems.sonic.tables import parse as parse_tables


def parts(text: str) -> tuple[Tables, list[Section]]:
    """Tables and routing statements. Raises ``RenderError`` with the line where either cannot be read."""
    if not text.lstrip().startswith("{"):
        return {}, parse_frr(text)
    try:
        _, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        raise RenderError(error.msg, error.lineno) from None
    tables = parse_tables(text[:end])
    try:
        return tables, parse_frr(text[end:])
    except RenderError as error:
        raise error.below(text.count("\n", 0, end)) from None
