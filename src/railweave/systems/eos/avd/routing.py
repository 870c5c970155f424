"""AVD's data for routing: VRFs, policies, IS-IS, BGP and the overlay."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from railweave.systems.eos import names
from railweave.systems.eos.avd.ports import router_isis, spanning_tree, tunnel_source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Family
    from railweave.model.device import model
    from railweave.model.device.timers import Bfd


def community_kind(value: str) -> str:
    """Return EOS's word for the kind of a community: ``large-community`` if it has three numbers (RFC 8092), else ``community``."""
    return "large-community" if len(value.split(":")) == 3 else "community"


def lists(bgp: model.Bgp) -> dict[str, Any]:
    """Return AVD's keys for the prefix lists of each address family, and for the peer filters. A kind without any list has no key."""
    keys = {
        "prefix_lists": _prefix_lists(bgp, six=False),
        "ipv6_prefix_lists": _prefix_lists(bgp, six=True),
        "peer_filters": _peer_filters(bgp),
    }
    return {key: value for key, value in keys.items() if value}


def route_maps(bgp: model.Bgp) -> list[dict[str, Any]]:
    """Return AVD's data for each route map. The sequence numbers of a route map's terms are multiples of ten."""
    values = {community.name: community.value for community in bgp.communities}
    maps: list[dict[str, Any]] = []
    for policy in bgp.policies:
        terms: list[dict[str, Any]] = []
        for term in policy.terms:
            entry: dict[str, Any] = {"sequence": 10 + 10 * len(terms)}
            entry |= {"type": "permit" if term.action.accept else "deny", "description": term.name}
            entry |= _asked(term.match, bgp.family_of(term.match), values) | _done(term.action, values)
            terms.append(entry)
        maps.append({"name": policy.name, "sequence_numbers": terms})
    return maps


def matched_communities(bgp: model.Bgp) -> dict[str, str]:
    """Return the communities that route maps match: the value of each community by its name."""
    asked = {term.match.community for policy in bgp.policies for term in policy.terms}
    values = {community.name: community.value for community in bgp.communities if community.name in asked}
    return dict(sorted(values.items()))


def _prefix_lists(bgp: model.Bgp, *, six: bool) -> list[dict[str, Any]]:
    longer = {term.match.prefix_list: term.match.orlonger for policy in bgp.policies for term in policy.terms}
    entries: list[dict[str, Any]] = []
    for name, prefixes in sorted(bgp.prefix_lists.items()):
        of_family = [prefix for prefix in prefixes if (prefix.family == "ipv6") is six]
        if name not in longer or not of_family:
            continue
        upto = f" le {128 if six else 32}" if longer[name] else ""
        numbered = [
            {"sequence": at, "action": f"permit {prefix}{upto}"}
            for at, prefix in zip(count(5, 5), of_family, strict=False)
        ]
        entries.append({"name": name, "sequence_numbers": numbered})
    return entries


def _peer_filters(bgp: model.Bgp) -> list[dict[str, Any]]:
    """Return AVD's data for peer filters, which list the AS numbers that dynamically discovered neighbors may have."""
    filters: list[dict[str, Any]] = []
    for name, ranges in bgp.as_lists.items():
        numbers = [str(low) if low == high else f"{low}-{high}" for low, high in ranges]
        numbered = [
            {"sequence": at, "match": f"as-range {as_range} result accept"}
            for at, as_range in zip(count(10, 10), numbers, strict=False)
        ]
        filters.append({"name": name, "sequence_numbers": numbered})
    return filters


