"""Derivation of ports, their units (logical interfaces) and channels from ``interfaces``, as configured.

The module ``interfaces`` then determines where each port leads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import BITS, Address, Family, InterfaceAddress
from railweave.systems.junos.words import FAMILIES, Word, address, gbps, interface_address, network, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.device.port_model import Fec


PORT = re.compile(r"(?:et|xe|ge|mge|fte|te|fe)-\d+/\d+/\d+(?::\d+)?|ae\d+")
MANAGEMENT = re.compile(r"re0:mgmt-0|(?:em|fxp|me)0|vme")
_SPEEDS = {"ge": 1, "mge": 1, "fe": 1, "xe": 10, "te": 10}
"""Port speeds in Gb/s by the first letters of port names. The name of an ``et`` port does not show its speed."""
_FECS: Mapping[str, Fec] = {"none": "none", "fec74": "fc", "fec91": "", "fec108": "", "fec119": ""}
"""The kind of forward error correction, by Junos's keyword for a clause of IEEE 802.3. Clauses 91, 108 and 119 are Reed-Solomon."""
_DIGITS = 7
"""The maximum number of digits in a unit number."""


@dataclass
class Unit:
    """A unit: a logical interface of a port.

    - ``addresses``: the addresses of each address family.
    - ``mtu``: the packet MTU in bytes.
    - ``vlans``: the VLANs of the family ``ethernet-switching``.
    - ``tag``: the VLAN tag of the unit's packets.
    - ``storm``: the name of the storm-control profile.
    """

    name: str
    word: Word
    description: str = ""
    families: tuple[str, ...] = ()
    addresses: dict[Family, tuple[InterfaceAddress, ...]] = field(
        default_factory=dict["Family", "tuple[InterfaceAddress, ...]"]
    )
    mtu: int | None = None
    vlans: tuple[Word, ...] = ()
    disabled: bool = False
    bridged: bool = False
    trunk: bool = False
    storm: str | None = None
    tag: int | None = None
    proxy_arp: bool = False
    mac: str = ""

    def every_address(self) -> tuple[InterfaceAddress, ...]:
        """Return all addresses of the unit, grouped by address family, in the order of the text."""
        return tuple(address for of_family in self.addresses.values() for address in of_family)


@dataclass
class Port:
    """A physical port, ``irb``, ``lo0`` or the management port, with its units by number."""

    name: str
    word: Word
    description: str = ""
    mtu: int | None = None
    speed: int | None = None
    fec: Fec = ""
    channels: int | None = None
    native: int | None = None
    disabled: bool = False
    tagged: bool = False
    units: dict[str, Unit] = field(default_factory=dict[str, Unit])

    @property
    def usual_speed(self) -> int:
        """The speed in Gb/s that follows from the port's name; 0 if the name does not show it."""
        return _SPEEDS.get(self.name.partition("-")[0], 0)


class Owners:
    """An index of the device's addresses, which finds the port with an address, or the address on the link to a peer."""

    def __init__(self, all_ports: Iterable[Port]) -> None:
        self._units: dict[str, tuple[Port, Unit]] = {}
        self._beside: dict[str, InterfaceAddress] = {}
        self._lengths: dict[Family, set[int]] = {"ipv4": set(), "ipv6": set()}
        for port in all_ports:
            for unit in port.units.values():
                for subnet in unit.every_address():
                    self._units.setdefault(subnet.address, (port, unit))
                    if subnet.length < BITS[subnet.family]:
                        self._beside.setdefault(network(subnet), subnet)
                        self._lengths[subnet.family].add(subnet.length)

    def unit(self, address: str | None) -> tuple[Port, Unit] | None:
        """Return (port, unit) with this address, or None if no port has the address."""
        return self._units.get(address or "")

    def beside(self, peer: Address) -> Address | None:
        """Return the device's own address in the longest prefix that contains ``peer``, or None if no prefix contains it."""
        for length in sorted(self._lengths[peer.family], reverse=True):
            subnet = self._beside.get(network(InterfaceAddress(f"{peer}/{length}")))
            if subnet is not None:
                return subnet.address
        return None

    def link(self, peer: Address) -> str:
        """Return the name of the port whose prefix contains a peer's address; empty if there is none."""
        owner = self.unit(self.beside(peer))
        return owner[0].name if owner is not None else ""


