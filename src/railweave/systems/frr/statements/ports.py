"""Interface statements of FRR: addresses, router advertisements, and the settings of IS-IS and OSPF.

Enterprise SONiC has the same statements about router advertisements.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.codecs import NUMBER, choice, number, refers
from railweave.model.config.statements import Codec, Statements, each, line, part
from railweave.systems.frr.statements import IPV4, IPV6, PREFIX, TEXT, WORD, effects
from railweave.systems.frr.statements.igp import ISIS_ON_PORT, OSPF_ON_PORT, OnIsis, OnOspf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import InterfaceAddress, Prefix
    from railweave.model.config.statements import Row


@dataclass(frozen=True, slots=True)
class AdvertisedPrefix:
    """A prefix in router advertisements. ``valid`` and ``preferred`` are the lifetimes, in seconds, of addresses in the prefix.

    The defaults are FRR's (zebra/rtadv.h, RTADV_VALID_LIFETIME and RTADV_PREFERRED_LIFETIME).
    """

    prefix: Prefix | None = None
    valid: int = 2_592_000
    preferred: int = 604_800
    off_link: bool | None = None
    no_autoconfig: bool | None = None


@dataclass(frozen=True, slots=True)
class Advertised:
    """The router advertisements of an interface: True in ``sends`` if the interface sends any, and the content of the advertisements."""

    sends: bool = False
    max_interval: int | None = None
    router_lifetime: int | None = None
    hop_limit: int | None = None
    reachable_time: int | None = None
    retransmit_timer: int | None = None
    link_mtu: int | None = None
    managed: bool = False
    other: bool = False
    prefixes: tuple[AdvertisedPrefix, ...] = ()
    min_interval: int | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """The settings of an interface. ``assigned`` are its addresses as written, which may contain duplicates."""

    name: str
    vrf: str = ""
    description: str = ""
    shut: bool = False
    assigned: tuple[InterfaceAddress, ...] = ()
    advertised: Advertised | None = None
    isis: OnIsis | None = None
    ospf: OnOspf | None = None

    @property
    def addresses(self) -> tuple[InterfaceAddress, ...]:
        """The addresses of the interface, without duplicates."""
        return tuple(dict.fromkeys(self.assigned))


@dataclass(frozen=True, slots=True)
class Ports:
    """The interfaces of a device, by name."""

    ports: dict[str, Port] = field(default_factory=dict[str, Port])


LOOPBACKS = ("lo", "dummy", "Loopback")
"""The prefixes of the names of loopbacks."""


def advertised(source: str, options: str, interval: Codec) -> Iterator[Row]:
    """Yield the statement-table rows for router advertisements of FRR and Enterprise SONiC.

    ``source`` is the document about these lines, and ``options`` the document about the line with the MTU. The codec ``interval`` converts
    the interval between advertisements to text and back.
    """
    yield line("no ipv6 nd suppress-ra", source, sets={"sends": True})
    yield line("ipv6 nd suppress-ra", "", sets={"sends": False})
    yield line("ipv6 nd ra-interval <max_interval>", source, max_interval=interval)
    yield line("ipv6 nd ra-lifetime <router_lifetime>", source, router_lifetime=number(0, 9000))
    yield line("ipv6 nd ra-hop-limit <hop_limit>", source, hop_limit=number(0, 255))
    yield line("ipv6 nd reachable-time <reachable_time>", source, changed="removed", reachable_time=NUMBER)
    yield line("ipv6 nd ra-retrans-interval <retransmit_timer>", source, changed="removed", retransmit_timer=NUMBER)
    yield line("ipv6 nd mtu <link_mtu>", options, changed="removed", link_mtu=NUMBER)
    yield line("ipv6 nd managed-config-flag", source, sets={"managed": True})
    yield line("ipv6 nd other-config-flag", source, sets={"other": True})


def advertised_prefix(source: str, also: str, prefix: Codec, seconds: Codec) -> Row:
    """Return the statement-table row for a prefix in router advertisements.

    ``source`` is the document about this line. ``also`` is a spelling that is read, but never written. The codecs ``prefix`` and
    ``seconds`` convert the prefix and the lifetimes to text and back.
    """
    return each(
        "ipv6 nd prefix <prefix> <valid> <preferred>[ <off_link>][ <no_autoconfig>]",
        "prefixes",
        source,
        AdvertisedPrefix,
        also=(also,),
        prefix=prefix,
        valid=seconds,
        preferred=seconds,
        off_link=choice({True: "off-link"}),
        no_autoconfig=choice({True: "no-autoconfig"}),
    )


def _seconds(text: str) -> int:
    return 0xFFFFFFFF if text == "infinite" else NUMBER.read(text)


def _no_loopback(text: str) -> str:
    """Return the name of an interface. Raises ``ValueError`` if the interface is a loopback."""
    if text.startswith(LOOPBACKS):
        raise ValueError(text)
    return text


INTERFACE, ND = "FRR manual, Zebra, Interface Commands", "FRR manual, IPv6 Support, Router Advertisement"
SHUT = line("shutdown", INTERFACE, sets={"shut": True}, disrupts=effects.SHUT)
ON_PORT = (
    line("no shutdown", "", sets={"shut": False}),
    line("vrf <vrf>", "", vrf=WORD),
    each("ip address <it>", "assigned", INTERFACE, it=IPV4, when=lambda address: address.family == "ipv4"),
    each("ipv6 address <it>", "assigned", INTERFACE, it=IPV6, when=lambda address: address.family == "ipv6"),
    part(
        "advertised",
        Advertised,
        (
            *advertised(ND, ND, number(1, 1800)),
            advertised_prefix(
                ND,
                "ipv6 nd prefix <prefix>[ <valid> <preferred>]{ <off_link>| <no_autoconfig>}",
                PREFIX,
                Codec(r"\d+|infinite", _seconds, word=r"\d+|infinite", shown_as="number"),
            ),
        ),
    ),
    part("isis", OnIsis, ISIS_ON_PORT),
    part("ospf", OnOspf, OSPF_ON_PORT),
)
DESCRIPTION = line("description <description>", INTERFACE, usual="", description=TEXT)


def _ports(name: Codec, rows: tuple[Row, ...], *, prints: bool) -> Row:
    return each(
        "interface <name>[ vrf <vrf>]",
        "ports",
        INTERFACE,
        Port,
        rows,
        by="name",
        prints=prints,
        disrupts=effects.EMPTIED,
        name=name,
        vrf=refers("vrf"),
    )


INTERFACES = Statements(
    Ports,
    (
        _ports(
            Codec(r"\S+", _no_loopback, word=r"\S+", shown_as="word", defines="interface"),
            (DESCRIPTION, SHUT, *ON_PORT),
            prints=True,
        ),
        # A loopback that is shut down is still a source address of the device's own packets; no field represents that.
        _ports(
            Codec("|".join(LOOPBACKS), word=r"\S+", shown_as="|".join(LOOPBACKS)), (DESCRIPTION, *ON_PORT), prints=False
        ),
    ),
    disrupts=(),
)
"""The table of statements about interfaces, with all lines below their headers."""
