"""Routing policy statements of FRR: prefix lists, community lists, route-maps and BFD profiles.

Enterprise SONiC is based on FRR. Its statement tables use the same classes, with separate rows for commands that differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Prefix
from railweave.model.config.codecs import NAME, NUMBER, choice, defines, number, refers
from railweave.model.config.statements import Codec, Statements, each, ignored, line
from railweave.systems.frr.statements import FAMILY, PREFIX, TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Literal

    from railweave.model.config.addresses import Family
    from railweave.model.config.sections import Section
    from railweave.model.config.statements import Row


@dataclass(frozen=True, slots=True)
class Profile:
    """A BFD profile. Intervals are in milliseconds; None means the system's default."""

    multiplier: int | None = None
    receive: int | None = None
    transmit: int | None = None
    enabled: bool = True
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Detection:
    """A section ``bfd``: the BFD profiles by name."""

    profiles: dict[str, Profile] = field(default_factory=dict[str, Profile])


@dataclass(frozen=True, slots=True)
class PrefixEntry:
    """An entry of the prefix list ``name``. ``ge`` and ``le`` limit the length of matching routes inside ``prefix``.

    If neither is set, only ``prefix`` itself matches.
    """

    name: str
    prefix: Prefix
    family: Family
    sequence: int | None = None
    permits: bool = True
    ge: int | None = None
    le: int | None = None
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CommunityEntry:
    """An entry of the community list ``name``. ``large`` is True for large communities, and False for standard communities.

    If ``every`` is True, a route must have all communities of the list. Otherwise, one of them is enough.
    """

    name: str
    value: str
    permits: bool = True
    every: bool = False
    large: bool = False
    sequence: int | None = None
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class MapEntry:
    """An entry of the route-map ``name``: conditions, and changes of a route that meets them.

    - ``ipv4_list`` and ``ipv6_list``: the prefix lists that must contain the route's prefix.
    - ``interface``: the outgoing interface of the route.
    - ``community`` and ``large_community``: the community lists that the route's communities match.
    - ``protocol``: the origin of the route.
    - ``communities`` and ``large_communities``: communities that the entry sets. If ``additive`` or ``large_additive`` is
      true, the route keeps its other communities.
    - ``prepends``: the AS numbers that the entry puts before the route's AS path.
    - ``shared_by``: the object of adaptive routing (ARS) that distributes traffic to the route's next hops.
    """

    name: str
    permits: bool
    number: int
    description: str | None = None
    ipv4_list: str | None = None
    ipv6_list: str | None = None
    interface: str | None = None
    community: str | None = None
    large_community: str | None = None
    protocol: Literal["direct", "bgp"] | None = None
    local_preference: int | None = None
    aigp: int | None = None
    communities: tuple[str, ...] = ()
    additive: bool = False
    large_communities: tuple[str, ...] = ()
    large_additive: bool = False
    prepends: tuple[int, ...] = ()
    shared_by: str | None = None
    section: Section | None = field(default=None, compare=False)

    @property
    def prefix_list(self) -> str | None:
        """The name of the IPv4 or IPv6 prefix list, or None if the entry has no such condition."""
        return self.ipv4_list or self.ipv6_list


@dataclass(frozen=True, slots=True)
class Policies:
    """The BFD profiles, the lists, and the entries of route-maps, in the order of the text."""

    detection: tuple[Detection, ...] = ()
    prefixes: tuple[PrefixEntry, ...] = ()
    communities: tuple[CommunityEntry, ...] = ()
    maps: tuple[MapEntry, ...] = ()


def as_path(separator: str) -> Codec:
    """Return the codec that converts AS numbers to text and back, with ``separator`` between the numbers."""

    def read(text: str) -> tuple[int, ...]:
        return tuple(map(int, text.split(separator)))

    def write(numbers: tuple[int, ...]) -> str:
        return separator.join(map(str, numbers))

    form = rf"\d+(?:{separator}\d+)*"
    return Codec(form, read, write, word=form, shown_as="numbers")


def _several(value: str) -> Codec:
    form = rf"{value}(?: {value})*"
    return Codec(form, lambda text: tuple(text.split()), " ".join, word=form, shown_as="communities")


VERDICT = choice({True: "permit", False: "deny"})
COMMUNITIES = _several(r"(?!65535:)\d+:\d+")
"""The codec that converts the communities of a route-map entry to text and back.

Well-known communities are excluded, because routers act on them without a policy (RFC 1997, RFC 8326).
"""


LARGE = _several(r"\d+:\d+:\d+")


def detection(source: str, options: str) -> Row:
    """Return the statement-table row for ``bfd`` sections.

    ``source`` is the document about the section, and ``options`` the document about the lines of a BFD profile.
    """
    profile = (
        line("detect-multiplier <multiplier>", options, multiplier=number(2, 255)),
        line("receive-interval <receive>", options, receive=number(10, 60000)),
        line("transmit-interval <transmit>", options, transmit=number(10, 60000)),
        line("no shutdown", "", sets={"enabled": True}),
    )
    named = each("profile <name>", "profiles", source, Profile, profile, by="name", name=defines("bfd profile"))
    return each("bfd", "detection", source, Detection, (named,))


