"""What verdicts of many servers have in common: a leaf, a rail or a server that failures share, and who differs from the rest."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.live.fleet.running import Answer, Verdict

BAD = ("failed", "warning")
AGREE = 0.8
"""From this share of like servers on, those that differ are named."""

TOLD_APART = (
    "nic-firmware",
    "nic-driver-version",
    "gpu-driver",
    "system-kernel",
    "system-smt",
    "job-library",
    "system-numa-nodes",
)
"""Checks whose ``seen`` should be the same on servers that are alike."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a NIC is: its leaf and its rail. ``color`` is that of a path, where a verdict is about one."""

    leaf: str
    rail: int
    color: str = ""


@dataclass(frozen=True, slots=True)
class Shared:
    """Failures of a check that have one thing in common: ``what`` as ``leaf stripe1-leaf3``, and the things that failed."""

    check: str
    what: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Odd:
    """A server that differs from its like: what it has, and what so many of so many have."""

    server: str
    check: str
    seen: str
    usual: str
    agree: int
    of: int


def shared(
    answers: Sequence[Answer],
    places: Mapping[tuple[str, str], Place],
    tables: Mapping[tuple[str, int], Place] | None = None,
) -> list[Shared]:
    """For each check that fails at three places or more: the leaf, rail or color that all share, or the server.

    ``places``: by server and interface; ``tables``: by server and routing table, for verdicts that name one. A leaf is named only
    if the check fails at most of what is on it that was looked at.
    """
    found: list[Shared] = []
    for check in dict.fromkeys(one.check for answer in answers for one in answer.verdicts if one.verdict in BAD):
        bad = _members(answers, check, BAD)
        if len(bad) < 3:
            continue
        good = _members(answers, check, ("ok",))
        for name, key in (("leaf", _leaf), ("rail", _rail), ("color", _color), ("server", _server)):
            groups = Counter(key(*one, _place(*one, places, tables or {})) for one in bad)
            group, count = groups.most_common(1)[0]
            spared = sum(key(*one, _place(*one, places, tables or {})) == group for one in good)
            if group and count == len(bad) and spared < count:
                members = tuple(f"{server} {one.of}".strip() for server, one in bad)
                found.append(Shared(check, f"{name} {group}", members))
                break
    return found


def _members(answers: Iterable[Answer], check: str, verdicts: tuple[str, ...]) -> list[tuple[str, Verdict]]:
    return [
        (answer.server, one)
        for answer in answers
        for one in answer.verdicts
        if one.check == check and one.verdict in verdicts
    ]


def _place(
    server: str, one: Verdict, places: Mapping[tuple[str, str], Place], tables: Mapping[tuple[str, int], Place]
) -> Place | None:
    """Where a verdict is: at its interface, or at the first routing table that it names."""
    named = re.search(r"\btable (\d+)", one.seen)
    return places.get((server, one.of)) or (tables.get((server, int(named[1]))) if named else None)


def _leaf(server: str, one: Verdict, place: Place | None) -> str:
    del server, one
    return place.leaf if place else ""


def _rail(server: str, one: Verdict, place: Place | None) -> str:
    del server, one
    return str(place.rail) if place else ""


def _color(server: str, one: Verdict, place: Place | None) -> str:
    del server, one
    return place.color if place else ""


def _server(server: str, one: Verdict, place: Place | None) -> str:
    del one, place
    return server


def odd(answers: Sequence[Answer], models: Mapping[str, str]) -> list[Odd]:
    """Servers that differ in a version or a setting from four fifths or more of those of their model (by name)."""
    found: list[Odd] = []
    for check in TOLD_APART:
        by_model: dict[str, dict[str, str]] = {}
        for answer in answers:
            seen = " and ".join(
                sorted({_plain(one) for one in answer.verdicts if one.check == check and one.verdict in {"ok", *BAD}})
            )
            if seen:
                by_model.setdefault(models[answer.server], {})[answer.server] = seen
        for seen_by in by_model.values():
            usual, count = Counter(seen_by.values()).most_common(1)[0]
            if len(seen_by) > 2 and count < len(seen_by) and count >= AGREE * len(seen_by):
                found += [
                    Odd(server, check, seen, usual, count, len(seen_by))
                    for server, seen in seen_by.items()
                    if seen != usual
                ]
    return found


def _plain(one: Verdict) -> str:
    """What was seen, without what is said of the plan."""
    return one.seen.partition(" (")[0]
