"""AVD: routers outside the fabric."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from railweave.systems.eos.names import external_policy

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig, ExternalPeer, Vrf


def external_lists(config: DeviceConfig) -> dict[str, list[dict[str, Any]]]:
    """Prefix lists by address family, and route maps, of external routers; keys as in AVD, empty lists too."""
    found: dict[str, list[dict[str, Any]]] = {"prefix_lists": [], "ipv6_prefix_lists": [], "route_maps": []}
    for vrf in config.vrfs:
        routers = {one.router: one for one in vrf.external}
        for router, peer in routers.items():
            six = _family(peer) == "ipv6"
            received = [f"permit {prefix}" for prefix in peer.accept]
            sent = [f"permit {prefix} le {128 if six else 32}" for prefix in peer.advertise]
            for direction, actions in (("from", received), ("to", sent)):
                name = external_policy(direction, vrf.name, router)
                numbers = [{"sequence": at, "action": action} for at, action in zip(count(5, 5), actions, strict=False)]
                found["ipv6_prefix_lists" if six else "prefix_lists"].append(
                    {"name": name, "sequence_numbers": numbers}
                )
                match = [f"{'ipv6' if six else 'ip'} address prefix-list {name}"]
                term = {"sequence": 10, "type": "permit", "match": match}
                found["route_maps"].append({"name": name, "sequence_numbers": [term]})
    return found


def external_sessions(vrf: Vrf) -> dict[str, Any]:
    """The neighbors of a VRF, and the families that they carry."""
    if not vrf.external:
        return {}
    found: dict[str, Any] = {
        "neighbors": [
            {
                "ip_address": one.session.peer_address,
                "remote_as": str(one.session.peer_as),
                "description": f"external router {one.router}",
                "route_map_in": external_policy("from", vrf.name, one.router),
                "route_map_out": external_policy("to", vrf.name, one.router),
                "maximum_routes": 0,
            }
            for one in vrf.external
        ]
    }
    for family in ("ipv4", "ipv6"):
        active = [
            {"ip_address": one.session.peer_address, "activate": True} for one in vrf.external if _family(one) == family
        ]
        found |= {f"address_family_{family}": {"neighbors": active}} if active else {}
    return found


def _family(peer: ExternalPeer) -> str:
    """The family of the link to the router."""
    return peer.session.local_address.family
