"""Addresses of NICs, and the routing tables of servers."""

from __future__ import annotations

import hashlib
import ipaddress
import socket
import struct
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from railweave.counting import counted
from railweave.design.addresses.server_prefixes import is_host, tenant_pools
from railweave.host.host_file import a_table_name
from railweave.model.findings.registry import Rule
from railweave.model.network.devices import Cable, Color, Fabric, Nic, NicAddress, Segment, Server, Subnet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.design.tenancy.tenants import Owner
    from railweave.model.intent.addressing import Addressing
    from railweave.model.intent.reading.document import Location


FIRST_TABLE = 10000
"""The first routing table number on servers (RLB document, Table 8)."""

TABLES_PER_FABRIC = 1000
"""The number of routing table numbers reserved for each fabric on a server, if the fabric file gives no table numbers."""

LAST_TABLE = 2**32 - 1
"""The highest routing table number. Table numbers have 32 bits (rtnetlink, RTA_TABLE)."""

LAST_RULE = 32765
"""The highest usable priority of a routing rule. The kernel's rule for the main table has the next priority, 32766."""

RESERVED = range(253, 256)
"""The kernel's own routing tables: default, main and local (iproute2, rt_tables)."""


def check_host_tables(context: Context, fabrics: Sequence[Fabric], servers: Sequence[Server]) -> None:
    """Record a problem if the routing tables or rules of a server conflict.

    Two tables must not have the same number or name, and the rules must be in the right order. Then raise ``DesignError`` if there is any
    problem.
    """
    for designed_fabric in fabrics:
        _check_priority(context, designed_fabric)
    used: dict[str, int] = {}
    names: dict[str, set[str]] = {}
    together: set[tuple[str, str]] = set()
    for server in servers:
        count: dict[str, int] = {}
        for nic in server.nics:
            count[nic.fabric] = count.get(nic.fabric, 0) + len(nic.addresses)
        together.update(combinations(count, 2))
        for fabric, tables in count.items():
            used[fabric] = max(used.get(fabric, 0), tables)
            if fabric not in names:
                names[fabric] = _names(
                    context,
                    next(designed_fabric for designed_fabric in fabrics if designed_fabric.name == fabric),
                    server,
                )
    spans = {
        fabric.name: range(fabric.first_table, fabric.first_table + used[fabric.name])
        for fabric in fabrics
        if fabric.name in used
    }
    for fabric, tables in spans.items():
        at = ("fabrics", fabric, "host_routing", "first_table")
        if tables.stop > LAST_TABLE + 1:
            message = (
                f"routing tables from {tables.start} do not fit: a server needs {len(tables)} tables, and the "
                f"largest possible number is {LAST_TABLE}"
            )
            context.problem(at, message, f"set `first_table` to {LAST_TABLE + 1 - len(tables)} or less")
        if tables.start <= RESERVED.stop - 1 and tables.stop > RESERVED.start:
            shown = f"{tables.start} to {tables.stop - 1}"
            context.problem(
                at,
                f"routing tables {shown} include the kernel's own tables, 253 to 255",
                "set `first_table` to 256 or more",
            )
    for first, other in together:
        at = ("fabrics", other, "host_routing")
        if spans[first].start < spans[other].stop and spans[other].start < spans[first].stop:
            context.problem(
                (*at, "first_table"),
                f"fabrics {first!r} and {other!r} share servers, but both use routing tables from {spans[other].start}",
                f"set `first_table` of one fabric to {spans[first].stop} or more",
            )
        elif shared := names[first] & names[other]:
            context.problem(
                (*at, "table_name"),
                f"fabrics {first!r} and {other!r} share servers, but both use the table name {min(shared)!r}",
                "give each fabric different table names",
            )
    context.check()


def _check_priority(context: Context, fabric: Fabric) -> None:
    """Record a problem if ``rule_priority`` leaves no room for the second routing rule on routed links.

    The second rule sends traffic that is not bound to an address into the fabric. Its priority is one higher than
    ``rule_priority``, because it must follow all other rules.
    """
    priority = fabric.host_routing.rule_priority
    if fabric.server_link == "routed" and (priority is None or priority >= LAST_RULE):
        shown = "null" if priority is None else str(priority)
        context.problem(
            ("fabrics", fabric.name, "host_routing", "rule_priority"),
            f"rule_priority {shown} allows no correct order on routed links: rules to the pool (one number "
            "higher) must come after rules from an address, but before the rule of the main table",
            f"use 0 to {LAST_RULE - 1}",
        )