def ports(top: Word) -> dict[str, Port]:
    """Return the front-panel ports, ``irb``, ``lo0`` and the management port, by name. Interfaces of other kinds are left out.

    ``top`` is the root of the configuration.
    """
    by_name: dict[str, Port] = {}
    for word in top.block("interfaces").below.values():
        if PORT.fullmatch(word.text) or MANAGEMENT.fullmatch(word.text) or word.text in {"irb", "lo0"}:
            by_name[word.text] = _port(word.mark())
    return by_name


def _port(word: Word) -> Port:
    flexible = word.flag("flexible-vlan-tagging")
    return Port(
        name=word.text,
        word=word,
        description=word.value("description") or "",
        mtu=word.number("mtu"),
        speed=None if ":" in word.text else word.read(gbps, "speed") or word.read(gbps, "ether-options", "speed"),
        fec=word.read(_fec, "ether-options", "fec") or word.read(_fec, "gigether-options", "fec") or "",
        channels=word.number("number-of-sub-ports"),
        native=word.number("native-vlan-id"),
        disabled=_is_down(word, word.text),
        tagged=flexible or word.flag("vlan-tagging"),
        units=_units(word),
    )


def _fec(text: str) -> Fec:
    if text not in _FECS:
        raise ValueError(text)
    return _FECS[text]


def _is_down(word: Word, port: str) -> bool:
    """Return True if the statements of an interface (``word``) shut the interface down, or mark its physical port as unused.

    ``port`` is the name of the interface. Return False for a loopback or management port; its statement stays marked as not understood.
    """
    if port == "lo0" or MANAGEMENT.fullmatch(port):
        return False
    return word.flag("disable") or word.flag("unused")


def _units(word: Word) -> dict[str, Unit]:
    """Return the units (logical interfaces) of an interface by number. ``word`` is the interface's block of statements.

    Units whose name is not a number are marked as not understood.
    """
    units: dict[str, Unit] = {}
    for entry in word.entries("unit"):
        if entry.text.isascii() and entry.text.isdigit() and len(entry.text) <= _DIGITS:
            units[entry.text] = _unit(word.text, entry)
        else:
            entry.mark_unknown()
    return units


def _unit(port: str, word: Word) -> Unit:
    unit = Unit(
        name=f"{port}.{word.text}",
        word=word,
        description=word.value("description") or "",
        tag=word.read(whole, "vlan-id"),
        proxy_arp=word.flag("proxy-arp", "unrestricted"),
        mac=word.value("mac") or "",
        disabled=_is_down(word, port),
    )
    families: list[str] = []
    for family in word.entries("family"):
        families.append(family.text)
        if family.text in FAMILIES:
            unit.addresses[FAMILIES[family.text]] = _addresses(family, unit, word)
            unit.mtu = family.number("mtu") or unit.mtu
        elif family.text == "ethernet-switching":
            _bridged(family, unit)
        elif family.text == "iso":
            family.names("address")
        else:
            family.mark_unknown()
    unit.families = tuple(families)
    return unit


def _addresses(family: Word, unit: Unit, word: Word) -> tuple[InterfaceAddress, ...]:
    """Return the addresses of an address family (``family``) of a unit. ``word`` is the block of statements of the unit.

    A virtual gateway address replaces the switch's own address, because servers use the virtual address as their gateway. The virtual
    gateway's MAC address is stored in ``unit``.
    """
    addresses: list[InterfaceAddress] = []
    for entry in family.entries("address"):
        try:
            subnet = interface_address(entry.text)
        except ValueError:
            entry.mark_unknown()
            continue
        shared = entry.read(address, "virtual-gateway-address")
        if shared is not None:
            subnet = interface_address(f"{shared}/{subnet.length}")
            unit.mac = unit.mac or word.value(f"virtual-gateway-v{'6' if subnet.family == 'ipv6' else '4'}-mac") or ""
        entry.flag("primary")
        entry.flag("preferred")
        addresses.append(subnet)
    return tuple(addresses)


def _bridged(family: Word, unit: Unit) -> None:
    unit.bridged = True
    unit.trunk = (family.value("interface-mode") or family.value("port-mode")) == "trunk"
    unit.vlans = tuple(family.block("vlan").block("members").below.values())
    unit.storm = family.value("storm-control")


def own_address(ports: Mapping[str, Port]) -> InterfaceAddress:
    """Return the address of the management port; 0.0.0.0/0 if it has none."""
    units = (unit for port in ports.values() if MANAGEMENT.fullmatch(port.name) for unit in port.units.values())
    return next((address for unit in units for address in unit.every_address()), InterfaceAddress("0.0.0.0/0"))
