"""Files of sections with ``Name=value``: systemd's units, and settings of networkd."""

from __future__ import annotations

import re

from railweave.analysis.checks.servers.entries import Entry, Kind
from railweave.analysis.checks.servers.rules import MTU, SERVICE

SETTING = Kind("setting", SERVICE)
MTU_SETTING = Kind("setting", MTU)
_SAID_ONLY = frozenset({"Description", "Documentation"})
"""What people read and systemd does nothing with."""
_SECTION = re.compile(r"\[(.+)\]")


def unit(text: str) -> list[Entry]:
    """What the file sets. A name that is given several times is a list, which an empty value clears (systemd.syntax(7))."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    section = ""
    for number, line in _logical_lines(text):
        match = _SECTION.fullmatch(line)
        if match:
            section = match[1]
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        values = found.setdefault((section, name), [])
        if equals and not value:
            values.clear()
        values.append((number, value if equals else "(no value)"))
    return [
        Entry(
            MTU_SETTING if name == "MTUBytes" else SETTING,
            {"value": " ".join(value for _, value in values)},
            values[-1][0],
            name,
            f"[{section}]",
        )
        for (section, name), values in found.items()
        if name not in _SAID_ONLY
    ]


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines without comments; one that ends in a backslash goes on in the next."""
    made: list[tuple[int, str]] = []
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        inner = line.strip()
        if inner[:1] in {"#", ";"} or (not inner and not goes_on):
            continue
        whole = inner.removesuffix("\\").strip()
        if goes_on:
            first, before = made[-1]
            made[-1] = (first, f"{before} {whole}".strip())
        else:
            made.append((number, whole))
        goes_on = inner.endswith("\\")
    return made
