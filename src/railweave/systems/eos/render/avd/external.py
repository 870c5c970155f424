"""AVD: routers outside the fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.render.external import listed, of_family, policy

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig, Vrf


def external_lists(config: DeviceConfig) -> dict[str, list[dict[str, Any]]]:
    """Prefix lists by address family, and route maps, of external routers; keys as in AVD, empty lists too."""
    found: dict[str, list[dict[str, Any]]] = {"prefix_lists": [], "ipv6_prefix_lists": [], "route_maps": []}
    for one in listed(config):
        key = "ipv6_prefix_lists" if one.family == "ipv6" else "prefix_lists"
        numbers = [{"sequence": number, "action": text} for number, text in one.entries]
        found[key].append({"name": one.name, "sequence_numbers": numbers})
        match = [f"{one.family} address prefix-list {one.name}"]
        term = {"sequence": 10, "type": "permit", "match": match}
        found["route_maps"].append({"name": one.name, "sequence_numbers": [term]})
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
                "route_map_in": policy("from", vrf, one),
                "route_map_out": policy("to", vrf, one),
                "maximum_routes": 0,
            }
            for one in vrf.external
        ]
    }
    for family in ("ipv4", "ipv6"):
        active = [{"ip_address": one, "activate": True} for one in of_family(vrf, family)]
        found |= {f"address_family_{family}": {"neighbors": active}} if active else {}
    return found
