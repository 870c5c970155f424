"""AVD: everything that decides where packets go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.avd.access import spanning_tree
from railweave.systems.eos.avd.external import external_lists
from railweave.systems.eos.avd.isis import router_isis
from railweave.systems.eos.avd.overlay import (
    overlay_group,
    overlay_map,
    tunnels,
    vlan_instances,
    vrf_families,
    vrf_instances,
)
from railweave.systems.eos.avd.policies import community_kind, lists, matched_communities, route_maps
from railweave.systems.eos.avd.sessions import bfd, clear_keys, key_of, neighbor
from railweave.systems.eos.names import FROM_SPINE, MANAGEMENT_VRF, OVERLAY_GROUP, TO_NEIGHBORS

if TYPE_CHECKING:
    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig


def routing(config: DeviceConfig) -> dict[str, Any]:
    """VRFs, policies, IS-IS, BGP, the overlay."""
    found: dict[str, Any] = {
        "service_routing_protocols_model": "multi-agent",
        "spanning_tree": spanning_tree(config),
        "ip_routing": True,
        "ip_routing_ipv6_interfaces": True,
        "ipv6_unicast_routing": True,
        "vrfs": [
            {"name": MANAGEMENT_VRF, "ip_routing": False},
            *({"name": vrf.name, **{f"{one}_routing": True for one in vrf_families(vrf)}} for vrf in config.vrfs),
        ],
        **router_isis(config),
    }
    bgp = config.bgp
    communities: dict[str, str] = {}
    maps: list[dict[str, Any]] = []
    if bgp is not None:
        communities |= matched_communities(bgp)
        maps += route_maps(bgp)
        found |= lists(bgp)
        found["router_bgp"] = _router_bgp(config, bgp)
    if config.overlay is not None:
        maps.append(overlay_map(config.overlay))
        communities |= {} if config.overlay.reflects else {FROM_SPINE: config.overlay.from_spine}
        found |= tunnels(config, config.overlay)
    shared = [one.mac for one in config.gateways if one.mac]
    found |= {"ip_virtual_router_mac_address": shared[0]} if shared else {}
    for key, more in external_lists(config).items():
        own = maps if key == "route_maps" else found.get(key, [])
        found |= {key: own + more} if own or more else {}
    return {**found, **_community_lists(communities)}


def _community_lists(communities: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in communities.items():
        large = community_kind(value) == "large-community"
        listed = {"action": "permit", "large_communities" if large else "communities": [value]}
        own = found.setdefault("ip_large_community_lists" if large else "ip_community_lists", [])
        own.append({"name": name, "entries": [listed]})
    return found


def _router_bgp(config: DeviceConfig, bgp: Bgp) -> dict[str, Any]:
    groups: list[dict[str, Any]] = []
    neighbors: list[dict[str, Any]] = []
    discovered: list[dict[str, Any]] = []
    for group in bgp.groups:
        groups.append(
            {
                "name": group.name,
                "description": group.description,
                "route_map_in": group.import_policy,
                "route_map_out": group.export_policy,
                "send_community": "all",
                "maximum_routes": 0,
                **bfd(bgp.bfd),
                **({"ttl_maximum_hops": 1} if bgp.ttl_security else {}),
                **key_of(bgp),
            }
        )
        for session in group.sessions:
            if session.peer_address:
                neighbors.append(neighbor(session, group.name))
            else:
                discovered.append(
                    {"name": session.interface, "peer_group": group.name, "peer_filter": group.peer_as_list}
                )
    found: dict[str, Any] = {
        "as": str(bgp.asn),
        "router_id": bgp.router_id,
        "bgp": {"default": {"ipv4_unicast": False}},
        "maximum_paths": {"paths": bgp.maximum_ecmp, "ecmp": bgp.maximum_ecmp},
    }
    if bgp.graceful_restart:
        found["graceful_restart"] = {"enabled": True}
    if bgp.redistribute_connected:
        found["redistribute"] = {"connected": {"enabled": True, "route_map": bgp.redistribute_connected}}
    for family in bgp.families:
        found[f"address_family_{family}"] = {"peer_groups": [_active(group, family) for group in bgp.groups]}
    if config.overlay is not None:
        groups.append({**overlay_group(config.overlay), **key_of(bgp)})
        neighbors += [neighbor(one, OVERLAY_GROUP) for one in config.overlay.neighbors]
        evpn = {"name": OVERLAY_GROUP, "activate": True, "route_map_out": TO_NEIGHBORS}
        found["address_family_evpn"] = {"peer_groups": [evpn]}
        if config.vrfs:
            found["vrfs"] = vrf_instances(config, config.overlay, bgp)
        if vlans := vlan_instances(config):
            found["vlans"] = vlans
    found["peer_groups"] = groups
    found |= clear_keys(bgp, [one["name"] for one in groups])
    found |= {"neighbors": neighbors} if neighbors else {}
    return found | ({"neighbor_interfaces": discovered} if discovered else {})


def _active(group: BgpGroup, family: str) -> dict[str, Any]:
    """A group in an address family. IPv4 has IPv6 next hops where no session has an IPv4 address (RFC 8950)."""
    found: dict[str, Any] = {"name": group.name, "activate": True}
    numbered = any(one.peer_address and one.peer_address.family == "ipv4" for one in group.sessions)
    if family == "ipv4" and not numbered:
        found["next_hop"] = {"address_family_ipv6": {"enabled": True, "originate": True}}
    return found
