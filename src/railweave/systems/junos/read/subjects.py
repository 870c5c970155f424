"""The subjects of a configuration, read one after another into a ``DeviceConfig``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.model import DeviceConfig
from railweave.systems.junos.read import management, ospf, overlay
from railweave.systems.junos.read.balancing import balancing, runs
from railweave.systems.junos.read.bgp import underlay
from railweave.systems.junos.read.gateways import gateways, vlan_numbers
from railweave.systems.junos.read.instances import instances as instances_of
from railweave.systems.junos.read.instances import vrf, with_loopback
from railweave.systems.junos.read.interfaces import in_order, interfaces, kinds, macsec, splits
from railweave.systems.junos.read.isis import isis, links
from railweave.systems.junos.read.policies import policy_options, unused
from railweave.systems.junos.read.ports import Owners, ports
from railweave.systems.junos.read.protection import protection
from railweave.systems.junos.read.qos import qos
from railweave.systems.junos.read.sessions import groups
from railweave.systems.junos.read.values import NO_ADDRESS, address, asn, network
from railweave.systems.junos.read.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.addresses import InterfaceAddress
    from railweave.systems.junos.read.instances import Instance
    from railweave.systems.junos.read.interfaces import Kind
    from railweave.systems.junos.read.ports import Port
    from railweave.systems.junos.read.sessions import Group


def configuration(top: Word) -> DeviceConfig:
    """What a trie of words says."""
    named = ports(top)
    networks = {
        unit.name: tuple(map(network, unit.every_address())) for port in named.values() for unit in port.units.values()
    }
    options = policy_options(top, networks)
    owners = Owners(named.values())
    instances = instances_of(top)
    bgp = top.at_path("protocols", "bgp")
    sessions = groups(bgp, top) if bgp is not None else []
    evpn = [one for one in sessions if one.evpn and not one.families]
    below = [one for one in sessions if one.families or not one.evpn]

    kind = _kinds(top, named, owners, instances, below)
    bridged = {name: port for name, port in named.items() if kind.get(name) == "server" and _is_routed(port)}
    made = gateways(top, named, instances, bridged)
    vrf_of = {unit: one.word.text for one in instances.values() if one.kind == "vrf" for unit in one.interfaces}

    own = [network(one) for one in _loopback_addresses(named)]
    router_id = top.read(address, "routing-options", "router-id") or (own[0].address if own else NO_ADDRESS)
    own_as = top.read(asn, "routing-options", "autonomous-system") or next(
        (one.local_as for one in sessions if one.local_as), 0
    )
    own_as = own_as or 0
    mac_vrf = overlay.mac_vrf(top, instances, named.values())
    vrfs = tuple(
        with_loopback(vrf(one, options, made, named, owners), one, named)
        for one in instances.values()
        if one.kind == "vrf"
    )
    over = overlay.overlay(top, evpn, options, router_id.prefix, own_as=own_as, tunnels=bool(vrfs or mac_vrf))
    rules, elsewhere = protection(top, named, options)
    marks = frozenset(name for name, word in options.communities.items() if word.kind == "understood")
    cos = qos(top, in_order(kind))
    name, release = management.identity(top)
    found = underlay(
        top,
        below,
        options,
        named,
        owners,
        asn=own_as,
        router_id=router_id,
        elsewhere=elsewhere | marks,
        keyed=sessions,
    )
    cut = splits(top, named)
    shared = balancing(top, named.values())
    unused(options, top)
    management.own_routes(top, management.own_address(named))
    return DeviceConfig(
        name=name,
        role="leaf" if "server" in kind.values() or vrfs else "spine",
        model="",
        nos="junos",
        release=release,
        management=management.management(top, named.values(), protected=rules is not None),
        management_address=management.own_address(named),
        management_gateway=management.gateway(top),
        loopback=router_id.prefix,
        splits=cut,
        interfaces=interfaces(
            named,
            kind,
            cut,
            routed=bridged,
            vrfs=vrf_of,
            pausing={name for one in cos.profiles for name in one.ports} if cos is not None and cos.profiles else None,
            encrypted=macsec(top),
            vlans=vlan_numbers(top, instances),
        ),
        gateways=made,
        bgp=found if below else None,
        qos=cos,
        balancing=shared,
        extra="",
        overlay=over,
        vrfs=vrfs,
        mac_vrf=mac_vrf,
        isis=isis(top, named, router_id),
        ospf=None if below else ospf.ospf(top, named, router_id),
        protection=rules,
    )


def _kinds(
    top: Word,
    named: Mapping[str, Port],
    owners: Owners,
    instances: Mapping[str, Instance],
    sessions: Iterable[Group],
) -> dict[str, Kind]:
    fabric = {*links(top), *ospf.links(top)}
    for group in sessions:
        fabric |= {name.removesuffix(".0") for name in group.found}
        for one in group.neighbors:
            owner = owners.unit(one.local or owners.beside(one.peer))
            fabric |= {owner[0].name} if owner is not None else set()
    external: set[str] = set()
    served: set[str] = set()
    for instance in instances.values():
        served |= set(instance.interfaces) if instance.kind == "vrf" else set()
        for group in instance.groups:
            for one in group.neighbors:
                owner = owners.unit(one.local or owners.beside(one.peer))
                external |= {owner[0].name} if owner is not None else set()
    advertised = top.at_path("protocols", "router-advertisement", "interface")
    served |= {one.text for one in (advertised or Word("")).below.values() if one.below}
    return kinds(named, fabric=fabric, external=external, served=served, told=bool(fabric) or not runs(top))


def _is_routed(port: Port) -> bool:
    """Whether a port has an address of its own on its only unit."""
    unit = port.units.get("0")
    return unit is not None and bool(unit.every_address())


def _loopback_addresses(named: Mapping[str, Port]) -> list[InterfaceAddress]:
    port = named.get("lo0")
    unit = port.units.get("0") if port is not None else None
    return list(unit.every_address()) if unit is not None else []
