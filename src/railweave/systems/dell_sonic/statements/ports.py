"""Interface statements of Enterprise SONiC: loopbacks, VLANs, ports and subinterfaces, the VXLAN tunnel, and the settings that all interfaces share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from railweave.model.config.codecs import NAME, NUMBER, choice, in_range, number, refers
from railweave.model.config.number_ranges import ranges
from railweave.model.config.statements import Codec, Statements, each, fixed, line, part
from railweave.systems.dell_sonic import words
from railweave.systems.dell_sonic.statements import effects
from railweave.systems.dell_sonic.statements.qos import PORT_QOS, PortQos
from railweave.systems.dell_sonic.statements.words import ADDRESS_FORM, PORT_NAME, PREFIX, TEXT
from railweave.systems.frr.statements import FAMILY, IPV4, IPV6
from railweave.systems.frr.statements.ports import Advertised, advertised, advertised_prefix
from railweave.systems.sonic.statements.management import STORMS

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family, InterfaceAddress
    from railweave.model.config.sections import Section
    from railweave.model.device.port_model import Fec

MOST_VLAN = 4094


@dataclass(frozen=True, slots=True)
class Split:
    """The breakout of a port: the number of channels, and the speed of each channel in Gb/s."""

    channels: int = 1
    speed: int = 0


@dataclass(frozen=True, slots=True)
class Splits:
    """The ports that are split, by name."""

    ports: dict[str, Split] = field(default_factory=dict[str, Split])


@dataclass(frozen=True, slots=True)
class Shared:
    """The settings of all interfaces: the MAC address of gateways, the address families in which it is used, and the spanning tree mode."""

    mac: str = ""
    families: tuple[str, ...] = ()
    spanning_tree: bool = False


@dataclass(frozen=True, slots=True)
class Assigned:
    """An address of an interface, either IPv4 or IPv6. ``secondary`` is True for a secondary IPv4 address."""

    ipv4: InterfaceAddress | None = None
    ipv6: InterfaceAddress | None = None
    secondary: bool | None = None


@dataclass(frozen=True, slots=True)
class Lines:
    """The settings of an interface, as its configuration lines state them.

    - ``speed``: the speed in Gb/s.
    - ``training``: True if link training is on. ``shut``: True if the interface is shut down.
    - ``floods``: the storm-control limits in kb/s, by kind of traffic.
    - ``guarded``: True if BPDU guard is on.
    - ``tag``: the VLAN tag of a subinterface.
    - ``unicast``: the addresses of this interface only. ``shared``: the gateway addresses, which every leaf has.
    - ``advertised``: the router advertisements.
    - ``filters``: the names of access lists, by address family.
    - ``ipv6``: True if the line ``ipv6 enable`` exists.
    - ``vlan``, ``trunks``: the untagged VLAN, and the tagged VLANs.
    - ``section``: the section of the configuration text that has these statements; None if they were not read from a text.
    """

    name: str
    description: str = ""
    mtu: int | None = None
    speed: int | None = None
    fec: Fec = ""
    training: bool = False
    shut: bool = False
    floods: dict[str, int] = field(default_factory=dict[str, int])
    guarded: bool = False
    tag: int | None = None
    vrf: str = ""
    unicast: tuple[Assigned, ...] = ()
    shared: tuple[Assigned, ...] = ()
    ipv6: bool = False
    advertised: Advertised | None = None
    proxy_arp: bool = False
    filters: dict[Family, str] = field(default_factory=dict["Family", str])
    vlan: int | None = None
    trunks: tuple[tuple[int, ...], ...] = ()
    qos: PortQos = field(default_factory=PortQos)
    section: Section | None = field(default=None, compare=False)

    @property
    def number(self) -> tuple[int, ...]:
        """The numbers in the interface's name, for example (1, 2) for ``Eth1/2``."""
        return tuple(int(digits) for digits in re.findall(r"\d+", self.name)[:4])

    @property
    def addresses(self) -> tuple[InterfaceAddress, ...]:
        """The addresses that only this interface has."""
        return _addresses(self.unicast)

    @property
    def anycast(self) -> tuple[InterfaceAddress, ...]:
        """The gateway addresses of the interface, which every leaf has."""
        return _addresses(self.shared)

    @property
    def tagged(self) -> tuple[int, ...]:
        """The tagged VLANs, without duplicates."""
        return tuple(dict.fromkeys(vlan for trunk in self.trunks for vlan in trunk))


def _addresses(assigned: tuple[Assigned, ...]) -> tuple[InterfaceAddress, ...]:
    return tuple(address for each in assigned if (address := each.ipv4 or each.ipv6) is not None)


@dataclass(frozen=True, slots=True)
class Tunnel:
    """The VXLAN tunnel: its source (an address, or the interface with this address), the VNI of each VLAN, and the VNI of each VRF."""

    address: str | None = None
    vlans: dict[int, int] = field(default_factory=dict[int, int])
    vrfs: dict[str, int] = field(default_factory=dict[str, int])
    section: Section | None = field(default=None, compare=False)

    def transit(self) -> set[int]:
        """The VLANs that exist only for the VNIs of VRFs."""
        routed = set(self.vrfs.values())
        return {vlan for vlan, vni in self.vlans.items() if vni in routed}


