"""Tenants: VRFs with a VNI each, VLANs with theirs, and the tunnel between leaves that routes of both lead into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.sonic.render.names import transit_vlan, vrf_names

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.sonic.tables import Row, Tables

TUNNEL, NVO = "vtep", "nvo"


def overlay(config: DeviceConfig) -> Tables:
    """``VRF``, ``VXLAN_TUNNEL`` and its map, ``VXLAN_EVPN_NVO``, the VLAN of each VRF's VNI, and VNIs of VLANs."""
    found = config.overlay
    if found is None or not config.vrfs or not found.endpoints:
        return {}
    names = vrf_names(config)
    numbers = {vrf.name: transit_vlan(config, vrf.name) for vrf in config.vrfs}
    tables: Tables = {
        "VRF": {names[vrf.name]: {"vni": str(vrf.vni)} for vrf in config.vrfs},
        "VXLAN_TUNNEL": {TUNNEL: {"src_ip": found.endpoints[0].address}},
        "VXLAN_EVPN_NVO": {NVO: {"source_vtep": TUNNEL}},
        "VXLAN_TUNNEL_MAP": {},
        "VLAN": {},
        "VLAN_INTERFACE": {},
    }
    for vrf in config.vrfs:
        name = f"Vlan{numbers[vrf.name]}"
        mapped: Row = {"vlan": name, "vni": str(vrf.vni)}
        tables["VXLAN_TUNNEL_MAP"][f"{TUNNEL}|map_{vrf.vni}_{name}"] = mapped
        tables["VLAN"][name] = {"vlanid": str(numbers[vrf.name]), "description": f"VNI of {vrf.name}"}
        tables["VLAN_INTERFACE"][name] = {"vrf_name": names[vrf.name]}
    for one in config.mac_vrf.vlans if config.mac_vrf else ():
        name = f"Vlan{one.vlan}"
        tables["VXLAN_TUNNEL_MAP"][f"{TUNNEL}|map_{one.vni}_{name}"] = {"vlan": name, "vni": str(one.vni)}
    return tables
