"""Derivation of the EVPN overlay (its sessions, and the instance of bridged VLANs), and of the gateways for servers."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.device.model import BridgedVlan, Gateway, MacVrf, NumberedSession, OverlayConfig, TunnelEndpoint
from railweave.model.device.port_model import neighbor_of
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.junos.read import policies
from railweave.systems.junos.read.bgp import Group, agreed, watching
from railweave.systems.junos.words import Word, address, network, prefix, statements, unprinted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.model.config.addresses import InterfaceAddress, Prefix
    from railweave.systems.junos.read.instances import Instance
    from railweave.systems.junos.read.policies import PolicyOptions
    from railweave.systems.junos.read.ports import Owners, Port, Unit


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


def _vlans(top: Word, instances: Mapping[str, Instance]) -> Iterator[Word]:
    """Yield every VLAN, at the top level and in routing instances. ``top`` is the root of the configuration."""
    for place in (
        top,
        *(instance.word for instance in instances.values() if instance.kind in {"mac-vrf", "virtual-switch"}),
    ):
        words = place.at_path("vlans")
        if words is not None:
            yield from words.below.values()


def vlan_numbers(top: Word, instances: Mapping[str, Instance]) -> dict[str, int]:
    """Return the number of each VLAN, by name. ``top`` is the root of the configuration.

    ``instances`` has the routing instances by name.
    """
    every = ((vlan.text, vlan.mark().number("vlan-id")) for vlan in _vlans(top, instances))
    return {name: number for name, number in every if number is not None}


def vlans(top: Word, instances: Mapping[str, Instance]) -> dict[str, tuple[str, int]]:
    """Return (name, number) of each VLAN with a routed interface, by the name of this interface.

    ``top`` is the root of the configuration. ``instances`` has the routing instances by name.
    """
    named: dict[str, tuple[str, int]] = {}
    for vlan in _vlans(top, instances):
        number, routed = vlan.number("vlan-id"), vlan.value("l3-interface")
        vlan.value("description")
        vlan.mark()
        if routed is not None and number is not None:
            named.setdefault(routed, (vlan.text, number))
    return named


def gateways(
    top: Word, ports: Mapping[str, Port], instances: Mapping[str, Instance], routed: Iterable[str]
) -> tuple[Gateway, ...]:
    """Return the gateways for servers. ``routed`` are the ports to servers that have no VLAN.

    First come the gateways with router advertisements, in the order of the statements ``router-advertisement``. Then come the other
    gateways in VRFs, and then all others. ``top`` is the root of the configuration. ``instances`` has the routing instances by name.
    """
    advertised = {
        interface.text: interface for interface in top.entries("protocols", "router-advertisement", "interface")
    }
    vrfs = {
        name: instance.word.text
        for instance in instances.values()
        if instance.kind in {"vrf", "virtual-router"}
        for name in instance.interfaces
    }
    named = vlans(top, instances)
    made: list[Gateway] = []
    irb = ports.get("irb")
    wanted = [(irb, unit) for unit in irb.units.values() if not (irb.disabled or unit.disabled)] if irb else []
    wanted += [(ports[name], ports[name].units["0"]) for name in routed]
    for port, unit in wanted:
        if unit.addresses and any(unit.addresses.values()):
            made.append(_gateway(port, unit, named.get(unit.name), advertised.get(unit.name), vrfs.get(unit.name, "")))
    order = {name: place for place, name in enumerate(dict.fromkeys([*advertised, *vrfs]))}
    return tuple(
        sorted(made, key=lambda gateway: order.get(gateway.name if gateway.vlan else f"{gateway.port}.0", len(order)))
    )


def _gateway(port: Port, unit: Unit, vlan: tuple[str, int] | None, word: Word | None, vrf: str) -> Gateway:
    addresses = unit.every_address()
    bridged = port.name == "irb"
    name, number = vlan or ("", int(unit.name.partition(".")[2]) if bridged else 0)
    usual = unprinted("gateways.mtu") if port.mtu is None else port.mtu - ETHERNET_HEADER
    return Gateway(
        name=unit.name if bridged else port.name,
        vlan=number if bridged else None,
        vlan_name=name,
        description=unit.description if bridged else port.description,
        mtu=usual if unit.mtu is None else unit.mtu,
        addresses=addresses,
        prefixes=tuple(dict.fromkeys(network(address) for address in addresses)),
        advertisements=_advertisements(word, addresses) if word is not None else None,
        port="" if bridged else port.name,
        vrf=vrf,
        proxy_arp=unit.proxy_arp,
        mac=unit.mac,
    )


def _advertisements(word: Word, addresses: Iterable[InterfaceAddress]) -> RouterAdvertisements:
    """Return the router advertisements of an interface with the addresses ``addresses``. ``word`` is the interface's block of statements.

    Lifetimes are those of the first prefix and of the first route.
    """
    held = {str(network(address)) for address in addresses}
    plain = _defaults()
    given: dict[str, int | bool] = {}
    for name, statement in _NUMBERS.items():
        value = word.number(statement)
        if value is not None:
            given[name] = value
    given.update(_flags(word, _FLAGS))
    for entry in word.entries("prefix"):
        given.update(_flags(entry, {"on_link": "on-link", "autonomous": "autonomous"}))
        for name, statement in (
            ("prefix_valid_lifetime", "valid-lifetime"),
            ("prefix_preferred_lifetime", "preferred-lifetime"),
        ):
            value = entry.number(statement)
            if value is not None:
                given[name] = value
        if entry.text not in held:
            entry.mark_unknown()
    advertised = replace(plain, **given)  # pyright: ignore[reportArgumentType]
    return _with_routes(word, advertised)


def _with_routes(word: Word, advertised: RouterAdvertisements) -> RouterAdvertisements:
    routes: list[str] = []
    for route in word.entries("rio-prefix"):
        try:
            routes.append(prefix(route.text))
        except ValueError:
            route.mark_unknown()
            continue
        lifetime = route.number("rio-lifetime")
        advertised = replace(
            advertised,
            route_lifetime=advertised.route_lifetime if lifetime is None else lifetime,
            route_preference=_PREFERENCES.get(route.value("rio-preference") or "", advertised.route_preference),
        )
    return replace(advertised, routes=tuple(map(prefix, routes)))


def _flags(word: Word, names: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    for name, statement in names.items():
        if word.flag(statement):
            yield name, True
        if word.flag(f"no-{statement}"):
            yield name, False


def _defaults() -> RouterAdvertisements:
    """Return the router advertisements that Junos sends by default."""
    plain = RouterAdvertisements()
    names = [field.name for field in fields(plain) if field.name not in {"routes", "route_preference"}]
    values: dict[str, int | bool] = {}
    for name in names:
        value = unprinted(f"gateways.advertisements.{name}")
        values[name] = bool(value) if isinstance(getattr(plain, name), bool) else value  # flags are 0 and 1 there
    return replace(plain, **values)  # pyright: ignore[reportArgumentType]


DEFAULT_SWITCH = "default-switch"
"""Junos's name of the bridging instance at the top level of a configuration."""


