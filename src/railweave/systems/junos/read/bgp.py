"""``protocols bgp`` of the underlay: groups, sessions, and the policies that they name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.addresses import Prefix
from railweave.model.device.model import Bgp, BgpGroup, FabricAdvertise, Policy, Session
from railweave.systems.junos.read import policies
from railweave.systems.junos.read.sessions import agreed
from railweave.systems.junos.read.values import unprinted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.config.addresses import Address, Family
    from railweave.model.device.timers import Bfd
    from railweave.systems.junos.read.policies import PolicyOptions
    from railweave.systems.junos.read.ports import Owners, Port
    from railweave.systems.junos.read.sessions import Group
    from railweave.systems.junos.read.words import Word

WHOLE_HOP_LIMIT = 255


def underlay(
    top: Word,
    groups: list[Group],
    options: PolicyOptions,
    ports: Mapping[str, Port],
    owners: Owners,
    *,
    asn: int,
    router_id: Address,
    elsewhere: frozenset[str],
    keyed: list[Group],
) -> Bgp | None:
    """The BGP configuration; None where there is none. ``elsewhere``: lists and communities that others have taken.

    ``keyed`` are all groups that may have a key.
    """
    bgp = top.at_path("protocols", "bgp")
    if bgp is None:
        return None
    bgp.take()
    made = [_group(group, asn, owners, ports) for group in groups]
    found = list(_policies(options, groups))
    lists = {name: policies.prefix_list(word) for name, word in options.prefix_lists.items() if name not in elsewhere}
    graceful = bgp.flag("graceful-restart") and top.flag("routing-options", "graceful-restart")
    if graceful:
        bgp.flag("graceful-restart", "dont-help-shared-fate-bfd-down")
    advertised = tuple(_advertised(bgp))
    communities = [policies.community(word) for name, word in options.communities.items() if name not in elsewhere]
    return Bgp(
        asn=asn,
        router_id=router_id,
        groups=tuple(made),
        policies=tuple(found),
        prefix_lists=lists | options.own_lists,
        communities=tuple(own for one in communities for own in one),
        as_lists={name: policies.as_list(word) for name, word in options.as_lists.items()},
        fabric_advertise=advertised,
        redistribute_connected=None,
        default_accept=True,
        compare_aigp=any(one.aigp for one in groups),
        families=_families(groups),
        maximum_ecmp=widest(top, groups),
        bfd=_liveness(groups),
        graceful_restart=graceful,
        ttl_security=_hop_limit(groups),
        authentication=next((one.key for one in keyed if one.key is not None), None),
    )


def widest(top: Word, groups: list[Group]) -> int:
    """The widest next-hop group: one path, where a group or the forwarding table takes no more."""
    wide = top.number("chassis", "maximum-ecmp")
    several = all(one.widens for one in groups) and shares(top)
    if not several:
        return 1
    return unprinted("bgp.maximum_ecmp") if wide is None else wide


def shares(top: Word) -> bool:
    """Whether the forwarding table holds several next hops: a policy that it exports by says so."""
    exported = top.at_path("routing-options", "forwarding-table", "export")
    return any(_balances(top, name) for name in (exported.below if exported is not None else ()))


def _balances(top: Word, name: str) -> bool:
    found = top.at_path("policy-options", "policy-statement", name)
    if found is None:
        return False
    terms = found.at_path("term")
    thens = [
        found.at_path("then"),
        *(one.at_path("then") for one in (terms.below.values() if terms is not None else ())),
    ]
    return any(one is not None and "load-balance" in one.below for one in thens)


def _families(groups: list[Group]) -> tuple[Family, ...]:
    return tuple(sorted({family for one in groups for family in one.families}))


def _liveness(groups: list[Group]) -> Bfd | None:
    return agreed([one.bfd for one in groups], [one.word for one in groups])


def _hop_limit(groups: list[Group]) -> bool:
    """Whether every group sends with the whole hop limit."""
    limits = [one.ttl for one in groups]
    same = bool(limits) and all(one == WHOLE_HOP_LIMIT for one in limits)
    if not same:
        for one in groups:
            one.word.block("ttl").leave()
    return same


def _group(group: Group, asn: int, owners: Owners, ports: Mapping[str, Port]) -> BgpGroup:
    return BgpGroup(
        name=group.name,
        description=group.description,
        local_as=group.local_as or asn,
        sessions=tuple(_sessions(group, owners, ports, asn)),
        import_policy=" ".join(group.imports),
        export_policy=" ".join(group.exports),
        peer_as_list=group.as_list,
        fabric_color=group.color,
        aigp=group.aigp,
    )


def _sessions(group: Group, owners: Owners, ports: Mapping[str, Port], asn: int) -> Iterator[Session]:
    for unit in group.found:
        name = unit.removesuffix(".0")
        yield Session(name, "", peer_of(ports, name), 0, None, None)
    for one in group.neighbors:
        local = one.local or owners.beside(one.peer)
        owner = owners.unit(local)
        interface = owner[0].name if owner is not None else ""
        remote = asn if group.internal else one.asn
        yield Session(interface, "", one.description or peer_of(ports, interface), remote or 0, local, one.peer)


def peer_of(ports: Mapping[str, Port], name: str) -> str:
    """Who is at the other end of a port, by its description: ``PEER PORT``."""
    port = ports.get(name)
    words = port.description.split(" ") if port is not None else []
    return words[0] if len(words) == 2 else ""


def _policies(options: PolicyOptions, groups: list[Group]) -> Iterator[Policy]:
    """The policies that groups name, in the order of the text; those that are asked one after another, behind them."""
    chains = [names for group in groups for names in (group.imports, group.exports) if names]
    single = {names[0] for names in chains if len(names) == 1} | options.more.keys()
    for name in options.policies:
        if name in single:
            yield policies.policy(options, (name,))
    for names in dict.fromkeys(chain for chain in chains if len(chain) > 1 or not options.policies.keys() & set(chain)):
        yield policies.policy(options, names)


def _advertised(bgp: Word) -> Iterator[FabricAdvertise]:
    for one in bgp.block("fabric-advertise").entries("route") if "fabric-advertise" in bgp.below else ():
        color = one.value("color")
        try:
            yield FabricAdvertise(Prefix.read(one.text), color or "", one.names("backup-color"))
        except ValueError:
            one.leave()
