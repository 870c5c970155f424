"""Routing policy of Enterprise SONiC: prefix lists, community lists and route-maps; and the profiles of BFD."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.statements import Codec, Statements, each, line
from railweave.systems.dell_sonic.statements.words import NUMBER, PREFIX, choice, defines, number, refers

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.sections import Section


@dataclass(frozen=True, slots=True)
class Profile:
    """A BFD profile. Intervals are in milliseconds. None is the system's default."""

    multiplier: int | None = None
    receive: int | None = None
    transmit: int | None = None
    enabled: bool = True
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Detection:
    """A section ``bfd``: profiles by name."""

    profiles: dict[str, Profile] = field(default_factory=dict[str, Profile])


@dataclass(frozen=True, slots=True)
class PrefixEntry:
    """An entry of the prefix list ``name``. ``ge`` and ``le`` limit the length of routes inside ``prefix``; without both, only it matches."""

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
    """An entry of the community list ``name``. ``every`` is true if a route must have all communities of the list, not only one of them."""

    name: str
    value: str
    permits: bool = True
    every: bool = False
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class MapEntry:
    """An entry of the route-map ``name``: conditions, and changes of a route that matches.

    - ``ipv4_list`` and ``ipv6_list``: the prefix lists that the route is in.
    - ``community``: the community list that the route's communities match.
    - ``communities``: communities that the route gets, in addition to its own if ``additive`` is true.
    - ``prepends``: AS numbers before the route's path.
    - ``shared_by``: the ARS object by which traffic is shared among the route's next hops.
    """

    name: str
    permits: bool
    number: int
    ipv4_list: str | None = None
    ipv6_list: str | None = None
    community: str | None = None
    local_preference: int | None = None
    communities: tuple[str, ...] = ()
    additive: bool = False
    prepends: tuple[int, ...] = ()
    shared_by: str | None = None
    section: Section | None = field(default=None, compare=False)

    @property
    def prefix_list(self) -> str | None:
        """The prefix list of either family."""
        return self.ipv4_list or self.ipv6_list


@dataclass(frozen=True, slots=True)
class Policies:
    """Profiles of BFD, lists, and entries of route-maps, in the order of the text."""

    detection: tuple[Detection, ...] = ()
    prefixes: tuple[PrefixEntry, ...] = ()
    communities: tuple[CommunityEntry, ...] = ()
    maps: tuple[MapEntry, ...] = ()


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _as_path(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


def _joined(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


FAMILY = choice({"ipv4": "ip", "ipv6": "ipv6"})
VERDICT = choice({True: "permit", False: "deny"})
COMMUNITY = Codec(r"\d+:\d+", word=r"[^\s:]*:\S*", says="community")
COMMUNITIES = Codec(
    r"(?!65535:)\d+:\d+(?: (?!65535:)\d+:\d+)*",
    _words,
    " ".join,
    word=r"(?!65535:)[^\s:]*:\S*(?: (?!65535:)[^\s:]*:\S*)*",
    says="communities",
)
"""Communities that are set. Routers act on well-known ones by themselves, which no field of a policy says (RFC 1997, RFC 8326)."""
AS_PATH = Codec(r"\d+(?:,\d+)*", _as_path, _joined, word=r"[\d,]+", says="numbers")
"""One list with commas between (dellemc.enterprise_sonic, examples of sonic_route_maps)."""
PREFIX_LISTS = "ansible sonic_prefix_lists"
ROUTE_MAPS = "ansible sonic_route_maps"
BFD = "ansible sonic_bfd (options)"

PROFILE = (
    line("detect-multiplier <multiplier>", BFD, multiplier=number(2, 255)),
    line("receive-interval <receive>", BFD, receive=number(10, 60000)),
    line("transmit-interval <transmit>", BFD, transmit=number(10, 60000)),
    line("no shutdown", "", sets={"enabled": True}, prints=False),
)
MAP_ENTRY = (
    line("match ip address prefix-list <ipv4_list>", ROUTE_MAPS, ipv4_list=refers("prefix-list")),
    line("match ipv6 address prefix-list <ipv6_list>", ROUTE_MAPS, ipv6_list=refers("prefix-list")),
    line("match community <community>", ROUTE_MAPS, community=refers("community-list")),
    line("set local-preference <local_preference>", ROUTE_MAPS, local_preference=NUMBER),
    line(
        "set community <communities> additive",
        ROUTE_MAPS,
        sets={"additive": True},
        usual=(),
        communities=COMMUNITIES,
    ),
    line(
        "set community <communities>",
        ROUTE_MAPS,
        sets={"additive": False},
        usual=(),
        communities=COMMUNITIES,
    ),
    line("set as-path prepend <prepends>", ROUTE_MAPS, usual=(), prepends=AS_PATH),
    line(
        "set ars-object <shared_by>",
        "assumed: ansible sonic_route_maps has the option ars_object, no example",
        shared_by=refers("object"),
    ),
)

POLICIES = Statements(
    Policies,
    (
        each(
            "bfd",
            "detection",
            "ansible sonic_bfd",
            Detection,
            (
                each(
                    "profile <name>",
                    "profiles",
                    "ansible sonic_bfd",
                    Profile,
                    PROFILE,
                    by="name",
                    name=defines("bfd profile"),
                ),
            ),
        ),
        each(
            "<family> prefix-list <name> seq <sequence> <permits> <prefix>[ ge <ge>][ le <le>]",
            "prefixes",
            PREFIX_LISTS,
            PrefixEntry,
            also=("<family> prefix-list <name> <permits> <prefix>[ ge <ge>][ le <le>]",),
            family=FAMILY,
            name=defines("prefix-list"),
            sequence=NUMBER,
            permits=VERDICT,
            prefix=PREFIX,
            ge=NUMBER,
            le=NUMBER,
        ),
        each(
            "bgp community-list standard <name> <permits> <value> <every>",
            "communities",
            "spytest routing/bgp",
            CommunityEntry,
            also=("bgp community-list standard <name> <permits> <value>",),
            name=defines("community-list"),
            permits=VERDICT,
            value=COMMUNITY,
            every=choice({False: "any", True: "all"}),
        ),
        each(
            "route-map <name> <permits> <number>",
            "maps",
            ROUTE_MAPS,
            MapEntry,
            MAP_ENTRY,
            name=defines("route-map"),
            permits=VERDICT,
            number=number(1, 65535),
        ),
    ),
)
"""``bfd``, prefix lists, community lists and route-maps, in the order in which ``sonic.cli`` has them."""
