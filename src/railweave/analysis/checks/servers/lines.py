"""Files of one statement a line: kernel parameters, limits, names of tables, hosts of a job, a NIC driver's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.checks.servers.entries import Entry, Kind
from railweave.analysis.checks.servers.rules import KERNEL, NCCL, QOS, ROUTE

if TYPE_CHECKING:
    from collections.abc import Iterator

PARAMETER = Kind("kernel parameter", KERNEL)
LIMIT = Kind("limit", KERNEL)
TABLE = Kind("name of routing table", ROUTE)
MEMBER = Kind("server", NCCL, ordered=True)
SETTING = Kind("setting", QOS)


def sysctl(text: str) -> list[Entry]:
    """``sysctl.conf``: ``name = value``; a dash before the name lets it fail, and says nothing else (sysctl.conf(5))."""
    found: dict[str, Entry] = {}
    for number, line in _lines(text, "#;"):
        name, equals, value = line.partition("=")
        key = name.strip().removeprefix("-").strip()
        found.pop(key, None)
        found[key] = Entry(PARAMETER, {"value": " ".join(value.split()) if equals else "(no value)"}, number, key)
    return list(found.values())


def limits(text: str) -> list[Entry]:
    """``limits.conf``: whom it is for, soft or hard, what, how much (limits.conf(5))."""
    found: dict[str, Entry] = {}
    for number, line in _lines(text, "#"):
        *words, value = line.split()
        key = " ".join(words) or value
        found[key] = Entry(LIMIT, {"value": value}, number, key)
    return list(found.values())


def rt_tables(text: str) -> list[Entry]:
    """``rt_tables.conf``: a number and a name a line."""
    found: list[Entry] = []
    for number, line in _lines(text, "#"):
        table, _, name = line.partition("#")[0].strip().replace("\t", " ").partition(" ")
        found.append(Entry(TABLE, {"value": name.strip()}, number, table))
    return found


def hostfile(text: str) -> list[Entry]:
    """``hostfile``: a server a line, with its slots; ranks follow from the order."""
    found: list[Entry] = []
    for number, line in _lines(text, "#"):
        name, *words = line.split()
        fields = {key: value for key, _, value in (word.partition("=") for word in words)}
        found.append(Entry(MEMBER, fields, number, name))
    return found


def settings(text: str) -> list[Entry]:
    """``NAME=value`` a line, the last of a name holds: what a NIC's driver reads beside ``nic-qos.sh``."""
    found: dict[str, Entry] = {}
    for number, line in _lines(text, "#"):
        name, equals, value = line.partition("=")
        found[name.strip()] = Entry(SETTING, {"value": value.strip() if equals else "(no value)"}, number, name.strip())
    return list(found.values())


def _lines(text: str, comment: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        inner = line.strip()
        if inner and inner[0] not in comment:
            yield number, inner
