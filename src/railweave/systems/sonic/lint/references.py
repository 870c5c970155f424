"""Rows that name rows of other tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.sonic.lint.files import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.sonic.lint.files import Files

FIELDS = {
    ("PORT_QOS_MAP", "dscp_to_tc_map"): "DSCP_TO_TC_MAP",
    ("PORT_QOS_MAP", "tc_to_queue_map"): "TC_TO_QUEUE_MAP",
    ("PORT_QOS_MAP", "tc_to_pg_map"): "TC_TO_PRIORITY_GROUP_MAP",
    ("PORT_QOS_MAP", "pfc_to_queue_map"): "MAP_PFC_PRIORITY_TO_QUEUE",
    ("QUEUE", "scheduler"): "SCHEDULER",
    ("QUEUE", "wred_profile"): "WRED_PROFILE",
    ("BUFFER_PROFILE", "pool"): "BUFFER_POOL",
    ("BUFFER_PG", "profile"): "BUFFER_PROFILE",
    ("BUFFER_QUEUE", "profile"): "BUFFER_PROFILE",
    ("INTERFACE", "vrf_name"): "VRF",
    ("VLAN_INTERFACE", "vrf_name"): "VRF",
    ("VLAN_SUB_INTERFACE", "vrf_name"): "VRF",
    ("PORT", "macsec"): "MACSEC_PROFILE",
    ("VXLAN_EVPN_NVO", "source_vtep"): "VXLAN_TUNNEL",
    ("VXLAN_TUNNEL_MAP", "vlan"): "VLAN",
}
"""Fields that hold the name of a row, and its table."""

KEYS = {
    "PORT_QOS_MAP": "PORT",
    "QUEUE": "PORT",
    "BUFFER_PG": "PORT",
    "BUFFER_QUEUE": "PORT",
    "PFC_WD": "PORT",
    "INTERFACE": "PORT",
    "VLAN_MEMBER": "VLAN",
    "VLAN_INTERFACE": "VLAN",
    "VXLAN_TUNNEL_MAP": "VXLAN_TUNNEL",
    "ACL_RULE": "ACL_TABLE",
}
"""Tables whose rows are called after rows of another."""

_GLOBAL = {"global", "GLOBAL", "CPU"}


@check(
    "sonic-reference",
    "error",
    applies="sonic",
    why="what refers to nothing does nothing; SONiC does not say so",
    fix="define it, or use a name that is defined; names stand bare, not as [TABLE|NAME]",
)
def references(files: Files) -> Iterator[str]:
    """Every name is that of a row (the models' leafrefs, here without libyang)."""
    for (table, field), target in FIELDS.items():
        known = files.names(target)
        for parts, row in files.rows(table):
            value = text(row, field)
            if value and value not in known:
                yield f"{table}|{'|'.join(parts)} {field}: there is no {target}|{value}"
    for table, target in KEYS.items():
        known = files.names(target)
        for parts, _ in files.rows(table):
            if parts[0] not in known and parts[0] not in _GLOBAL:
                yield f"{table}|{'|'.join(parts)}: there is no {target}|{parts[0]}"


@check(
    "sonic-vni",
    "error",
    applies="sonic",
    why="routes of the tenant, or of the VLAN, lead into no tunnel",
    fix="map the VNI to a VLAN in VXLAN_TUNNEL_MAP, and give that VLAN's interface to the VRF",
)
def vnis(files: Files) -> Iterator[str]:
    """A VRF's VNI is mapped to a VLAN whose interface is in the VRF, as FRR's own are (EVPN_VXLAN_HLD of sonic-net/SONiC)."""
    vlans = {text(row, "vni"): text(row, "vlan") for _, row in files.rows("VXLAN_TUNNEL_MAP")}
    evpn = [part for one in files.routing for part in one.body or () if part.line == "address-family l2vpn evpn"]
    for word, _, vni in (one.line.partition(" ") for family in evpn for one in family.body or ()):
        if word == "vni" and vni not in vlans:
            yield f"vni {vni} of frr.conf is mapped to no VLAN"
    for (name, *_), row in files.rows("VRF"):
        vni = text(row, "vni")
        if vni and vni not in vlans:
            yield f"VRF|{name}: no VLAN has VNI {vni}"
        elif vni:
            interface = files.tables.get("VLAN_INTERFACE", {}).get(vlans[vni], {})
            if text(interface, "vrf_name") != name:
                yield f"VRF|{name}: {vlans[vni]} of VNI {vni} is not in the VRF"
