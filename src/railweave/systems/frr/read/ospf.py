"""``router ospf`` of the default VRF, and the interfaces it runs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.model import Ospf, OspfPort
from railweave.systems.frr.read.defaults import unprinted
from railweave.systems.frr.read.ports import OnOspf, area_id
from railweave.systems.frr.read.values import address, number, prefix

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Address
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking
    from railweave.systems.frr.read.ports import Port


def ospf(taking: Taking, ports: Mapping[str, Port], router_id: Address, loopbacks: tuple[str, ...]) -> Ospf | None:
    """OSPF; None where it does not run. Lines that say more than an area, a metric and what is passive are not understood."""
    named, width, quiet, stands = None, None, dict[str, bool](), False
    for one in taking.each("router ospf"):
        stands = True
        for line in taking.each("<words...>", below=one) if one.below else ():
            match line["words"].split():
                case ["ospf", "router-id", text] | ["router-id", text]:
                    named = address(text)
                case ["passive-interface", name]:
                    quiet[name] = True
                case ["no", "passive-interface", name]:
                    quiet[name] = False
                case ["maximum-paths", text]:
                    width = number(text)
                case ["log-adjacency-changes", *_]:
                    pass
                case ["network", text, "area", area]:
                    _network(taking, line, ports, text, area)
                case _:
                    taking.leave(line)
    running = {one.name: one.ospf for one in ports.values() if one.ospf and one.ospf.area and not one.vrf}
    if not stands or not running:
        leave(taking, ports)
        return None
    everywhere = quiet.get("default", False)
    passive = [
        name
        for name, one in running.items()
        if one.passive or quiet.get(name, everywhere) or name in loopbacks or name == "lo"
    ]
    return Ospf(
        router_id=named or router_id,
        ports=tuple(
            OspfPort(name, "", ports[name].description.split(" ")[0], one.area, one.metric or _usual())
            for name, one in running.items()
            if name not in passive
        ),
        passive=tuple(passive),
        maximum_ecmp=width or unprinted("bgp.maximum_ecmp"),
    )


def leave(taking: Taking, ports: Mapping[str, Port]) -> None:
    """Say that OSPF is not understood after all: BGP finds routes beside it, or it runs nowhere."""
    for port in ports.values():
        for line in port.ospf.lines if port.ospf else ():
            taking.leave(line)
        port.ospf = None
    for one in taking.each("router ospf"):
        for line in taking.each("<words...>", below=one) if one.below else ():
            taking.leave(line)
        taking.leave(one)


def _usual() -> int:
    return unprinted("ospf.ports.metric")


def _network(taking: Taking, line: Selected, ports: Mapping[str, Port], text: str, area: str) -> None:
    inside = prefix(text)
    if inside is None:
        taking.leave(line)
        return
    for port in ports.values():
        if not port.vrf and any(inside.holds(one.address) for one in port.addresses):
            port.ospf = port.ospf or OnOspf()
            port.ospf.area = port.ospf.area or area_id(area)
