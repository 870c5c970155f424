"""Server prefixes and NIC addresses."""

from __future__ import annotations

import hashlib
import ipaddress
import socket
from typing import TYPE_CHECKING

from railweave.design.network import Nic, NicAddress, Segment, Subnet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.network import Cable, Color, Server
    from railweave.design.topology import Layout, Leaf
    from railweave.spec.addressing import Addressing, FieldBits


def eui64(prefix: str, mac: str) -> str:
    """The SLAAC address of a MAC in a /64 (RFC 4291, appendix A): ``fc00:1:1:1:a288:c2ff:fe3b:5066``."""
    octets = bytes.fromhex(mac.replace(":", ""))
    host = bytes([octets[0] ^ 0x02]) + octets[1:3] + b"\xff\xfe" + octets[3:]
    network = socket.inet_pton(socket.AF_INET6, prefix.partition("/")[0])[:8]
    return socket.inet_ntop(socket.AF_INET6, network + host)  # ipaddress is ten times as slow, and there are many


def placeholder_mac(server: str, nic: str) -> str:
    """A locally administered MAC that stands in for one not known yet; it follows from the names alone."""
    digest = hashlib.sha256(f"{server}:{nic}".encode()).digest()
    return ":".join(f"{octet:02x}" for octet in (0x02, *digest[:5]))


def segments(context: Context, layout: Layout, colors: Sequence[Color]) -> tuple[Segment, ...]:
    """The segment of every rail of every stripe, with its VLAN and prefixes. Notes problems where a pool is too small."""
    name, addressing = layout.name, layout.spec.addressing
    at = ("fabrics", name, "addressing", "server_pool")
    pool = ipaddress.ip_network(addressing.server_pool)
    free = addressing.prefix_length - pool.prefixlen
    bits = addressing.bits or _default_bits(free)
    if addressing.prefix_length > pool.max_prefixlen or free <= 0:
        context.problem(
            at,
            f"pool too small: {pool} holds no /{addressing.prefix_length}",
            f"use a pool shorter than /{addressing.prefix_length}",
        )
        context.check()
    _check_bits(context, layout, bits, free, max((c.index for c in colors), default=1))
    if addressing.server_mode == "slaac" and (pool.version, addressing.prefix_length) != (6, 64):
        context.problem(
            ("fabrics", name, "addressing"),
            f"SLAAC needs IPv6 prefixes of /64, not {pool} cut in /{addressing.prefix_length}",
            "use an IPv6 pool and prefix_length 64, or server_mode: static",
        )
    context.check()
    first, last = layout.spec.pools.vlan
    result: list[Segment] = []
    for leaf in layout.leaves:
        for rail in leaf.rails:
            vlan = first + (leaf.stripe_slot - 1) * layout.rails + rail - 1
            if vlan > last:
                context.problem(
                    ("fabrics", name, "pools", "vlan"),
                    f"pool too small: VLANs {first}-{last} do not hold the {layout.rails} rails of {leaf.stripe}",
                    f"widen it to at least {first}-{first + _stripes(layout) * layout.rails - 1}",
                )
                context.check()
            subnets = tuple(
                _subnet(addressing, pool, bits, leaf, rail, index)
                for index in ([one.index for one in colors] or [None])
            )
            vlan_name = layout.spec.naming.vlan.format(fabric=name, stripe=leaf.stripe, rail=rail, vlan=vlan)
            result.append(Segment(name, leaf.stripe, rail, leaf.name, vlan, vlan_name, subnets))
    _check_local_prefixes(context, layout, result)
    return tuple(result)


def _check_local_prefixes(context: Context, layout: Layout, found: Sequence[Segment]) -> None:
    """A leaf originates what is in its local prefixes only, so they must hold the prefixes of its servers."""
    local = [ipaddress.ip_network(prefix) for prefix in layout.spec.addressing.local_prefixes]
    pool = layout.spec.addressing.server_pool
    if not local or any(_inside(ipaddress.ip_network(pool), prefix) for prefix in local):
        return
    for segment in found:
        for subnet in segment.subnets:
            if not any(_inside(ipaddress.ip_network(subnet.prefix), prefix) for prefix in local):
                context.problem(
                    ("fabrics", layout.name, "addressing", "local_prefixes"),
                    f"local_prefixes do not contain {subnet.prefix}, so {segment.leaf} would not originate it",
                    f"add the server pool {pool}",
                )
                context.check()


def _inside(
    inner: ipaddress.IPv4Network | ipaddress.IPv6Network, outer: ipaddress.IPv4Network | ipaddress.IPv6Network
) -> bool:
    return inner.version == outer.version and inner.prefixlen >= outer.prefixlen and inner.network_address in outer


def _stripes(layout: Layout) -> int:
    """The highest number of a stripe."""
    return max(leaf.stripe_slot for leaf in layout.leaves)


