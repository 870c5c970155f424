"""Links between switches and cables to servers, as far as configurations and LLDP show them.

The evidence is used in this order:

- LLDP neighbors;
- a port description in the format that railweave writes, which names the peer and its port;
- two addresses in one subnet;
- any switch name in a description.

If the descriptions at both ends name only the switch, links are paired in the order of ports.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from railweave.model.config.number_ranges import natural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from railweave.model.device.model import DeviceConfig, Interface

Lldp = dict[str, dict[str, tuple[str, str]]]
"""The LLDP neighbors by device and port, as (neighbor's name, neighbor's port)."""

_SERVER_NIC = re.compile(r"(?:server|host|to|facing)[_.-]+(?P<server>[^_]+)(?:_(?P<nic>\w+))?", re.IGNORECASE)
_WORDS = re.compile(r"[^\s,;|=<>()\[\]\"']+")


@dataclass(frozen=True, slots=True)
class End:
    """A port of a switch, or a NIC of a server."""

    device: str
    port: str


@dataclass(frozen=True, slots=True)
class Wiring:
    """The links between switches, each listed once, and the NIC at each server port (``servers``).

    ``notes`` lists links that could not be resolved.
    """

    links: tuple[tuple[End, End], ...]
    servers: dict[End, End]
    notes: tuple[str, ...] = ()

    def far(self) -> dict[End, End]:
        """Return the far end of each port that connects two switches."""
        return {near: far for end, other in self.links for near, far in ((end, other), (other, end))}

    def between(self, lower: Iterable[str], upper: Iterable[str]) -> Iterator[tuple[End, End]]:
        """Yield the links between two sets of switches as (lower end, upper end)."""
        below, above = set(lower), set(upper)
        for end, other in self.links:
            if end.device in below and other.device in above:
                yield end, other
            if other.device in below and end.device in above:
                yield other, end


@dataclass
class _Evidence:
    joined: dict[End, End] = field(default_factory=dict[End, End])
    halves: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    """Ports that lead to a known switch but to an unknown port of that switch, by (device, far device)."""

    def join(self, end: End, other: End) -> None:
        if end not in self.joined and other not in self.joined and end != other:
            self.joined[end], self.joined[other] = other, end


def wiring(configs: Mapping[str, DeviceConfig], lldp: Lldp) -> Wiring:
    """Return the links and servers of a set of switches, from their configurations and LLDP neighbors (``lldp``)."""
    ports = {
        name: {interface.name: interface for interface in config.interfaces if interface.kind != "external"}
        for name, config in configs.items()
    }
    evidence = _Evidence()
    for device, heard in lldp.items():
        for port, (far, far_port) in heard.items():
            if far in ports and port in ports.get(device, {}) and far_port in ports[far]:
                evidence.join(End(device, port), End(far, far_port))
    for device, interfaces in ports.items():
        for interface in interfaces.values():
            if interface.peer in ports and interface.peer_port in ports[interface.peer]:
                evidence.join(End(device, interface.name), End(interface.peer, interface.peer_port))
    _by_subnet(ports, evidence)
    _by_description(ports, evidence)
    notes = list(_pair_halves(evidence))
    links = tuple((near, other) for near, other in evidence.joined.items() if near.device < other.device)
    servers = {
        End(device, server_interface.name): _nic(device, server_interface, lldp)
        for device, interfaces in ports.items()
        for server_interface in interfaces.values()
        if End(device, server_interface.name) not in evidence.joined and _is_server_port(server_interface)
    }
    for device, config in configs.items():  # a routed port of which nothing but its gateway is said
        for gateway in config.gateways:
            end = End(device, gateway.port)
            if gateway.port and end not in evidence.joined and end not in servers:
                servers[end] = _described(gateway.description)
    return Wiring(links, servers, tuple(notes))


def _is_server_port(port: Interface) -> bool:
    return port.kind == "server" or bool(port.vlan)


def _by_subnet(ports: Mapping[str, Mapping[str, Interface]], evidence: _Evidence) -> None:
    """Record a link between two ports in ``evidence`` if they are the only two ports with addresses in a subnet.

    ``ports`` holds the interfaces by device and name.
    """
    owners: dict[str, list[End]] = defaultdict(list)
    for device, interfaces in ports.items():
        for interface in interfaces.values():
            for address in interface.addresses:
                owners[str(address.prefix)].append(End(device, interface.name))
    for ends in owners.values():
        if len(ends) == 2 and ends[0].device != ends[1].device:
            evidence.join(*ends)


def _by_description(ports: Mapping[str, Mapping[str, Interface]], evidence: _Evidence) -> None:
    names = _any_of(ports)
    of_device: dict[str, Callable[[str], Iterator[str]]] = {}
    for device, interfaces in ports.items():
        for interface in interfaces.values():
            here = End(device, interface.name)
            if here in evidence.joined:
                continue
            far = (
                interface.peer if interface.peer in ports else next((name for name in names(interface.description)), "")
            )
            if not far or far == device:
                continue
            if far not in of_device:
                of_device[far] = _any_of(ports[far])
            far_port = (
                interface.peer_port
                if interface.peer_port in ports[far]
                else next(of_device[far](interface.description), "")
            )
            if far_port:
                evidence.join(here, End(far, far_port))
            else:
                evidence.halves.setdefault((device, far), []).append(interface.name)


def _any_of(names: Iterable[str]) -> Callable[[str], Iterator[str]]:
    """Return a function that takes a text, such as a port description, and yields each of the ``names`` that occurs in it, ignoring case.

    Only whole words match; longer names are preferred.
    """
    known = {name.casefold(): name for name in names}
    either = "|".join(re.escape(name) for name in sorted(known, key=len, reverse=True))
    pattern = re.compile(rf"(?<![a-z0-9])(?:{either})(?![a-z0-9])" if known else r"(?!)")

    def find(text: str) -> Iterator[str]:
        return (known[match[0]] for match in pattern.finditer(text.casefold()))

    return find


def _pair_halves(evidence: _Evidence) -> Iterator[str]:
    for (device, far), mine in evidence.halves.items():
        theirs = evidence.halves.get((far, device), [])
        if device < far or not theirs:
            if len(mine) != len(theirs):
                yield f"descriptions of {device} name {far} on {len(mine)} ports, but {far} names {device} on {len(theirs)} ports"
            for port, other in zip(sorted(mine, key=natural), sorted(theirs, key=natural), strict=False):
                evidence.join(End(device, port), End(far, other))


def _nic(device: str, port: Interface, lldp: Lldp) -> End:
    """Return the server and NIC at a port, from LLDP or the description.

    Return an empty ``End`` if neither names a server.
    """
    heard = lldp.get(device, {}).get(port.name)
    if heard:
        return End(*heard)
    if port.peer:
        return End(port.peer, port.peer_port)
    return _described(port.description)


def _described(text: str) -> End:
    """Return the server and NIC that a description names, or an empty ``End`` if it names none."""
    words = _WORDS.findall(text)
    if len(words) == 1:
        head, colon, tail = words[0].partition(":")
        match = _SERVER_NIC.fullmatch(head)
        if match and not colon:  # SERVER_web1_eth2, to.web1
            return End(match["server"], match["nic"] or "")
        return End(head, tail)
    if len(words) > 2:  # more than a name: what stands behind "to", else the last word with a number
        behind = [after for word, after in pairwise(words) if word.casefold() in {"to", "server", "host"}]
        numbered = [word for word in words if any(map(str.isdecimal, word))]
        return End((behind or numbered or [""])[-1], "")
    return End(words[0], words[1]) if len(words) == 2 else End("", "")
