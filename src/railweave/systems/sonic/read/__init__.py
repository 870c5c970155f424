"""The reader of ``config_db.json`` and ``frr.conf``. It also reads the output of ``show runningconfiguration all``.

If the switch has its routing configuration in tables ("unified"), these tables are converted to the equivalent FRR lines
and read like ``frr.conf``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.config.section_tree import sections as tree_sections
from railweave.model.config.sections import Section, SectionReader
from railweave.model.device.balancing import BalancingConfig, Hash
from railweave.model.device.model import DeviceConfig, ExternalPeer, Interface, OverlayConfig, TunnelEndpoint, Vrf
from railweave.model.device.port_model import with_parts
from railweave.model.device.reading import Reading, ReadStatement, classify_statements
from railweave.systems.frr.changes import config_tree as frr_tree
from railweave.systems.frr.read.printout import as_given
from railweave.systems.frr.read.routing import Routing, statements
from railweave.systems.frr.read.text import sections
from railweave.systems.frr.statements.ports import INTERFACES
from railweave.systems.frr.tree import to_text as to_frr
from railweave.systems.sonic.changes import TableTree
from railweave.systems.sonic.meaning import management
from railweave.systems.sonic.meaning import vlans as meaning
from railweave.systems.sonic.meaning.control_plane import control_plane_of
from railweave.systems.sonic.read import bgp_tables
from railweave.systems.sonic.read.ports import Uses, addressed, interfaces, model_of, splits
from railweave.systems.sonic.read.qos import paused, qos
from railweave.systems.sonic.read.rows import Rows, TableReader, nodes, rows
from railweave.systems.sonic.statements.management import SYSTEM, System
from railweave.systems.sonic.statements.vlans import VLANS, Vlans
from railweave.systems.sonic.tables import Tables, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.tree import ConfigTree, Node

_TABLES = "config_db.json"
"""The name of the file that is always read as JSON, even if its content does not look like JSON."""

_METADATA = "DEVICE_METADATA localhost"
_ROLES: Mapping[str, Literal["leaf", "spine", "super-spine"]] = {
    "LeafRouter": "leaf",
    "ToRRouter": "leaf",
    "SpineRouter": "spine",
    "UpperSpineRouter": "super-spine",
}


def read(texts: Mapping[str, str]) -> Reading:
    """Return the configuration of one device, read from all its texts together. Raises ``RenderError``, with the line number, if a text is malformed."""
    tables = {file: rows(text) for file, text in texts.items() if _is_tables(file, text)}
    routing = [(file, sections(text)) for file, text in texts.items() if file not in tables]
    for file, file_rows in tables.items():
        if file_rows.routing is not None:
            routing.append((file, _at(file_rows.routing[0], sections(file_rows.routing[1]))))
    every = Rows()
    for file_rows in tables.values():
        for name, table in file_rows.tables.items():
            every.tables.setdefault(name, {}).update(table)
    files = any(lines for file, lines in routing if file not in tables)
    config, reader, made = _config(every, [section for _, lines in routing for section in lines], files=files)
    if made is not None:
        made.understood(reader)
        routing.append(("", made.sections))
    irrelevant = catalog().systems["sonic"].reads.irrelevant
    spoken: list[ReadStatement] = []
    for file, file_rows in tables.items():
        spoken += classify_statements(file, file_rows.statements(), irrelevant)
    aliases = {row.key: alias for row in every.rows("PORT") if (alias := row.text("alias"))}
    return Reading(config, (*spoken, *statements(reader, routing)), aliases)


def parsed(file: str, text: str) -> ConfigTree:
    """Return a text as a tree of tables, or of FRR lines."""
    return _tables(rows(text)) if _is_tables(file, text) else frr_tree(as_given(sections(text)))


def _tables(file_rows: Rows) -> TableTree:
    """Return the tables ``file_rows`` as a tree, with the SONiC release that last wrote them and the hardware SKU.

    Release and SKU are empty if the tables do not contain them. Source: sonic-utilities, ``scripts/db_migrator.py``.
    """
    version = file_rows.row("VERSIONS", "DATABASE").text("VERSION")
    sku = file_rows.row("DEVICE_METADATA", "localhost").text("hwsku")
    release = re.match(r"version_(\d{6})_", version)
    return TableTree(nodes(file_rows), release=release[1] if release else "", sku=sku)


def printed(file: str, nodes: Sequence[Node]) -> str:
    """Return the nodes of a tree as text: a JSON document if ``file`` is ``config_db.json``, otherwise lines."""
    if not file.endswith(".json"):
        return to_frr(tree_sections(nodes))
    tables: Tables = {
        table.name[0]: {
            row.name[0]: {
                field.name[0]: list(field.values) if field.listed else field.values[0] for field in row.children or ()
            }
            for row in table.children or ()
        }
        for table in nodes
    }
    return to_text(tables)


def _is_tables(file: str, text: str) -> bool:
    """Return True if a text is a JSON document, or should be one according to its file name."""
    return Path(file).name == _TABLES or text.lstrip().startswith(("{", "["))


def _at(line: int, blocks: list[Section]) -> list[Section]:
    """Set the line number of all lines in ``blocks`` to ``line``, because they come from one JSON value on that line."""
    left = list(blocks)
    while left:
        section = left.pop()
        section.at = line
        left += section.body or ()
    return blocks


def _config(
    tables: Rows, lines: Sequence[Section], *, files: bool
) -> tuple[DeviceConfig, SectionReader, bgp_tables.Lines | None]:
    """Return (configuration from tables and FRR lines together, reader of the FRR lines, lines made from tables or None).

    The second and the third member record what was understood. ``files`` is True if the FRR lines are from a file, and False
    if they are from the running daemons.
    """
    of_lines = SectionReader(lines)
    known = INTERFACES.read(lines, of_lines).ports
    addressed(tables, known)
    made = None
    line_reader = of_lines
    if not any(section.line.startswith("router bgp ") for section in lines):
        made = bgp_tables.lines(tables, known)
        line_reader = SectionReader([*lines, *made.sections])
        INTERFACES.read(lines, line_reader)
    loopbacks = [row.key for row in tables.rows("LOOPBACK_INTERFACE") if "|" not in row.key]
    loopbacks += [port_name for port_name in known if port_name.startswith("Loopback") and port_name not in loopbacks]
    routing = Routing(line_reader, known, loopbacks)
    reader = TableReader(tables, SYSTEM.begins | VLANS.begins)
    system = SYSTEM.read(reader.sections, reader)
    model = model_of(system.sku)
    vlans = VLANS.read(reader.sections, reader)
    tunnels = meaning.tunnels(vlans)
    for name, tunnel in vlans.endpoints.items():
        if tunnel not in vlans.tunnels:
            reader.mark_field_unknown(f"VXLAN_EVPN_NVO {name}", "source_vtep")
    outside = _outside(tables, routing)
    on_vlans = meaning.members(vlans, reader)
    fabric = routing.on_fabric()
    local = {row.key for row in tables.rows("INTERFACE") if "|" not in row.key and _link_local(row.key, tables)}
    routed = [
        port_name
        for port_name in _in_table(tables)
        if port_name not in fabric | local and port_name not in outside and known[port_name].addresses
    ]
    uses = Uses(fabric | local, outside, routed, on_vlans, paused(tables))
    routed_ports = with_parts(interfaces(tables, known, uses))
    gateways = tuple(meaning.gateways(vlans, tables, reader, known, tunnels, routed))
    of_vrf: dict[str, list[Prefix]] = {}
    for gateway in gateways:
        of_vrf.setdefault(gateway.vrf, []).extend(gateway.prefixes)
    bgp, isis = routing.bgp(), routing.isis()
    if bgp:
        for field, of_lines, value in (
            ("bgp_asn", system.asn, str(bgp.asn)),
            ("bgp_router_id", system.router_id, bgp.router_id),
        ):
            if of_lines != value:
                reader.mark_field_unknown(_METADATA, field)
    names = meaning.designed_names(vlans, tunnels, reader)
    switch = catalog().switches.get(model)
    address, gateway_address = management.management_port(system)
    used: set[Family] = {port_address.family for each in gateways for port_address in each.addresses}
    used |= {*(bgp.families if bgp else ()), *(isis.families if isis else ())}
    config = DeviceConfig(
        name=system.name or routing.general.name,
        role=_ROLES.get(system.role, "leaf"),
        model=model,
        nos="sonic",
        release=catalog().release_of("sonic", model),
        management=management.management_of(system, routed_ports, reader),
        management_address=address,
        management_gateway=gateway_address,
        loopback=routing.loopback(),
        splits=splits(tables, switch),
        interfaces=tuple(_renamed(port, names) for port in routed_ports),
        gateways=tuple(replace(gateway, vrf=names.get(gateway.vrf, gateway.vrf)) for gateway in gateways),
        bgp=bgp,
        qos=qos(tables, routed_ports, switch, monitored=system.watermarks),
        balancing=BalancingConfig(
            "ecmp", tuple(sorted(used)), hash=system.hash or Hash(), fast_reroute=routing.fast_reroute()
        ),
        extra="",
        overlay=_overlay(routing.overlay(), tunnels),
        vrfs=tuple(_vrf(vrf, vlans, reader, names, outside) for vrf in routing.vrfs(of_vrf)),
        mac_vrf=meaning.mac_vrf(routing.mac_vrf(), tunnels, bgp, routed_ports),
        isis=isis,
        ospf=routing.ospf(bgp),
    )
    _common(system, tables, reader, files=files, lines=made is None)
    for name in fabric:
        row = tables.row("INTERFACE", name)
        if row.field_is("ipv6_use_link_local_only", "disable") and not known[name].addresses:
            row.mark_unknown("ipv6_use_link_local_only")
    if not system.features.get("bgp", True):
        config = _without_sessions(config)
    if tables.has("DEVICE_METADATA") and system.framework != "true":
        config = _without_bfd(config)
    reader.note()
    return replace(config, protection=control_plane_of(tables, config)), line_reader, made


def _without_sessions(config: DeviceConfig) -> DeviceConfig:
    """Return the configuration without any BGP neighbors, for a switch on which SONiC does not start the container of FRR."""
    bgp, overlay = config.bgp, config.overlay
    return replace(
        config,
        bgp=replace(bgp, groups=()) if bgp else None,
        overlay=replace(overlay, neighbors=()) if overlay else None,
        isis=None,
        ospf=None,
        vrfs=tuple(replace(vrf, external=()) for vrf in config.vrfs),
    )


def _without_bfd(config: DeviceConfig) -> DeviceConfig:
    """Return the configuration without BFD, for a switch on which SONiC does not start bfdd.

    FRR accepts the lines about BFD, but they have no effect.
    """
    bgp, overlay, isis = config.bgp, config.overlay, config.isis
    return replace(
        config,
        bgp=replace(bgp, bfd=None, groups=tuple(replace(group, bfd=None) for group in bgp.groups)) if bgp else None,
        overlay=replace(overlay, bfd=None) if overlay else None,
        isis=replace(isis, bfd=None) if isis else None,
    )


def _renamed(port: Interface, names: Mapping[str, str]) -> Interface:
    """Return a port with the designed names of its VRFs. ``names`` has these names, by the name on the switch."""
    more = tuple(replace(unit, vrf=names.get(unit.vrf, unit.vrf)) for unit in port.more)
    return replace(port, vrf=names.get(port.vrf, port.vrf), more=more)


def _link_local(name: str, tables: Rows) -> bool:
    return tables.row("INTERFACE", name).field_is("ipv6_use_link_local_only", "enable")


def _in_table(tables: Rows) -> list[str]:
    """Return the names of ports that have a row or an address in ``INTERFACE``."""
    return list(dict.fromkeys(row.key.partition("|")[0] for row in tables.rows("INTERFACE")))


def _outside(tables: Rows, routing: Routing) -> dict[str, list[tuple[str, int | None]]]:
    """Return the ports to external routers, by name, each with a list of (routed interface, VLAN tag or None).

    ``routing`` has the interfaces with BGP sessions of VRFs.
    """
    outside: dict[str, list[tuple[str, int | None]]] = {}
    order = {name: number for number, name in enumerate(routing.ports)}
    tagged = {row.key: row for row in tables.rows("VLAN_SUB_INTERFACE") if "|" not in row.key}
    for name in sorted(routing.outside(), key=lambda port: (order.get(port, len(order)), port)):
        base = name.partition(".")[0]
        if base not in tables.tables.get("PORT", {}) and base.startswith("Eth"):
            base = f"Ethernet{base.removeprefix('Eth')}"
        tag = tagged[name].number("vlan") if name in tagged else None
        if name in tagged:
            tagged[name].text("admin_status")
        outside.setdefault(base, []).append((name, tag))
    return outside


def _vrf(
    vrf: Vrf,
    vlans: Vlans,
    reader: TableReader,
    names: Mapping[str, str],
    outside: Mapping[str, list[tuple[str, int | None]]],
) -> Vrf:
    """Return a VRF with its designed name, with the VNI from its table row, and with ports in place of their routed interfaces.

    ``names`` has the designed names, and ``outside`` the (routed interface, VLAN tag) pairs of ports to external routers. ``reader`` has
    the rows of the tables.
    """
    vni = vlans.vrfs.get(vrf.name)
    if vni is not None and vrf.vni and vni != vrf.vni:
        reader.mark_field_unknown(f"VRF {vrf.name}", "vni")
    units = {name: f"{port}.{tag or 0}" for port, parts in outside.items() for name, tag in parts}

    def called(peer: ExternalPeer) -> ExternalPeer:
        at = peer.session.interface
        interface = units.get(at) or units.get(at.removesuffix(".0"), at)
        return replace(peer, session=replace(peer.session, interface=interface))

    return replace(
        vrf, name=names.get(vrf.name, vrf.name), vni=vrf.vni or vni or 0, external=tuple(map(called, vrf.external))
    )


def _overlay(overlay: OverlayConfig | None, tunnels: meaning.Tunnels) -> OverlayConfig | None:
    """Return the overlay with the source address of the VXLAN tunnel as the first tunnel endpoint."""
    if overlay is None or tunnels.source is None:
        return overlay
    others = [
        endpoint
        for endpoint in overlay.endpoints
        if endpoint.address != tunnels.source and endpoint.address != overlay.loopback
    ]
    return replace(overlay, endpoints=(TunnelEndpoint(tunnels.source, None), *others))


def _common(system: System, tables: Rows, reader: TableReader, *, files: bool, lines: bool) -> None:
    """Mark settings for SONiC's own daemons as not understood if they differ from the values that railweave sets.

    ``lines`` is True if FRR lines configure BGP, and ``files`` if those lines are from a file. In the split modes, SONiC keeps such a file;
    in
    all other modes, SONiC overwrites it. If tables configure BGP, frrcfgd reads ``BGP_GLOBALS`` and the tables
    that belong to it; bgpcfgd reads all other tables (sonic-buildimage, dockers/docker-fpm-frr). ``reader`` has the rows of the tables.
    """
    kept = ("split-unified", "split")
    framework, plain = tables.has("BGP_GLOBALS"), tables.has("BGP_NEIGHBOR")
    owners = {(False, True, True): ("true",), (False, True, False): ("true",), (False, False, True): ("false",)}
    if system.mode not in (kept if files and lines else (*kept, "separated", "unified")):
        reader.mark_field_unknown(_METADATA, "docker_routing_config_mode")
    if system.framework not in owners.get((lines, framework, plain), ("true", "false")):
        reader.mark_field_unknown(_METADATA, "frr_mgmt_framework_config")
    if system.features.get("macsec") is False and any("macsec" in port.fields for port in tables.rows("PORT")):
        reader.mark_field_unknown("FEATURE macsec", "state")
    if system.counters.get("PFCWD") is False:
        reader.mark_field_unknown("FLEX_COUNTER_TABLE PFCWD", "FLEX_COUNTER_STATUS")  # no counts