@dataclass(frozen=True, slots=True)
class Interfaces:
    """The interfaces of each kind, by name. ``ports`` also has the subinterfaces of ports, and ``channels`` are port channels."""

    loopbacks: dict[str, Lines] = field(default_factory=dict[str, Lines])
    vlans: dict[str, Lines] = field(default_factory=dict[str, Lines])
    ports: dict[str, Lines] = field(default_factory=dict[str, Lines])
    channels: dict[str, Lines] = field(default_factory=dict[str, Lines])
    tunnels: dict[str, Tunnel] = field(default_factory=dict[str, Tunnel])

    @property
    def every(self) -> dict[str, Lines]:
        """All interfaces except tunnels."""
        return {**self.loopbacks, **self.vlans, **self.ports, **self.channels}


def _vlans(text: str) -> tuple[int, ...]:
    vlans = {*words.numbers(text.lower().removeprefix("vlan").lstrip(), MOST_VLAN)}
    if 0 in vlans:
        raise ValueError(text)
    return tuple(sorted(vlans))


def _vlan(text: str) -> int:
    return _vlans(text)[0]


def _without(name: str, kind: str) -> str:
    return name.removeprefix(kind)


def _named(kind: str, form: str, shown_as: str, defines: str = "") -> Codec:
    """Return the codec (conversion from and to text) for an interface that a statement gives by its number. The value is the whole name.

    ``kind`` is the name without the number, and ``form`` the pattern of the number. ``shown_as`` is the text that people see in place of
    the number, and ``defines`` the kind of name that the statement defines.
    """
    return Codec(
        form, f"{kind}{{}}".format, partial(_without, kind=kind), word=form, shown_as=shown_as, defines=defines
    )


