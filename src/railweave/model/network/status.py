"""The part of a network that is there: without what the fabric file's ``status:`` says is planned, drained or failed.

All of it is designed and rendered; routes, and everything that works by them, go without what is absent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.counting import counted

if TYPE_CHECKING:
    from railweave.model.network.model import Network

SHOWN = 3
"""Names of a kind that a sentence lists before it only counts."""


def present(network: Network) -> Network:
    """The network without what is absent: its switches, servers, NICs and cables. The same value where all is there.

    A NIC goes with its cable or its leaf, and a server with the last of its NICs. Names, numbers and addresses stay.
    """
    gone = network.absent
    if not gone:
        return network
    cables = tuple(cable for cable in network.cables if cable.name not in gone)
    cabled = {(cable.a.device, cable.a.port) for cable in cables if cable.kind == "server"}
    servers = tuple(
        replace(server, nics=tuple(nic for nic in server.nics if (server.name, nic.name) in cabled))
        for server in network.servers
        if server.name not in gone
    )
    return replace(
        network,
        switches=tuple(switch for switch in network.switches if switch.name not in gone),
        segments=tuple(
            segment
            for segment in network.segments
            if segment.leaf not in gone
            and (not segment.nic or segment.edge or tuple(segment.nic.split(":", 1)) in cabled)
        ),
        servers=tuple(server for server in servers if server.nics),
        cables=cables,
        not_active=tuple(
            inactive for inactive in network.not_active if inactive.status == "draining" and inactive.name not in gone
        ),
    )


def reachable(network: Network) -> Network:
    """Return the network with drained devices as ``draining``: they are present and asked, with the routing of a drain.

    An operator who changes the network needs this view. If nothing is drained, the same value is returned.
    """
    if not network.drained:
        return network
    return replace(
        network,
        not_active=tuple(
            replace(inactive, status="draining") if inactive.status == "drained" else inactive
            for inactive in network.not_active
        ),
    )


def lost_nics(network: Network) -> dict[str, list[str]]:
    """The NICs that are absent, of servers that are there, by server: their cable or their leaf is."""
    there = {server.name: {nic.name for nic in server.nics} for server in present(network).servers}
    return {
        server.name: lost
        for server in network.servers
        if server.name in there and (lost := [nic.name for nic in server.nics if nic.name not in there[server.name]])
    }


def absent_words(network: Network) -> str:
    """Return the devices treated as absent, such as ``16 servers planned (H100-17, …), 1 switch failed (spine4)``; empty if none."""
    switches = {switch.name for switch in network.switches}
    servers = {server.name for server in network.servers}
    kinds: dict[tuple[str, str], list[str]] = {}
    for inactive in network.not_active:
        kind = "switch" if inactive.name in switches else "server" if inactive.name in servers else "link"
        kinds.setdefault((kind, inactive.status), []).append(inactive.name)
    return ", ".join(
        f"{counted(len(names), kind, 'switches' if kind == 'switch' else '')} {status} "
        f"({', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''})"
        for (kind, status), names in kinds.items()
    )


def absent_sentence(network: Network) -> str:
    """The same as a sentence for people; empty where all is there."""
    words = absent_words(network)
    return f"treated as absent, by `status:` of the fabric file: {words}" if words else ""
