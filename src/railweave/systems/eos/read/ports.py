"""Derivation of ports and loopbacks from the lines below ``interface``. Other modules determine whether a port leads to a server or a switch."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, cast

from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.config.secret_words import reference
from railweave.model.device.model import Macsec
from railweave.systems.eos.read.values import Stanzas, interface_address, number, numbers
from railweave.systems.eos.render.keys import CIPHERS
from railweave.systems.eos.render.ports import FEC_LINES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from railweave.model.config.addresses import InterfaceAddress
    from railweave.model.config.sections import SectionReader, SelectedLine
    from railweave.model.device.port_model import Fec

_SPEED = re.compile(r"(?:forced |auto )?(\d{1,4})g(?:full|half)?(?:-(\d))?")
_MEGABITS = re.compile(r"(?:forced |auto )?(\d{3,6})(?:full|half)")
PORT = re.compile(r"Ethernet[0-9/]+")
DEFAULT_MTU = 1500
"""The MTU in bytes of a routed interface without its own MTU (EOS user manual, "mtu")."""


_FLAGS = {"shutdown": "shutdown", "switchport": "bridged", "ip proxy-arp": "proxy_arp", "ipv6 enable": "six"}
_WORDS = {"vrf <value>": "vrf", "vrf forwarding <value>": "vrf", "service-profile <value>": "profile"}
_NUMBERS = {"mtu <value>": ("mtu", 68, 65535), "encapsulation dot1q vlan <value>": ("tag", 1, 4094)}
"""By line: (the field of ``Port`` that gets the number, the lowest number, the highest number)."""


@dataclass
class Port:
    """The settings of an interface.

    - ``access``: the VLAN of a port without tags.
    - ``native``: the untagged VLAN of a trunk.
    - ``virtual``: True if the addresses are shared with other switches.
    - ``bridged``: True if the port is switched, not routed.
    - ``six``: True if IPv6 is enabled.
    - ``tag``: the VLAN tag of a subinterface.
    - ``profile``: the name of the QoS profile.
    - ``group``: the number of the link aggregation.
    - ``used``: True if a setting, such as a description or an address, shows that the port is in use.
    """

    name: str
    description: str = ""
    shutdown: bool = False
    mtu: int = DEFAULT_MTU
    bridged: bool = True
    speed_gbps: int = 0
    lanes: int = 0
    fec: Fec = ""
    vrf: str = ""
    access: int | None = None
    native: int | None = None
    allowed: tuple[int, ...] | None = None
    """The VLANs of a trunk; None means all VLANs of the switch."""
    trunk: bool = False
    addresses: list[InterfaceAddress] = field(default_factory=list["InterfaceAddress"])
    virtual: bool = False
    six: bool = False
    proxy_arp: bool = False
    tag: int | None = None
    profile: str = ""
    group: int | None = None
    macsec: Macsec | None = None
    used: bool = False

    @property
    def speaks_six(self) -> bool:
        """Return True if IPv6 runs on the interface, so that neighbors can be discovered there."""
        return self.six or any(address.family == "ipv6" for address in self.addresses)

    @property
    def frame(self) -> int:
        """The MTU in bytes including the Ethernet header. The design counts MTUs in this way."""
        return self.mtu + ETHERNET_HEADER

    @property
    def parent(self) -> str:
        """The port of a subinterface, such as ``Ethernet1`` for ``Ethernet1.5``. For other interfaces, their own name."""
        return self.name.partition(".")[0]


def ports(stanzas: Stanzas) -> dict[str, Port]:
    """Return all interfaces, by name. ``stanzas`` are the lines of all ``interface`` sections."""
    reader = stanzas.reader
    interfaces = {name: Port(name) for name in stanzas.names}
    for name, line in stanzas.each("description <text...>"):
        interfaces[name].description = line["text"]
    for line, flag in _FLAGS.items():
        for name, there in stanzas.flag(line).items():
            setattr(interfaces[name], flag, there)
    for form, word in _WORDS.items():
        for name, value in stanzas.word(form).items():
            setattr(interfaces[name], word, value)
    for form, (count, low, high) in _NUMBERS.items():
        for name, value in stanzas.number(form, low, high).items():
            setattr(interfaces[name], count, value)
    for name, line in stanzas.each("speed <text...>"):
        if not _speed(interfaces[name], line["text"]):
            reader.mark_unknown(line)
    _error_correction(stanzas, interfaces)
    _addresses(stanzas, interfaces)
    _switchport(stanzas, interfaces)
    for name, line in stanzas.each("channel-group <value> mode active|passive|on"):
        interfaces[name].group = number(line["value"])
    _waiting(reader, interfaces)
    profiles = _macsec(reader)
    _mark_unrepresented(stanzas, interfaces)
    for name, line in stanzas.each("mac security profile <value>"):
        interfaces[name].macsec = profiles.get(line["value"])
        if line["value"] not in profiles:
            reader.mark_unknown(line)
    for port in interfaces.values():
        port.used = port.used or bool(port.description or port.addresses or port.six or port.profile or port.group)
    return interfaces


def vrfs(reader: SectionReader) -> set[str]:
    """Return the names of the defined VRFs. ``reader`` has the lines of the configuration."""
    headers = (section.line.split() for section in reader.sections)
    return {
        words[2] for words in headers if words[:2] in (["vrf", "instance"], ["vrf", "definition"]) and len(words) > 2
    }


def _mark_unrepresented(stanzas: Stanzas, interfaces: Mapping[str, Port]) -> None:
    """Mark as not understood: VLAN tags on ports that are not subinterfaces, and references to undefined VRFs.

    ``stanzas`` are the lines of all ``interface`` sections.
    """
    defined = vrfs(stanzas.reader)
    for _, line in stanzas.each("vrf <name>"):
        if line["name"] not in defined:
            stanzas.reader.mark_unknown(line)
    for name, line in stanzas.each("encapsulation dot1q vlan *"):
        if "." not in name:
            stanzas.reader.mark_unknown(line)
            interfaces[name].tag = None


def _waiting(reader: SectionReader, interfaces: dict[str, Port]) -> None:
    """Remove addresses that are configured but not in effect.

    An address is not in effect on a front-panel port that is switched (no ``no switchport``), or on a VLAN interface that is shut down.
    ``reader`` has the lines of the configuration.
    """
    routed = reader.last("switchport default mode routed") is not None
    for port in interfaces.values():
        if port.bridged and not routed if PORT.fullmatch(port.name) else port.shutdown and not PORT.match(port.name):
            port.addresses, port.six = [], False


def _speed(port: Port, text: str) -> bool:
    match, megabits = _SPEED.fullmatch(text), _MEGABITS.fullmatch(text)
    if text == "auto":
        port.speed_gbps, port.lanes = 0, 0
    elif match:
        port.speed_gbps, port.lanes = int(match[1]), int(match[2] or 0)
    elif megabits:
        port.speed_gbps = int(megabits[1]) // 1000
    return bool(match or megabits) or text == "auto"


def _error_correction(stanzas: Stanzas, interfaces: dict[str, Port]) -> None:
    """Read the forward error correction (FEC) of each port. ``stanzas`` are the lines of all ``interface`` sections.

    If a port allows several kinds of FEC, the port negotiates one of them. The port's FEC lines are then marked as not understood.
    """
    lines: dict[str, list[SelectedLine]] = {}
    for form in ("error-correction encoding *", "no error-correction encoding **"):
        for name, line in stanzas.each(form):
            lines.setdefault(name, []).append(line)
    kinds: dict[str, Fec] = {line: fec for fec, line in FEC_LINES.items()}
    for name, of_port in lines.items():
        fec = kinds.get(of_port[0].line)
        if fec is None or len(of_port) > 1:
            for line in of_port:
                stanzas.reader.mark_unknown(line)
        else:
            interfaces[name].fec = fec


def _addresses(stanzas: Stanzas, interfaces: dict[str, Port]) -> None:
    """Read the addresses of interfaces in the order of the text. IPv4 and IPv6 addresses are in one list.

    ``stanzas`` are the lines of all ``interface`` sections.
    """
    for name, line in stanzas.each("ip|ipv6 address <words...>"):
        words = line["words"].split()
        virtual = words[0] == "virtual"
        words = words[1:] if virtual else words
        value = interface_address(words[0]) if words and words[1:] in ([], ["secondary"]) else None
        port = interfaces[name]
        if words == ["dhcp"]:
            continue
        of_family = value is not None and line.line.split()[0] == ("ipv6" if value.family == "ipv6" else "ip")
        if value is None or not of_family or (virtual and port.addresses and not port.virtual):
            stanzas.reader.mark_unknown(line)
        else:
            port.addresses.append(value)
            port.virtual = virtual


def _switchport(stanzas: Stanzas, interfaces: dict[str, Port]) -> None:
    for name, value in stanzas.number("switchport access vlan <value>", 1, 4094).items():
        interfaces[name].access = value
        interfaces[name].used = True
    for name, value in stanzas.number("switchport trunk native vlan <value>", 1, 4094).items():
        interfaces[name].native = value
    for name, line in stanzas.each("switchport trunk allowed vlan <value>"):
        value = numbers(line["value"])
        interfaces[name].used = True
        if line["value"] == "none":
            value = ()
        if value is None and line["value"] != "all":
            stanzas.reader.mark_unknown(line)
        interfaces[name].allowed = value
    for name, line in stanzas.each("switchport trunk allowed vlan add <value>"):
        more = numbers(line["value"])
        if more is None:
            stanzas.reader.mark_unknown(line)
        interfaces[name].allowed = tuple(dict.fromkeys((*(interfaces[name].allowed or ()), *(more or ()))))
    for name, line in stanzas.each("switchport mode access|trunk"):
        interfaces[name].trunk = line.line.endswith("trunk")


def vlans_of(port: Port, known: Collection[int]) -> tuple[int, ...]:
    """Return the VLANs that a port carries, with the untagged VLAN first. ``known`` are all VLANs of the switch."""
    if not port.bridged:
        return ()
    if not port.trunk:
        return () if port.access is None else (port.access,)
    allowed = tuple(known) if port.allowed is None else port.allowed
    return tuple(sorted(allowed, key=lambda vlan: vlan != port.native))


def _macsec(reader: SectionReader) -> dict[str, Macsec]:
    ciphers = {word: name for name, word in CIPHERS.items()}
    profiles: dict[str, Macsec] = {}
    for security in reader.each("mac security"):
        for header in reader.each("profile <name>", below=security):
            cipher = reader.last("cipher <word>", below=header)
            key = reader.last("key <name> 0|7 <secret>", below=header)
            if cipher is not None and cipher["word"] not in ciphers:
                reader.mark_unknown(cipher)
            if key is None:
                continue
            word = ciphers.get(cipher["word"] if cipher else "", "gcm-aes-128")
            suite = cast('Literal["gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256"]', word)
            profiles[header["name"]] = Macsec(key["name"], reference(key["secret"]), suite)
    return profiles
