"""Routing policy statements of EOS: prefix lists, community lists, route maps and peer filters. Route maps are written as in FRR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.codecs import NUMBER, defines
from railweave.model.config.statements import Codec, Statements, each
from railweave.systems.frr.statements import FAMILY, PREFIX, bgp
from railweave.systems.frr.statements.policy import (
    VERDICT,
    CommunityEntry,
    MapEntry,
    community_entries,
    map_entries,
    steps,
)

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.sections import Section


@dataclass(frozen=True, slots=True)
class ListEntry:
    """An entry of a prefix list. ``ge``, ``le`` and ``eq`` limit the length of matching routes inside ``prefix``.

    If none of them is set, only ``prefix`` itself matches.
    """

    prefix: Prefix
    sequence: int | None = None
    permits: bool = True
    ge: int | None = None
    le: int | None = None
    eq: int | None = None
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PrefixList:
    """A prefix list of one address family."""

    name: str
    family: Family
    entries: tuple[ListEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class PeerFilter:
    """A peer filter: the (first, last) AS numbers that a discovered neighbor may have, by sequence number."""

    ranges: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])


@dataclass(frozen=True, slots=True)
class Policies:
    """The lists, route-map entries and peer filters, in the order of the configuration."""

    lists: tuple[PrefixList, ...] = ()
    communities: tuple[CommunityEntry, ...] = ()
    maps: tuple[MapEntry, ...] = ()
    filters: dict[str, PeerFilter] = field(default_factory=dict[str, PeerFilter])


def as_number(text: str) -> int:
    """Return the AS number in a text such as ``65000`` or ``1.10`` (RFC 5396). Raises ``ValueError`` for 0, which no neighbor can have."""
    number = int(bgp.ASN.read(text))
    if not number:
        raise ValueError(text)
    return number


def _range(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    low = as_number(first)
    high = as_number(last) if dash else low
    if low > high:
        raise ValueError(text)
    return low, high


def _written(numbers: tuple[int, int]) -> str:
    low, high = numbers
    return str(low) if low == high else f"{low}-{high}"


LISTS, MAPS = "EOS user manual, ACLs and Route Maps, prefix lists", "EOS user manual, ACLs and Route Maps, route maps"
FILTERS = "EOS user manual, BGP, match as-range"
AS_RANGE = Codec(r"\d+(?:-\d+)?", _range, _written, shown_as="number")
ENTRIES = (
    each(
        "seq <sequence> <permits> <prefix>[ ge <ge>][ le <le>]",
        "entries",
        LISTS,
        ListEntry,
        also=("[seq <sequence> ]<permits> <prefix>{ ge <ge>| le <le>| eq <eq>}",),
        sequence=NUMBER,
        permits=VERDICT,
        prefix=PREFIX,
        ge=NUMBER,
        le=NUMBER,
        eq=NUMBER,
    ),
)
RANGES = (
    each("<number> match as-range <it> result accept", "ranges", FILTERS, by="number", number=NUMBER, it=AS_RANGE),
)
POLICIES = Statements(
    Policies,
    (
        *(
            each(
                "<family> prefix-list <name>",
                "lists",
                LISTS,
                PrefixList,
                ENTRIES,
                flat=flat,
                prints=not flat,
                family=FAMILY,
                name=defines("prefix-list"),
            )
            for flat in (False, True)
        ),
        community_entries(
            "ip <large> <name> <permits> <value>",
            "EOS user manual, ACLs and Route Maps, ip community-list",
            "ip <large>[ standard] <name>[ seq <sequence>] <permits> <value>",
        ),
        map_entries(MAPS, tuple(steps(MAPS))),
        each("peer-filter <name>", "filters", FILTERS, PeerFilter, RANGES, by="name", name=defines("peer-filter")),
    ),
    disrupts=(),
)
"""The statements about lists, route maps and peer filters, in the order of ``eos.conf``."""
