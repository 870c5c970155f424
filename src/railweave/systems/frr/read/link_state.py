"""IS-IS, OSPF and BFD of a running configuration, read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.model import Isis, IsisPort, Ospf, OspfPort
from railweave.model.device.timers import Bfd
from railweave.systems.frr.read.ports import OnOspf, area_id
from railweave.systems.frr.read.text import address, number, prefix, secret, unprinted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Address, Family
    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking
    from railweave.systems.frr.read.ports import Port


_INTERVALS = ("transmit-interval", "receive-interval")


def default() -> Bfd:
    """The timers where a profile does not say."""
    return Bfd(minimum_interval=unprinted("bgp.bfd.minimum_interval"), multiplier=unprinted("bgp.bfd.multiplier"))


def profiles(taking: Taking) -> dict[str, Bfd]:
    """The profiles by name. Where a profile receives at another interval than it sends, that line is not understood."""
    found: dict[str, Bfd] = {}
    usual = default()
    for one in taking.each("bfd", "profile <name>"):
        multiplier = usual.multiplier
        intervals: dict[str, tuple[int, Selected]] = {}
        for line in taking.each("<word> <value>", below=one) if one.below else ():
            value, word = number(line["value"]), line["word"]
            if value and word == "detect-multiplier":
                multiplier = value
            elif value and word in _INTERVALS:
                intervals[word] = value, line
            else:
                taking.leave(line)
        sent, received = (intervals.get(word, (usual.minimum_interval, None)) for word in _INTERVALS)
        if sent[0] != received[0]:
            other = received[1] or sent[1]
            if other is not None:
                taking.leave(other)
        interval = sent[0] if received[1] is not None else received[0]
        found[one["name"]] = Bfd(minimum_interval=interval, multiplier=multiplier)
    return found


_FAMILIES: tuple[Family, ...] = ("ipv4", "ipv6")


def isis(
    taking: Taking,
    ports: Mapping[str, Port],
    profiles: Mapping[str, Bfd],
    router_id: Address,
    loopbacks: tuple[str, ...],
) -> Isis | None:
    """IS-IS: level 2, wide metrics; None where it does not run. Lines that say otherwise are not understood."""
    net, key, stands = "", None, False
    for one in taking.each("router isis <area>"):
        stands = True
        for line in taking.each("<words...>", below=one) if one.below else ():
            match line["words"].split():
                case ["net", text]:
                    net = text
                case ["is-type", "level-2-only"] | ["metric-style", "wide"] | ["log-adjacency-changes"]:
                    pass
                case ["domain-password" | "area-password", "md5" | "clear", text]:
                    key = secret(text)
                case _:
                    taking.leave(line)
    if not stands:
        return None
    running = [one for one in ports.values() if one.isis and one.isis.families and not one.isis.passive]
    passive = [one for one in ports.values() if one.isis and one.isis.families and one.isis.passive]
    used = {family for one in (*running, *passive) if one.isis for family in one.isis.families}
    watched = [one.isis.bfd for one in running if one.isis]
    profile = watched[0] if watched and len(set(watched)) == 1 else None
    return Isis(
        net=net,
        router_id=router_id,
        ports=tuple(
            IsisPort(one.name, "", one.description.split(" ")[0], one.isis.metric) for one in running if one.isis
        ),
        passive=tuple(one.name for one in passive if one.name not in loopbacks),
        families=tuple(family for family in _FAMILIES if family in used),
        maximum_ecmp=1,
        key=next((one.isis.key for one in running if one.isis and one.isis.key), key),
        bfd=None if profile is None else profiles.get(profile) or default(),
    )


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