def _names(context: Context, fabric: Fabric, server: Server) -> set[str]:
    """Return the routing table names of a fabric's NICs on a server.

    Records a problem for each name that is used twice. Raises ``DesignError`` for an invalid name.
    """
    names: set[str] = set()
    for nic in server.nics:
        if nic.fabric != fabric.name:
            continue
        for path, address in enumerate(nic.addresses, 1):
            name = fabric.table_name(nic.name, nic.rail, path, fabric.color_name(address.color))
            try:
                a_table_name(name)
            except ValueError as error:
                context.problem(
                    ("fabrics", fabric.name, "host_routing", "table_name"),
                    f"{name!r} {error}",
                    "begin with a letter, and do not use main, default, local and unspec, which belong to the system",
                )
                context.check()
            if name in names:
                context.problem(
                    ("fabrics", fabric.name, "host_routing", "table_name"),
                    f"table name {name!r} is used for two tables of a server",
                    "use {rail}, {gpu} or {nic} in the name, and {path} if a NIC has several addresses",
                )
            names.add(name)
    return names


MAC_PLACEHOLDER = Rule(
    id="mac-placeholder",
    severity="info",
    applies="design",
    fault="the inventory lacks MAC addresses, so placeholders are used; IP addresses that are derived from them "
    "will change",
    why="servers name their interfaces by MAC address, and SLAAC addresses are derived from it",
    fix="fill NAME.inventory.csv",
)


INVENTORY_ROWS = " (`railweave inventory fill FABRIC --write` writes its rows)"
"""The text that is appended to a remedy if there is no inventory yet."""
SLAAC_LENGTH = 64
"""The length of the prefixes in which NICs form their own addresses (RFC 4291, section 2.5.1)."""


def eui64(prefix: str, mac: str) -> str:
    """Return the SLAAC address of a MAC address in a /64, such as ``fc00:1:1:1:a288:c2ff:fe3b:5066`` (RFC 4291, appendix A)."""
    return _joined(_network(prefix), _interface(mac))


def _joined(network: _Half, interface: _Half) -> str:
    """Return the IPv6 address formed by a network half and an interface half (64 bits each)."""
    if network.text:  # an interface has no two zeros in a row either: nothing is left out
        return f"{network.text}:{interface.text}"
    return socket.inet_ntop(socket.AF_INET6, network.bits + interface.bits)


class _Half(NamedTuple):
    """Half of an IPv6 address (64 bits), as bits and as text.

    The text is empty for a network half that has a group of zeros, because the shortest form of such an address depends
    on both halves.
    """

    bits: bytes
    text: str


@lru_cache(maxsize=65536)
def _network(prefix: str) -> _Half:
    bits = socket.inet_pton(socket.AF_INET6, prefix.partition("/")[0])[:8]
    groups = struct.unpack(">4H", bits)
    return _Half(bits, ":".join(f"{group:x}" for group in groups) if all(groups) else "")


