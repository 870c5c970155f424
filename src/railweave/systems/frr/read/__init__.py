"""Reader of ``frr.conf`` and ``nftables.conf``, and of the output of ``vtysh -c 'show running-config'``."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.config.section_tree import sections as tree_sections
from railweave.model.config.sections import SectionReader, select
from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.model import Gateway, Interface
from railweave.model.device.port_model import far_end, router_of, with_parts
from railweave.model.device.reading import Reading, ReadStatement, blank_config, classify_statements
from railweave.systems.frr import host
from railweave.systems.frr.changes import config_tree
from railweave.systems.frr.meaning.ports import advertisements, for_servers, prefixes
from railweave.systems.frr.read import nftables
from railweave.systems.frr.read.printout import as_given
from railweave.systems.frr.read.routing import Routing, statements
from railweave.systems.frr.read.text import number, sections
from railweave.systems.frr.statements.ports import INTERFACES
from railweave.systems.frr.tree import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.config.tree import ConfigTree, Node
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.frr.statements.ports import Port

LOOPBACK = re.compile(r"lo\d*|dummy\d*")
"""A pattern of the names of Linux loopbacks. The first address of the first loopback is the address of the device."""

_MANAGEMENT = re.compile(r"eth0|mgmt\d*")
"""A pattern of the names of management ports. ``DeviceConfig`` cannot represent a management port that is shut down."""
_VLAN = re.compile(r"(?:irb\.|vlan|br|Vlan)(\d{1,4})", re.IGNORECASE)


def read(texts: Mapping[str, str]) -> Reading:
    """Return the configuration of one device, read from all its texts together. Raises ``RenderError``, with the line number, if a text is malformed."""
    below = {file: text for file, text in texts.items() if host.is_one(file)}
    filters = {file: text for file, text in texts.items() if file not in below and nftables.is_one(text)}
    files = [(file, sections(text)) for file, text in texts.items() if file not in below and file not in filters]
    reader = SectionReader([section for _, of_file in files for section in of_file])
    ports = INTERFACES.read(reader.sections, reader).ports
    config = _config(Routing(reader, ports, [name for name in ports if LOOPBACK.fullmatch(name)]))
    made: list[ReadStatement] = []
    for file, text in below.items():
        config = host.applied(config, file, text)
    for file, text in filters.items():
        protection, lines = nftables.control_plane(text)
        config = replace(config, protection=protection)
        made += classify_statements(file, lines, catalog().systems["frr"].reads.irrelevant)
    return Reading(config, (*statements(reader, files), *made))


def parsed(file: str, text: str) -> ConfigTree:
    """Return a text as a tree. The lines of the tree are those of FRR or nftables, or statements about the Linux host."""
    if host.is_one(file):
        return host.parsed(file, text)
    return config_tree(nftables.blocks(text) if nftables.is_one(text) else as_given(sections(text)))


def printed(file: str, nodes: Sequence[Node]) -> str:
    """Return the nodes of a tree as the text of the file ``file``."""
    if host.is_one(file):
        return host.printed(nodes)
    parts = tree_sections(nodes)
    return nftables.to_text(parts) if file == nftables.FILE else to_text(parts)


def _config(routing: Routing) -> DeviceConfig:
    fabric, outside = routing.on_fabric(), routing.outside()
    gateways: list[Gateway] = []
    interfaces: list[Interface] = []
    for port in routing.ports.values():
        if routing.is_loopback(port.name):
            continue
        if port.name in outside:
            interfaces.append(_interface(port, "external"))
        elif port.name in fabric or (port.advertised and port.advertised.sends and not for_servers(port)):
            interfaces.append(_interface(port, "fabric"))
        elif (port.addresses or for_servers(port)) and not port.shut:
            gateways.append(_gateway(port))
    configured = {interface.name for interface in (*interfaces, *gateways)}
    for line in select(routing.reader.sections, "interface <name> **", "shutdown"):
        if _MANAGEMENT.fullmatch(line["name"]) and line["name"] not in configured:
            routing.reader.mark_unknown(line)
    bgp = routing.bgp()
    of_vrf: dict[str, list[Prefix]] = {}
    for gateway in gateways:
        of_vrf.setdefault(gateway.vrf, []).extend(gateway.prefixes)
    vrfs = routing.vrfs(of_vrf)
    isis = routing.isis()
    used: set[Family] = {address.family for gateway in gateways for address in gateway.addresses}
    used |= {*(bgp.families if bgp else ()), *(isis.families if isis else ())}
    return replace(
        blank_config("frr"),
        name=routing.general.name,
        loopback=routing.loopback(),
        interfaces=with_parts(interfaces),
        gateways=tuple(gateways),
        bgp=bgp,
        balancing=BalancingConfig("ecmp", tuple(sorted(used)), fast_reroute=routing.fast_reroute()),
        overlay=routing.overlay(),
        vrfs=vrfs,
        mac_vrf=routing.mac_vrf(),
        isis=isis,
        ospf=routing.ospf(bgp),
    )


def _interface(port: Port, kind: Literal["fabric", "external"]) -> Interface:
    """Return a port as ``DeviceConfig`` has it. ``kind`` is ``fabric`` if it leads to a switch, ``external`` if to an external router.

    In railweave's files, the description of a port to a switch contains the peer and the peer's port. The name of a port to
    an external router may contain a VLAN tag.
    """
    name, _, unit = port.name.partition(".")
    outside = kind == "external"
    peer, far = (router_of(port.description), "") if outside else far_end(port.description)
    return Interface(
        name=name if outside else port.name,
        link="",
        kind=kind,
        description=port.description,
        peer=peer,
        peer_port=far,
        speed_gbps=0,
        lanes=0,
        mtu=0,
        length_m=0,
        addresses=port.addresses,
        vrf=port.vrf,
        unit_vlan=number(unit) if outside else None,
        enabled=not port.shut,
    )


def _gateway(port: Port) -> Gateway:
    match = _VLAN.fullmatch(port.name)
    return Gateway(
        name=port.name,
        vlan=int(match[1]) if match else None,
        vlan_name="",
        description=port.description,
        mtu=(port.advertised and port.advertised.link_mtu) or 0,
        addresses=port.addresses,
        prefixes=prefixes(port),
        advertisements=advertisements(port),
        port="" if match else port.name,
        vrf=port.vrf,
    )