@dataclass
class Exported:
    """The contents of the export policy of overlay sessions.

    - ``mark``: the community that spines add to their routes.
    - ``adds``: True if the policy adds this community, as on a spine.
    - ``refuses``: True if the policy rejects routes with this community, as on a leaf.
    - ``endpoints``: the tunnel endpoints, one for each path color.
    """

    mark: str = ""
    adds: bool = False
    refuses: bool = False
    endpoints: list[TunnelEndpoint] = field(default_factory=list[TunnelEndpoint])


def overlay(
    top: Word,
    every: list[Group],
    options: PolicyOptions,
    owners: Owners,
    loopback: Prefix,
    *,
    own_as: int,
    tunnels: bool,
) -> OverlayConfig | None:
    """Return the overlay, or None if there are no EVPN sessions.

    - ``top``: the root of the configuration.
    - ``every``: the BGP groups that carry EVPN routes. If a group also carries unicast routes, only its EVPN part is read here;
      ``underlay`` reads the rest.
    - ``options``: the definitions in ``policy-options``.
    - ``owners``: finds the interface of an address.
    - ``loopback``: the address of the loopback.
    - ``own_as``: the AS number of the device.
    - ``tunnels``: True if the device has tunnel endpoints.
    """
    dscp = top.flag("forwarding-options", "vxlan-tos-copy-filter")
    if not every:
        return None
    only_evpn = [group for group in every if not group.families]
    between = [
        (group, neighbor)
        for group in every
        for neighbor in group.neighbors
        if not group.families or not owners.link(neighbor.peer)
    ]
    links = [
        port
        for group in every
        if group.families
        for neighbor in group.neighbors
        if (port := owners.link(neighbor.peer))
    ]
    links += [unit.removesuffix(".0") for group in every for unit in group.found]
    exported = _exported(only_evpn, options)
    local = next((neighbor.local for _, neighbor in between if neighbor.local is not None), loopback.address)
    passes = any(group.cluster or group.keeps_next_hop for group in every)
    reflects = exported.adds or (passes and not exported.refuses and not tunnels)
    for group in only_evpn:
        group.word.flag("vpn-apply-export")
        if group.local_as not in {None, own_as}:  # sessions of the overlay have the device's AS number
            for place in (group.word, *group.word.entries("neighbor")):
                place.block("local-as").mark_unknown()
    source = top.at_path("switch-options", "vtep-source-interface")
    if source is not None and "lo0.0" in source.below:
        source.mark_all()
    return OverlayConfig(
        loopback=local,
        neighbors=tuple(
            NumberedSession(
                "",
                "",
                neighbor_of(neighbor.description),
                (own_as if group.internal else neighbor.asn) or 0,
                neighbor.local or local,
                neighbor.peer,
            )
            for group, neighbor in between
        ),
        endpoints=() if reflects else tuple(exported.endpoints) or (TunnelEndpoint(local, None),),
        reflects=reflects,
        from_spine=exported.mark,
        bfd=agreed([group.bfd for group in only_evpn], watching(only_evpn)),
        tunnel_dscp=dscp,
        links=tuple(dict.fromkeys(links)),
    )


