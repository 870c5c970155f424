"""Interfaces as routing sees them: addresses, router advertisements, and what IS-IS does on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address, Family, InterfaceAddress, Prefix
from railweave.systems.frr.read.text import interface_address, number, prefix, secret, unprinted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.sections import SectionReader, SelectedLine


@dataclass
class PrefixOption:
    """A prefix of router advertisements, with its lifetimes in seconds and its flags."""

    valid: int
    preferred: int
    on_link: bool = True
    autonomous: bool = True


LOOPBACKS = ("lo", "dummy", "Loopback")
"""The beginnings of the names of loopbacks."""

ISIS_METRIC = 10
"""The metric of an interface where no line says it (FRR manual, ISIS)."""


@dataclass
class OnPort:
    """IS-IS on an interface."""

    families: list[Family] = field(default_factory=list[Family])
    passive: bool = False
    metric: int = ISIS_METRIC
    key: str | None = None
    bfd: str | None = None
    """The BFD profile; empty: BFD with its own timers."""


@dataclass
class OnOspf:
    """OSPF on an interface, and the lines that say so."""

    area: str = ""
    passive: bool = False
    metric: int | None = None
    lines: list[SelectedLine] = field(default_factory=list["SelectedLine"])


@dataclass
class Port:
    """An interface. ``timers`` are those of its router advertisements by their words, ``sent`` whether it sends any."""

    name: str
    vrf: str = ""
    description: str = ""
    addresses: list[InterfaceAddress] = field(default_factory=list[InterfaceAddress])
    shut: bool = False
    sent: bool = False
    timers: dict[str, int] = field(default_factory=dict[str, int])
    flags: set[str] = field(default_factory=set[str])
    prefixes: dict[Prefix, PrefixOption] = field(default_factory=dict[Prefix, PrefixOption])
    isis: OnPort | None = None
    ospf: OnOspf | None = None

    def advertises(self) -> bool:
        """Whether its router advertisements are for servers, not for BGP to find a neighbor by."""
        return self.sent and bool(self.prefixes or self.flags or "ra-hop-limit" in self.timers)


TIMERS = ("ra-interval", "ra-lifetime", "ra-hop-limit", "reachable-time", "ra-retrans-interval", "mtu")


def ports(taking: SectionReader) -> dict[str, Port]:
    """The interfaces, by name, in the order of the text."""
    found: dict[str, Port] = {}
    for one in taking.each("interface <name>"):
        _read(taking, one, found.setdefault(one["name"], Port(one["name"])))
    for one in taking.each("interface <name> vrf <vrf>"):
        port = found.setdefault(one["name"], Port(one["name"]))
        port.vrf = one["vrf"]
        _read(taking, one, port)
    return found


def _read(taking: SectionReader, one: SelectedLine, port: Port) -> None:
    if not one.below:
        return
    for line in taking.each("<words...>", below=one):
        words = line["words"].split()
        if words == ["shutdown"] and port.name.startswith(LOOPBACKS):
            taking.leave(line)  # what is sent from a loopback's address is more than this says
        elif not (_address(port, words) or _isis(port, words) or _ospf(port, words, line)):
            taking.leave(line)


def _address(port: Port, words: list[str]) -> bool:
    match words:
        case ["description", *text]:
            port.description = " ".join(text)
        case ["ip" | "ipv6", "address", text] if (found := interface_address(text)) is not None:
            port.addresses += [] if found in port.addresses else [found]
        case ["shutdown"]:
            port.shut = True
        case ["vrf", name]:
            port.vrf = name
        case ["no", "shutdown"]:
            port.shut = False
        case ["no", "ipv6", "nd", "suppress-ra"]:
            port.sent = True
        case ["ipv6", "nd", *rest]:
            return _advertisement(port, rest)
        case _:
            return False
    return True


def _advertisement(port: Port, words: list[str]) -> bool:
    match words:
        case [timer, text] if timer in TIMERS and (value := number(text)) is not None:
            port.timers[timer] = value
        case ["managed-config-flag" | "other-config-flag" as flag]:
            port.flags.add(flag)
        case ["prefix", text, *rest] if (found := prefix(text)) is not None:
            option = _option(rest)
            if option is None:
                return False
            port.prefixes[found] = option
        case ["suppress-ra"]:
            port.sent = False
        case _:
            return False
    return True


def _option(words: list[str]) -> PrefixOption | None:
    valid = unprinted("gateways.advertisements.prefix_valid_lifetime")
    preferred = unprinted("gateways.advertisements.prefix_preferred_lifetime")
    if len(words) >= 2 and words[0] not in {"off-link", "no-autoconfig"}:
        one, other = (0xFFFFFFFF if word == "infinite" else number(word) for word in words[:2])
        if one is None or other is None:
            return None
        valid, preferred, words = one, other, words[2:]
    if not {*words} <= {"off-link", "no-autoconfig"}:
        return None
    return PrefixOption(valid, preferred, "off-link" not in words, "no-autoconfig" not in words)


def _isis(port: Port, words: list[str]) -> bool:
    here = port.isis or OnPort()
    match words:
        case ["ip" | "ipv6" as word, "router", "isis", _]:
            here.families.append("ipv4" if word == "ip" else "ipv6")
        case ["isis", "passive"]:
            here.passive = True
        case ["isis", "circuit-type", "level-2-only"] | ["isis", "network", "point-to-point"]:
            pass
        case ["isis", "metric", text] if (value := number(text)) is not None:
            here.metric = value
        case ["isis", "password", "md5" | "clear", text]:
            here.key = secret(text)
        case ["isis", "bfd"]:
            here.bfd = here.bfd or ""
        case ["isis", "bfd", "profile", name]:
            here.bfd = name
        case _:
            return False
    port.isis = here
    return True


def _ospf(port: Port, words: list[str], line: SelectedLine) -> bool:
    here = port.ospf or OnOspf()
    match words:
        case ["ip", "ospf", "area", text]:
            here.area = area_id(text)
        case ["ip", "ospf", "passive"]:
            here.passive = True
        case ["ip", "ospf", "network", "point-to-point"]:
            pass
        case ["ip", "ospf", "cost", text] if (value := number(text)) is not None:
            here.metric = value
        case _:
            return False
    here.lines.append(line)
    port.ospf = here
    return True


def area_id(text: str) -> str:
    """An area as an address, ``0.0.0.0`` of ``0``; other words as they are."""
    value = number(text)
    return text if value is None else ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))


class Subnets:
    """Which interface an address is reached by."""

    def __init__(self, ports: Mapping[str, Port]) -> None:
        self._of = {(port.vrf, one.prefix): (port, one) for port in ports.values() for one in port.addresses}
        self._lengths: dict[Family, list[int]] = {
            family: sorted({one.length for _, one in self._of if one.family == family}, reverse=True)
            for family in ("ipv4", "ipv6")
        }

    def port(self, peer: Address, vrf: str = "") -> tuple[Port, InterfaceAddress] | None:
        """The interface whose subnet has an address, and its own address in it."""
        for length in self._lengths[peer.family]:
            found = self._of.get((vrf, InterfaceAddress(f"{peer}/{length}").prefix))
            if found is not None:
                return found
        return None
