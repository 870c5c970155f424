"""Conversion between the interfaces of a device and their statements (``statements.ports``)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from railweave.model.config.addresses import FAMILIES, InterfaceAddress
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.frr.meaning.igp import on_isis
from railweave.systems.frr.statements import unprinted
from railweave.systems.frr.statements.ports import Advertised, AdvertisedPrefix, Port, Ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import Address, Addressed, Family, Prefix
    from railweave.model.device.model import DeviceConfig, Gateway, Interface

DISCOVERY = Advertised(sends=True, max_interval=10)
"""The router advertisements on a link without addresses, by which BGP discovers its neighbor."""


def ports_of(config: DeviceConfig) -> Ports:
    """Return the interfaces of a device as statements: loopbacks, ports to other switches and to external routers, and gateways."""
    return Ports({port.name: port for port in _ports(config)})


def _ports(config: DeviceConfig) -> Iterator[Port]:
    yield Port("lo", assigned=_assigned(config.loopbacks()), isis=on_isis(config, "lo"))
    for vrf in config.vrfs:
        if vrf.unit is not None:
            yield Port(f"lo{vrf.unit}", vrf.name, assigned=_assigned(vrf.loopbacks))
    for port in config.fabric_interfaces():
        yield Port(
            port.name,
            description=port.description,
            shut=not port.enabled,
            assigned=port.addresses,
            advertised=discovery(port),
            isis=on_isis(config, port.name),
        )
    for port in (part for each in config.interfaces if each.kind == "external" for part in each.parts()):
        name = port.name if port.unit_vlan is None else f"{port.name}.{port.unit_vlan}"
        yield Port(name, port.vrf, port.description, not port.enabled, port.addresses)
    for gateway in config.gateways:
        yield Port(
            gateway.name,
            gateway.vrf,
            gateway.description,
            assigned=gateway.addresses,
            advertised=advertised_of(gateway),
            isis=on_isis(config, gateway.name),
        )


def _assigned(addresses: Iterable[Addressed]) -> tuple[InterfaceAddress, ...]:
    return tuple(map(InterfaceAddress, addresses))


def discovery(port: Interface) -> Advertised | None:
    """Return the router advertisements of a link to another switch, or None if the port has addresses."""
    return None if port.addresses else DISCOVERY


def advertised_of(gateway: Gateway) -> Advertised | None:
    """Return the router advertisements of a gateway for servers, or None if the gateway sends none."""
    timers = gateway.advertisements
    if timers is None:
        return None
    flags = (None if timers.on_link else True, None if timers.autonomous else True)
    lifetimes = (timers.prefix_valid_lifetime, timers.prefix_preferred_lifetime)
    return Advertised(
        sends=True,
        max_interval=timers.max_interval,
        router_lifetime=timers.router_lifetime,
        hop_limit=timers.hop_limit,
        reachable_time=timers.reachable_time or None,
        retransmit_timer=timers.retransmit_timer or None,
        link_mtu=gateway.mtu if timers.link_mtu else None,
        managed=timers.managed,
        other=timers.other,
        prefixes=tuple(AdvertisedPrefix(prefix, *lifetimes, *flags) for prefix in gateway.advertised),
    )


def for_servers(port: Port) -> Advertised | None:
    """Return an interface's router advertisements for servers, or None if it sends none.

    Advertisements that only serve the discovery of a BGP neighbor do not count.
    """
    given = port.advertised
    if given is None or not given.sends:
        return None
    has_content = given.prefixes or given.managed or given.other or given.hop_limit is not None
    return given if has_content else None


def advertisements(port: Port) -> RouterAdvertisements | None:
    """Return an interface's router advertisements for servers as ``DeviceConfig`` has them, or None if the interface sends none."""
    given = for_servers(port)
    return None if given is None else sent(given)


def sent(given: Advertised) -> RouterAdvertisements:
    """Return the router advertisements ``given`` as ``DeviceConfig`` has them. A time or limit that no statement sets has FRR's default.

    ``DeviceConfig`` has one set of prefix options for all prefixes. If prefixes have different options, the least frequent
    options are returned, so that a deviation stays visible.
    """
    each = [replace(entry, prefix=None) for entry in {entry.prefix: entry for entry in given.prefixes}.values()]
    option = min(each, key=each.count, default=AdvertisedPrefix())
    return RouterAdvertisements(
        prefix_valid_lifetime=option.valid,
        prefix_preferred_lifetime=option.preferred,
        on_link=not option.off_link,
        autonomous=not option.no_autoconfig,
        router_lifetime=_or_usual(given.router_lifetime, "router_lifetime"),
        max_interval=_or_usual(given.max_interval, "max_interval"),
        hop_limit=_or_usual(given.hop_limit, "hop_limit"),
        reachable_time=given.reachable_time or 0,
        retransmit_timer=given.retransmit_timer or 0,
        link_mtu=given.link_mtu is not None,
        managed=given.managed,
        other=given.other,
    )


def _or_usual(time: int | None, name: str) -> int:
    return unprinted(f"gateways.advertisements.{name}") if time is None else time


def prefixes(port: Port) -> tuple[Prefix, ...]:
    """Return the prefixes that servers use behind a gateway: advertised IPv6 prefixes, and the IPv4 prefixes of its addresses.

    If the gateway advertises no prefix, return the prefixes of all its addresses.
    """
    given = for_servers(port)
    advertised = dict.fromkeys(each.prefix for each in given.prefixes if each.prefix) if given else {}
    held = tuple(dict.fromkeys(address.prefix for address in port.addresses))
    return (*(prefix for prefix in held if prefix.family == "ipv4"), *advertised) if advertised else held


class WithSubnets(Protocol):
    """The properties that ``Subnets`` needs from an interface, whatever its operating system."""

    @property
    def name(self) -> str:
        """The name of the interface."""
        ...

    @property
    def vrf(self) -> str:
        """The name of the interface's VRF; empty for the default VRF."""
        ...

    @property
    def description(self) -> str:
        """The description of the interface."""
        ...

    @property
    def addresses(self) -> Sequence[InterfaceAddress]:
        """The addresses of the interface."""
        ...


class Subnets:
    """An index of the subnets of interfaces, which finds the interface whose subnet contains an address."""

    def __init__(self, ports: Mapping[str, WithSubnets]) -> None:
        self._of = {(port.vrf, held.prefix): (port, held) for port in ports.values() for held in port.addresses}
        self._lengths: dict[Family, list[int]] = {
            family: sorted({prefix.length for _, prefix in self._of if prefix.family == family}, reverse=True)
            for family in FAMILIES
        }

    def port(self, peer: Address, vrf: str = "") -> tuple[WithSubnets, InterfaceAddress] | None:
        """Return (interface, its address in the subnet) for the smallest subnet of the VRF that contains ``peer``.

        Return None if no subnet of the VRF contains ``peer``.
        """
        for length in self._lengths[peer.family]:
            reached = self._of.get((vrf, InterfaceAddress(f"{peer}/{length}").prefix))
            if reached is not None:
                return reached
        return None