def _exported(groups: Iterable[Group], options: PolicyOptions) -> Exported:
    result = Exported()
    names = [name for group in groups for chain in group.exports for name in chain.split(policies.AND)]
    for name in dict.fromkeys(names):
        word = options.policies.get(name)
        for term in word.mark().entries("term") if word is not None else ():
            _of_term(term, options, result)
        if word is not None and any(end.kind == "unknown" for end, _ in statements(word)):
            result.mark = ""  # the policy has other terms, whose effect is unknown
    return result


def _of_term(term: Word, options: PolicyOptions, result: Exported) -> None:
    """Read a term of an export policy into ``result``.

    The term adds the spines' community, rejects routes with this community, sets a tunnel endpoint by color, or accepts all
    other routes.
    """
    then, asked = term.at_path("then") or Word(""), term.at_path("from")
    added = then.at_path("community", "add")
    tagged = asked.at_path("community") if asked is not None else None
    hop = then.at_path("next-hop")
    if hop is not None and asked is not None:
        color = term.text.removeprefix("endpoint-")
        ends = [word for word in hop.below.values() if _is_address(word.text)]
        if ends and then.flag("accept"):
            result.endpoints.append(TunnelEndpoint(address(ends[0].mark().text), color))
            asked.value("family")
            for route_filter in asked.entries("route-filter"):
                route_filter.flag("exact")
    elif added is not None and added.below and asked is None and then.flag("accept"):
        result.adds = True
        _mark(next(iter(added.below.values())).mark(), options, result)
    elif tagged is not None and tagged.below and then.flag("reject"):
        result.refuses = True
        if asked is not None:
            asked.value("protocol")
        _mark(next(iter(tagged.below.values())).mark(), options, result)
    elif asked is None and len(then.below) == 1:
        then.flag("accept")


def _mark(name: Word, options: PolicyOptions, result: Exported) -> None:
    word = options.communities.get(name.text)
    communities = policies.community(word) if word is not None else []
    result.mark = communities[0].value if communities else result.mark


def _is_address(text: str) -> bool:
    try:
        address(text)
    except ValueError:
        return False
    return True


def mac_vrf(top: Word, instances: Mapping[str, Instance], ports: Iterable[Port]) -> MacVrf | None:
    """Return the bridging instance: the ``mac-vrf`` instance or, if there is none, the top level. None if neither is configured.

    ``top`` is the root of the configuration.
    """
    for instance in instances.values():
        if instance.kind == "mac-vrf":
            word = instance.word
            members = tuple(name.removesuffix(".0") for name in instance.interfaces)
            _usual(word)
            return _bridging(word, word.text, members, word)
    evpn = top.at_path("protocols", "evpn")
    if evpn is None or top.at_path("switch-options") is None:
        return None
    evpn.mark()
    members = tuple(port.name for port in ports for unit in port.units.values() if unit.vlans)
    return _bridging(top, DEFAULT_SWITCH, members, top.block("switch-options"))


def _usual(word: Word) -> None:
    """Mark ``description`` and ``service-type`` of a routing instance (``word``) as understood, although they have no effect here.

    Every routing instance of Juniper's validated designs has these two statements.
    """
    word.value("description")
    word.value("service-type")


def _bridging(word: Word, name: str, members: tuple[str, ...], options: Word) -> MacVrf:
    evpn = word.block("protocols", "evpn")
    evpn.value("encapsulation")
    evpn.value("default-gateway")
    evpn.value("duplicate-mac-detection", "auto-recovery-time")
    evpn.names("extended-vni-list")
    if "lo0.0" in options.block("vtep-source-interface").below:
        options.value("vtep-source-interface")
    targets = {
        vni_options.text: vni_options.value("vrf-target") or ""
        for vni_options in evpn.block("vni-options").entries("vni")
    }
    common = next(
        (target.mark().text for target in options.block("vrf-target").below.values() if target.text != "auto"), ""
    )
    options.flag("vrf-target", "auto")
    vlans: list[BridgedVlan] = []
    for vlan in word.block("vlans").below.values():
        vni, number = vlan.number("vxlan", "vni"), vlan.number("vlan-id")
        if vni is not None and number is not None:
            vlan.mark()
            vlans.append(BridgedVlan(number, vlan.text, vni, targets.get(str(vni)) or common))
    return MacVrf(name, options.value("route-distinguisher") or "", common, tuple(vlans), members)
