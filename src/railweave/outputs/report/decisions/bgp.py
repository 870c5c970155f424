"""The decision about routing where BGP runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.outputs.report.decisions.statement import Decision
from railweave.outputs.report.figures import models_of, plural, roles, switches_of

if TYPE_CHECKING:
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network


def bgp_decision(network: Network, fabric: Fabric) -> Decision:
    """BGP: AS numbers, what keeps leaves from transit, how wide next-hop groups are, and how silent neighbors are noticed."""
    underlay, bfd = fabric.underlay, fabric.underlay.bfd
    facts: list[tuple[str, str]] = []
    pools: dict[str, tuple[int, int]] = {"leaf": fabric.leaf_asns, "spine": fabric.spine_asns}
    for role in roles(network, fabric):
        used = [switch.asn for switch in switches_of(network, fabric, role)]
        pool = f", from the pool {pools[role][0]} to {pools[role][1]}" if role in pools else ""
        facts.append((f"AS numbers, {role}", f"{min(used)} to {max(used)}{pool}"))
    if bfd.enabled:
        facts.append(
            (
                "BFD",
                f"{bfd.minimum_interval} ms x {bfd.multiplier}: a silent neighbor is down after {bfd.detection_ms():,} ms",
            )
        )
    else:
        facts.append(("BFD", "off: a silent neighbor is noticed by BGP's hold timer, or by loss of light"))
    facts += _guards(fabric)
    facts.append(("ECMP width", _widths(network, fabric)))
    prefixes = sum(len(one.subnets) for one in network.segments if one.fabric == fabric.name)
    facts.append(
        (
            "Routes",
            f"every switch holds up to {counted(prefixes, 'server prefix', 'server prefixes')}{_limits(network, fabric)}",
        )
    )
    numbered = underlay.peering == "numbered"
    return Decision(
        "Routing",
        "eBGP with an AS number per switch, "
        + ("an address pair per link" if numbered else "neighbors found by IPv6 neighbor discovery"),
        "Each leaf advertises its own prefixes alone (policy term no-transit), and what a spine has sent down carries a "
        "community that no spine takes back, so paths go up and down once: BGP's loop check would let a path "
        "leaf-spine-leaf-spine-leaf pass. An AS number per switch shows in every route which switches it crossed; "
        + (
            "addresses on links can be monitored one by one."
            if numbered
            else "links need no addresses. A cable in the wrong port comes up all the same"
            + (", with the wrong path color" if fabric.colors else "")
            + ": LLDP, and the AS numbers in the runbook's table of sessions, show it."
        ),
        tuple(facts),
    )


def _guards(fabric: Fabric) -> list[tuple[str, str]]:
    """What guards the sessions and keeps routes while one restarts; nothing is said of what is off."""
    underlay = fabric.underlay
    found: list[tuple[str, str]] = []
    if underlay.graceful_restart:
        text = "routes stay in use while a neighbor's BGP restarts, unless BFD says that its forwarding is gone too"
        found.append(("Graceful restart", text))
    if underlay.ttl_security:
        found.append(("Hop limit", "sessions on links take packets with 255 only: nobody further away can forge them"))
    if underlay.authentication:
        name = (
            "TCP MD5" if underlay.authentication.algorithm == "md5" else f"TCP-AO, {underlay.authentication.algorithm}"
        )
        found.append(("Authentication", f"{name}, by a key that is a secret"))
    return found


def _limits(network: Network, fabric: Fabric) -> str:
    """What the catalog knows of the tables that hold them."""
    there = dict.fromkeys(model for role in roles(network, fabric) for model in models_of(network, fabric, role))
    models = {model: catalog().switches.get(model) for model in there}
    known = [f"{name} {one.limits.ipv6_routes:,}" for name, one in models.items() if one and one.limits.ipv6_routes]
    return (
        f"; room for {', '.join(known)}" if known else f"; the catalog has no route table size for {', '.join(models)}"
    )


def _widths(network: Network, fabric: Fabric) -> str:
    """The most members of a next-hop group as configured, role by role: that of the first switch of each."""
    firsts = {role: switches_of(network, fabric, role)[0] for role in roles(network, fabric)}
    widths = {role: device_config(network, one.name).maximum_ecmp() for role, one in firsts.items()}
    given = (
        "maximum_ecmp of the fabric file"
        if fabric.underlay.maximum_ecmp
        else "the least setting that holds the uplinks"
    )
    shown = ", ".join(f"{plural(role)} {width}" for role, width in widths.items())
    return f"next-hop groups of up to so many members: {shown} ({given})"
