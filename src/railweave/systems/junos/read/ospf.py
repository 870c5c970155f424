"""``protocols ospf``: the links and passive interfaces of areas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.model import Ospf, OspfPort
from railweave.systems.junos.read.bgp import peer_of
from railweave.systems.junos.read.isis import LOOPBACK
from railweave.systems.junos.read.values import unprinted
from railweave.systems.junos.read.words import Word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Address
    from railweave.systems.junos.read.ports import Port


def links(top: Word) -> tuple[str, ...]:
    """The ports that OSPF has neighbors on."""
    areas = top.at_path("protocols", "ospf", "area")
    found = (
        one
        for area in (areas.below.values() if areas is not None else ())
        for one in area.below.get("interface", Word("")).below.values()
    )
    return tuple(one.text.removesuffix(".0") for one in found if "passive" not in one.below and one.text != LOOPBACK)


def ospf(top: Word, ports: Mapping[str, Port], router_id: Address) -> Ospf | None:
    """OSPF; None where there is none."""
    word = top.at_path("protocols", "ospf")
    if word is None:
        return None
    word.take()
    found: list[OspfPort] = []
    passive: list[str] = []
    for area in word.entries("area"):
        for one in area.entries("interface"):
            name = one.text.removesuffix(".0")
            if one.text.partition(".")[0] not in ports:  # all of them, or one that is not here
                one.leave()
                continue
            metric = one.number("metric")
            one.value("interface-type")
            if one.flag("passive") or one.text == LOOPBACK:
                passive.append(name)
            else:
                usual = unprinted("ospf.ports.metric")
                found.append(
                    OspfPort(name, "", peer_of(ports, name), area_id(area.text), usual if metric is None else metric)
                )
    wide = top.number("chassis", "maximum-ecmp")
    return Ospf(router_id, tuple(found), tuple(passive), unprinted("bgp.maximum_ecmp") if wide is None else wide)


def area_id(text: str) -> str:
    """An area as an address, ``0.0.0.0`` of ``0``; other words as they are."""
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return text
    number = int(text)
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
