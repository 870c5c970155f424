"""Policies in tables of ``config_db.json``: sets of prefixes and communities, and route-maps (sonic-routing-policy-sets.yang)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.frr.read.values import prefix
from railweave.systems.sonic.read.lines import peek

if TYPE_CHECKING:
    from railweave.model.config.sections import Section
    from railweave.systems.sonic.read.lines import Lines
    from railweave.systems.sonic.read.rows import Rows

_LISTED = {"ipv4": "ip", "ipv6": "ipv6"}


def policies(tables: Rows, found: Lines) -> None:
    """The lines that the tables come to."""
    _prefix_sets(tables, found)
    _community_sets(tables, found)
    _route_maps(tables, found)


def _prefix_sets(tables: Rows, found: Lines) -> None:
    """``PREFIX_SET`` and its entries: exact, or a range of lengths."""
    for row in tables.rows("PREFIX_SET"):
        row.text("mode")
    counts: dict[str, int] = {}
    for row in tables.rows("PREFIX"):
        parts = row.parts()
        if len(parts) < 3:
            row.known = False
            continue
        name, entry, lengths = parts[0], parts[-2], parts[-1]
        at = prefix(entry)
        counts[name] = counts.get(name, 0) + 5
        word = _LISTED[at.family] if at else "ip"
        low, _, high = lengths.partition("..")
        text = f"{word} prefix-list {name} seq {counts[name]} {row.text('action') or 'permit'} {entry}"
        if lengths != "exact":
            text += (f" ge {low}" if at and low != str(at.length) else "") + f" le {high or low}"
        row.leave("action")
        found.add(found.sections, text, row, "action")


def _community_sets(tables: Rows, found: Lines) -> None:
    for row in tables.rows("COMMUNITY_SET"):
        members = row.words("community_member")
        row.leave("community_member")
        if len(members) == 1 and row.says("set_type", "standard", ""):
            kind = "large-community" if members[0].count(":") == 2 else "community"
            row.text("match_action")
            text = f"bgp {kind}-list standard {row.key} permit {members[0]}"
            found.add(found.sections, text, row, "community_member")


_SETS = {
    "set_local_pref": "set local-preference {}",
    "match_prefix_set": "match ip address prefix-list {}",
    "match_prefix_set_ipv6": "match ipv6 address prefix-list {}",
    "match_community": "match community {}",
    "match_interface": "match interface {}",
}


def _route_maps(tables: Rows, found: Lines) -> None:
    for row in tables.rows("ROUTE_MAP_SET"):
        row.known = True
    for row in tables.rows("ROUTE_MAP"):
        name, _, sequence = row.key.partition("|")
        verdict = peek(row, "route_operation").casefold() or "permit"
        entry = found.add(found.sections, f"route-map {name} {verdict} {sequence}", row, "route_operation")
        body: list[Section] = []
        entry.body = body
        for field_name, text in _SETS.items():
            if field_name in row.fields:
                found.add(body, text.format(peek(row, field_name)), row, field_name)
        if "set_community_inline" in row.fields:
            words = " ".join(row.words("set_community_inline"))
            found.add(body, f"set community {words}", row, "set_community_inline")
            row.leave("set_community_inline")