def _default_bits(free: int) -> FieldBits:
    from railweave.spec.addressing import FieldBits

    if free >= 48:
        return FieldBits(stripe=free - 32, rail=16, color=16)
    if free >= 24:
        return FieldBits(stripe=free - 16, rail=8, color=8)
    color = 4 if free >= 12 else 0
    return FieldBits(stripe=max(0, (free - color) // 2), rail=max(0, free - color - (free - color) // 2), color=color)


def _check_bits(context: Context, layout: Layout, bits: FieldBits, free: int, colors: int) -> None:
    at = ("fabrics", layout.name, "addressing")
    pool = layout.spec.addressing.server_pool
    if bits.stripe + bits.rail + bits.color != free:
        context.problem(
            (*at, "bits"),
            f"bits {bits.stripe} + {bits.rail} + {bits.color} do not fill the {free} between {pool} and /{layout.spec.addressing.prefix_length}",
            "make them add up",
        )
        return
    needs = (
        ("stripes", _stripes(layout), bits.stripe),
        ("rails", layout.rails, bits.rail),
        ("path colors", colors, bits.color),
    )
    for label, most, width in needs:
        if most >= 1 << width and not (width == 0 and most <= 1):
            context.problem(
                (*at, "server_pool"),
                f"pool too small: {pool} leaves {width} bits for {label}, and the highest is number {most}",
                "use a shorter pool, or deal the bits with `bits:`",
            )


def _subnet(
    addressing: Addressing,
    pool: ipaddress.IPv4Network | ipaddress.IPv6Network,
    bits: FieldBits,
    leaf: Leaf,
    rail: int,
    color: int | None,
) -> Subnet:
    field = leaf.stripe_slot if bits.stripe else 0
    field = field << bits.rail | (rail if bits.rail else 0)
    field = field << bits.color | ((color or 1) if bits.color else 0)
    base = int(pool.network_address) | field << (pool.max_prefixlen - addressing.prefix_length)
    address = ipaddress.IPv6Address if pool.version == 6 else ipaddress.IPv4Address
    return Subnet(f"{address(base)}/{addressing.prefix_length}", str(address(base + addressing.gateway_host)), color)


def nics(
    context: Context, layout: Layout, cables: Sequence[Cable], found: Sequence[Segment], colors: Sequence[Color]
) -> dict[str, list[Nic]]:
    """The NICs of every server on a fabric, with their addresses, by server."""
    segment_of = {(segment.stripe, segment.rail): segment for segment in found}
    ends = {(cable.a.device, cable.a.port): cable.b for cable in cables if cable.kind == "server"}
    result: dict[str, list[Nic]] = {}
    for server in layout.servers:
        made: list[Nic] = []
        unknown: list[str] = []
        for rail, name in enumerate(server.nics.names, 1):
            item = context.source.inventory.get(server.name, name)
            mac = item.mac or placeholder_mac(server.name, name)
            unknown += [] if item.mac else [name]
            segment, end = segment_of[server.stripe, rail], ends[server.name, name]
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
                    speed_gbps=layout.nic_speed_gbps,
                    addresses=_addresses(context, layout, f"{server.name}:{name}", server.slot, mac, segment, colors),
                )
            )
        if unknown:
            context.finding(
                "mac-placeholder",
                "info",
                server.name,
                (),
                f"MAC addresses of {len(unknown)} NICs are placeholders: {', '.join(unknown)}",
                "SLAAC addresses follow from MAC addresses, so these will change",
                f"fill {context.source.path.stem}.inventory.csv",
            )
        result[server.name] = made
    return result


def _addresses(
    context: Context, layout: Layout, nic: str, slot: int, mac: str, segment: Segment, colors: Sequence[Color]
) -> tuple[NicAddress, ...]:
    addressing = layout.spec.addressing
    override = context.source.spec.overrides.nics.get(nic)
    fixed = override.addresses if override else {}
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
        given = fixed.get(label)
        length = addressing.prefix_length
        if given is not None:
            inside = ipaddress.ip_network(subnet.prefix)
            if ipaddress.ip_address(given) not in inside or given == subnet.gateway:
                what = "is the leaf's own address" if given == subnet.gateway else f"is not in {subnet.prefix}"
                context.problem(
                    ("overrides", "nics", nic, "addresses", label),
                    f"address {given} {what}",
                    "choose one inside the prefix",
                )
            result.append(NicAddress(given, length, subnet.color, "override"))
        elif addressing.server_mode == "slaac":
            result.append(NicAddress(eui64(subnet.prefix, mac), length, subnet.color, "slaac"))
        else:
            network = ipaddress.ip_network(subnet.prefix)
            host = addressing.gateway_host + slot
            if host >= network.num_addresses - (1 if network.version == 4 else 0):
                context.problem(
                    ("fabrics", layout.name, "addressing", "prefix_length"),
                    f"pool too small: {subnet.prefix} has no address for server number {slot}",
                    "use shorter prefixes",
                )
            result.append(NicAddress(str(network.network_address + host), length, subnet.color, "static"))
    return tuple(result)


def check_addresses(context: Context, servers: Sequence[Server]) -> None:
    """Note every address that two NICs have. Only an override can bring that about, for the rest is counted or from MACs."""
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
                        "give each its own",
                    )
    context.check()
