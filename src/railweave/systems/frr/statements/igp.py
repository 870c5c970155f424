"""IS-IS and OSPF statements of FRR: the instances, and their settings on interfaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address
from railweave.model.config.codecs import choice, defines, number, refers, whole
from railweave.model.config.statements import Codec, Statements, each, fixed, ignored, line
from railweave.systems.frr.statements import FAMILY, PREFIX, SECRET, TEXT, WORD, effects

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family, Prefix


@dataclass(frozen=True, slots=True)
class OnIsis:
    """The IS-IS settings of an interface: the instance of each address family, and BFD. Without a BFD profile, FRR's default timers apply."""

    instances: dict[Family, str] = field(default_factory=dict["Family", str])
    passive: bool = False
    metric: int | None = None
    key: str | None = None
    bfd: bool = False
    profile: str | None = None


@dataclass(frozen=True, slots=True)
class OnOspf:
    """The OSPF settings of an interface. The area is empty if only a ``network`` statement below ``router ospf`` sets it."""

    area: str = ""
    passive: bool = False
    metric: int | None = None


@dataclass(frozen=True, slots=True)
class RouterIsis:
    """An instance of IS-IS."""

    net: str = ""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Network:
    """A ``network`` statement of OSPF: OSPF runs on interfaces with an address in the prefix."""

    prefix: Prefix
    area: str


@dataclass(frozen=True, slots=True)
class RouterOspf:
    """The OSPF instance of a device.

    - ``width``: the largest number of equal-cost paths.
    - ``quiet``: by interface, True if OSPF does not look for neighbors there. The key ``default`` applies to all interfaces without their
      own
      key.
    """

    router_id: Address | None = None
    width: int | None = None
    quiet: dict[str, bool] = field(default_factory=dict[str, bool])
    networks: tuple[Network, ...] = ()


@dataclass(frozen=True, slots=True)
class Igp:
    """The IS-IS instances by name, and the OSPF instance."""

    isis: dict[str, RouterIsis] = field(default_factory=dict[str, RouterIsis])
    ospf: dict[str, RouterOspf] = field(default_factory=dict[str, RouterOspf])


def _area(text: str) -> str:
    """Return an OSPF area in dotted form, for example ``0.0.0.0`` for ``0``."""
    return str(IPv4Address(whole(text) if text.isdecimal() else text))


def _runs(port: OnIsis) -> bool:
    """Return True if IS-IS looks for neighbors on an interface."""
    return not port.passive


ISIS, ON_ISIS = "FRR manual, ISIS, ISIS router", "FRR manual, ISIS, ISIS interface"
OSPF, ON_OSPF = "FRR manual, OSPFv2, Routers", "FRR manual, OSPFv2, Interfaces"
BFD = "FRR manual, BFD, IS-IS BFD Configuration"
AREA = Codec(r"(?:\d{1,3}\.){3}\d{1,3}|\d+", _area, word=r"[\d.]+", shown_as="number")
ROUTER_ID = Codec(
    r"(?:\d{1,3}\.){3}\d{1,3}", lambda text: Address(str(IPv4Address(text))), word=r"\S+", shown_as="address"
)
ISIS_ON_PORT = (
    each(
        "<family> router isis <it>",
        "instances",
        ON_ISIS,
        by="family",
        disrupts=effects.ENABLED,
        family=FAMILY,
        it=refers("router isis"),
    ),
    line("isis passive", ON_ISIS, sets={"passive": True}, disrupts=effects.QUIET),
    fixed("isis circuit-type level-2-only", ON_ISIS, when=_runs, disrupts=effects.LEVELLED),
    fixed("isis network point-to-point", ON_ISIS, when=_runs, disrupts=effects.SHAPED),
    line("isis metric <metric>", ON_ISIS, disrupts=effects.FLOODED, metric=number(0, 16777215)),
    line(
        "isis password md5 <key>",
        ON_ISIS,
        also=("isis password clear <key>",),
        disrupts=effects.SIGNED,
        key=SECRET,
    ),
    line("isis bfd", BFD, sets={"bfd": True}, disrupts=effects.BFD_WATCHED),
    line("isis bfd profile <profile>", BFD, disrupts=effects.BFD_WATCHED, profile=refers("bfd profile")),
)
OSPF_ON_PORT = (
    line("ip ospf area <area>", ON_OSPF, usual="", area=AREA),
    line("ip ospf passive", ON_OSPF, sets={"passive": True}),
    fixed("ip ospf network point-to-point", ON_OSPF, when=lambda port: not port.passive),
    line("ip ospf cost <metric>", ON_OSPF, metric=number(1, 65535)),
)
IGP = Statements(
    Igp,
    (
        each(
            "router isis <name>",
            "isis",
            ISIS,
            RouterIsis,
            (
                line("net <net>", ISIS, usual="", disrupts=effects.NAMED, net=WORD),
                fixed("is-type level-2-only", ISIS, disrupts=effects.LEVELLED),
                fixed("metric-style wide", ISIS, disrupts=effects.FLOODED),
                fixed("log-adjacency-changes", ISIS, disrupts=effects.LOGGED),
                line(
                    "domain-password md5 <key>",
                    ISIS,
                    disrupts=effects.DATABASE_KEYED,
                    also=("domain-password clear <key>", "area-password md5 <key>", "area-password clear <key>"),
                    key=SECRET,
                ),
            ),
            by="name",
            disrupts=effects.ISIS_INSTANCE,
            name=defines("router isis"),
        ),
        each(
            "router <protocol>",
            "ospf",
            OSPF,
            RouterOspf,
            (
                line("ospf router-id <router_id>", OSPF, also=("router-id <router_id>",), router_id=ROUTER_ID),
                line("maximum-paths <width>", OSPF, width=number(1, 64)),
                each(
                    "<it> <name>",
                    "quiet",
                    OSPF,
                    by="name",
                    it=choice({True: "passive-interface", False: "no passive-interface"}),
                    name=WORD,
                ),
                each("network <prefix> area <area>", "networks", OSPF, Network, prefix=PREFIX, area=AREA),
                ignored("log-adjacency-changes[ <_detail>]", "a log", OSPF, _detail=TEXT),
            ),
            by="protocol",
            protocol=choice({"ospf": "ospf"}),
        ),
    ),
    disrupts=(),
)
"""The statements about the instances of IS-IS and OSPF."""
