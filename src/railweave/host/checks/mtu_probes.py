"""Probes of a path's MTU by ``ping``, and the direction in which packets of the full size are lost.

A gateway answers an echo request with a packet as large as the request. If a packet's hop limit expires at the
gateway, the gateway answers with a short ICMP error instead. This error shows that the packet itself arrived. So
two probes show the direction of a loss: if the error comes back and the echo reply does not, the reply is lost.

Sources: RFC 792 and RFC 4443 (time exceeded; an error quotes at most 1,280 bytes), RFC 1812 section 4.3.2.3, ping(8).
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..machine import CannotTellError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ..entries import Route
    from ..machine import Machine

SMALL = 128
"""The size in bytes of the small packets that show whether the gateway answers at all."""

_DOCUMENTATION = {4: "192.0.2.1", 6: "2001:db8::1"}
"""Addresses that no host has, by IP version (documentation addresses, RFC 5737 and RFC 3849).

Probes are sent to them if only the default route leads through a gateway.
"""


def gateways(routes: Iterable[Route]) -> list[str]:
    """Return one gateway per address family: the gateway of the first route of each family."""
    first: dict[bool, str] = {}
    for route in routes:
        if route.via and " " not in route.via:
            first.setdefault(":" in route.via, route.via)
    return list(first.values())


def beside(rows: Sequence[dict[str, Any]], gateway: str) -> list[str]:
    """Return the NIC's first address in the subnet of a gateway, as a list; empty if the NIC has none.

    If rules choose routes by source, packets need this source address. ``rows`` has the addresses of the NIC as
    ``ip -j addr show`` prints them.
    """
    networks = ((row["local"], _subnet(row)) for row in rows if "local" in row and "prefixlen" in row)
    return [local for local, subnet in networks if ipaddress.ip_address(gateway) in subnet][:1]


def _subnet(row: dict[str, Any]) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(f"{row['local']}/{row['prefixlen']}", strict=False)


def beyond(routes: Iterable[Route], rows: Sequence[dict[str, Any]], gateway: str) -> str:
    """Return an address to which this server sends packets through a gateway; empty if no route uses the gateway.

    ``routes`` and ``rows`` are the routes and the addresses of the NIC. The returned address is in none of the NIC's
    subnets.
    """
    subnets = [_subnet(row) for row in rows if "local" in row and "prefixlen" in row]
    through = [ipaddress.ip_network(route.to) for route in routes if route.via == gateway]
    for network in sorted(through, key=lambda each: each.prefixlen, reverse=True):
        address = network[min(1, network.num_addresses - 1)] if network.prefixlen else None
        if address is not None and not any(address in subnet for subnet in subnets):
            return str(address)
    default = next((network for network in through if not network.prefixlen), None)
    return _DOCUMENTATION[default.version] if default is not None else ""


def answered(machine: Machine, sender: str, target: str, size: int) -> bool:
    """Return True if ``target`` answers a packet of this size, including its IP header. ``sender`` is an interface or an address."""
    return machine.run(*echo(sender, target, size)).code == 0


def echo(sender: str, target: str, size: int, *options: str) -> tuple[str, ...]:
    """Return the ping command that sends one packet of ``size`` bytes, including its IP header, to ``target``, without fragmentation.

    ``sender`` is an interface or an address. ``options`` are added to the command.
    """
    data = size - (48 if ":" in target else 28)
    return ("ping", "-c", "1", "-W", "1", *options, "-M", "do", "-s", str(data), "-I", sender, target)


@dataclass(frozen=True)
class Loss:
    """The place where packets of the full size are lost.

    - ``way``: ``there`` (to the gateway), ``back`` (from the gateway), ``here`` (not sent by this server), or empty if
      unknown.
    - ``seen``: the evidence.
    """

    way: str
    seen: str


def loss(
    machine: Machine, senders: Sequence[str], gateway: str, target: str, size: int, addresses: Iterable[str]
) -> Loss:
    """Return the direction in which packets of a size are lost between this server and a gateway that answers smaller packets.

    - ``senders``: the interface, then an address of the interface in the gateway's subnet if there is one. Rules may
      choose the route to ``target`` by this address.
    - ``target``: an address beyond the gateway; empty if there is none.
    - ``addresses``: the addresses of this server, whose errors do not come from the gateway.
    """
    for sender in senders:
        answer = machine.run(*echo(sender, gateway, size))
        text = f"{answer.out}\n{answer.err}"
        if local := re.search(r"local error: message too long,? mtu[=:] ?(\d+)", text, re.IGNORECASE):
            seen = f"this server's route to {gateway} has an MTU of {local[1]}, so it sends no larger packet"
            return Loss("here", seen)
        if large := re.search(r"From (\S+?)(?:%\S+)? icmp_seq=\d+ .*?mtu ?= ?(\d+)", text):
            return Loss("there", f"lost on the way there: {large[1]} reports an MTU of {large[2]}")
    if not target:
        return Loss("", "direction not seen: no route leads through the gateway")
    try:
        by_small = _error(machine, senders, target, SMALL, addresses)
        by = by_small and _error(machine, senders, target, size, addresses)
    except CannotTellError as error:  # the loss itself was seen
        return Loss("", f"direction not seen: {error}")
    if not by_small:
        return Loss("", f"direction not seen: {gateway} reports no packet that ends there")
    if by:
        return Loss("back", f"lost on the way back: {by} reports that a packet of {size} bytes arrived")
    seen = f"lost on the way there: {gateway} reports packets of {SMALL} bytes, and none of {size}"
    return Loss("there", f"{seen}; the way back is not seen")


def _error(machine: Machine, senders: Sequence[str], target: str, size: int, addresses: Iterable[str]) -> str:
    """Send a packet of ``size`` bytes to ``target`` with hop limit 1. Return the address of the router that reports its expiry.

    Return "" without a report. ``senders`` are the interface and, optionally, the source address. ``addresses`` are the addresses of this
    server, whose own error messages do not count.
    """
    nic, *source = senders
    text = machine.run(*echo(nic, target, size, "-t", "1", *(word for each in source for word in ("-I", each)))).out
    by = re.search(r"^From (\S+?)(?:%\S+)? icmp_seq=\d+ (?:Time|Dest)", text, re.MULTILINE)
    return by[1] if by and by[1] not in set(addresses) else ""
