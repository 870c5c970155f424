"""A network without its absent devices and links, which ``status:`` in the fabric file marks planned, drained or failed.

Absent devices and links are designed and rendered too. Routes, and everything computed from routes, ignore them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.network.model import Network


def present(network: Network) -> Network:
    """Return the network without absent switches, servers, NICs and cables. If nothing is absent, return the same object.

    A NIC is removed if its cable or its leaf is absent. A server is also removed if it has no NIC left. Names, numbers and addresses stay
    the same.
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
    """Return the network with the status ``draining`` in place of ``drained``. If nothing is drained, return the same object.

    Devices with the status ``draining`` are present, and their configuration diverts traffic. A change of the running
    network uses the result, because the change also affects drained devices.
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
    """Return the absent NICs of each present server, by server name. A NIC is absent if its cable or its leaf is absent."""
    there = {server.name: {nic.name for nic in server.nics} for server in present(network).servers}
    return {
        server.name: lost
        for server in network.servers
        if server.name in there and (lost := [nic.name for nic in server.nics if nic.name not in there[server.name]])
    }
