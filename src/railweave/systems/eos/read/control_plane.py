"""What may reach the switch itself: access lists of the control plane, and of interfaces of gateways.

Rules have no names in an access list: a rule is called by its list and its number. Lines that differ in one thing only
(a source, a port) are a rule each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

from railweave.model.device.control_plane import ControlPlane, ControlRule, ServerPortRule, Sources
from railweave.systems.eos.read.values import number, prefix

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking
    from railweave.model.device.control_plane import PortRange
    from railweave.systems.eos.read.stanzas import Stanzas

Plane = Literal["network", "management"]
_FAMILIES: dict[str, Family] = {"ip": "ipv4", "ipv6": "ipv6"}
_PROTOCOLS: dict[str, Literal["tcp", "udp", "icmp"]] = {"tcp": "tcp", "udp": "udp", "icmp": "icmp", "icmpv6": "icmp"}
_PORTS = {
    "bgp": 179,
    "ssh": 22,
    "snmp": 161,
    "ntp": 123,
    "domain": 53,
    "tacacs": 49,
    "bfd": 3784,
    "bfd-echo": 3785,
    "multihop-bfd": 4784,
    "vxlan": 4789,
    "radius": 1812,
    "https": 443,
    "www": 80,
}
"""Names that EOS has for ports."""


def control_plane(taking: Taking, stanzas: Stanzas, management: str) -> ControlPlane | None:
    """The rules; None where no list is in use. ``management`` is the VRF of the management port."""
    network, managed = _bound(taking, management)
    dropped: dict[str, Family] = {}
    for _, one in stanzas.each("ip|ipv6 access-group <name> in"):
        dropped[one["name"]] = _FAMILIES[one.line.split()[0]]
        if not network and not managed:  # a list of another purpose
            taking.leave(one)
    if not network and not managed:
        return None
    rules: list[ControlRule] = []
    sources: list[Sources] = []
    planes: tuple[tuple[Plane, dict[str, Family]], ...] = (("network", network), ("management", managed))
    for plane, names in planes:
        for name, family in names.items():
            for rule, prefixes in _rules(taking, name, family, plane):
                rules.append(rule)
                if prefixes:
                    sources.append(Sources(rule.sources, family, prefixes))
    return ControlPlane(tuple(rules), tuple(sources), (), tuple(_server_ports(taking, dropped)))


def _bound(taking: Taking, management: str) -> tuple[dict[str, Family], dict[str, Family]]:
    """The lists of the control plane by family: where packets come in by ports, and by the management port."""
    network: dict[str, Family] = {}
    managed: dict[str, Family] = {}
    for header in taking.each("system control-plane"):
        for word, family in _FAMILIES.items():
            for form in (f"{word} access-group <name> in", f"{word} access-group <name> vrf <vrf> in"):
                for one in taking.each(form, below=header):
                    vrf = one.words.get("vrf", "")
                    (managed if vrf and vrf == management else network)[one["name"]] = family
    return network, managed


def _rules(taking: Taking, name: str, family: Family, plane: Plane) -> Iterator[tuple[ControlRule, tuple[Prefix, ...]]]:
    word = "ip" if family == "ipv4" else "ipv6"
    for header in taking.each(f"{word} access-list {name}"):
        for _ in taking.each("counters per-entry", below=header):
            pass  # who reads the counters is outside of this
        for _ in taking.each(f"* deny {word} any any", below=header):
            pass  # what no line permits is denied
        for one in taking.each("<number> permit <protocol> <words...>", below=header):
            found = _permitted(one, f"{name}-{one['number']}", family, plane)
            if found is None:
                taking.leave(one)
            else:
                yield found


def _permitted(one: Selected, name: str, family: Family, plane: Plane) -> tuple[ControlRule, tuple[Prefix, ...]] | None:
    """A rule, and where its packets come from; None where the words are others."""
    protocol = _PROTOCOLS.get(one["protocol"])
    words = one["words"].split()
    source = _address(words)
    sent = _port(words)
    target = _address(words)
    received = _port(words)
    if protocol is None or source is None or target is None or sent is None or received is None or target:
        return None
    rule = ControlRule(name, plane, family, protocol, f"{name}-from" if source else "", sent, received)
    if words[:1] == ["established"]:
        rule, words = replace(rule, established=True), words[1:]
    if words[:1] in (["ttl"], ["hop-limit"]) and words[1:2] == ["eq"] and len(words) == 3:
        rule, words = replace(rule, hop_limit=number(words[2], 0, 255)), []
    return None if words else (rule, source)


def _address(words: list[str]) -> tuple[Prefix, ...] | None:
    """The address at the beginning of the words, which it takes away: any is none; None: it is no address."""
    word = words.pop(0) if words else ""
    if word == "any":
        return ()
    if word == "host" and words:
        address = words.pop(0)
        word = f"{address}/{128 if ':' in address else 32}"
    found = prefix(word)
    return None if found is None else (found,)


def _port(words: list[str]) -> tuple[PortRange, ...] | None:
    """The ports at the beginning of the words, which it takes away: none; None: they are no ports."""
    if words[:1] == ["eq"] and len(words) > 1:
        found: list[PortRange] = []
        del words[0]
        while words and (value := _number(words[0])) is not None:
            found.append((value, value))
            del words[0]
        return tuple(found) or None
    if words[:1] == ["range"] and len(words) > 2:
        low, high = _number(words[1]), _number(words[2])
        del words[:3]
        return None if low is None or high is None else ((low, high),)
    return ()


def _number(word: str) -> int | None:
    return _PORTS.get(word, number(word, 0, 65535))


def _server_ports(taking: Taking, names: dict[str, Family]) -> Iterator[ServerPortRule]:
    """What servers' interfaces drop: lines of one protocol and port are a rule."""
    for name, family in names.items():
        word = "ip" if family == "ipv4" else "ipv6"
        found: dict[tuple[str, PortRange], list[Prefix]] = {}
        for header in taking.each(f"{word} access-list {name}"):
            for form in ("counters per-entry", f"* permit {word} any any"):
                for _ in taking.each(form, below=header):
                    pass
            for one in taking.each("* deny tcp|udp any <words...>", below=header):
                words = one["words"].split()
                target, received = _address(words), _port(words)
                if not target or not received or words:
                    taking.leave(one)
                else:
                    protocol = "tcp" if " deny tcp " in one.line else "udp"
                    found.setdefault((protocol, received[0]), []).append(target[0])
        for (protocol, ports), prefixes in found.items():
            what = "bgp" if ports == (179, 179) else "bfd" if ports[0] == 3784 else f"{protocol}-{ports[0]}"
            kind = cast('Literal["tcp", "udp"]', protocol)
            yield ServerPortRule(f"{what}-v{family[-1]}", family, kind, tuple(prefixes), (ports,))
