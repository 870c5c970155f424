"""AVD: VRFs, policies, BGP, the overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.render.avd.external import external_lists, external_sessions
from railweave.systems.eos.render.avd.isis import router_isis
from railweave.systems.eos.render.bridging import bridged, distinguisher, virtual_mac
from railweave.systems.eos.render.management import VRF
from railweave.systems.eos.render.overlay import (
    FROM_SPINE,
    GROUP,
    HOPS,
    TO_NEIGHBORS,
    community_word,
    families,
    target,
    tunnel_source,
)
from railweave.systems.eos.render.routing import (
    entries,
    matched_communities,
    matches,
    over_link_local,
    peer_filter,
    sets,
    used_lists,
)

if TYPE_CHECKING:
    from railweave.device.model import Bgp, DeviceConfig, OverlayConfig, Session
    from railweave.intent.underlay import Bfd


def routing(config: DeviceConfig) -> dict[str, Any]:
    """Everything that decides where packets go."""
    found: dict[str, Any] = {
        "service_routing_protocols_model": "multi-agent",
        "spanning_tree": {"mode": "none"},
        "ip_routing": True,
        "ip_routing_ipv6_interfaces": True,
        "ipv6_unicast_routing": True,
        "vrfs": [
            {"name": VRF, "ip_routing": False},
            *({"name": vrf.name, **{f"{one}_routing": True for one in families(vrf)}} for vrf in config.vrfs),
        ],
        **router_isis(config),
    }
    bgp = config.bgp
    communities: dict[str, str] = {}
    maps: list[dict[str, Any]] = []
    if bgp is not None:
        communities |= matched_communities(bgp)
        maps += _route_maps(bgp)
        found |= _lists(bgp)
        found["router_bgp"] = _bgp(config, bgp)
    if config.overlay is not None:
        maps.append(_overlay_map(config.overlay))
        communities |= {} if config.overlay.reflects else {FROM_SPINE: config.overlay.from_spine}
        found |= _tunnels(config, config.overlay)
    mac = virtual_mac(config)
    found |= {"ip_virtual_router_mac_address": mac} if mac else {}
    for key, lists in external_lists(config).items():
        own = maps if key == "route_maps" else found.get(key, [])
        found |= {key: own + lists} if own or lists else {}
    return {**found, **_community_lists(communities)}


def _community_lists(communities: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in communities.items():
        large = community_word(value) == "large-community"
        listed = {"action": "permit", "large_communities" if large else "communities": [value]}
        lists = found.setdefault("ip_large_community_lists" if large else "ip_community_lists", [])
        lists.append({"name": name, "entries": [listed]})
    return found


def _lists(bgp: Bgp) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for version, key in ((4, "prefix_lists"), (6, "ipv6_prefix_lists")):
        lists = [
            {"name": name, "sequence_numbers": [{"sequence": number, "action": text} for number, text in numbered]}
            for name, longer in used_lists(bgp)
            if (numbered := entries(bgp, name, version, orlonger=longer))
        ]
        found |= {key: lists} if lists else {}
    if bgp.as_lists:
        found["peer_filters"] = [
            {"name": name, "sequence_numbers": [{"sequence": n, "match": text} for n, text in peer_filter(ranges)]}
            for name, ranges in bgp.as_lists.items()
        ]
    return found


def _route_maps(bgp: Bgp) -> list[dict[str, Any]]:
    return [
        {
            "name": policy.name,
            "sequence_numbers": [
                {
                    "sequence": 10 * place,
                    "type": "permit" if term.action.accept else "deny",
                    "description": term.name,
                    **{key: value for key, value in (("match", matches(bgp, term)), ("set", sets(bgp, term))) if value},
                }
                for place, term in enumerate(policy.terms, 1)
            ],
        }
        for policy in bgp.policies
    ]


def _bgp(config: DeviceConfig, bgp: Bgp) -> dict[str, Any]:
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
                **_bfd(bgp.bfd),
            }
        )
        for session in group.sessions:
            if session.peer_address:
                neighbors.append(_neighbor(session, group.name))
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
    if bgp.redistribute_connected:
        found["redistribute"] = {"connected": {"enabled": True, "route_map": bgp.redistribute_connected}}
    for family in bgp.families:
        active = [
            {
                "name": group.name,
                "activate": True,
                **({"next_hop": _IPV6_NEXT_HOP} if over_link_local(group, family) else {}),
            }
            for group in bgp.groups
        ]
        found[f"address_family_{family}"] = {"peer_groups": active}
    if config.overlay is not None:
        groups.append(_overlay_group(config.overlay))
        neighbors += [_neighbor(one, GROUP) for one in config.overlay.neighbors]
        evpn = {"name": GROUP, "activate": True, "route_map_out": TO_NEIGHBORS}
        found["address_family_evpn"] = {"peer_groups": [evpn]}
        if config.vrfs:
            found["vrfs"] = _vrfs(config, config.overlay, bgp)
        if bridged(config):
            found["vlans"] = _vlans(config)
    found["peer_groups"] = groups
    found |= {"neighbors": neighbors} if neighbors else {}
    return found | ({"neighbor_interfaces": discovered} if discovered else {})


_IPV6_NEXT_HOP = {"address_family_ipv6": {"enabled": True, "originate": True}}


def _bfd(bfd: Bfd | None) -> dict[str, Any]:
    if bfd is None:
        return {}
    every = bfd.minimum_interval
    return {"bfd": True, "bfd_timers": {"interval": every, "min_rx": every, "multiplier": bfd.multiplier}}


def _neighbor(session: Session, group: str) -> dict[str, Any]:
    return {
        "ip_address": session.peer_address,
        "peer_group": group,
        "remote_as": str(session.peer_as),
        "description": session.peer,
    }


def _overlay_group(overlay: OverlayConfig) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": GROUP,
        "description": "EVPN, loopback to loopback",
        "update_source": "Loopback0",
        "ebgp_multihop": HOPS,
        "send_community": "all",
        "maximum_routes": 0,
        **_bfd(overlay.bfd),
    }
    return {**found, "next_hop_unchanged": True} if overlay.reflects else found


def _overlay_map(overlay: OverlayConfig) -> dict[str, Any]:
    word = community_word(overlay.from_spine)
    if overlay.reflects:
        mark = [f"{word} {overlay.from_spine} additive"]
        return {
            "name": TO_NEIGHBORS,
            "sequence_numbers": [{"sequence": 10, "type": "permit", "description": "forward", "set": mark}],
        }
    returned = {"sequence": 10, "type": "deny", "description": "returned", "match": [f"{word} {FROM_SPINE}"]}
    own = {"sequence": 20, "type": "permit", "description": "own"}
    return {"name": TO_NEIGHBORS, "sequence_numbers": [returned, own]}


def _vrfs(config: DeviceConfig, overlay: OverlayConfig, bgp: Bgp) -> list[dict[str, Any]]:
    width = max(1, len(overlay.neighbors))
    return [
        {
            "name": vrf.name,
            "rd": vrf.route_distinguisher,
            "route_targets": {
                word: [{"address_family": "evpn", "route_targets": [target(one) for one in targets]}]
                for word, targets in (("import", vrf.import_targets), ("export", vrf.export_targets))
            },
            "router_id": bgp.router_id,
            "maximum_paths": {"paths": width, "ecmp": width},
            "redistribute": {"connected": {"enabled": True}},
            **external_sessions(vrf),
        }
        for vrf in config.vrfs
    ]


def _vlans(config: DeviceConfig) -> list[dict[str, Any]]:
    return [
        {
            "id": one.vlan,
            "rd": distinguisher(config, one.vlan),
            "route_targets": {"both": [target(one.route_target)]},
            "redistribute_routes": ["learned"],
        }
        for one in bridged(config)
    ]


def _tunnels(config: DeviceConfig, overlay: OverlayConfig) -> dict[str, Any]:
    source = tunnel_source(config)
    if not source:
        return {}
    vxlan: dict[str, Any] = {
        "source_interface": source,
        "udp_port": 4789,
        "vrfs": [{"name": vrf.name, "vni": vrf.vni} for vrf in config.vrfs],
        "qos": {"ecn_propagation": True},
    }
    vxlan |= {"vlans": [{"id": one.vlan, "vni": one.vni} for one in bridged(config)]} if bridged(config) else {}
    vxlan |= {"encapsulations": {"ipv6": True}} if ":" in overlay.endpoints[0].address else {}
    return {"vxlan_interface": {"vxlan1": {"vxlan": vxlan}}}
