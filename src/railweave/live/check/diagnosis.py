"""All checks of a running network, one after another, with causes before their symptoms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.check import (
    adjacencies,
    cabling,
    counters,
    forwarding,
    identity,
    ports,
    prefixes,
    servers,
    sessions,
)
from railweave.model.findings import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from railweave.live.check.living import Living, Part, Seen
    from railweave.model.device.expected import Keys
    from railweave.model.findings import Finding

LOOKS = (
    identity.identity,
    cabling.cabling,
    ports.ports,
    sessions.sessions,
    adjacencies.adjacencies,
    prefixes.prefixes,
    forwarding.forwarding,
    servers.servers,
    counters.counters,
    servers.losses,
)
CAUSES = (
    (identity.SILENT,),
    (cabling.SWAPPED, cabling.WRONG),
    (ports.NO_OPTIC, ports.ABSENT, ports.SHUT, servers.ABSENT),
    (ports.DOWN,),
    (sessions.DAEMON,),
    (servers.DOWN,),
    (sessions.MISSING, sessions.DOWN, sessions.AS, adjacencies.ADJACENCY),
    (forwarding.GATEWAY_ADDRESS, forwarding.GATEWAY_DOWN),
)
"""Rules whose findings explain others, the deepest first: each explains only what comes after it."""
_DEPTH = {rule.id: depth for depth, rules in enumerate(CAUSES) for rule in rules}


def diagnose(living: Living, line: Callable[[Keys], tuple[str, int]] = lambda _: ("", 0)) -> list[Finding]:
    """Findings, the worst first, a cause before what it explains; what is explained is an ``info``.

    ``line`` gives the file and line of a part of the fabric file.
    """
    seen = _once(one for look in LOOKS for one in look(living))
    roots = _roots(seen)
    explained: dict[int, list[int]] = {}
    for place, root in roots.items():
        explained.setdefault(root, []).append(place)

    def order(place: int) -> tuple[int, int, int]:
        severity = seen[place].severity or seen[place].rule.severity
        return SEVERITIES.index(severity), -len(explained.get(place, ())), place

    found: list[Finding] = []
    for place in sorted((one for one in range(len(seen)) if one not in roots), key=order):
        found.append(_finding(seen[place], line, [seen[one] for one in explained.get(place, ())]))
        found += [_finding(seen[one], line, cause=seen[place]) for one in explained.get(place, ())]
    return found


def _once(seen: Iterable[Seen]) -> list[Seen]:
    """What both ends of a link say, once: the end that is named first has it, and needs and breaks what either does."""
    found: dict[object, Seen] = {}
    for one in seen:
        key = (one.rule.id, one.link) if one.link else len(found)
        if key in found:
            first = found[key]
            found[key] = replace(
                first,
                what=f"{first.what}; at the other end, {one.where}: {one.what}",
                breaks=first.breaks | one.breaks,
                needs=first.needs | one.needs,
            )
        else:
            found[key] = one
    return list(found.values())


def _roots(seen: list[Seen]) -> dict[int, int]:
    """By the place of what is explained, the place of its deepest cause."""
    breaking: dict[Part, list[int]] = {}
    for place, one in enumerate(seen):
        for part in one.breaks:
            breaking.setdefault(part, []).append(place)
    last = len(CAUSES)

    def depth(place: int) -> int:
        return _DEPTH.get(seen[place].rule.id, last)

    parent: dict[int, int] = {}
    for place, one in enumerate(seen):
        causes = {cause for part in one.needs for cause in breaking.get(part, ()) if depth(cause) < depth(place)}
        if causes:
            parent[place] = min(causes, key=lambda cause: (depth(cause), cause))

    def root(place: int) -> int:
        return root(parent[place]) if place in parent else place

    return {place: root(place) for place in parent}


def _finding(
    one: Seen, line: Callable[[Keys], tuple[str, int]], explains: Iterable[Seen] = (), cause: Seen | None = None
) -> Finding:
    file, number = line(one.because) if one.because else ("", 0)
    kinds = Counter(each.rule.id for each in explains)
    more = f" This explains {counted(kinds.total(), 'more finding')}: " if kinds else ""
    what = one.what + ("." if more else "") + more + ", ".join(f"{count} x {id_}" for id_, count in kinds.items())
    if cause is None:
        return one.rule.finding(one.where, what, file=file, line=number, severity=one.severity, fix=one.fix)
    why = f"it follows from {cause.rule.id} at {cause.where}"
    return one.rule.finding(
        one.where, what, file=file, line=number, severity="info", why=why, fix="mend the cause first"
    )
