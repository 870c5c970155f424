"""Decisions about addresses of servers: their prefixes, the VLANs these are on, and how servers choose among them."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.device.host import host_config
from railweave.outputs.report.decisions.statement import Decision, Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.network.devices import Segment
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network


def addressing_decision(network: Network, fabric: Fabric) -> Decision:
    """Which prefixes and VLANs servers have, and how they come by their addresses."""
    mine = [segment for segment in network.segments if segment.fabric == fabric.name]
    servers = [segment for segment in mine if not segment.edge]
    on_vlans = [one for one in servers if one.vlan is not None]
    routed = [one for one in servers if one.vlan is None]
    facts = _prefixes(fabric, on_vlans, routed)
    if servers:
        facts += _vlans(fabric, on_vlans, routed)
    if fabric.edge_ports:
        ends = ", ".join(f"{one.name} on {one.leaf} {one.port}" for one in fabric.edge_ports[:8])
        more = f" and {len(fabric.edge_ports) - 8} more" if len(fabric.edge_ports) > 8 else ""
        prefixes = counted(sum(len(one.subnets) for one in mine if one.edge), "prefix", "prefixes")
        facts.append(("Edge ports", f"{ends}{more}: routed, with {prefixes} of the fabric file"))
    facts.append(("Allowed prefixes", f"{', '.join(fabric.local_prefixes)}: policies let in nothing else"))
    chosen, why, of_mode = _mode(fabric)
    rows = [row for kind in (on_vlans, routed) for row in _examples(fabric, kind)]
    return Decision(
        "Addressing",
        chosen,
        why,
        tuple(facts + of_mode + _tables(network, fabric)),
        (Grid(("Example", "Path color", "Prefix", "Gateway"), tuple(rows)),) if rows else (),
    )


def _prefixes(fabric: Fabric, on_vlans: Sequence[Segment], routed: Sequence[Segment]) -> list[tuple[str, str]]:
    """How many prefixes there are, and from which pools: of servers on VLANs, and of those on routed ports."""
    if on_vlans and routed:
        return [
            ("Server prefixes on VLANs", _prefixes_of(fabric, on_vlans, "rail, stripe")),
            ("Server prefixes on routed ports", _prefixes_of(fabric, routed, "NIC")),
        ]
    of_nics = bool(routed) or fabric.own_links
    return [("Server prefixes", _prefixes_of(fabric, on_vlans or routed, "NIC" if of_nics else "rail, stripe"))]


def _prefixes_of(fabric: Fabric, segments: Sequence[Segment], each: str) -> str:
    pools = _pools(fabric, segments)
    prefixes = counted(sum(len(one.subnets) for one in segments), "prefix", "prefixes")
    family = ", address family" if len({":" in pool for pool in pools}) > 1 else ""
    return f"{prefixes} from {' and '.join(pools)}, one per {each}{family} and path color"


def _pools(fabric: Fabric, segments: Sequence[Segment]) -> list[str]:
    """The pools that server prefixes are from: those of their tenants or of the fabric, and of ``other_links``."""
    used = (fabric.pools_of(one.tenant) for one in segments if one.subnets and not one.network)
    pools = list(dict.fromkeys(pool for of_tenant in used for pool in of_tenant)) or list(fabric.server_pools)
    if not fabric.other_pools:
        return pools
    gateways = [ipaddress.ip_address(net.gateway) for one in segments for net in one.subnets]
    every = [ipaddress.ip_network(pool) for pool in (*pools, *fabric.other_pools)]
    return [str(pool) for pool in every if any(gateway in pool for gateway in gateways)]


def _vlans(fabric: Fabric, on_vlans: Sequence[Segment], routed: Sequence[Segment]) -> list[tuple[str, str]]:
    """The VLANs of servers: those of their prefixes, and those that only pass with a tag."""
    if not on_vlans:
        return [("VLANs", "none: every NIC is on a routed port of its leaf")]
    first, last = on_vlans[0].vlan, on_vlans[-1].vlan
    native = ", the native one of trunk ports" if fabric.link_of(first) == "trunk" else ""
    words = f"{first} to {last}, one per rail and stripe, local to its leaf{native}"
    if routed:
        words += f"; {counted(len(routed), 'NIC')} on routed ports of leaves without a VLAN"
    facts = [("VLANs", words)]
    if fabric.tagged_vlans:
        numbers = ", ".join(str(one) for one in fabric.tagged_vlans)
        facts.append(
            ("Tagged VLANs", f"{numbers} on the same trunk ports: layer 2 inside each leaf, without a gateway")
        )
    return facts


def _examples(fabric: Fabric, segments: Sequence[Segment]) -> list[tuple[str, ...]]:
    """The prefixes of the first of some segments."""
    return [
        (
            first.nic.replace(":", " ") or f"{first.stripe} rail {first.rail}",
            fabric.color_name(one.color),
            one.prefix,
            one.gateway,
        )
        for first in segments[:1]
        for one in first.subnets[:8]
    ]


def _mode(fabric: Fabric) -> tuple[str, str, list[tuple[str, str]]]:
    """How NICs come by their addresses, why, and what there is to say of it."""
    if fabric.server_mode == "slaac":
        advertised = fabric.router_advertisements
        words = (
            f"every {advertised.min_interval} to {advertised.max_interval} s, "
            f"prefix valid {advertised.prefix_valid_lifetime:,} s, preferred "
            f"{advertised.prefix_preferred_lifetime:,} s, router lifetime {advertised.router_lifetime:,} s"
        )
        return (
            "SLAAC: NICs form their addresses from router advertisements",
            (
                "An address per path color needs no address server: the leaf advertises one prefix per color, "
                "and the NIC's MAC does the rest."
            ),
            [("Router advertisements", words)],
        )
    facts: list[tuple[str, str]] = []
    if fabric.server_link == "proxy-arp":
        subnet = (
            f"every NIC has {fabric.server_pool} as its subnet; leaves answer for what is not on the link (proxy ARP)"
        )
        facts.append(("One subnet", subnet))
    return (
        "static: NIC addresses are numbered by server",
        "Addresses follow from the number that the server was allocated and do not change with the NIC's MAC.",
        facts,
    )


def _tables(network: Network, fabric: Fabric) -> list[tuple[str, str]]:
    """The routing tables by which servers answer from the address that was asked."""
    server = next((one for one in network.servers if any(nic.fabric == fabric.name for nic in one.nics)), None)
    nics = host_config(network, server.name).nics_of(fabric.name) if server else []
    nics = [nic for nic in nics if nic.addresses]  # those that wait for a tenant have none
    if not nics:
        return []
    first, last = nics[0].addresses[0], nics[-1].addresses[-1]
    words = (
        f"a table per address: {first.table} ({first.table_name}) to {last.table} "
        f"({last.table_name}) on every server, chosen by rules on the source"
    )
    return [("Source routing on servers", words)]
