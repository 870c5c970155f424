"""Names that commands use and others define; and numbers that belong together."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.checks.rulebook import Rulebook

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.config.sections import Section

BOOK: Rulebook[list[Section]] = Rulebook()

DEFINED = (
    r"qos (wred-policy|scheduler-policy) (\S+)",
    r"qos map (\S+) (\S+)",
    r"buffer (profile) (\S+) .*",
    r"ars (profile|port-profile|object) (\S+)",
    r"(?:ip|ipv6) (prefix-list) (\S+) .*",
    r"bgp (community-list) standard (\S+) .*",
    r"(route-map) (\S+) \w+ \d+",
    r"ip (vrf) (\S+)",
    r"interface (Vlan) (\d+)",
    r"(?:bfd / )(profile) (\S+)",
    r"(?:router bgp [^/]+ / )(peer-group) (\S+)",
)
"""What defines a name: its kind and itself."""

USED = (
    (r"queue \d (wred-policy) (\S+)", "wred-policy"),
    (r"(scheduler-policy) (\S+)", "scheduler-policy"),
    (r"qos-map (\S+) (\S+)", ""),
    (r"buffer (priority-group|queue) \S+ (\S+)", "profile"),
    (r"ars (bind) (?!profile )(\S+)", "port-profile"),
    (r"ars (bind) profile (\S+)", "ars profile"),
    (r"set (ars-object) (\S+)", "object"),
    (r"match (?:ip|ipv6) address (prefix-list) (\S+)", "prefix-list"),
    (r"match (community) (\S+)", "community-list"),
    (r"(route-map) (\S+) (?:in|out)", "route-map"),
    (r"redistribute connected (route-map) (\S+)", "route-map"),
    (r"ip vrf (forwarding) (\S+)", "vrf"),
    (r"map vni \d+ (vrf) (\S+)", "vrf"),
    (r"map vni \d+ (vlan) (\d+)", "Vlan"),
    (r"switchport access (Vlan) (\d+)", "Vlan"),
    (r"bfd (profile) (\S+)", "bfd profile"),
)
"""What uses a name, and of which kind it is (empty: the kind that the command says)."""


def _lines(sections: list[Section], above: str = "") -> Iterator[tuple[str, str]]:
    for one in sections:
        yield above, one.line
        yield from _lines(one.body or [], f"{above}{one.line} / ")


@lru_cache(maxsize=1 << 16)
def _used(line: str) -> tuple[tuple[str, str], ...]:
    """The kinds and names that a command uses; the ports of a network have the same ones over and over."""
    found = ((kind, re.fullmatch(pattern, line)) for pattern, kind in USED)
    return tuple((kind or match[1], match[2]) for kind, match in found if match)


@lru_cache(maxsize=1 << 16)
def _defines(above: str, line: str) -> tuple[tuple[str, str], ...]:
    """The kinds and names that a command defines."""
    found: list[tuple[str, str]] = []
    for pattern in DEFINED:
        match = re.fullmatch(pattern, (above if "/ )" in pattern else "") + line)
        if match:
            kind = "bfd profile" if above == "bfd / " else match[1]
            found.append(("ars profile" if line.startswith("ars profile") else kind, match[2]))
    return tuple(found)


def _defined(sections: list[Section]) -> set[tuple[str, str]]:
    plain = {"bfd / ", ""}
    return {
        one
        for above, line in _lines(sections)
        if above in plain or above.startswith("router bgp ")
        for one in _defines(above if above in plain or line.startswith("peer-group ") else "", line)
    }


@BOOK.rule(
    "dell-reference",
    why="what refers to nothing is refused, or does nothing",
    fix="define it first, or use a name that is defined",
)
def references(sections: list[Section]) -> Iterator[str]:
    """Every name that a command uses is defined."""
    known = _defined(sections)
    for above, line in _lines(sections):
        for kind, name in _used(line) if above != "bfd / " else ():
            if (kind, name) not in known:
                yield f"{above}{line}: there is no {kind} {name}"
        match = re.fullmatch(r"peer-group (\S+)", line)
        if match and " / neighbor " in above and ("peer-group", match[1]) not in known:
            yield f"{above}{line}: there is no peer-group {match[1]}"


@BOOK.rule(
    "dell-dscp",
    why="the map is refused, or the packet is in another class than meant",
    fix="name each of DSCP 0 to 63 once",
)
def code_points(sections: list[Section]) -> Iterator[str]:
    """A DSCP map names code points 0 to 63, each once."""
    for one in sections:
        if not one.line.startswith("qos map dscp-tc "):
            continue
        owners: dict[int, str] = {}
        for entry in one.body or ():
            words = entry.line.split()
            for dscp in spread(words[1]):
                if dscp > 63:
                    yield f"{one.line}: there is no DSCP {dscp}"
                elif owners.setdefault(dscp, words[-1]) != words[-1]:
                    yield f"{one.line}: DSCP {dscp} is in traffic classes {owners[dscp]} and {words[-1]}"


@BOOK.rule(
    "dell-scheduler",
    why="the queue is then served otherwise than meant",
    fix="dwrr with a weight, or strict without one; weights at most 100 together",
)
def schedulers(sections: list[Section]) -> Iterator[str]:
    """A queue that shares has a weight, a strict one has none."""
    for one in sections:
        if not one.line.startswith("qos scheduler-policy "):
            continue
        total = 0
        for queue in one.body or ():
            lines = [line.line for line in queue.body or ()]
            weights = [int(line.split()[1]) for line in lines if line.startswith("weight ")]
            if ("type strict" in lines) == bool(weights):
                yield f"{one.line}: {queue.line} is {'strict with' if weights else 'shared without'} a weight"
            total += sum(weights)
        if total > 100:
            yield f"{one.line}: weights are {total} together"


@BOOK.rule(
    "dell-pfc",
    why="a priority that is paused without headroom of its own loses packets",
    fix="give the port a lossless buffer profile for the priority",
)
def pfc(sections: list[Section]) -> Iterator[str]:
    """A priority under PFC has a buffer profile on the same port."""
    for one in sections:
        lines = [line.line for line in one.body or ()]
        paused = [line.split()[-1] for line in lines if re.fullmatch(r"priority-flow-control priority \d", line)]
        for priority in paused:
            if not any(line.startswith(f"buffer priority-group {priority} ") for line in lines):
                yield f"{one.line}: priority {priority} is paused and has no buffer profile"


def spread(words: str) -> list[int]:
    """The numbers of a list of ranges: ``0-2,5``."""
    found: list[int] = []
    for word in words.split(","):
        first, _, last = word.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            found += range(int(first), int(last or first) + 1)
    return found
