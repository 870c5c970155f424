"""A device's two files as lint rules read them, and rules about buffers, daemons, ports and references between tables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.sonic.daemons import idle_sections, idle_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import Section
    from railweave.systems.sonic.tables import Row, Tables


@dataclass(frozen=True)
class Files:
    """A device's ``config_db.json`` as tables, and its ``frr.conf`` as sections."""

    tables: Tables
    routing: list[Section]

    def rows(self, table: str) -> Iterator[tuple[list[str], Row]]:
        """Yield (parts of the key, fields) for each row of a table. ``Vlan2|Ethernet0``, for example, has two parts."""
        for key, row in self.tables.get(table, {}).items():
            yield key.split("|"), row

    def names(self, table: str) -> set[str]:
        """Return the names of a table's rows: the first part of their keys."""
        return {parts[0] for parts, _ in self.rows(table)}


def text(row: Row, field: str) -> str:
    """Return the value of a field; empty if the field is missing or a list."""
    value = row.get(field, "")
    return value if isinstance(value, str) else ""


def number(value: str) -> int | None:
    """Return the whole number in a text, or None if the text is not a number."""
    return int(value) if value.isascii() and value.lstrip("-").isdecimal() else None


@check(
    "sonic-pool",
    why="the chip rejects the pool, and the switch has no lossless buffers",
    fix="increase `size` of the pool: it includes the headroom, `xoff`",
)
def pools(files: Files) -> Iterator[str]:
    """The size of a buffer pool includes its headroom, so ``xoff`` is at most ``size`` (on public platforms, both together exceed the chip)."""
    for (name, *_), row in files.rows("BUFFER_POOL"):
        size, xoff = number(text(row, "size")), number(text(row, "xoff"))
        if size is not None and xoff is not None and xoff > size:
            yield f"BUFFER_POOL|{name}: xoff {xoff} is over the size {size}"


@check(
    "sonic-threshold",
    why="a profile needs exactly one threshold, of the kind that its pool's mode requires",
    fix="set dynamic_th or static_th, not both",
)
def thresholds(files: Files) -> Iterator[str]:
    """A buffer profile has exactly one threshold."""
    for (name, *_), row in files.rows("BUFFER_PROFILE"):
        given = [kind for kind in ("dynamic_th", "static_th") if text(row, kind)]
        if len(given) != 1:
            yield f"BUFFER_PROFILE|{name}: {' and '.join(given) or 'no threshold'}"


@check(
    "sonic-headroom-twice",
    why="the buffer manager creates priority groups from CABLE_LENGTH, which replace the configured ones",
    fix="remove CABLE_LENGTH, or the lossless rows of BUFFER_PG",
)
def twice(files: Files) -> Iterator[str]:
    """A port gets headroom from ``CABLE_LENGTH`` or from ``BUFFER_PG``, not from both (buffermgr of sonic-swss)."""
    lengths = {port for _, row in files.rows("CABLE_LENGTH") for port in row if text(row, port) not in {"", "0m"}}
    for parts, row in files.rows("BUFFER_PG"):
        if parts[0] in lengths and "lossless" in text(row, "profile"):
            yield f"BUFFER_PG|{'|'.join(parts)}: {parts[0]} has a cable length too"


@check(
    "sonic-no-daemon",
    why="vtysh accepts such lines without an error, but no daemon carries them out",
    fix="set frr_mgmt_framework_config to true, so that SONiC starts bfdd, ospfd, pimd and pathd; SONiC starts no "
    "other daemons",
)
def daemons(files: Files) -> Iterator[str]:
    """SONiC starts the daemon that every section of frr.conf needs (sonic-buildimage, dockers/docker-fpm-frr/frr/supervisord).

    A separate rule covers IS-IS.
    """
    for line, daemon in idle_sections(files.tables, files.routing):
        if daemon != "isisd":
            yield f"`{line}` of frr.conf: SONiC starts no {daemon} with these tables"


@check(
    "sonic-no-container",
    why="rows that no container reads have no effect, and SONiC reports no error",
    fix="enable the container in FEATURE, on an image that has it, or remove the rows",
)
def containers(files: Files) -> Iterator[str]:
    """The container that reads a table is enabled if the table has rows (sonic-buildimage, files/build_templates/init_cfg.json.j2)."""
    for table, feature in idle_tables(files.tables):
        yield f"{table}: {feature} is not enabled in FEATURE"


