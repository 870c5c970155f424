"""Tables of SONiC's databases as ``sonic-db-dump`` prints them: each key with its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.state.values import Value

Tables = dict[str, "Value"]
"""Fields by key, as ``PORT_TABLE:Ethernet0``."""


def tables(answer: Value | None) -> Tables | None:
    """The keys of a dump with their fields, which stand under ``value`` beside the type of the key, or by themselves."""
    if answer is None:
        return None
    return {
        key: one.one("value") if "value" in one.keys and one.one("value").keys else one for key, one in answer.entries()
    }


def under(found: Tables | None, prefix: str) -> list[tuple[str, Value]]:
    """The rows of one table, by the rest of their key."""
    return [(key[len(prefix) :], one) for key, one in (found or {}).items() if key.startswith(prefix)]


def objects(names: Tables | None, table: str, counters: Tables | None, prefix: str) -> list[tuple[str, Value]]:
    """What counters there are of each named thing: names lead to object ids, and these to counters."""
    if names is None or counters is None or table not in names:
        return []
    found: list[tuple[str, Value]] = []
    for name, oid in names[table].entries():
        row = counters.get(f"{prefix}:{oid.text()}")
        if row is not None:
            found.append((name, row))
    return found


def numbered(name: str) -> tuple[str, int] | None:
    """Port and number of ``Ethernet0:3``."""
    port, _, number = name.rpartition(":")
    return (port, int(number)) if port and number.isascii() and number.isdecimal() and len(number) < 4 else None
