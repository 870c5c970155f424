"""Lines below ``interface``, whatever the interface is for."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.config.sections import Section
from railweave.systems.dell_sonic.statements.qos import PORTS, PortQos
from railweave.systems.dell_sonic.words import (
    address,
    after,
    interface,
    interface_address,
    number,
    numbers,
    prefix,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import SectionReader


MOST_VLAN = 4094


@dataclass(slots=True)
class Lines:
    """An interface as its lines have it. ``advertised`` are timers and flags of router advertisements, ``floods`` limits in kb/s."""

    name: str
    description: str = ""
    mtu: int | None = None
    speed_mbps: int | None = None
    vlan: int | None = None
    tagged: tuple[int, ...] = ()
    addresses: list[InterfaceAddress] = field(default_factory=list[InterfaceAddress])
    anycast: list[InterfaceAddress] = field(default_factory=list[InterfaceAddress])
    gateway: Address | None = None
    vrf: str = ""
    ipv6: bool = False
    training: bool = False
    shut: bool = False
    tag: int | None = None
    advertises: bool = False
    advertised: dict[str, int] = field(default_factory=dict[str, int])
    prefixes: list[tuple[Prefix, int, int, frozenset[str]]] = field(
        default_factory=list[tuple[Prefix, int, int, frozenset[str]]]
    )
    proxy_arp: bool = False
    filters: dict[str, str] = field(default_factory=dict[str, str])
    floods: dict[str, int] = field(default_factory=dict[str, int])
    guarded: bool = False
    qos: PortQos = field(default_factory=PortQos)

    @property
    def number(self) -> tuple[int, ...]:
        """Its numbers: (1, 2) of ``Eth1/2``."""
        return tuple(int(part) for part in re.findall(r"\d+", self.name)[:4])


def interfaces(taking: SectionReader) -> dict[str, Lines]:
    """Every interface that is configured, by name. What is said of it twice holds as it is said last."""
    found: dict[str, Lines] = {}
    qos: dict[str, Any] = {}
    for header in taking.sections:
        names = list(_names(header.line))
        if not names:
            continue
        taking.take(header)
        for name in names:
            here = found.setdefault(name, Lines(name))
            for one in header.body or ():
                if _read(one.line, here) and not (one.line == "shutdown" and not name.startswith(("Eth", "Vlan"))):
                    taking.take(one)
                    taking.take(*(one.body or ()))
            PORTS.collect([Section(f"interface {name}", header.body)], taking, qos)
    for name, of_port in PORTS.build(qos).ports.items():
        found[name].qos = of_port
    return found


def _names(line: str) -> Iterator[str]:
    """The interfaces that a header is of."""
    if not line.startswith("interface "):
        return
    words = line.removeprefix("interface ")
    if not words.startswith("range "):
        one = interface(words)
        if one:
            yield one
        return
    words = words.removeprefix("range ").removeprefix("create ")
    kind = re.match(r"[A-Za-z-]+", words)
    for part in words[kind.end() :].split(",") if kind else ():
        yield from _range(kind[0] if kind else "", part.strip())


def _range(kind: str, part: str) -> Iterator[str]:
    """``Eth 1/1-1/4`` as four names."""
    first, dash, last = part.partition("-")
    last = re.sub(r"^[A-Za-z]+", "", last) if dash else first
    stem, slash, low = first.rpartition("/")
    numbers_ = numbers(f"{low}-{last.rpartition('/')[2]}", MOST_VLAN)
    for one in numbers_ or ():
        name = interface(f"{kind}{stem}{slash}{one}")
        if name:
            yield name


def _read(line: str, here: Lines) -> bool:
    words = line.split()
    return _plain(line, words, here) or _routed(words, here) or _advertisement(words, here)


def _plain(line: str, words: list[str], here: Lines) -> bool:
    match words:
        case ["description", *_]:
            here.description = after(line, 1)
        case ["mtu", value] if (found := number(value)) is not None:
            here.mtu = found
        case ["speed", value] if (found := number(value)) is not None:
            here.speed_mbps = found
        case ["switchport", "access", vlan, value] if vlan.lower() == "vlan" and (found := number(value)) is not None:
            here.vlan = found
        case ["switchport", "access", value] if (found := number(value.lower().removeprefix("vlan"))) is not None:
            here.vlan = found
        case ["switchport", "trunk", "allowed", *value] if (
            found := numbers("".join(value).lower().removeprefix("vlan"), MOST_VLAN)
        ) is not None:
            here.tagged = tuple(dict.fromkeys((*here.tagged, *found)))
        case ["encapsulation", "dot1q", "vlan-id", value] if (found := number(value)) is not None:
            here.tag = found
        case ["shutdown"] | ["no", "shutdown"]:
            here.shut = words[0] == "shutdown"
        case ["standalone-link-training"] | ["no", "standalone-link-training"]:
            here.training = words[0] != "no"
        case ["fec", "RS"] | ["unreliable-los", "auto"]:
            pass
        case ["spanning-tree", "bpduguard", *_]:
            here.guarded = True
        case ["spanning-tree", "port", "type", "edge"]:
            pass
        case ["storm-control", kind, value] if (found := number(value)) is not None:
            here.floods[kind] = found
        case _:
            return False
    return True


_FAMILIES = {"ip": "ipv4", "ipv6": "ipv6"}


def _address(word: str, text: str) -> InterfaceAddress | None:
    """Return an address of the family that the command is for; None for any other text."""
    value = interface_address(text)
    return value if value is not None and value.family == _FAMILIES[word] else None


def _routed(words: list[str], here: Lines) -> bool:
    match words:
        case ["ip", "vrf", "forwarding", name]:
            here.vrf = name
        case ["ip" | "ipv6", "address", value, *more] if (found := _address(words[0], value)) is not None:
            if more and more[0] == "gwaddr":
                here.gateway = address(" ".join(more[1:]))
                if here.gateway is None:
                    return False
            elif more not in ([], ["secondary"]):
                return False
            here.addresses.append(found)
        case ["ip" | "ipv6", "anycast-address", value] if (found := _address(words[0], value)) is not None:
            here.anycast.append(found)
        case ["ipv6", "enable"]:
            here.ipv6 = True
        case ["ip", "proxy-arp", "enable", "remote-only"]:
            here.proxy_arp = True
        case ["ip" | "ipv6", "access-group", name, "in"]:
            here.filters[_FAMILIES[words[0]]] = name
        case _:
            return False
    return True


_TIMERS = {
    "ra-interval": "max_interval",
    "min-ra-interval": "min_interval",
    "ra-lifetime": "router_lifetime",
    "ra-hop-limit": "hop_limit",
    "reachable-time": "reachable_time",
    "ra-retrans-interval": "retransmit_timer",
    "mtu": "link_mtu",
}
_FLAGS = {"managed-config-flag": "managed", "other-config-flag": "other"}


def _advertisement(words: list[str], here: Lines) -> bool:
    match words:
        case ["no", "ipv6", "nd", "suppress-ra"] | ["ipv6", "nd", "suppress-ra"]:
            here.advertises = words[0] == "no"
        case ["ipv6", "nd", "prefix", value, valid, preferred, *flags]:
            network, first, second = prefix(value), number(valid), number(preferred)
            if network is None or first is None or second is None or not set(flags) <= {"off-link", "no-autoconfig"}:
                return False
            here.prefixes.append((network, first, second, frozenset(flags)))
        case ["ipv6", "nd", timer, value] if timer in _TIMERS and (found := number(value)) is not None:
            here.advertised[_TIMERS[timer]] = found
        case ["ipv6", "nd", flag] if flag in _FLAGS:
            here.advertised[_FLAGS[flag]] = 1
        case _:
            return False
    return True


def headers(taking: SectionReader, begins: str) -> Iterator[tuple[Section, str]]:
    """Sections at the top whose header begins so, and what follows in it."""
    for one in taking.sections:
        if one.line.startswith(begins):
            yield one, one.line[len(begins) :].strip()
