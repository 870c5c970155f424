"""AVD: the EVPN overlay, its VRFs, stretched VLANs and tunnels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.avd.external import external_sessions
from railweave.systems.eos.avd.loopbacks import tunnel_source
from railweave.systems.eos.avd.policies import community_kind
from railweave.systems.eos.avd.sessions import bfd
from railweave.systems.eos.names import FROM_SPINE, OVERLAY_GROUP, ROUTER_LOOPBACK, TO_NEIGHBORS

if TYPE_CHECKING:
    from railweave.model.device.model import Bgp, BridgedVlan, DeviceConfig, OverlayConfig, Vrf

VXLAN_PORT = 4789
"""RFC 7348."""

BRIDGED_RD = 60000
"""What is added to a VLAN in its route distinguisher: tenants' own count from 1."""


def overlay_group(overlay: OverlayConfig) -> dict[str, Any]:
    """The peer group of EVPN sessions; two hops, for loopbacks are one behind the link."""
    found: dict[str, Any] = {
        "name": OVERLAY_GROUP,
        "description": "EVPN, loopback to loopback",
        "update_source": ROUTER_LOOPBACK,
        "ebgp_multihop": 2,
        "send_community": "all",
        "maximum_routes": 0,
        **bfd(overlay.bfd),
    }
    return {**found, "next_hop_unchanged": True} if overlay.reflects else found


def overlay_map(overlay: OverlayConfig) -> dict[str, Any]:
    """The route map of what neighbors are sent."""
    kind = community_kind(overlay.from_spine)
    if overlay.reflects:
        mark = [f"{kind} {overlay.from_spine} additive"]
        terms = [{"sequence": 10, "type": "permit", "description": "forward", "set": mark}]
    else:
        returned = {"sequence": 10, "type": "deny", "description": "returned", "match": [f"{kind} {FROM_SPINE}"]}
        terms = [returned, {"sequence": 20, "type": "permit", "description": "own"}]
    return {"name": TO_NEIGHBORS, "sequence_numbers": terms}


def vrf_families(vrf: Vrf) -> list[str]:
    """The families of a tenant's prefixes and external routers, in AVD's words."""
    known = [*vrf.prefixes, *vrf.loopbacks, *(one.session.local_address for one in vrf.external)]
    return sorted({"ipv6" if one.family == "ipv6" else "ip" for one in known})


def vrf_instances(config: DeviceConfig, overlay: OverlayConfig, bgp: Bgp) -> list[dict[str, Any]]:
    """Tenants in ``router bgp``."""
    width = len(overlay.neighbors) or 1
    return [
        {
            "name": vrf.name,
            "rd": vrf.route_distinguisher,
            "route_targets": {
                word: [{"address_family": "evpn", "route_targets": [_target(one) for one in targets]}]
                for word, targets in (("import", vrf.import_targets), ("export", vrf.export_targets))
            },
            "router_id": bgp.router_id,
            "maximum_paths": {"paths": width, "ecmp": width},
            "redistribute": {"connected": {"enabled": True}},
            **external_sessions(vrf),
        }
        for vrf in config.vrfs
    ]


def vlan_instances(config: DeviceConfig) -> list[dict[str, Any]]:
    """Stretched VLANs in ``router bgp``."""
    if config.mac_vrf is None:
        return []
    address = config.mac_vrf.route_distinguisher.rsplit(":", 1)[0]
    return [
        {
            "id": one.vlan,
            "rd": f"{address}:{BRIDGED_RD + one.vlan}",
            "route_targets": {"both": [_target(one.route_target)]},
            "redistribute_routes": ["learned"],
        }
        for one in config.mac_vrf.vlans
    ]


def tunnels(config: DeviceConfig, overlay: OverlayConfig) -> dict[str, Any]:
    """``interface Vxlan1``; empty on a switch without tunnels."""
    source = tunnel_source(config)
    if source is None:
        return {}
    vxlan: dict[str, Any] = {
        "source_interface": source,
        "udp_port": VXLAN_PORT,
        "vrfs": [{"name": vrf.name, "vni": vrf.vni} for vrf in config.vrfs],
        "qos": {"ecn_propagation": True, **({"dscp_propagation_encapsulation": True} if overlay.tunnel_dscp else {})},
    }
    bridged: tuple[BridgedVlan, ...] = config.mac_vrf.vlans if config.mac_vrf else ()
    vxlan |= {"vlans": [{"id": one.vlan, "vni": one.vni} for one in bridged]} if bridged else {}
    vxlan |= {"encapsulations": {"ipv6": True}} if overlay.endpoints[0].address.family == "ipv6" else {}
    return {"vxlan_interface": {"vxlan1": {"vxlan": vxlan}}}


def _target(value: str) -> str:
    """A route target ``target:A:B`` as EOS has it: ``A:B``."""
    return value.rpartition("target:")[2]
