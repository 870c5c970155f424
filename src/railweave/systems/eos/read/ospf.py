"""``router ospf`` of the default VRF, and the interfaces that it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.device.model import Ospf, OspfPort
from railweave.systems.eos.read.ports import PORT
from railweave.systems.eos.read.values import address, number, peer_of, prefix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Address
    from railweave.model.config.select import Selected
    from railweave.systems.eos.read.ports import Port
    from railweave.systems.eos.read.stanzas import Stanzas

MOST_METRIC = 65535


def ospf(stanzas: Stanzas, ports: Mapping[str, Port], loopback: Address) -> tuple[Ospf | None, list[Selected]]:
    """OSPF, and the lines that say so; None where there is none. Interfaces of VLANs have neighbors that nothing here holds."""
    taking = stanzas.taking
    header = taking.last("router ospf <id>")
    if header is None:
        return None, []
    lines = [header]
    areas, costs = _areas(stanzas, ports, header, lines), dict[str, "int | None"]()
    for name, one in stanzas.each("ip ospf cost <value>"):
        lines.append(one)
        costs[name] = number(one["value"], 1, MOST_METRIC)
        if costs[name] is None:
            taking.leave(one)
    lines += [one for _, one in stanzas.each("ip ospf network point-to-point")]
    quiet = _quiet(stanzas, areas, header, lines)
    said = {form: taking.last(form, below=header) for form in ("router-id <value>", "maximum-paths <value>")}
    lines += [one for one in said.values() if one is not None]
    lines += [one for form in ("max-lsa **", "log-adjacency-changes **") for one in taking.each(form, below=header)]
    named, wide = said["router-id <value>"], said["maximum-paths <value>"]
    defaults = catalog().systems["eos"].reads.defaults
    usual = int(defaults["ospf.ports.metric"].value or 0)
    width = number(wide["value"], 1, 4096) if wide else None
    found = Ospf(
        router_id=(address(named["value"]) if named else None) or loopback,
        ports=tuple(
            OspfPort(name, "", peer_of(ports[name].description)[0], area, costs.get(name) or usual)
            for name, area in areas.items()
            if name not in quiet and PORT.match(name)
        ),
        passive=tuple(name for name in areas if name in quiet),
        maximum_ecmp=width or int(defaults["bgp.maximum_ecmp"].value or 1),
    )
    return found, lines


def _areas(stanzas: Stanzas, ports: Mapping[str, Port], header: Selected, lines: list[Selected]) -> dict[str, str]:
    """The areas of interfaces."""
    taking, found = stanzas.taking, dict[str, str]()
    for one in taking.each("network <prefix> area <area>", below=header):
        inside = prefix(one["prefix"])
        if inside is None:
            taking.leave(one)
            continue
        lines.append(one)
        for name, port in ports.items():
            if not port.vrf and any(inside.holds(each.address) for each in port.addresses):
                found[name] = area_id(one["area"])
    for name, one in stanzas.each("ip ospf area <area>"):
        lines.append(one)
        if ports[name].vrf or not (PORT.match(name) or name.startswith("Loopback")):
            taking.leave(one)
        else:
            found[name] = area_id(one["area"])
    return {name: found[name] for name in ports if name in found}


def _quiet(stanzas: Stanzas, areas: Mapping[str, str], header: Selected, lines: list[Selected]) -> set[str]:
    """Interfaces without neighbors: loopbacks, and those that are passive."""
    taking = stanzas.taking
    everywhere = taking.last("passive-interface default", below=header)
    lines += [everywhere] if everywhere else []
    quiet = {name for name in areas if everywhere or name.startswith("Loopback")}
    for one in taking.each("passive-interface <name>", below=header):
        lines.append(one)
        quiet.add(one["name"])
    for one in taking.each("no passive-interface <name>", below=header):
        lines.append(one)
        quiet.discard(one["name"])
    return quiet


def area_id(text: str) -> str:
    """An area as an address, ``0.0.0.0`` of ``0``; other words as they are."""
    value = number(text, 0, 2**32 - 1)
    return text if value is None else ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0))
