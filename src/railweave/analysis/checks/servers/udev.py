"""udev's rules: which NIC gets which name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.analysis.checks.servers.entries import Entry, Kind
from railweave.analysis.checks.servers.rules import NIC

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = Kind("name", NIC)
DEVICE = Kind("RDMA device name", NIC)
OTHER = Kind("udev rule", NIC, ordered=True)

_WORD = re.compile(r'\s*([A-Za-z_]+(?:\{[^}]*\})?)\s*(==|!=|\+=|-=|:=|=)\s*(e?"(?:[^"\\]|\\.)*")\s*(?:,|$)')
_MAC = re.compile(r"[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}|MAC")
_RENAME = re.compile(r"rdma_rename\s.*\s(\S+)")
_DEVICE = re.compile(r"(?<=^rdma_rename %k NAME_FIXED )\S+$")


def rules(text: str) -> list[Entry]:
    """The names that are given, with the condition of each; other rules in their order."""
    made: list[Entry] = []
    for number, line in _logical_lines(text):
        words = [(name + operator, value.strip('"')) for name, operator, value in _WORD.findall(line)]
        whole = " ".join(line.split()) if _WORD.sub("", line).strip() else ""
        name = next((value for key, value in words if key == "NAME="), None)
        device = next((match[1] for _, value in words if (match := _RENAME.fullmatch(value))), None)
        if not words or whole or (name is None and device is None):
            made.append(Entry(OTHER, {"rule": line}, number, line))
            continue
        macs = [match[0].lower() for _, value in words if (match := _MAC.search(value))]
        others = [key + _MAC.sub("MAC", _DEVICE.sub("NAME", value)) for key, value in words if key != "NAME="]
        fields = {"MAC": " ".join(macs), "conditions": " ".join(others)}
        made.append(Entry(NAME if device is None else DEVICE, fields, number, device or name))
    return made


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    before, first = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if not before and (not line.strip() or line.lstrip().startswith("#")):
            continue
        first = first or number
        if line.endswith("\\"):
            before += line[:-1]
            continue
        yield first, (before + line).strip()
        before, first = "", 0
    if before:
        yield first, before.strip()
