"""``frr.conf`` on SONiC: the routing of ``railweave.systems.frr.render``, without what ``config_db.json`` has.

SONiC itself gives interfaces their addresses and makes VRFs; FRR sends router advertisements and routes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.config.sections import Section, line, merge, section
from railweave.model.config.sections import parse as parse_frr
from railweave.systems.frr.render import advertisements, discovery, general, routing
from railweave.systems.frr.render.routing import on_port
from railweave.systems.sonic.branches import branch, newer
from railweave.systems.sonic.render.names import LOOPBACK, routed_name, vrf_names
from railweave.systems.sonic.tables import Tables
from railweave.systems.sonic.tables import parse as parse_tables

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


def parts(text: str) -> tuple[Tables, list[Section]]:
    """Tables and routing statements. Raises ``RenderError`` with the line where either cannot be read."""
    if not text.lstrip().startswith("{"):
        return {}, parse_frr(text)
    try:
        _, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        raise RenderError(error.msg, error.lineno) from None
    tables = parse_tables(text[:end])
    try:
        return tables, parse_frr(text[end:])
    except RenderError as error:
        raise error.below(text.count("\n", 0, end)) from None


_KEEPS = "202505"
"""The first branch whose ``zebra.conf.j2`` has ``zebra nexthop-group keep 1``: a group that no route uses is gone after 1 s, not after FRR's 180 s."""


def tree(config: DeviceConfig) -> list[Section]:
    """The routing of a device, the operator's own lines merged in. Raises ``RenderError`` where those cannot be read."""
    names = vrf_names(config)
    renamed = replace(config, vrfs=tuple(replace(vrf, name=names[vrf.name]) for vrf in config.vrfs))
    sections = general(config)
    if not newer(_KEEPS, branch(config.release)):
        sections.append(line("zebra nexthop-group keep 1"))
    loopback = on_port(config, "lo")
    sections += [section(f"interface {LOOPBACK}", loopback)] if loopback else []
    for port in config.fabric_interfaces():
        sections.append(
            section(
                f"interface {port.name}", f"description {port.description}", discovery(port), on_port(config, port.name)
            )
        )
    for port in (part for one in config.interfaces for part in one.parts()):
        if port.kind == "external":
            vrf = f" vrf {names[port.vrf]}" if port.vrf else ""
            sections.append(section(f"interface {routed_name(port)}{vrf}", f"description {port.description}"))
    for gateway in config.gateways:
        vrf = f" vrf {names[gateway.vrf]}" if gateway.vrf else ""
        told = on_port(config, gateway.port or gateway.name)
        body = [f"description {gateway.description}", *advertisements(gateway), *told]
        sections.append(section(f"interface {gateway.name}{vrf}", body))
    sections += routing(renamed)
    merge(sections, parts(config.extra)[1])
    return sections