def _asked(match: model.Match, family: Family, values: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the conditions of a route map's term, under AVD's key ``match``.

    ``family`` is the address family of its prefix list, and ``values`` has the value of each community by name.
    """
    matches: list[str] = []
    if match.prefix_list:
        matches.append(f"{'ipv6' if family == 'ipv6' else 'ip'} address prefix-list {match.prefix_list}")
    if match.community:
        matches.append(f"{community_kind(values.get(match.community, ''))} {match.community}")
    return {"match": matches} if matches else {}


def _done(action: model.Action, values: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the actions of a route map's term, under AVD's key ``set``. ``values`` has the value of each community by name."""
    actions: list[str] = []
    if action.local_preference is not None:
        actions.append(f"local-preference {action.local_preference}")
    added = [values[name] for name in action.add_communities if name in values]
    if added:
        actions.append(
            " ".join([community_kind(added[0]), *added, *([] if action.replace_communities else ["additive"])])
        )
    if action.prepend:
        actions.append(f"as-path prepend {' '.join(map(str, action.prepend))}")
    return {"set": actions} if actions else {}


def external_lists(config: model.DeviceConfig) -> dict[str, list[dict[str, Any]]]:
    """Return the prefix lists and route maps for external routers: lists of AVD's data, by AVD's keys. A key may have an empty list."""
    keys: dict[str, list[dict[str, Any]]] = {"prefix_lists": [], "ipv6_prefix_lists": [], "route_maps": []}
    for vrf in config.vrfs:
        routers = {external.router: external for external in vrf.external}
        for router, peer in routers.items():
            six = _family(peer) == "ipv6"
            received = [f"permit {prefix}" for prefix in peer.accept]
            sent = [f"permit {prefix} le {128 if six else 32}" for prefix in peer.advertise]
            for direction, actions in (("from", received), ("to", sent)):
                name = names.external_policy(direction, vrf.name, router)
                numbers = [{"sequence": at, "action": action} for at, action in zip(count(5, 5), actions, strict=False)]
                keys["ipv6_prefix_lists" if six else "prefix_lists"].append({"name": name, "sequence_numbers": numbers})
                match = [f"{'ipv6' if six else 'ip'} address prefix-list {name}"]
                term = {"sequence": 10, "type": "permit", "match": match}
                keys["route_maps"].append({"name": name, "sequence_numbers": [term]})
    return keys


def external_sessions(vrf: model.Vrf) -> dict[str, Any]:
    """Return AVD's keys for a VRF's external neighbors and for their address families."""
    if not vrf.external:
        return {}
    keys: dict[str, Any] = {
        "neighbors": [
            {
                "ip_address": external.session.peer_address,
                "remote_as": str(external.session.peer_as),
                "description": f"external router {external.router}",
                "route_map_in": names.external_policy("from", vrf.name, external.router),
                "route_map_out": names.external_policy("to", vrf.name, external.router),
                "maximum_routes": 0,
            }
            for external in vrf.external
        ]
    }
    for family in ("ipv4", "ipv6"):
        active = [
            {"ip_address": external.session.peer_address, "activate": True}
            for external in vrf.external
            if _family(external) == family
        ]
        keys |= {f"address_family_{family}": {"neighbors": active}} if active else {}
    return keys


def _family(peer: model.ExternalPeer) -> str:
    """Return the address family of the link to an external router."""
    return peer.session.local_address.family


def bfd(timers: Bfd | None) -> dict[str, Any]:
    """Return AVD's keys for BFD on a peer group; empty if ``timers`` is None."""
    if timers is None:
        return {}
    every = timers.minimum_interval
    return {"bfd": True, "bfd_timers": {"interval": every, "min_rx": every, "multiplier": timers.multiplier}}


AO_ALGORITHMS = {"ao-aes-128-cmac": "aes-128-cmac-96", "ao-hmac-sha-1": "hmac-sha1-96"}


def key_of(bgp: model.Bgp) -> dict[str, Any]:
    """Return AVD's key with which a peer group refers to its profile of TCP-AO keys; empty if there is no such profile."""
    wanted = bgp.authentication
    if wanted is None or wanted.algorithm not in AO_ALGORITHMS:
        return {}
    return {"shared_secret": {"profile": names.KEY_PROFILE, "hash_algorithm": AO_ALGORITHMS[wanted.algorithm]}}


def clear_keys(bgp: model.Bgp, groups: list[str]) -> dict[str, Any]:
    """Return the TCP MD5 keys of peer groups as configuration lines, under AVD's key ``eos_cli``; empty if TCP MD5 is not used.

    The schema accepts only keys that EOS has encrypted. ``groups`` are the names of the peer groups.
    """
    wanted = bgp.authentication
    if wanted is None or wanted.algorithm in AO_ALGORITHMS:
        return {}
    return {"eos_cli": "\n".join(f"neighbor {group} password 0 {names.secret(wanted.key)}" for group in groups)}


def key_profiles(config: model.DeviceConfig) -> list[dict[str, Any]]:
    """Return AVD's data for the profiles of shared secrets, which hold the TCP-AO keys."""
    wanted = config.bgp.authentication if config.bgp else None
    if wanted is None or wanted.algorithm not in AO_ALGORITHMS:
        return []
    for_ever = {"infinite": True}
    key = {
        "name": str(wanted.key_id),
        "secret": names.secret(wanted.key),
        "secret_type": "0",
        "receive_lifetime": for_ever,
        "transmit_lifetime": for_ever,
    }
    return [{"profile": names.KEY_PROFILE, "secrets": [key]}]


def neighbor(session: model.Session, group: str) -> dict[str, Any]:
    """Return AVD's data for the neighbor of ``session``, which is configured by its address. ``group`` is its peer group."""
    policies = {"route_map_in": session.import_policy, "route_map_out": session.export_policy}
    return {
        "ip_address": session.peer_address,
        "peer_group": group,
        "remote_as": str(session.peer_as),
        "description": session.peer,
        **{name: policy for name, policy in policies.items() if policy},
    }


VXLAN_PORT = 4789
"""The UDP port of VXLAN (RFC 7348)."""

BRIDGED_RD = 60000
"""The number that is added to a VLAN number in the route distinguisher of a VLAN.

Tenants count from 1, so without it a VLAN and a tenant could have the same route distinguisher.
"""


def overlay_group(overlay: model.OverlayConfig) -> dict[str, Any]:
    """Return AVD's data for the peer group of EVPN sessions. Two hops are allowed, because a session runs between loopbacks."""
    group: dict[str, Any] = {
        "name": names.OVERLAY_GROUP,
        "description": "EVPN, loopback to loopback",
        "update_source": names.ROUTER_LOOPBACK,
        "ebgp_multihop": 2,
        "send_community": "all",
        "maximum_routes": 0,
        **bfd(overlay.bfd),
    }
    return {**group, "next_hop_unchanged": True} if overlay.reflects else group


def overlay_map(overlay: model.OverlayConfig) -> dict[str, Any]:
    """Return AVD's data for the route map of routes that are sent to overlay neighbors.

    The spines' map adds a community to routes. The leaves' map rejects routes that have this community.
    """
    kind = community_kind(overlay.from_spine)
    if overlay.reflects:
        mark = [f"{kind} {overlay.from_spine} additive"]
        terms = [{"sequence": 10, "type": "permit", "description": "forward", "set": mark}]
    else:
        returned = {"sequence": 10, "type": "deny", "description": "returned", "match": [f"{kind} {names.FROM_SPINE}"]}
        terms = [returned, {"sequence": 20, "type": "permit", "description": "own"}]
    return {"name": names.TO_NEIGHBORS, "sequence_numbers": terms}


def vrf_families(vrf: model.Vrf) -> list[str]:
    """Return the address families of a tenant's prefixes and external routers, in AVD's words: ``ip`` for IPv4, and ``ipv6``."""
    known = [*vrf.prefixes, *vrf.loopbacks, *(external.session.local_address for external in vrf.external)]
    return sorted({"ipv6" if prefix.family == "ipv6" else "ip" for prefix in known})


def vrf_instances(config: model.DeviceConfig, overlay: model.OverlayConfig, bgp: model.Bgp) -> list[dict[str, Any]]:
    """Return AVD's data for the VRFs of tenants under ``router bgp``."""
    width = len(overlay.neighbors) or 1
    return [
        {
            "name": vrf.name,
            "rd": vrf.route_distinguisher,
            "route_targets": {
                word: [{"address_family": "evpn", "route_targets": [_target(target) for target in targets]}]
                for word, targets in (("import", vrf.import_targets), ("export", vrf.export_targets))
            },
            "router_id": bgp.router_id,
            "maximum_paths": {"paths": width, "ecmp": width},
            "redistribute": {"connected": {"enabled": True}},
            **external_sessions(vrf),
        }
        for vrf in config.vrfs
    ]


def vlan_instances(config: model.DeviceConfig) -> list[dict[str, Any]]:
    """Return AVD's data for the VLANs that EVPN extends, under ``router bgp``."""
    if config.mac_vrf is None:
        return []
    address = config.mac_vrf.route_distinguisher.rsplit(":", 1)[0]
    return [
        {
            "id": vlan.vlan,
            "rd": f"{address}:{BRIDGED_RD + vlan.vlan}",
            "route_targets": {"both": [_target(vlan.route_target)]},
            "redistribute_routes": ["learned"],
        }
        for vlan in config.mac_vrf.vlans
    ]


def tunnels(config: model.DeviceConfig, overlay: model.OverlayConfig) -> dict[str, Any]:
    """Return AVD's key for ``interface Vxlan1``; empty if the switch has no tunnels."""
    source = tunnel_source(config)
    if source is None:
        return {}
    vxlan: dict[str, Any] = {
        "source_interface": source,
        "udp_port": VXLAN_PORT,
        "vrfs": [{"name": vrf.name, "vni": vrf.vni} for vrf in config.vrfs],
        "qos": {"ecn_propagation": True, **({"dscp_propagation_encapsulation": True} if overlay.tunnel_dscp else {})},
    }
    bridged: tuple[model.BridgedVlan, ...] = config.mac_vrf.vlans if config.mac_vrf else ()
    vxlan |= {"vlans": [{"id": vlan.vlan, "vni": vlan.vni} for vlan in bridged]} if bridged else {}
    vxlan |= {"encapsulations": {"ipv6": True}} if overlay.endpoints[0].address.family == "ipv6" else {}
    return {"vxlan_interface": {"vxlan1": {"vxlan": vxlan}}}


def _target(value: str) -> str:
    """Return a route target without its prefix ``target:``, as EOS writes it: ``A:B``."""
    return value.rpartition("target:")[2]


def routing(config: model.DeviceConfig) -> dict[str, Any]:
    """Return AVD's keys for VRFs, policies, IS-IS, BGP and the overlay of a device."""
    settings: dict[str, Any] = {
        "service_routing_protocols_model": "multi-agent",
        "spanning_tree": spanning_tree(config),
        "ip_routing": True,
        "ip_routing_ipv6_interfaces": True,
        "ipv6_unicast_routing": True,
        "vrfs": [
            {"name": names.MANAGEMENT_VRF, "ip_routing": False},
            *({"name": vrf.name, **{f"{family}_routing": True for family in vrf_families(vrf)}} for vrf in config.vrfs),
        ],
        **router_isis(config),
    }
    bgp = config.bgp
    communities: dict[str, str] = {}
    maps: list[dict[str, Any]] = []
    if bgp is not None:
        communities |= matched_communities(bgp)
        maps += route_maps(bgp)
        settings |= lists(bgp)
        settings["router_bgp"] = _router_bgp(config, bgp)
    if config.overlay is not None:
        maps.append(overlay_map(config.overlay))
        communities |= {} if config.overlay.reflects else {names.FROM_SPINE: config.overlay.from_spine}
        settings |= tunnels(config, config.overlay)
    shared = [gateway.mac for gateway in config.gateways if gateway.mac]
    settings |= {"ip_virtual_router_mac_address": shared[0]} if shared else {}
    for key, more in external_lists(config).items():
        listed = maps if key == "route_maps" else settings.get(key, [])
        settings |= {key: listed + more} if listed or more else {}
    return {**settings, **_community_lists(communities)}


def _community_lists(communities: dict[str, str]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for name, value in communities.items():
        large = community_kind(value) == "large-community"
        listed = {"action": "permit", "large_communities" if large else "communities": [value]}
        entries = keys.setdefault("ip_large_community_lists" if large else "ip_community_lists", [])
        entries.append({"name": name, "entries": [listed]})
    return keys


def _router_bgp(config: model.DeviceConfig, bgp: model.Bgp) -> dict[str, Any]:
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
    router: dict[str, Any] = {
        "as": str(bgp.asn),
        "router_id": bgp.router_id,
        "bgp": {"default": {"ipv4_unicast": False}},
        "maximum_paths": {"paths": bgp.maximum_ecmp, "ecmp": bgp.maximum_ecmp},
    }
    if bgp.graceful_restart:
        router["graceful_restart"] = {"enabled": True}
    if bgp.redistribute_connected:
        router["redistribute"] = {"connected": {"enabled": True, "route_map": bgp.redistribute_connected}}
    for family in bgp.families:
        router[f"address_family_{family}"] = {"peer_groups": [_active(group, family) for group in bgp.groups]}
    if config.overlay is not None:
        groups.append({**overlay_group(config.overlay), **key_of(bgp)})
        neighbors += [neighbor(session, names.OVERLAY_GROUP) for session in config.overlay.neighbors]
        evpn = {"name": names.OVERLAY_GROUP, "activate": True, "route_map_out": names.TO_NEIGHBORS}
        router["address_family_evpn"] = {"peer_groups": [evpn]}
        if config.vrfs:
            router["vrfs"] = vrf_instances(config, config.overlay, bgp)
        if vlans := vlan_instances(config):
            router["vlans"] = vlans
    router["peer_groups"] = groups
    router |= clear_keys(bgp, [group["name"] for group in groups])
    router |= {"neighbors": neighbors} if neighbors else {}
    return router | ({"neighbor_interfaces": discovered} if discovered else {})


def _active(group: model.BgpGroup, family: str) -> dict[str, Any]:
    """Return AVD's keys that activate a peer group in an address family.

    If no session of the group has an IPv4 address, IPv4 routes get IPv6 next hops (RFC 8950).
    """
    keys: dict[str, Any] = {"name": group.name, "activate": True}
    numbered = any(session.peer_address and session.peer_address.family == "ipv4" for session in group.sessions)
    if family == "ipv4" and not numbered:
        keys["next_hop"] = {"address_family_ipv6": {"enabled": True, "originate": True}}
    return keys
