"""Statements about access lists of Enterprise SONiC, and about the lists that apply to packets for the switch itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import BITS, Address, Prefix
from railweave.model.config.codecs import choice, defines, number, refers, whole
from railweave.model.config.statements import Codec, Statements, each
from railweave.systems.dell_sonic.statements.ports import FAMILY
from railweave.systems.dell_sonic.statements.words import ADDRESS_FORM

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family
    from railweave.model.config.sections import Section
    from railweave.model.config.statements import Row
    from railweave.model.device.control_plane import PortRange

ANY = "any"


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of an access list.

    - ``verdict``: ``permit``, ``deny`` or ``discard``. ``number`` is the sequence number.
    - ``every``: True if the entry matches every packet.
    - ``icmp``: True if the entry matches ICMP packets. ``icmp_type`` is their type.
    - ``protocol``: the protocol of packets that are not ICMP.
    - ``sender``, ``sent``: the source prefix and source ports of the packets.
    - ``target``, ``received``: the destination prefix and destination ports of the packets.
    - ``established``: True if the entry matches only packets of established TCP connections.
    - ``section``: the line of the configuration text that has the entry; None if the entry was not read from a text.
    """

    verdict: str
    number: int = 0
    every: bool | None = None
    icmp: bool | None = None
    protocol: Literal["tcp", "udp"] | None = None
    sender: str = ANY
    sent: PortRange | None = None
    target: str = ANY
    received: PortRange | None = None
    established: bool | None = None
    icmp_type: int | None = None
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AccessList:
    """The entries of an access list, in the order of the configuration text. On the switch, their sequence numbers decide the order."""

    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Use:
    """A statement that applies the access list ``name`` to packets for the switch itself.

    ``section`` is the line of the statement; None if the statement was not read from a configuration text.
    """

    family: Family
    name: str
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Terminal:
    """A section ``line vty``, with the access lists that it applies."""

    lists: tuple[Use, ...] = ()


@dataclass(frozen=True, slots=True)
class Lists:
    """The access lists of each address family by name, and the sections that apply lists to packets for the switch itself (``terminals``)."""

    ipv4: dict[str, AccessList] = field(default_factory=dict[str, AccessList])
    ipv6: dict[str, AccessList] = field(default_factory=dict[str, AccessList])
    terminals: tuple[Terminal, ...] = ()


def _end(text: str) -> str:
    if text == ANY:
        return ANY
    host = text.removeprefix("host ")
    return Prefix.read(text) if host == text else Prefix(f"{host}/{BITS[Address.read(host).family]}")


def _written(source: str) -> str:
    address, _, length = source.partition("/")
    return f"host {address}" if length == str(BITS["ipv6" if ":" in address else "ipv4"]) else source


def _ports(text: str) -> PortRange:
    numbers = [whole(word) for word in text.split()[1:]]
    return numbers[0], numbers[-1]


def _written_ports(ports: PortRange) -> str:
    first, last = ports
    return f"eq {first}" if first == last else f"range {first} {last}"


END = Codec(
    rf"any|host {ADDRESS_FORM}|{ADDRESS_FORM}/\d+", _end, _written, word=r"any|host \S+|\S+/\S+", shown_as="source"
)
PORTS = Codec(r"eq \d+|range \d+ \d+", _ports, _written_ports, word=r"eq \S+|range \S+ \S+", shown_as="ports")


def _lists(family: Family, ip: str, icmp: str) -> Row:
    """Return the row of the statement table for access lists of an address family.

    ``ip`` and ``icmp`` are the command line's words for the family's packets and for its ICMP.
    """
    entries = each(
        (
            "seq <number> <verdict> <every> any any",
            "seq <number> <verdict> <icmp> <sender> any[ type <icmp_type>]",
            "seq <number> <verdict> <protocol> <sender>[ <sent>] <target>[ <received>][ <established>]",
        ),
        "entries",
        "ansible sonic_l3_acls",
        Entry,
        number=number(1, 65535),
        verdict=choice({verdict: verdict for verdict in ("permit", "deny", "discard")}),
        every=choice({True: ip}),
        icmp=choice({True: icmp}),
        protocol=choice({"tcp": "tcp", "udp": "udp"}),
        sender=END,
        sent=PORTS,
        target=END,
        received=PORTS,
        established=choice({True: "established"}),
        icmp_type=number(0, 255),
    )
    form, name = f"{ip} access-list <name>", defines("access-list")
    return each(form, family, "ansible sonic_l3_acls", AccessList, (entries,), by="name", name=name)


USE = each("<family> access-group <name> in", "lists", "acl", Use, family=FAMILY, name=refers("access-list"))

LISTS = Statements(
    Lists,
    (
        _lists("ipv4", "ip", "icmp"),
        _lists("ipv6", "ipv6", "icmpv6"),
        each("line vty", "terminals", "acl", Terminal, (USE,)),
    ),
    disrupts=(),
)
"""The statements about access lists, and about ``line vty``, which represents the switch itself."""