def prefix_entries(source: str, prefix: Codec) -> Row:
    """Return the statement-table row for the entries of prefix lists.

    ``source`` is the document about these lines. The codec ``prefix`` converts a prefix to text and back.
    """
    return each(
        "<family> prefix-list <name> seq <sequence> <permits> <prefix>[ ge <ge>][ le <le>]",
        "prefixes",
        source,
        PrefixEntry,
        also=("<family> prefix-list <name>[ seq <sequence>] <permits> <prefix>{ ge <ge>| le <le>}",),
        family=FAMILY,
        name=defines("prefix-list"),
        sequence=NUMBER,
        permits=VERDICT,
        prefix=prefix,
        ge=NUMBER,
        le=NUMBER,
    )


def map_entries(source: str, rows: Sequence[Row]) -> Row:
    """Return the statement-table row for route-map entries.

    ``source`` is the document about these entries. ``rows`` are the statement-table rows for the lines below the header of an entry.
    """
    name, place = defines("route-map"), number(1, 65535)
    return each(
        "route-map <name> <permits> <number>", "maps", source, MapEntry, rows, name=name, permits=VERDICT, number=place
    )


def matched(source: str) -> Iterator[Row]:
    """Yield the statement-table rows for ``match`` lines of FRR and Enterprise SONiC.

    ``source`` is the document about these lines.
    """
    yield line("match ip address prefix-list <ipv4_list>", source, changed="replaced", ipv4_list=refers("prefix-list"))
    yield line(
        "match ipv6 address prefix-list <ipv6_list>", source, changed="replaced", ipv6_list=refers("prefix-list")
    )
    yield line("match community <community>", source, changed="replaced", community=refers("community-list"))


def set_communities(source: str) -> Iterator[Row]:
    """Yield the statement-table rows for ``set community`` lines, which give a route standard communities.

    ``source`` is the document about these lines.
    """
    for form, additive in (("set community <communities> additive", True), ("set community <communities>", False)):
        yield line(form, source, sets={"additive": additive}, usual=(), communities=COMMUNITIES)


def steps(source: str, *lines: Row) -> Iterator[Row]:
    """Yield the statement-table rows for the lines of a route-map entry of FRR and EOS.

    ``source`` is the document about these lines. ``lines`` are rows that only the caller's system has.
    """
    yield line("description <description>", source, description=TEXT)
    yield from matched(source)
    yield line("match large-community <large_community>", source, large_community=refers("community-list"))
    yield line("match source-protocol <protocol>", source, protocol=choice({"direct": "connected", "bgp": "bgp"}))
    yield line("set local-preference <local_preference>", source, local_preference=NUMBER)
    yield from lines
    yield from set_communities(source)
    for word in (" additive", ""):
        yield line(
            f"set large-community <large_communities>{word}",
            source,
            sets={"large_additive": bool(word)},
            usual=(),
            large_communities=LARGE,
        )
    yield line("set as-path prepend <prepends>", source, usual=(), prepends=as_path(" "))


FILTERING, ROUTE_MAPS, BFD = "FRR manual, Filtering", "FRR manual, Route Maps", "FRR manual, BFD, Profile Configuration"
COMMUNITY = Codec(r"\d+:\d+(?::\d+)?", word=r"\d+:\d+(?::\d+)?", shown_as="community")
ENTRY = tuple(
    steps(
        ROUTE_MAPS,
        line("match interface <interface>", ROUTE_MAPS, interface=NAME),
        line("set aigp-metric <aigp>", ROUTE_MAPS, since="10.3", aigp=NUMBER),
    )
)


def community_entries(form: str, source: str, *also: str) -> Row:
    """Return the statement-table row for the entries of community lists.

    ``form`` is the pattern of the line, ``source`` the document about the line, and ``also`` are further spellings that are only read.
    """
    return each(
        form,
        "communities",
        source,
        CommunityEntry,
        also=also,
        large=choice({False: "community-list", True: "large-community-list"}),
        name=defines("community-list"),
        sequence=NUMBER,
        permits=VERDICT,
        value=COMMUNITY,
    )


def _everything() -> Iterator[Row]:
    """Yield the statement-table rows for prefix-list entries with ``any``. ``any`` matches every prefix of an address family."""
    families: tuple[tuple[Family, str, str], ...] = (("ipv4", "ip", "0.0.0.0/0"), ("ipv6", "ipv6", "::/0"))
    for family, word, everywhere in families:
        yield each(
            f"{word} prefix-list <name>[ seq <sequence>] <permits> any",
            "prefixes",
            FILTERING,
            PrefixEntry,
            sets={"family": family, "prefix": Prefix(everywhere), "le": BITS[family]},
            prints=False,
            name=defines("prefix-list"),
            sequence=NUMBER,
            permits=VERDICT,
        )


POLICIES = Statements(
    Policies,
    (
        detection(BFD, BFD),
        prefix_entries(FILTERING, PREFIX),
        *_everything(),
        ignored(
            "<_family> prefix-list <_name> description <_text>",
            "a name for people",
            _family=FAMILY,
            _name=NAME,
            _text=TEXT,
        ),
        community_entries(
            "bgp <large>[ standard] <name>[ seq <sequence>] <permits> <value>", "FRR manual, BGP, Communities Attribute"
        ),
        map_entries(ROUTE_MAPS, ENTRY),
    ),
    disrupts=(),
)
"""The statements about BFD profiles, prefix lists, community lists and route-maps, in the order of ``frr.conf``."""
