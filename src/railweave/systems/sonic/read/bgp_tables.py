"""Conversion of BGP and policies in tables of ``config_db.json`` to the FRR lines that SONiC's own daemons write for them.

There are two such daemons. ``frrcfgd`` runs if ``BGP_GLOBALS`` exists (sonic-buildimage, sonic-bgp-global.yang and related
models). Otherwise ``bgpcfgd`` runs, which reads ``BGP_NEIGHBOR`` and has templates for the rest (sonic-buildimage,
dockers/docker-fpm-frr).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, SectionReader
from railweave.systems.frr.read.text import address, prefix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.systems.frr.statements.ports import Port
    from railweave.systems.sonic.read.rows import Row, Rows


@dataclass
class Lines:
    """FRR lines made from table fields. A field counts as understood if the reader understands the line made from the field.

    ``sources`` has (line, table row, names of the fields) for each line.
    """

    sections: list[Section] = field(default_factory=list[Section])
    sources: list[tuple[Section, Row, tuple[str, ...]]] = field(
        default_factory=list["tuple[Section, Row, tuple[str, ...]]"]
    )

    def add(self, below: list[Section], text: str, row: Row, *fields: str) -> Section:
        """Add a line that was made from ``fields`` of a row to ``below``, and return the line."""
        made = Section(text, at=row.lines.get(fields[0], row.line) if fields else row.line)
        below.append(made)
        self.sources.append((made, row, fields))
        return made

    def understood(self, reader: SectionReader) -> None:
        """Mark a field as understood if ``reader`` has understood the line that was made from the field."""
        known = {id(section) for section, _, understood in reader.lines() if understood}
        for section, row, fields in self.sources:
            if id(section) in known:
                row.known = True
                row.understood.update(name for name in fields if name in row.fields)

    def fields(self, below: list[Section], row: Row, forms: Mapping[str, Form], name: str = "") -> None:
        """Append the FRR line of each field of ``row`` to the section lines ``below``.

        ``forms`` has the pattern of the line by field name. ``name`` is the neighbor's name, which replaces ``{name}`` in a pattern.
        """
        for field_name, form in forms.items():
            if field_name in row.fields:
                value = peek(row, field_name)
                text = form if isinstance(form, str) else form.get(value.casefold(), form.get(OTHER))
                if text:
                    self.add(
                        below,
                        text.format(value, name=name, words=" ".join(value.replace(",", " ").split())),
                        row,
                        field_name,
                    )
                elif text is not None:
                    row.text(field_name)


Form = str | dict[str, str]
"""The pattern of the FRR line for a field: one pattern for any value, or a pattern by value.