@check(
    "sonic-lanes",
    why="orchagent creates ports from lanes; if two ports share a lane, or a port has none, a port is missing",
    fix="give each port its own lanes, as in the platform's port_config.ini",
)
def lanes(files: Files) -> Iterator[str]:
    """The lanes of a port are numbers, and no lane is in two ports (sonic-port.yang allows any text)."""
    owners: dict[int, str] = {}
    for (name, *_), row in files.rows("PORT"):
        for word in text(row, "lanes").split(","):
            lane = number(word.strip())
            if lane is None:
                yield f"PORT|{name}: {word!r} is no lane"
            elif owners.setdefault(lane, name) != name:
                yield f"PORT|{name}: lane {lane} is also {owners[lane]}'s"


@check(
    "sonic-breakout",
    why="dynamic port breakout takes the ports from BREAKOUT_CFG, and would change the wrong ports",
    fix="set the number and speed of the ports of each parent as its breakout mode says",
)
def breakout(files: Files) -> Iterator[str]:
    """The breakout mode of a port matches the number and the speed of its ports with the same ``index`` (sonic-breakout_cfg.yang allows any text)."""
    by_index: dict[str, list[tuple[str, str]]] = {}
    index_of: dict[str, str] = {}
    for (name, *_), row in files.rows("PORT"):
        by_index.setdefault(text(row, "index"), []).append((name, text(row, "speed")))
        index_of[name] = text(row, "index")
    for (name, *_), row in files.rows("BREAKOUT_CFG"):
        mode = re.fullmatch(r"(\d+)x(\d+)G(?:\[[^\]]*\])?(?:\(\d+\))?", text(row, "brkout_mode"))
        if mode is None:
            yield f"BREAKOUT_CFG|{name}: {text(row, 'brkout_mode')!r} is no mode"
        elif name not in index_of:
            yield f"BREAKOUT_CFG|{name}: there is no such port"
        else:
            ports = by_index[index_of[name]]
            if len(ports) != int(mode[1]) or any(speed != f"{mode[2]}000" for _, speed in ports):
                yield f"BREAKOUT_CFG|{name}: {mode[0]}, but its ports are {', '.join(f'{size} {s}' for size, s in ports)}"


@check(
    "sonic-member",
    why="a routed port cannot be a member of a VLAN, and packets of its servers are lost",
    fix="remove the port from INTERFACE or from VLAN_MEMBER",
)
def members(files: Files) -> Iterator[str]:
    """A member of a VLAN is an existing port that is not routed, and a port is untagged in one VLAN only (sonic-vlan.yang checks a part of this)."""
    ports = files.names("PORT")
    routed = files.names("INTERFACE") | {name.partition(".")[0] for name in files.names("VLAN_SUB_INTERFACE")}
    untagged: dict[str, str] = {}
    for (vlan, port, *_), row in files.rows("VLAN_MEMBER"):
        if port not in ports:
            yield f"VLAN_MEMBER|{vlan}|{port}: there is no such port"
        if port in routed:
            yield f"VLAN_MEMBER|{vlan}|{port}: the port is routed"
        if text(row, "tagging_mode") == "untagged" and untagged.setdefault(port, vlan) != vlan:
            yield f"VLAN_MEMBER|{vlan}|{port}: the port is untagged in {untagged[port]} too"


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
"""By (table, field): the table to which the field refers. The value of the field is the name of a row in that table."""

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
"""By table: the table to which the keys of its rows refer. The first part of each key is the name of a row in that table."""

_GLOBAL = {"global", "GLOBAL", "CPU"}


@check(
    "sonic-reference",
    why="a reference to something undefined has no effect, and SONiC reports no error",
    fix="define the name, or use a defined name; write only the name, not [TABLE|NAME]",
)
def references(files: Files) -> Iterator[str]:
    """Every name that a row uses exists as a row of the other table (the leafrefs of the models, checked without libyang)."""
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
    why="routes of the tenant or of the VLAN lead into no tunnel",
    fix="map the VNI to a VLAN in VXLAN_TUNNEL_MAP, and assign that VLAN's interface to the VRF",
)
def vnis(files: Files) -> Iterator[str]:
    """The VNI of a VRF is mapped to a VLAN whose interface is in the VRF, and FRR's VNIs are mapped to VLANs (EVPN_VXLAN_HLD of sonic-net/SONiC)."""
    vlans = {text(row, "vni"): text(row, "vlan") for _, row in files.rows("VXLAN_TUNNEL_MAP")}
    evpn = [
        part for section in files.routing for part in section.body or () if part.line == "address-family l2vpn evpn"
    ]
    for word, _, vni in (line.line.partition(" ") for family in evpn for line in family.body or ()):
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
