"""Derivation of routing instances: IP-VRFs with type-5 routes, and their sessions with external routers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from railweave.model.device.model import ExternalPeer, Gateway, NumberedSession, Vrf
from railweave.model.device.port_model import neighbor_of
from railweave.systems.junos.read import policies
from railweave.systems.junos.read.bgp import Group, groups, mark_bfd_unknown, peer_of, watching
from railweave.systems.junos.words import Word, prefix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.model.config.addresses import Prefix
    from railweave.systems.junos.read.policies import PolicyOptions
    from railweave.systems.junos.read.ports import Owners, Port


@dataclass
class Instance:
    """A routing instance: its statements, type, interfaces and BGP groups."""

    word: Word
    kind: str
    interfaces: tuple[str, ...] = ()
    groups: list[Group] = field(default_factory=list["Group"])


def instances(top: Word) -> dict[str, Instance]:
    """Return the routing instances, by name. ``top`` is the root of the configuration."""
    by_name: dict[str, Instance] = {}
    for word in top.block("routing-instances").below.values():
        kind = word.value("instance-type") or ""
        if kind:
            word.mark()
        instance = Instance(word, kind)
        if kind in {"vrf", "mac-vrf", "virtual-router"}:
            instance.interfaces = word.names("interface")
            bgp = word.at_path("protocols", "bgp")
            instance.groups = groups(bgp.mark(), top) if bgp is not None else []
        by_name[word.text] = instance
    return by_name


def vrf(
    instance: Instance, options: PolicyOptions, gateways: Iterable[Gateway], ports: Mapping[str, Port], owners: Owners
) -> Vrf:
    """Return the VRF of a routing instance, with its EVPN type-5 routes and its sessions with external routers.

    ``options`` has the definitions in ``policy-options``. ``gateways`` are all gateways of the device. ``owners`` finds the interface of an
    address.
    """
    word, name = instance.word, instance.word.text
    routes, exports_connected = word.block("protocols", "evpn", "ip-prefix-routes"), True
    if "protocols" in word.below:
        routes.value("advertise")
        routes.value("encapsulation")
        policies = routes.names("export")
        exports_connected = not policies or _passes_connected(
            [options.policies[name] for name in policies if name in options.policies]
        )
        for policy in policies:
            _of_tenant(options, policy)
    word.flag("routing-options", "multipath")
    word.flag("routing-options", "auto-export")
    word.flag("vrf-table-label")
    word.value("description")
    for rib in word.block("routing-options").entries("rib") if "routing-options" in word.below else ():
        rib.flag("multipath")
    imports, exports = _targets(word, options)
    return Vrf(
        name=name,
        vni=routes.number("vni") or word.number("protocols", "evpn", "irb-symmetric-routing", "vni") or 0,
        route_distinguisher=word.value("route-distinguisher") or "",
        import_targets=imports,
        export_targets=exports,
        prefixes=tuple(
            prefix for gateway in gateways if exports_connected and gateway.vrf == name for prefix in gateway.prefixes
        ),
        external=tuple(_external(instance, options, ports, owners)),
    )


def with_loopback(tenant: Vrf, instance: Instance, ports: Mapping[str, Port]) -> Vrf:
    """Return the VRF ``tenant`` with the addresses of the ``lo0`` unit that is in its routing instance."""
    loopback = ports.get("lo0")
    units = list(loopback.units.items()) if loopback else []
    loopbacks = [(number, unit) for number, unit in units if unit.name in instance.interfaces and unit.every_address()]
    if not loopbacks:
        return tenant
    addresses = tuple(each.address.prefix for _, unit in loopbacks for each in unit.every_address())
    return replace(tenant, loopbacks=addresses, unit=int(loopbacks[0][0]))


def _of_tenant(options: PolicyOptions, name: str) -> None:
    """Read a policy for type-5 routes, which may select routes only by their origin.

    A policy with other conditions is recorded in ``options.more``, the policies that ``DeviceConfig`` cannot represent.
    """
    word = options.policies.get(name)
    if word is not None and not all(map(_is_plain, (word.at_path("term") or Word("")).below.values())):
        options.more[name] = None
        return
    for term in word.mark().entries("term") if word is not None else ():
        asked, then = term.at_path("from"), term.at_path("then")
        plain = asked is None or set(asked.below) == {"protocol"}
        if plain and then is not None and set(then.below) in ({"accept"}, {"reject"}):
            then.mark_all()
            for protocol in (asked.block("protocol").below.values()) if asked is not None else ():
                if protocol.text in {"direct", "bgp", "evpn", "static", "local"}:
                    protocol.mark()


def _passes_connected(policies: Iterable[Word]) -> bool:
    """Return True if ``policies`` accept connected routes.

    The first term that applies to connected routes and accepts or rejects them decides. Return False if there is no such term.
    """
    for policy in policies:
        for term in policy.entries("term"):
            asked, then = term.at_path("from", "protocol"), term.at_path("then") or Word("")
            if (asked is None or "direct" in asked.below) and then.below.keys() & {"accept", "reject"}:
                return "accept" in then.below
    return False


def _is_plain(term: Word) -> bool:
    asked, then = term.at_path("from"), term.at_path("then")
    return (asked is None or set(asked.below) == {"protocol"}) and then is not None and len(then.below) == 1


def _targets(word: Word, options: PolicyOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (import route targets, export route targets) of a routing instance, from its statements (``word``) or its policies.

    ``options`` has the definitions in ``policy-options``.
    """
    imports: list[str] = []
    exports: list[str] = []
    for target in word.block("vrf-target").below.values() if "vrf-target" in word.below else ():
        if target.text in {"import", "export"}:
            (imports if target.text == "import" else exports).extend(target.mark().below)
            for value in target.below.values():
                value.mark()
        elif target.text != "auto":
            target.mark()
            imports.append(target.text)
            exports.append(target.text)
    by_policy: list[tuple[str, ...]] = []
    for kind, stated in (("vrf-import", imports), ("vrf-export", exports)):
        names = word.names(kind)  # they replace vrf-target
        targets = [target for name in names for target in _in_policy(options, name)] if names else stated
        by_policy.append(tuple(dict.fromkeys(targets)))
    return by_policy[0], by_policy[1]