An empty pattern means that no line is needed, because the value is FRR's default.
"""
OTHER = "*"
"""The key in a ``Form`` for all values without their own key. If a ``Form`` lacks this key, such values are not understood."""


def peek(row: Row, name: str) -> str:
    """Return the value of a field without marking the field as understood.

    The field is marked later, if the reader understands the line that is made from the value.
    """
    text = row.text(name)
    row.mark_unknown(name)
    return text


_LISTED = {"ipv4": "ip", "ipv6": "ipv6"}


def policies(tables: Rows, frr_lines: Lines) -> None:
    """Add lines to ``frr_lines``: those for the prefix lists, community lists and route-maps in the tables."""
    _prefix_sets(tables, frr_lines)
    _community_sets(tables, frr_lines)
    _route_maps(tables, frr_lines)


def _prefix_sets(tables: Rows, frr_lines: Lines) -> None:
    """Add the prefix lists of ``PREFIX_SET`` to ``frr_lines``. Each entry matches exact prefixes or a range of lengths.

    A permit entry without a sequence number gets a number. A deny entry without a number is not understood, because its place
    in the order is unknown.
    """
    for row in tables.rows("PREFIX_SET"):
        row.text("mode")
    counts: dict[str, int] = {}
    for row in tables.rows("PREFIX"):
        name, *sequence, entry, lengths = row.parts() if len(row.parts()) > 2 else ["", "", ""]
        if not name:
            row.known = False
            continue
        at, action = prefix(entry), row.text("action") or "permit"
        counts[name] = counts.get(name, 0) + 5
        place = sequence[0] if sequence else counts[name] if action == "permit" else "?"
        word = _LISTED[at.family] if at else "ip"
        low, _, high = lengths.partition("..")
        text = f"{word} prefix-list {name} seq {place} {action} {entry}"
        if lengths != "exact":
            text += (f" ge {low}" if at and low != str(at.length) else "") + f" le {high or low}"
        row.mark_unknown("action")
        frr_lines.add(frr_lines.sections, text, row, "action")


def _community_sets(tables: Rows, frr_lines: Lines) -> None:
    for row in tables.rows("COMMUNITY_SET"):
        members = row.words("community_member")
        row.mark_unknown("community_member")
        kind = "large-community" if members and members[0].count(":") == 2 else "community"
        form = "standard" if row.field_is("set_type", "standard", "") else "expanded"
        action = peek(row, "action").casefold() or "permit"
        if len(members) == 1:
            row.text("match_action")
        text = f"bgp {kind}-list {form} {row.key} {action} {' '.join(members)}"
        frr_lines.add(frr_lines.sections, text, row, "community_member", "action", "set_type")


_SETS = {
    "description": "description",
    "set_local_pref": "set local-preference",
    "set_community_inline": "set community",
    "match_prefix_set": "match ip address prefix-list",
    "match_prefix_set_ipv6": "match ipv6 address prefix-list",
    "match_community": "match community",
    "match_interface": "match interface",
}


def _route_maps(tables: Rows, frr_lines: Lines) -> None:
    """Add the entries of route-maps to ``frr_lines``. A field without a known FRR line is copied to the entry, and is therefore not understood."""
    of_six = {row.key for row in tables.rows("PREFIX_SET") if row.field_is("mode", "ipv6")}
    for row in tables.rows("ROUTE_MAP_SET"):
        row.known = True
    for row in tables.rows("ROUTE_MAP"):
        name, _, sequence = row.key.partition("|")
        verdict = peek(row, "route_operation").casefold() or "permit"
        entry = frr_lines.add(frr_lines.sections, f"route-map {name} {verdict} {sequence}", row, "route_operation")
        body: list[Section] = []
        entry.body = body
        for field_name in row.fields:
            value = peek(row, field_name)
            if field_name in {"route_operation", "NULL"}:
                continue
            if field_name == "set_community_inline":
                value = " ".join(row.words(field_name))
                row.mark_unknown(field_name)
            six = field_name == "match_prefix_set" and value in of_six
            words = _SETS.get("match_prefix_set_ipv6" if six else field_name, field_name)
            frr_lines.add(body, f"{words} {value}", row, field_name)


_WIDTH = 64
"""The maximum number of paths of a route in the templates of bgpcfgd."""

_FAMILIES = {"ipv4_unicast": "ipv4 unicast", "ipv6_unicast": "ipv6 unicast", "l2vpn_evpn": "l2vpn evpn"}


def lines(tables: Rows, ports: dict[str, Port]) -> Lines:
    """Return the FRR lines for the tables of BGP and policies."""
    frr_lines = Lines()
    policies(tables, frr_lines)
    if tables.has("BGP_GLOBALS"):
        _framework(tables, frr_lines)
    else:
        _templates(tables, frr_lines, ports)
    return frr_lines


def _templates(tables: Rows, frr_lines: Lines, ports: dict[str, Port]) -> None:
    """Add to ``frr_lines`` the lines for the neighbors that bgpcfgd configures.

    The policies of these neighbors accept every route. The prefixes of loopbacks and VLANs are announced.
    """
    meta = tables.row("DEVICE_METADATA", "localhost")
    asn = meta.text("bgp_asn")
    if not tables.has("BGP_NEIGHBOR") or not asn.isdecimal():
        return
    router = frr_lines.add(frr_lines.sections, f"router bgp {asn}", meta, "bgp_asn")
    usual = ("no bgp default ipv4-unicast", "no bgp ebgp-requires-policy", "bgp bestpath as-path multipath-relax")
    body: list[Section] = [Section(text) for text in usual]
    router.body = body
    loopback = ports.get("Loopback0")
    router_id = (
        next((subnet.address for subnet in loopback.addresses if subnet.family == "ipv4"), "") if loopback else ""
    )
    if "bgp_router_id" in meta.fields:
        frr_lines.add(body, f"bgp router-id {meta.text('bgp_router_id')}", meta, "bgp_router_id")
    elif router_id:
        body.append(Section(f"bgp router-id {router_id}"))
    for family, group in (("ipv4", "PEER_V4"), ("ipv6", "PEER_V6")):
        peers = [row for row in tables.rows("BGP_NEIGHBOR") if _family(row.key) == family]
        if not peers:
            continue
        body.append(Section(f"neighbor {group} peer-group"))
        for row in peers:
            _plain_neighbor(frr_lines, body, row, group, down=meta.field_is("default_bgp_status", "down"))
            if any(
                row.fields.get("local_addr") == subnet.address for port in ports.values() for subnet in port.addresses
            ):
                row.text("local_addr")
        inner = Section(f"address-family {family} unicast", [])
        body.append(inner)
        inner.body = [Section(f"neighbor {group} activate"), Section(f"maximum-paths {_WIDTH}")]
        for name, port in ports.items():
            if name.startswith(("Loopback", "Vlan")):
                networks = dict.fromkeys(subnet.prefix for subnet in port.addresses if subnet.family == family)
                inner.body += [Section(f"network {network}") for network in networks]


def _plain_neighbor(frr_lines: Lines, body: list[Section], row: Row, group: str, *, down: bool) -> None:
    """Add the lines of a neighbor of bgpcfgd (``row``) to ``body``, the lines of the BGP instance. ``group`` is the neighbor's peer group.

    ``down`` is True if neighbors without a status are shut down (``default_bgp_status``). ``frr_lines`` collects all lines that are made
    from tables.
    """
    name = row.parts()[-1]
    frr_lines.add(body, f"neighbor {name} remote-as {row.text('asn')}", row, "asn")
    row.mark_unknown("asn")
    body.append(Section(f"neighbor {name} peer-group {group}"))
    if "name" in row.fields:
        frr_lines.add(body, f"neighbor {name} description {row.text('name')}", row, "name")
    if "admin_status" not in row.fields and down:
        body.append(Section(f"neighbor {name} shutdown"))
    elif row.field_is("admin_status", "down"):
        frr_lines.add(body, f"neighbor {name} shutdown", row, "admin_status")


def _family(key: str) -> str:
    at = address(key.rpartition("|")[2])
    return at.family if at else ""


_GLOBALS: dict[str, Form] = {
    "router_id": "bgp router-id {}",
    "default_ipv4_unicast": {"true": "bgp default ipv4-unicast", OTHER: "no bgp default ipv4-unicast"},
    "ebgp_requires_policy": {"false": "no bgp ebgp-requires-policy", OTHER: "bgp ebgp-requires-policy"},
    "load_balance_mp_relax": {"true": "bgp bestpath as-path multipath-relax", OTHER: ""},
    "graceful_restart_enable": {"true": "bgp graceful-restart", OTHER: ""},
}


def _framework(tables: Rows, frr_lines: Lines) -> None:
    """Add lines to ``frr_lines``, one VRF after another: those that the daemon frrcfgd writes for the tables."""
    for row in tables.rows("BGP_GLOBALS"):
        asn = row.text("local_asn")
        row.mark_unknown("local_asn")
        vrf = "" if row.key == "default" else f" vrf {row.key}"
        router = frr_lines.add(frr_lines.sections, f"router bgp {asn}{vrf}", row, "local_asn")
        body: list[Section] = []
        router.body = body
        frr_lines.fields(body, row, _GLOBALS)
        if "default_ipv4_unicast" not in row.fields:
            body.append(Section("no bgp default ipv4-unicast"))
        for table in ("BGP_PEER_GROUP", "BGP_NEIGHBOR"):
            for inner in tables.rows(table):
                if inner.parts()[0] == row.key and len(inner.parts()) > 1:
                    _neighbor(frr_lines, body, inner, group=table == "BGP_PEER_GROUP")
        _families(tables, frr_lines, body, row.key)


_NEIGHBOR: dict[str, Form] = {
    "peer_group_name": "neighbor {name} peer-group {}",
    "asn": "neighbor {name} remote-as {}",
    "local_asn": "neighbor {name} local-as {}",
    "name": "neighbor {name} description {}",
    "description": "neighbor {name} description {}",
    "local_addr": "neighbor {name} update-source {}",
    "auth_password": "neighbor {name} password {}",
    "bfd_profile": "neighbor {name} bfd profile {}",
    "bfd": {"true": "neighbor {name} bfd", OTHER: ""},
    "ebgp_multihop": {"true": "neighbor {name} ebgp-multihop", OTHER: ""},
    "capability_ext_nexthop": {"true": "neighbor {name} capability extended-nexthop", OTHER: ""},
    "admin_status": {"false": "neighbor {name} shutdown", "down": "neighbor {name} shutdown", OTHER: ""},
    "ttl_security_hops": "neighbor {name} ttl-security hops {}",
}
_KINDS = {"external": "neighbor {name} remote-as external", "internal": "neighbor {name} remote-as internal"}


def _neighbor(frr_lines: Lines, body: list[Section], row: Row, *, group: bool) -> None:
    name = row.parts()[1]
    if group:
        frr_lines.add(body, f"neighbor {name} peer-group", row)
    elif address(name) is None:
        frr_lines.add(body, f"neighbor {name} interface", row)
    if "asn" not in row.fields:
        frr_lines.fields(body, row, {"peer_type": _KINDS}, name)
    frr_lines.fields(body, row, _NEIGHBOR, name)


def _families(tables: Rows, frr_lines: Lines, body: list[Section], vrf: str) -> None:
    """Add lines to ``body``, the lines of the BGP instance: those of a VRF's address families, with the settings of neighbors in each family.

    ``frr_lines`` collects all lines that are made from tables.
    """
    made: dict[str, list[Section]] = {}

    def family(word: str, row: Row) -> list[Section]:
        if word not in made:
            section = frr_lines.add(body, f"address-family {_FAMILIES.get(word, word)}", row)
            section.body = made[word] = []
        return made[word]

    for row in tables.rows("BGP_GLOBALS_AF"):
        of_vrf, _, word = row.key.partition("|")
        if of_vrf == vrf:
            frr_lines.fields(family(word, row), row, _FAMILY)
            if word == "l2vpn_evpn":
                _vnis(tables, frr_lines, family(word, row), vrf)
    for row in tables.rows("ROUTE_REDISTRIBUTE"):
        parts = row.parts()
        if parts[0] == vrf and parts[1:3] == ["connected", "bgp"]:
            policy = "".join(f" route-map {route_map}" for route_map in row.words("route_map")[:1])
            frr_lines.add(family(f"{parts[-1]}_unicast", row), f"redistribute connected{policy}", row, "route_map")
    for row in tables.rows("BGP_GLOBALS_AF_NETWORK"):
        parts = row.parts()
        if parts[0] == vrf and len(parts) == 3:
            frr_lines.add(family(parts[1], row), f"network {parts[2]}", row)
    for table in ("BGP_PEER_GROUP_AF", "BGP_NEIGHBOR_AF"):
        for row in tables.rows(table):
            parts = row.parts()
            if parts[0] == vrf and len(parts) == 3:
                frr_lines.fields(family(parts[2], row), row, _NEIGHBOR_FAMILY, parts[1])


_FAMILY: dict[str, Form] = {
    "max_ebgp_paths": "maximum-paths {}",
    "max_ibgp_paths": "maximum-paths ibgp {}",
    "advertise-all-vni": {"true": "advertise-all-vni", OTHER: ""},
    "advertise-ipv4-unicast": {"true": "advertise ipv4 unicast", OTHER: ""},
    "advertise-ipv6-unicast": {"true": "advertise ipv6 unicast", OTHER: ""},
    "route-distinguisher": "rd {words}",
    "import-rts": "route-target import {words}",
    "export-rts": "route-target export {words}",
}
_ACTIVE: Form = {
    "true": "neighbor {name} activate",
    "up": "neighbor {name} activate",
    OTHER: "no neighbor {name} activate",
}
_NEIGHBOR_FAMILY: dict[str, Form] = {
    "admin_status": _ACTIVE,
    "activate": _ACTIVE,
    "route_map_in": "neighbor {name} route-map {words} in",
    "route_map_out": "neighbor {name} route-map {words} out",
    "rrclient": {"true": "neighbor {name} route-reflector-client", OTHER: ""},
    "unchanged_nexthop": {"true": "neighbor {name} attribute-unchanged next-hop", OTHER: ""},
}


def _vnis(tables: Rows, frr_lines: Lines, body: list[Section], vrf: str) -> None:
    """Add lines to ``body``, the lines of the EVPN address family: those of VNIs that have their own route targets.

    ``frr_lines`` collects all lines that are made from tables.
    """
    for row in tables.rows("BGP_GLOBALS_EVPN_VNI"):
        parts = row.parts()
        if parts[0] == vrf and len(parts) == 3:
            section = frr_lines.add(body, f"vni {parts[2]}", row)
            section.body = []
            for name, text in _VNI:
                for word in row.words(name):
                    frr_lines.add(section.body, f"{text} {word}", row, name)
                row.mark_unknown(name)


_VNI = (
    ("router-distinguisher", "rd"),
    ("route-distinguisher", "rd"),
    ("import-rts", "route-target import"),
    ("export-rts", "route-target export"),
)
