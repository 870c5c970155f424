"""Gateways of servers: routed interfaces of VLANs and routed ports, with their router advertisements."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.device.model import Gateway
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.junos.read.values import network, prefix, unprinted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.systems.junos.read.instances import Instance
    from railweave.systems.junos.read.ports import Port, Unit
    from railweave.systems.junos.read.words import Word

_FRAME = 14
"""Bytes of an Ethernet header, which the MTU of a port counts and that of a family does not."""
_PREFERENCES: dict[str, Literal["low", "medium", "high"]] = {"low": "low", "medium": "medium", "high": "high"}
_NUMBERS = {
    "max_interval": "max-advertisement-interval",
    "min_interval": "min-advertisement-interval",
    "reachable_time": "reachable-time",
    "retransmit_timer": "retransmit-timer",
    "hop_limit": "current-hop-limit",
    "router_lifetime": "default-lifetime",
}
_FLAGS = {"managed": "managed-configuration", "other": "other-stateful-configuration", "link_mtu": "link-mtu"}


def _vlans(top: Word, found: Mapping[str, Instance]) -> Iterator[Word]:
    """What stands of each VLAN, at the top and in instances."""
    for place in (top, *(one.word for one in found.values() if one.kind in {"mac-vrf", "virtual-switch"})):
        words = place.at_path("vlans")
        if words is not None:
            yield from words.below.values()


def vlan_numbers(top: Word, found: Mapping[str, Instance]) -> dict[str, int]:
    """The numbers of VLANs by their names."""
    every = ((one.text, one.take().number("vlan-id")) for one in _vlans(top, found))
    return {name: number for name, number in every if number is not None}


def vlans(top: Word, found: Mapping[str, Instance]) -> dict[str, tuple[str, int]]:
    """VLANs by their routed interface: name and number."""
    named: dict[str, tuple[str, int]] = {}
    for one in _vlans(top, found):
        number, routed = one.number("vlan-id"), one.value("l3-interface")
        one.value("description")
        one.take()
        if routed is not None and number is not None:
            named.setdefault(routed, (one.text, number))
    return named


def gateways(
    top: Word, ports: Mapping[str, Port], found: Mapping[str, Instance], routed: Iterable[str]
) -> tuple[Gateway, ...]:
    """Gateways; ``routed`` are ports that servers are on without a VLAN.

    They are in the order in which router advertisements, else VRFs, name them.
    """
    advertised = {one.text: one for one in top.entries("protocols", "router-advertisement", "interface")}
    vrfs = {
        name: one.word.text
        for one in found.values()
        if one.kind in {"vrf", "virtual-router"}
        for name in one.interfaces
    }
    named = vlans(top, found)
    made: list[Gateway] = []
    irb = ports.get("irb")
    wanted = [(irb, unit) for unit in irb.units.values() if not (irb.disabled or unit.disabled)] if irb else []
    wanted += [(ports[name], ports[name].units["0"]) for name in routed]
    for port, unit in wanted:
        if unit.addresses and any(unit.addresses.values()):
            made.append(_gateway(port, unit, named.get(unit.name), advertised.get(unit.name), vrfs.get(unit.name, "")))
    order = {name: place for place, name in enumerate(dict.fromkeys([*advertised, *vrfs]))}
    return tuple(sorted(made, key=lambda one: order.get(one.name if one.vlan else f"{one.port}.0", len(order))))


def _gateway(port: Port, unit: Unit, vlan: tuple[str, int] | None, word: Word | None, vrf: str) -> Gateway:
    addresses = unit.every_address()
    bridged = port.name == "irb"
    name, number = vlan or ("", int(unit.name.partition(".")[2]) if bridged else 0)
    usual = unprinted("gateways.mtu") if port.mtu is None else port.mtu - _FRAME
    return Gateway(
        name=unit.name if bridged else port.name,
        vlan=number if bridged else None,
        vlan_name=name,
        description=unit.description if bridged else port.description,
        mtu=usual if unit.mtu is None else unit.mtu,
        addresses=addresses,
        prefixes=tuple(dict.fromkeys(network(one) for one in addresses)),
        advertisements=_advertisements(word) if word is not None else None,
        port="" if bridged else port.name,
        vrf=vrf,
        proxy_arp=unit.proxy_arp,
        mac=unit.mac,
    )


def _advertisements(word: Word) -> RouterAdvertisements:
    """What is advertised on an interface; lifetimes of prefixes and routes are those of the first."""
    plain = _defaults()
    given: dict[str, int | bool] = {}
    for name, statement in _NUMBERS.items():
        value = word.number(statement)
        if value is not None:
            given[name] = value
    given.update(_flags(word, _FLAGS))
    for one in word.entries("prefix"):
        given.update(_flags(one, {"on_link": "on-link", "autonomous": "autonomous"}))
        for name, statement in (
            ("prefix_valid_lifetime", "valid-lifetime"),
            ("prefix_preferred_lifetime", "preferred-lifetime"),
        ):
            value = one.number(statement)
            if value is not None:
                given[name] = value
    found = replace(plain, **given)  # pyright: ignore[reportArgumentType]
    return _with_routes(word, found)


def _with_routes(word: Word, found: RouterAdvertisements) -> RouterAdvertisements:
    routes: list[str] = []
    for one in word.entries("rio-prefix"):
        try:
            routes.append(prefix(one.text))
        except ValueError:
            one.leave()
            continue
        lifetime = one.number("rio-lifetime")
        found = replace(
            found,
            route_lifetime=found.route_lifetime if lifetime is None else lifetime,
            route_preference=_PREFERENCES.get(one.value("rio-preference") or "", found.route_preference),
        )
    return replace(found, routes=tuple(map(prefix, routes)))


def _flags(word: Word, names: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    for name, statement in names.items():
        if word.flag(statement):
            yield name, True
        if word.flag(f"no-{statement}"):
            yield name, False


def _defaults() -> RouterAdvertisements:
    """What Junos advertises where its configuration does not say."""
    plain = RouterAdvertisements()
    names = [one.name for one in fields(plain) if one.name not in {"routes", "route_preference"}]
    values: dict[str, int | bool] = {}
    for name in names:
        value = unprinted(f"gateways.advertisements.{name}")
        values[name] = bool(value) if isinstance(getattr(plain, name), bool) else value  # flags are 0 and 1 there
    return replace(plain, **values)  # pyright: ignore[reportArgumentType]