def _in_policy(options: PolicyOptions, name: str) -> list[str]:
    """Return the route targets that a VRF import policy matches, or that a VRF export policy adds."""
    word = options.policies.get(name)
    targets: list[str] = []
    for term in word.mark().entries("term") if word is not None else ():
        asked, then = term.at_path("from"), term.at_path("then") or Word("")
        if asked is not None and set(asked.below) == {"community"} and then.flag("accept"):
            targets += _members(asked.entries("community"), options)
        elif asked is None and "community" in then.below:
            targets += _members(then.entries("community", "add"), options)
            then.flag("accept")
        elif asked is None and set(then.below) in ({"accept"}, {"reject"}):
            then.mark_all()
        if asked is None and then.below.keys() & {"accept", "reject"}:
            break  # no route reaches the terms that follow
    return targets


def _members(names: Iterable[Word], options: PolicyOptions) -> Iterator[str]:
    for name in names:
        word = options.communities.get(name.text)
        if word is not None:
            yield from (member for member in word.mark().names("members") if member.startswith("target:"))


def _external(
    instance: Instance, options: PolicyOptions, ports: Mapping[str, Port], owners: Owners
) -> Iterator[ExternalPeer]:
    mark_bfd_unknown(watching(instance.groups))  # a VRF in `DeviceConfig` has no BFD
    for group in instance.groups:
        accept = tuple(_listed(options, group.imports))
        advertise = tuple(_listed(options, group.exports))
        for peer in group.neighbors:
            local = peer.local or owners.beside(peer.peer)
            owner = owners.unit(local)
            if local is None or owner is None:
                peer.word.mark_unknown()
                continue
            session = NumberedSession(
                owner[1].name,
                "",
                neighbor_of(peer.description) or peer_of(ports, owner[0].name),
                peer.asn or 0,
                local,
                peer.peer,
            )
            yield ExternalPeer(group.name, session, accept, advertise)


def _listed(options: PolicyOptions, names: Iterable[str]) -> Iterator[Prefix]:
    """Yield the prefixes in policies that accept only listed prefixes and reject all others.

    Policies with other conditions are recorded in ``options.more``, the policies that ``DeviceConfig`` cannot represent.
    """
    for name in names:
        word = options.policies.get(name)
        terms = list((word.at_path("term") or Word("")).below.values()) if word is not None else []
        if word is None or not all(map(_is_list, terms)):
            options.more |= dict.fromkeys(part for part in name.split(policies.AND) if part in options.policies)
            kept = policies.policy(options, (name,)).terms
            for term in kept if options.is_plain(kept) else ():
                if term.action.accept and term.match.prefix_list is not None:
                    yield from options.own_lists.get(term.match.prefix_list, ())
            continue
        for term in word.mark().entries("term"):
            asked, then = term.at_path("from"), term.at_path("then") or Word("")
            if asked is None:
                then.flag("reject")
            elif then.flag("accept"):
                for route_filter in asked.entries("route-filter"):
                    if route_filter.flag("exact") or route_filter.flag("orlonger"):
                        yield prefix(route_filter.text)


def _is_list(term: Word) -> bool:
    """Return True if a policy term only accepts the prefixes of its ``route-filter``, or rejects everything."""
    asked, then = term.at_path("from"), term.at_path("then")
    if then is None:
        return False
    return set(then.below) == ({"reject"} if asked is None else {"accept"}) and (
        asked is None or set(asked.below) == {"route-filter"}
    )