@lru_cache(maxsize=64)
def _interface(mac: str) -> _Half:
    """Return the interface half (the last 64 bits) of the SLAAC addresses that a NIC with this MAC address forms.

    The value is cached, because it is the same in every prefix of the NIC.
    """
    octets = bytes.fromhex(mac.replace(":", ""))
    bits = bytes([octets[0] ^ 0x02]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    return _Half(bits, ":".join(f"{group:x}" for group in struct.unpack(">4H", bits)))


def placeholder_mac(server: str, nic: str) -> str:
    """Return a locally administered MAC address as a placeholder for an unknown MAC address.

    The same server and NIC names always give the same address.
    """
    digest = hashlib.sha256(f"{server}:{nic}".encode()).digest()
    return f"02:{digest[:5].hex(':')}"


def nics(
    context: Context,
    layout: Layout,
    cables: Sequence[Cable],
    segments: Sequence[Segment],
    colors: Sequence[Color],
    owners: Mapping[str, Owner],
) -> dict[str, list[Nic]]:
    """Return the NICs of every server on a fabric, with their addresses, by server name.

    ``owners`` gives the tenant of each NIC by ``server:nic``. Records a finding for each server whose NICs have placeholder MAC addresses.
    """
    segment_of = {segment.key[1:]: segment for segment in segments}
    usual = layout.spec.addressing
    mixed = bool(usual.other_links)
    overlay = layout.spec.evpn() is not None
    ends = {(cable.a.device, cable.a.port): cable.b for cable in cables if cable.kind == "server"}
    result: dict[str, list[Nic]] = {}
    for server in layout.servers:
        made: list[Nic] = []
        unknown: list[str] = []
        routed = (usual.of_server(server.name) if mixed else usual).own_links
        for rail, name in enumerate(server.nics.names, 1):
            item = context.source.inventory.get(server.name, name)
            mac = item.mac or placeholder_mac(server.name, name)
            unknown += [] if item.mac else [name]
            full_name = f"{server.name}:{name}"
            owner = owners.get(full_name)
            tenant, network = (owner.tenant.name, owner.network) if owner else ("", None)
            end = ends[server.name, name]
            alone = routed or (overlay and not tenant)
            segment = segment_of[
                (end.device, 0, tenant, network.name)
                if network
                else (server.stripe, rail, tenant, full_name if alone else "")
            ]
            number = owner.number if owner and network else 1 if routed else server.slot
            made.append(
                Nic(
                    name=name,
                    netdev=item.netdev or name,
                    rdma=item.rdma or server.nics.rdma[rail - 1],
                    mac=mac,
                    mac_is_placeholder=not item.mac,
                    fabric=layout.name,
                    stripe=server.stripe,
                    rail=rail,
                    leaf=end.device,
                    leaf_port=end.port,
                    vlan=segment.vlan,
                    speed_gbps=layout.nic_speeds[server.stripe],
                    addresses=_addresses(context, layout, full_name, number, mac, segment, colors),
                    tenant=tenant,
                    network=network.name if network else "",
                )
            )
        if unknown:
            context.finding(
                MAC_PLACEHOLDER,
                server.name,
                (),
                f"MAC addresses of {counted(len(unknown), 'NIC')} are placeholders: {', '.join(unknown)}",
                why=(
                    "SLAAC addresses are derived from MAC addresses, so they change when the real MAC addresses "
                    "are known"
                )
                if layout.spec.addressing.server_mode == "slaac"
                else "the servers' configuration finds interfaces by MAC address",
                fix=f"fill {context.source.path.stem}.inventory.csv"
                + ("" if context.source.inventory.items else INVENTORY_ROWS),
            )
        result[server.name] = made
    return result


def _addresses(
    context: Context, layout: Layout, nic: str, slot: int, mac: str, segment: Segment, colors: Sequence[Color]
) -> tuple[NicAddress, ...]:
    addressing = layout.spec.addressing
    override = context.source.spec.overrides.nics.get(nic)
    fixed = override.addresses if override else {}
    forms = addressing.server_mode == "slaac" and not segment.network
    if forms and not fixed and all(":" in subnet.prefix for subnet in segment.subnets):
        interface = _interface(mac)
        return tuple(
            [
                NicAddress(_joined(_network(subnet.prefix), interface), SLAAC_LENGTH, subnet.color, "slaac")
                for subnet in segment.subnets
            ]
        )
    names = {color.index: color.name for color in colors}
    unknown = sorted(set(fixed) - set(names.values()) - ({"default"} if not names else set()))
    for name in unknown:
        context.problem(
            ("overrides", "nics", nic, "addresses", name),
            f"{nic} has no path color {name!r}",
            f"its colors are {', '.join(names.values()) or 'default'}",
        )
    result: list[NicAddress] = []
    for subnet in segment.subnets:
        label = "default" if subnet.color is None else names[subnet.color]
        slaac = forms and ":" in subnet.prefix
        given = _fixed(fixed, label, subnet, len(segment.subnets) > max(1, len(colors)))
        length = _length(addressing, subnet)
        if given is not None:
            network = ipaddress.ip_network(subnet.prefix)
            address = ipaddress.ip_address(given)
            host = int(address) - int(network.network_address) if address.version == network.version else -1
            if not is_host(network, host) or given == subnet.gateway:
                reason = (
                    f"is not a host address in {subnet.prefix}" if address in network else f"is not in {subnet.prefix}"
                )
                reason = "is the address of the leaf" if given == subnet.gateway else reason
                context.problem(
                    ("overrides", "nics", nic, "addresses", label),
                    f"address {given} {reason}",
                    "choose an address inside the prefix",
                )
            result.append(NicAddress(given, length, subnet.color, "override"))
        elif slaac:
            result.append(NicAddress(eui64(subnet.prefix, mac), length, subnet.color, "slaac"))
        else:
            address = _static(subnet, slot)
            if address is None:
                at: Location = (
                    "fabrics",
                    layout.name,
                    "tenants",
                    segment.tenant,
                    "networks",
                    segment.network,
                    "prefix",
                )
                context.problem(
                    at if segment.network else _length_at(layout, segment.tenant, subnet),
                    f"pool too small: {subnet.prefix} has no address for {'member' if segment.network else 'server'} number {slot}",
                    "use shorter prefixes",
                )
                context.check()
            result.append(NicAddress(address or subnet.gateway, length, subnet.color, "static"))
    return tuple(result)


def _fixed(fixed: Mapping[str, str], label: str, subnet: Subnet, both: bool) -> str | None:
    """Return the address that overrides give a NIC for a path color (``label``), or None.

    ``fixed`` holds the NIC's addresses in overrides, by color. ``both`` is True if the NIC has two address families. Then an address
    counts only if it has the address family of ``subnet``.
    """
    given = fixed.get(label)
    if given is not None and both and (":" in given) != (":" in subnet.prefix):
        return None
    return given


def _length(addressing: Addressing, subnet: Subnet) -> int:
    if addressing.server_link == "proxy-arp" and not subnet.tunnel:
        # the leaf's port holds the pair, the NIC takes all for one subnet
        return ipaddress.ip_network(addressing.server_pool).prefixlen
    return int(subnet.prefix.rpartition("/")[2])


def _length_at(layout: Layout, tenant: str, subnet: Subnet) -> Location:
    """Return the key path, in the fabric file, of the prefix length in a subnet's pool."""
    version = 6 if ":" in subnet.prefix else 4
    pool = next(tenant_pool for tenant_pool in tenant_pools(layout, tenant) if tenant_pool.network.version == version)
    return (*pool.at, "server_prefix" if pool.addressing.server_prefix else "prefix_length")


def _static(subnet: Subnet, number: int) -> str | None:
    """Return address ``number`` (from 1) among the addresses that a NIC can have in a prefix (``subnet``).

    The gateway's address does not count: in 10.0.0.0/24 with gateway 10.0.0.1, address 1 is 10.0.0.2. Return None if there is no such
    address.
    """
    network = ipaddress.ip_network(subnet.prefix)
    host = number - 1 if network.num_addresses == 2 else number
    gateway = int(ipaddress.ip_address(subnet.gateway)) - int(network.network_address)
    host += host >= gateway
    return str(network.network_address + host) if is_host(network, host) else None


def check_addresses(context: Context, servers: Sequence[Server]) -> None:
    """Record a problem for each address that two NICs share.

    Only overrides can cause this. Other addresses are numbered or derived from MAC addresses, and are therefore distinct. Then raise
    ``DesignError`` if there is any problem.
    """
    overrides = context.source.spec.overrides.nics
    owners: dict[str, str] = {}
    for server in servers if overrides else ():
        for nic in server.nics:
            name = f"{server.name}:{nic.name}"
            for address in nic.addresses:
                other = owners.setdefault(address.address, name)
                if other != name:
                    place = name if name in overrides else other
                    context.problem(
                        ("overrides", "nics", place, "addresses"),
                        f"duplicate address {address.address}: {other} and {name}",
                        "give each NIC a different one",
                    )
    context.check()