MTU = number(1312, 9216)
SPEEDS = "10000|25000|40000|50000|100000|200000|400000|800000"
SPEED = replace(number(1000, 800000, unit=1000), accepts=SPEEDS, shown_as=SPEEDS)
FEC = choice({"": "RS", "none": "none", "fc": "FC"})
VLAN, VNI = number(1, MOST_VLAN), number(1, 16777215)
VLANS = Codec(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*", _vlans, ranges, word=r"(?i:vlan ?)?[\d,-]+", shown_as="list")
PORT = replace(PORT_NAME, word=r"Eth(?:ernet)?[\d/.]+", accepts=rf"{PORT_NAME.accepts}(?:\.{in_range(1, MOST_VLAN)})?")

ADVERTISED = "ansible sonic_ipv6_router_advertisement"
LAYER3 = "ansible sonic_l3_interfaces"
NAMED = (
    line("description <description>", "guide", usual="", description=TEXT),
    line("mtu <mtu>", "guide; ansible sonic_vlans", mtu=MTU),
)
ROUTED = (
    line("ip vrf forwarding <vrf>", "ansible, tests of sonic_vrfs", usual="", changed="removed", vrf=refers("vrf")),
    each(
        ("ip address <ipv4>[ <secondary>]", "ipv6 address <ipv6>"),
        "unicast",
        "guide; ansible sonic_l3_interfaces",
        Assigned,
        ipv4=IPV4,
        ipv6=IPV6,
        secondary=choice({True: "secondary"}),
    ),
    each(
        ("ip anycast-address <ipv4>", "ipv6 anycast-address <ipv6>"), "shared", LAYER3, Assigned, ipv4=IPV4, ipv6=IPV6
    ),
    line("ipv6 enable", LAYER3, sets={"ipv6": True}),
    part(
        "advertised",
        Advertised,
        (
            *advertised(ADVERTISED, f"{ADVERTISED} (options)", number(4, 1800)),
            advertised_prefix(
                ADVERTISED, "ipv6 nd prefix <prefix> <valid> <preferred> <no_autoconfig> <off_link>", PREFIX, NUMBER
            ),
            line("ipv6 nd min-ra-interval <min_interval>", ADVERTISED, min_interval=number(3, 1350)),
        ),
    ),
    line("ip proxy-arp enable remote-only", LAYER3, sets={"proxy_arp": True}),
    each(
        "<family> access-group <it> in",
        "filters",
        "ansible sonic_acl_interfaces; acl",
        by="family",
        changed="removed",
        family=FAMILY,
        it=refers("access-list"),
    ),
)
SHUT = line("shutdown", "guide", sets={"shut": True}, disrupts=effects.SHUT)


def _is_whole(port: Lines) -> bool:
    """Return True if an interface is a port, and False if it is a tagged subinterface of a port."""
    return "." not in port.name


LINK = (
    line("speed <speed>", "guide", disrupts=effects.LINK, speed=SPEED),
    line(
        "fec <fec>",
        "guide; ansible sonic_interfaces",
        when=lambda port: bool(port.fec) or _is_whole(port),
        disrupts=effects.LINK,
        fec=FEC,
    ),
    # The Thor2 guide (section 2.5.2) has this line on ports with copper cables. With link training, an optical port may stay down.
    line("standalone-link-training", "guide", sets={"training": True}),
    line("no standalone-link-training", "", sets={"training": False}),
    fixed("unreliable-los auto", "guide", when=_is_whole),
    line("no shutdown", "guide", sets={"shut": False}, when=_is_whole),
    SHUT,
    each(
        "storm-control <kind> <it>",
        "floods",
        "spytest system/storm_control",
        by="kind",
        kind=choice({kind: kind for kind in STORMS}),
        it=NUMBER,
    ),
    fixed("spanning-tree port type edge", "ansible sonic_stp", when=lambda port: port.guarded),
    line("spanning-tree bpduguard port-shutdown", "ansible sonic_stp", sets={"guarded": True}),
    line("encapsulation dot1q vlan-id <tag>", "spytest routing/ip", changed="removed", tag=VLAN),
)
SWITCHED = (
    line(
        "switchport access Vlan <vlan>",
        "guide",
        also=("switchport access <vlan>",),
        vlan=replace(VLAN, refers="Vlan", word=r"(?i:vlan ?)?\d+", read=_vlan),
    ),
    each(
        "switchport trunk allowed Vlan <it>",
        "trunks",
        "ansible sonic_l2_interfaces",
        also=("switchport trunk allowed <it>",),
        it=VLANS,
    ),
)

SPLITS = Statements(
    Splits,
    (
        each(
            "interface breakout port <port> mode <channels>x<speed>G",
            "ports",
            "ansible sonic_port_breakout; spytest system/port",
            Split,
            by="port",
            disrupts=effects.CAGE,
            port=_named("Eth", r"\d+/\d+", "number>/<number"),
            channels=choice({count: str(count) for count in (1, 2, 4, 8)}),
            speed=choice({speed: str(speed) for speed in (10, 25, 40, 50, 100, 200, 400, 800)}),
        ),
    ),
    disrupts=(),
)
"""The statements about split ports. They are printed before the statements about the channels of these ports.

A port that is not split, but runs below its highest speed, has a ``speed`` statement instead.
"""

SHARED = Statements(
    Shared,
    (
        line(
            "ip anycast-mac-address <mac>",
            "ansible sonic_system",
            usual="",
            changed="removed",
            mac=Codec(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", shown_as="mac"),
        ),
        each("<it> anycast-address enable", "families", "ansible sonic_system", it=FAMILY),
        line("spanning-tree mode mst", "ansible sonic_stp", sets={"spanning_tree": True}),
    ),
    disrupts=(),
)
"""The statements about settings that all interfaces share."""

INTERFACES = Statements(
    Interfaces,
    (
        each(
            "interface Loopback <name>",
            "loopbacks",
            "ansible, tests of sonic_vrfs",
            Lines,
            (*NAMED, *ROUTED),
            by="name",
            disrupts=effects.EMPTIED,
            name=_named("Loopback", in_range(0, 16383), "0-16383"),
        ),
        each(
            "interface Vlan <name>",
            "vlans",
            "guide; ansible sonic_l3_interfaces",
            Lines,
            (*NAMED, *ROUTED, replace(SHUT, source="", prints=False), line("no shutdown", "", sets={"shut": False})),
            by="name",
            disrupts=effects.EMPTIED,
            name=_named("Vlan", VLAN.accepts, VLAN.shown_as, "Vlan"),
        ),
        each(
            "interface <name>",
            "ports",
            "guide; spytest routing/ip (klish of sub-interfaces)",
            Lines,
            (*NAMED, *LINK, *ROUTED, *SWITCHED, part("qos", PortQos, PORT_QOS)),
            by="name",
            disrupts=effects.EMPTIED,
            name=replace(PORT, defines="port"),
        ),
        each(
            "interface <name>",
            "channels",
            "",
            Lines,
            (*NAMED, *ROUTED),
            by="name",
            disrupts=effects.EMPTIED,
            name=Codec(NAME.accepts, word=r"PortChannel\d+"),
        ),
        each(
            "interface vxlan <tunnel>",
            "tunnels",
            "ansible, tests of sonic_vxlans",
            Tunnel,
            (
                line(
                    "source-ip <address>",
                    "ansible sonic_vxlans",
                    address=Codec(ADDRESS_FORM, word=r".+", shown_as="address"),
                ),
                each(
                    "map vni <it> vlan <vlan>",
                    "vlans",
                    "ansible sonic_vxlans",
                    by="vlan",
                    changed="replaced",
                    it=VNI,
                    vlan=replace(VLAN, refers="Vlan"),
                ),
                each(
                    "map vni <it> vrf <vrf>",
                    "vrfs",
                    "ansible sonic_vxlans",
                    by="vrf",
                    changed="replaced",
                    it=VNI,
                    vrf=refers("vrf"),
                ),
            ),
            by="tunnel",
            disrupts=effects.EMPTIED,
            tunnel=NAME,
        ),
    ),
    disrupts=(),
)
"""The statements about interfaces: the headers of their sections, and the statements below them."""
