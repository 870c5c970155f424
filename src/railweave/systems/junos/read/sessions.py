"""Groups of BGP sessions as the text has them, of the underlay, of the overlay and of VRFs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.device.access import Authentication
from railweave.device.timers import Bfd
from railweave.systems.junos.read.values import FAMILIES, address, asn, secret, unprinted
from railweave.systems.junos.read.words import Word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.config.addresses import Address, Family

_AO = {"aes-128-cmac-96": "ao-aes-128-cmac", "hmac-sha-1-96": "ao-hmac-sha-1"}
_ON_ONE_LINE = {"minimum-interval": 1, "multiplier": 1}


@dataclass
class Neighbor:
    """A neighbor that has an address; what it does not say itself is its group's."""

    word: Word
    peer: Address
    local: Address | None
    asn: int | None
    description: str


@dataclass
class Group:
    """A group of sessions. ``found`` are ports on which BGP discovers its neighbors; ``widens``: it uses several paths."""

    name: str
    word: Word
    internal: bool
    description: str
    local_as: int | None
    imports: tuple[str, ...]
    exports: tuple[str, ...]
    families: tuple[Family, ...]
    evpn: bool
    aigp: bool
    bfd: Bfd | None
    widens: bool
    ttl: int | None
    key: Authentication | None
    as_list: str | None
    color: str | None
    cluster: bool
    keeps_next_hop: bool
    neighbors: list[Neighbor] = field(default_factory=list[Neighbor])
    found: list[str] = field(default_factory=list[str])


def groups(bgp: Word, top: Word) -> list[Group]:
    """The groups of ``protocols bgp``; what stands there for all of them is theirs."""
    found = [_group(one, bgp, top) for one in bgp.entries("group")]
    return [one for one in found if one is not None]


def liveness(word: Word) -> Bfd | None:
    """BFD of a group or an interface."""
    found = word.at_path("bfd-liveness-detection")
    if found is None:
        return None
    found.take().spread(_ON_ONE_LINE)
    interval = found.number("minimum-interval")
    if interval is None:
        return None
    multiplier = found.number("multiplier")
    return Bfd(minimum_interval=interval, multiplier=unprinted("bgp.bfd.multiplier") if multiplier is None else multiplier)


def _group(word: Word, bgp: Word, top: Word) -> Group:
    kind = word.value("type") or bgp.value("type")
    families, aigp = _families(word)
    if not families and "family" not in word.below:
        families, aigp = _families(bgp)
    evpn = word.flag("family", "evpn", "signaling") or word.flag("family", "evpn", "signalling") or bgp.flag("family", "evpn", "signaling")
    widens = [one for one in (word.at_path("multipath"), bgp.at_path("multipath")) if one is not None]
    for one in widens:
        one.take()
        one.flag("multiple-as")
    found = Group(
        name=word.text,
        word=word,
        internal=kind == "internal",
        description=word.value("description") or "",
        local_as=word.read(asn, "local-as") or bgp.read(asn, "local-as"),
        imports=word.names("import") or bgp.names("import"),
        exports=word.names("export") or bgp.names("export"),
        families=families,
        evpn=evpn,
        aigp=aigp,
        bfd=liveness(word) or liveness(bgp),
        widens=bool(widens),
        ttl=word.number("ttl"),
        key=_key(word, top),
        as_list=word.value("peer-as-list"),
        color=word.value("fabric-color"),
        cluster=word.value("cluster") is not None,
        keeps_next_hop=word.flag("multihop", "no-nexthop-change"),
    )
    multihop = word.at_path("multihop")
    if multihop is not None:
        multihop.take()
        multihop.number("ttl")
    if kind not in {None, "external", "internal"}:
        word.block("type").leave()
    _neighbors(found, bgp)
    return found


def _families(word: Word) -> tuple[tuple[Family, ...], bool]:
    """The address families of a group, and whether AIGP goes with their routes."""
    families: list[Family] = []
    aigp = False
    for name, family in FAMILIES.items():
        unicast = word.at_path("family", name, "unicast") or word.at_path("family", name, "any")
        if unicast is not None:
            unicast.take()
            families.append(family)
            aigp |= unicast.flag("aigp")
            unicast.flag("extended-nexthop")
    return tuple(families), aigp


def _neighbors(group: Group, bgp: Word) -> None:
    word = group.word
    local = word.read(address, "local-address") or bgp.read(address, "local-address")
    remote = word.read(asn, "peer-as") or bgp.read(asn, "peer-as")
    for one in word.entries("neighbor"):
        try:
            peer = address(one.text)
        except ValueError:
            one.leave()
            continue
        one.spread({"description": 1, "peer-as": 1, "local-address": 1})
        found = Neighbor(
            one,
            peer,
            one.read(address, "local-address") or local,
            one.read(asn, "peer-as") or remote,
            one.value("description") or "",
        )
        group.neighbors.append(found)
    for dynamic in word.entries("dynamic-neighbor"):
        discovery = dynamic.block("peer-auto-discovery")
        discovery.flag("family", "inet6", "ipv6-nd")
        group.found += discovery.names("interface")


def _key(word: Word, top: Word) -> Authentication | None:
    """The key of a group's sessions: TCP MD5, or the first key of a chain for TCP-AO."""
    key = word.read(secret, "authentication-key")
    if key is not None:
        return Authentication(key)
    chain = word.value("authentication-key-chain")
    if chain is None:
        return None
    ao = word.value("authentication-algorithm") == "ao"
    named = top.at_path("security", "authentication-key-chains", "key-chain", chain, "key")
    for one in named.below.values() if named is not None else ():
        algorithm = one.value("ao-attribute", "cryptographic-algorithm") if ao else None
        key, number = one.read(secret, "secret"), one.read(int, "ao-attribute", "send-id")
        if algorithm not in _AO or key is None or number is None:
            continue
        one.take()
        if one.number("ao-attribute", "recv-id") != number:
            one.block("ao-attribute", "recv-id").leave()
        one.value("algorithm")
        one.value("start-time")
        return Authentication(key, "ao-aes-128-cmac" if _AO[algorithm] == "ao-aes-128-cmac" else "ao-hmac-sha-1", number)
    return None


def agreed(values: Sequence[Bfd | None], words: Sequence[Word]) -> Bfd | None:
    """What every group has of something; where they differ nothing is taken, and there is none."""
    if not values or all(one == values[0] for one in values):
        return values[0] if values else None
    for one in words:
        found = one.at_path("bfd-liveness-detection")
        if found is not None:
            found.leave()
    return None
