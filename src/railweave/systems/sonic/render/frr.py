"""Rendering of ``frr.conf`` on SONiC: as in ``railweave.systems.frr.render``, without the settings in ``config_db.json``.

SONiC itself sets the addresses of interfaces and creates VRFs. FRR sends router advertisements and routes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.errors import RenderError
from railweave.model.config.sections import Section, line, merge
from railweave.model.config.sections import parse as parse_frr
from railweave.systems.frr.meaning.general import general_of
from railweave.systems.frr.meaning.igp import on_isis
from railweave.systems.frr.meaning.ports import advertised_of, discovery
from railweave.systems.frr.render import routing
from railweave.systems.frr.statements.general import GENERAL
from railweave.systems.frr.statements.ports import INTERFACES, Port, Ports
from railweave.systems.sonic.branches import branch, newer
from railweave.systems.sonic.names import LOOPBACK, routed_name, vrf_names
from railweave.systems.sonic.tables import Tables
from railweave.systems.sonic.tables import parse as parse_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.device.model import DeviceConfig


def parts(text: str) -> tuple[Tables, list[Section]]:
    """Return (tables, routing lines) of the operator's own statements.

    Raises ``RenderError``, with the line number, if the text cannot be read.
    """
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
"""The first branch that sets ``zebra nexthop-group keep 1``, so that FRR removes an unused next-hop group after 1 s, not 180 s.

Source: ``zebra.conf.j2``.
"""


def tree(config: DeviceConfig) -> list[Section]:
    """Return the routing lines of a device, with the operator's own lines merged in. Raises ``RenderError`` if the operator's lines cannot be read."""
    names = vrf_names(config)
    renamed = replace(config, vrfs=tuple(replace(vrf, name=names[vrf.name]) for vrf in config.vrfs))
    sections = GENERAL.printed(general_of(config))
    if not newer(_KEEPS, branch(config.release)):
        sections.append(line("zebra nexthop-group keep 1"))
    sections += INTERFACES.printed(Ports({port.name: port for port in _ports(config, names)}))
    sections += routing(renamed)
    merge(sections, parts(config.extra)[1])
    return sections


def _ports(config: DeviceConfig, names: Mapping[str, str]) -> Iterator[Port]:
    """Yield the interfaces with their settings in FRR. ``names`` are the names of VRFs on the switch, by tenant."""
    loopback = on_isis(config, "lo")
    if loopback:
        yield Port(LOOPBACK, isis=loopback)
    for port in config.fabric_interfaces():
        isis = on_isis(config, port.name)
        yield Port(port.name, description=port.description, advertised=discovery(port), isis=isis)
    for port in (part for each in config.interfaces if each.kind == "external" for part in each.parts()):
        yield Port(routed_name(port), names[port.vrf] if port.vrf else "", port.description)
    for gateway in config.gateways:
        yield Port(
            gateway.name,
            names[gateway.vrf] if gateway.vrf else "",
            gateway.description,
            advertised=advertised_of(gateway),
            isis=on_isis(config, gateway.port or gateway.name),
        )
