"""IS-IS and OSPF of a running configuration, read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.model import Isis, IsisPort, Ospf, OspfPort
from railweave.systems.junos.read.bgp import agreed, liveness, peer_of
from railweave.systems.junos.read.words import FAMILIES, Word, secret, unprinted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.config.addresses import Address
    from railweave.model.device.timers import Bfd
    from railweave.systems.junos.read.ports import Port


LOOPBACK = "lo0.0"


def isis_links(top: Word) -> tuple[str, ...]:
    """The ports that IS-IS has neighbors on."""
    found = top.at_path("protocols", "isis", "interface")
    words = found.below.values() if found is not None else ()
    return tuple(one.text.removesuffix(".0") for one in words if "passive" not in one.below and one.text != LOOPBACK)


def isis(top: Word, ports: Mapping[str, Port], router_id: Address) -> Isis | None:
    """The IS-IS configuration; None where there is none."""
    word = top.at_path("protocols", "isis")
    if word is None:
        return None
    word.take()
    found: list[IsisPort] = []
    passive: list[str] = []
    timers: list[tuple[Bfd | None, Word]] = []
    keys = {_key(word, "2", "authentication")}
    for one in word.entries("interface"):
        one.flag("level", "1", "disable")
        if one.flag("passive"):
            passive += [] if one.text == LOOPBACK else [one.text.removesuffix(".0")]
            continue
        if one.text == LOOPBACK:
            continue
        one.flag("point-to-point")
        name = one.text.removesuffix(".0")
        metric = one.number("level", "2", "metric")
        found.append(
            IsisPort(name, "", peer_of(ports, name), unprinted("isis.ports.metric") if metric is None else metric)
        )
        keys.add(_key(one, "2", "hello-authentication"))
        timers += [(liveness(family), family) for family in one.entries("family")]
    word.flag("level", "1", "disable")
    word.flag("level", "2", "wide-metrics-only")
    off = {family for name, family in FAMILIES.items() if word.flag(f"no-ipv{'6' if name == 'inet6' else '4'}-routing")}
    wide = top.number("chassis", "maximum-ecmp")
    return Isis(
        net=_net(top),
        router_id=router_id,
        ports=tuple(found),
        passive=tuple(passive),
        families=tuple(one for one in FAMILIES.values() if one not in off),
        maximum_ecmp=unprinted("bgp.maximum_ecmp") if wide is None else wide,
        key=next((one for one in keys if one is not None), None),
        bfd=agreed([one for one, _ in timers], [one for _, one in timers]),
    )


def _key(word: Word, level: str, what: str) -> str | None:
    here = word.at_path("level", level)
    if here is None:
        return None
    here.take()
    here.value(f"{what}-type")
    return here.read(secret, f"{what}-key")


def _net(top: Word) -> str:
    """The address of ``family iso`` on the loopback."""
    return next(_nets(top), "")


def _nets(top: Word) -> Iterator[str]:
    for unit in top.entries("interfaces", "lo0", "unit"):
        yield from unit.names("family", "iso", "address")


def ospf_links(top: Word) -> tuple[str, ...]:
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
