"""Derivation of BGP from ``protocols bgp``: groups and sessions of the underlay, the overlay and VRFs, and their policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from railweave.model.config.addresses import Address, Family, Prefix
from railweave.model.config.secret_words import reference
from railweave.model.device.bgp_model import ways_to_one_as, with_bfd
from railweave.model.device.management import Authentication
from railweave.model.device.model import Bgp, BgpGroup, FabricAdvertise, Policy, Session
from railweave.model.device.port_model import far_end, neighbor_of
from railweave.model.device.timers import Bfd
from railweave.systems.junos.read import policies
from railweave.systems.junos.read.policies import AND, PolicyOptions
from railweave.systems.junos.words import FAMILIES, Word, address, asn, statements, unprinted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.systems.junos.read.ports import Owners, Port


T = TypeVar("T")

_AO = {"aes-128-cmac-96": "ao-aes-128-cmac", "hmac-sha-1-96": "ao-hmac-sha-1"}
_ON_ONE_LINE = {"minimum-interval": 1, "multiplier": 1}
_OF_NEIGHBOR = {"description": 1, "peer-as": 1, "local-address": 1}
"""The statements that may differ between the neighbors of one group, each with the number of words that follow its keyword."""


@dataclass
class Neighbor:
    """A neighbor with an address. A setting for which the neighbor has no statement is taken from its group.

    - ``word``: the neighbor's block of statements.
    - ``peer``, ``local``: the addresses of the neighbor and of the device.
    """

    word: Word
    peer: Address
    local: Address | None
    asn: int | None
    description: str


@dataclass
class Group:
    """A group of BGP sessions.

    - ``word``: the group's block of statements.
    - ``widens``: True if the group uses several paths (multipath).
    - ``narrow``: True if these paths must have the same AS path.
    - ``as_list``: the name of the list with the AS numbers that neighbors may have.
    - ``color``: the path color of the group's sessions.
    - ``cluster``: True if the device reflects routes to the group.
    - ``keeps_next_hop``: True if the next hop of routes stays unchanged.
    - ``found``: the ports on which BGP discovers its neighbors.
    """

    name: str
    word: Word
    internal: bool
    description: str
    local_as: int | None
    imports: tuple[str, ...]
    exports: tuple[str, ...]
    families: tuple[Family, ...]
    evpn: bool
    aigp: bool
    bfd: Bfd | None
    widens: bool
    narrow: bool
    ttl: int | None
    key: Authentication | None
    as_list: str | None
    color: str | None
    cluster: bool
    keeps_next_hop: bool
    neighbors: list[Neighbor] = field(default_factory=list[Neighbor])
    found: list[str] = field(default_factory=list[str])


def groups(bgp: Word, top: Word) -> list[Group]:
    """Return the groups of ``protocols bgp``. Settings directly below ``protocols bgp`` apply to every group.

    Neighbors whose settings differ from those of their group become a separate group, ``NAME 2``. ``top`` is the root of the configuration.
    """
    return [group for word in bgp.entries("group") for group in _groups(word, bgp, top)]


def _groups(word: Word, bgp: Word, top: Word) -> list[Group]:
    alike: dict[tuple[tuple[str, ...], ...], list[Word]] = {}
    for neighbor in word.entries("neighbor"):
        neighbor.spread(_OF_NEIGHBOR)
        paths = [
            path for text, inner in neighbor.below.items() if text not in _OF_NEIGHBOR for _, path in statements(inner)
        ]
        apart = tuple(sorted((text, *path) for text in neighbor.below if text not in _OF_NEIGHBOR for path in paths))
        alike.setdefault(apart, []).append(neighbor)
    if not alike or "dynamic-neighbor" in word.below:
        alike.setdefault((), [])
    session_groups: list[Group] = []
    for apart, neighbors in alike.items():
        made = [_session_group((neighbor, word, bgp), top) for neighbor in (neighbors if apart else ())] or [
            _session_group((word, bgp), top)
        ]
        group = made[0]
        group.name = f"{word.text} {len(session_groups) + 1}" if session_groups else word.text
        _neighbors(group, neighbors, bgp)
        if not apart:
            _discovered(group)
        session_groups.append(group)
    return session_groups


def liveness(word: Word) -> Bfd | None:
    """Return the BFD settings of a group or an interface (``word``), or None if BFD has no interval."""
    detection = word.at_path("bfd-liveness-detection")
    if detection is None:
        return None
    detection.mark().spread(_ON_ONE_LINE)
    interval = detection.number("minimum-interval")
    if interval is None:
        return None
    multiplier = detection.number("multiplier")
    mode = detection.holds("session-mode")
    if mode is not None and mode.text == "automatic":  # has the same effect as no statement
        mode.mark("irrelevant")
    return Bfd(
        minimum_interval=interval, multiplier=unprinted("bgp.bfd.multiplier") if multiplier is None else multiplier
    )


def _session_group(places: Sequence[Word], top: Word) -> Group:
    """Return the settings of a group. ``top`` is the root of the configuration.

    ``places`` are the levels that may have a setting, from the neighbor to ``protocols bgp``. The first level that has it wins.
    """
    word = places[-2]

    def first(meaning: Callable[[Word], T]) -> T | None:
        values = [meaning(place) for place in places]
        return next((value for value in values if value), None)

    kind = first(lambda word: word.value("type"))
    if kind not in {None, "external", "internal"}:
        word.block("type").mark_unknown()
    families, aigp = first(_families_of_group) or ((), False)
    for place in places:
        for text in ("multihop", "multipath"):
            if text in place.below:
                place.block(text).number("ttl")
                place.block(text).flag("multiple-as")
    return Group(
        name=word.text,
        word=word,
        internal=kind == "internal",
        description=word.value("description") or "",
        local_as=first(lambda word: word.read(asn, "local-as")),
        imports=first(lambda word: _policy_names(word, "import")) or (),
        exports=first(lambda word: _policy_names(word, "export")) or (),
        families=families,
        evpn=bool(
            first(lambda word: word.flag("family", "evpn", "signaling") or word.flag("family", "evpn", "signalling"))
        ),
        aigp=aigp,
        bfd=first(liveness),
        widens=any("multipath" in place.below for place in places),
        narrow=not any(place.at_path("multipath", "multiple-as") for place in places),
        ttl=first(lambda word: word.number("ttl")),
        key=first(lambda word: _key(word, top)),
        as_list=first(lambda word: word.value("peer-as-list")),
        color=first(lambda word: word.value("fabric-color")),
        cluster=first(lambda word: word.value("cluster")) is not None,
        keeps_next_hop=bool(first(lambda word: word.flag("multihop", "no-nexthop-change"))),
    )


def _policy_names(word: Word, statement: str) -> tuple[str, ...]:
    """Return the names of the policies that are evaluated one after another. ``statement`` is ``import`` or ``export``.

    ``word`` is the block (a group or a neighbor, for example) that contains the statement. An expression that requires several policies to
    accept becomes ``A && B``. Other expressions are not understood.
    """
    names: list[str] = []
    for policy in (word.at_path(statement) or Word("")).below.values():
        if not policy.text.startswith("("):
            names.append(policy.mark().text)
            continue
        words = [policy]
        while len(words[-1].below) == 1:
            words += words[-1].below.values()
        text = " ".join(inner.text for inner in words)
        if set("|!") & set(text) or text.count("(") > 1:
            names.append(text)
            continue
        for inner in words:
            inner.mark()
        names.append(AND.join(text.strip("() ").replace("&&", " ").split()))
    return tuple(names)


def _families_of_group(word: Word) -> tuple[tuple[Family, ...], bool] | None:
    """Return (address families, True if routes carry AIGP), or None if no family is set. ``word`` is one level of a group."""
    families: list[Family] = []
    aigp = False
    for name, family in FAMILIES.items():
        unicast = word.at_path("family", name, "unicast") or word.at_path("family", name, "any")
        if unicast is not None:
            unicast.mark()
            families.append(family)
            aigp |= unicast.flag("aigp")
            unicast.flag("extended-nexthop")
    return (tuple(families), aigp) if families else None


def _neighbors(group: Group, words: Iterable[Word], bgp: Word) -> None:
    word = group.word
    local = word.read(address, "local-address") or bgp.read(address, "local-address")
    remote = word.read(asn, "peer-as") or bgp.read(asn, "peer-as")
    for word in words:
        try:
            peer = address(word.text)
        except ValueError:
            word.mark_unknown()
            continue
        neighbor = Neighbor(
            word,
            peer,
            word.read(address, "local-address") or local,
            word.read(asn, "peer-as") or remote,
            word.value("description") or "",
        )
        group.neighbors.append(neighbor)


def _discovered(group: Group) -> None:
    for dynamic in group.word.entries("dynamic-neighbor"):
        discovery = dynamic.block("peer-auto-discovery")
        discovery.flag("family", "inet6", "ipv6-nd")
        group.found += discovery.names("interface")


def _key(word: Word, top: Word) -> Authentication | None:
    """Return the key of BGP sessions: a TCP MD5 key, or the first TCP-AO key of a key chain. None if there is none.

    ``word`` is the block with the key's statements, such as a group. ``top`` is the root of the configuration.
    """
    key = word.read(reference, "authentication-key")
    if key is not None:
        return Authentication(key)
    chain = word.value("authentication-key-chain")
    if chain is None:
        return None
    ao = word.value("authentication-algorithm") == "ao"
    named = top.at_path("security", "authentication-key-chains", "key-chain", chain, "key")
    for entry in named.below.values() if named is not None else ():
        algorithm = entry.value("ao-attribute", "cryptographic-algorithm") if ao else None
        key, number = entry.read(reference, "secret"), entry.read(int, "ao-attribute", "send-id")
        if algorithm not in _AO or key is None or number is None:
            continue
        entry.mark()
        if entry.number("ao-attribute", "recv-id") != number:
            entry.block("ao-attribute", "recv-id").mark_unknown()
        entry.value("algorithm")
        entry.value("start-time")
        return Authentication(
            key, "ao-aes-128-cmac" if _AO[algorithm] == "ao-aes-128-cmac" else "ao-hmac-sha-1", number
        )
    return None


def agreed(values: Sequence[Bfd | None], words: Sequence[Word]) -> Bfd | None:
    """Return the BFD settings if all ``values`` are equal. Otherwise, mark the BFD statements below ``words`` as not understood.

    The result is then None.
    """
    if not values or all(value == values[0] for value in values):
        return values[0] if values else None
    mark_bfd_unknown(words)
    return None


def mark_bfd_unknown(words: Iterable[Word]) -> None:
    """Mark the statements about BFD below ``words``, for example the blocks of BGP groups, as not understood."""
    for word in words:
        detection = word.at_path("bfd-liveness-detection")
        if detection is not None:
            detection.mark_unknown()


def watching(groups: Iterable[Group]) -> list[Word]:
    """Return the configuration blocks of groups and of their neighbors. BFD can be set in both."""
    return [word for group in groups for word in (group.word, *(neighbor.word for neighbor in group.neighbors))]


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
    """Return the BGP configuration of the underlay, or None if there is none.

    - ``top``: the root of the configuration.
    - ``groups``: the groups of the underlay.
    - ``options``: the definitions in ``policy-options``.
    - ``owners``: finds the interface of an address.
    - ``asn``, ``router_id``: the AS number and the router id of the device.
    - ``elsewhere``: the names of prefix lists and communities that other readers have already used.
    - ``keyed``: all groups that may have an authentication key.
    """
    bgp = top.at_path("protocols", "bgp")
    if bgp is None:
        return None
    bgp.mark()
    made, bfd = with_bfd([_group(group, asn, owners, ports) for group in groups], [group.bfd for group in groups])
    width = widest(top, groups)
    if width > 1 and any(group.narrow for group in groups):
        width = ways_to_one_as(made, width)
        for group in groups if any(group.found for group in groups) else ():  # their AS numbers are unknown
            for word in (group.word, bgp):
                if (multipath := word.at_path("multipath")) is not None:
                    multipath.mark_unknown()
    group_policies = list(_policies(options, groups))
    lists = {name: policies.prefix_list(word) for name, word in options.prefix_lists.items() if name not in elsewhere}
    graceful = bgp.flag("graceful-restart") and top.flag("routing-options", "graceful-restart")
    if graceful:
        bgp.flag("graceful-restart", "dont-help-shared-fate-bfd-down")
    advertised = tuple(_advertised(bgp))
    communities = [policies.community(word) for name, word in options.communities.items() if name not in elsewhere]
    return Bgp(
        asn=asn,
        router_id=router_id,
        groups=made,
        policies=tuple(group_policies),
        prefix_lists=lists | options.own_lists,
        communities=tuple(community for of_policy in communities for community in of_policy),
        as_lists={name: policies.as_list(word) for name, word in options.as_lists.items()},
        fabric_advertise=advertised,
        redistribute_connected=None,
        default_accept=True,
        compare_aigp=any(group.aigp for group in groups),
        families=tuple(sorted({family for group in groups for family in group.families})),
        maximum_ecmp=width,
        bfd=bfd,
        graceful_restart=graceful,
        ttl_security=_hop_limit(bgp, groups),
        authentication=next((group.key for group in keyed if group.key is not None), None),
        entry_lists=tuple(listed for lists in options.entry_lists.values() for listed in lists),
    )


def widest(top: Word, groups: list[Group]) -> int:
    """Return the largest number of equal-cost next hops. It is 1 unless all groups and the forwarding table allow several.

    ``top`` is the root of the configuration.
    """
    wide = top.number("chassis", "maximum-ecmp")
    several = all(group.widens for group in groups) and shares(top)
    if not several:
        return 1
    return unprinted("bgp.maximum_ecmp") if wide is None else wide


def shares(top: Word) -> bool:
    """Return True if the export policy of the forwarding table installs several next hops (``load-balance``).

    ``top`` is the root of the configuration.
    """
    exported = top.at_path("routing-options", "forwarding-table", "export")
    return any(_balances(top, name) for name in (exported.below if exported is not None else ()))


def _balances(top: Word, name: str) -> bool:
    statement = top.at_path("policy-options", "policy-statement", name)
    if statement is None:
        return False
    terms = statement.at_path("term")
    thens = [
        statement.at_path("then"),
        *(term.at_path("then") for term in (terms.below.values() if terms is not None else ())),
    ]
    return any(then is not None and "load-balance" in then.below for then in thens)


def _hop_limit(bgp: Word, groups: list[Group]) -> bool:
    """Return True if every group sends packets with a hop limit of 255. Otherwise, mark the ``ttl`` statements as not understood."""
    limits = [group.ttl for group in groups]
    same = bool(limits) and all(limit == WHOLE_HOP_LIMIT for limit in limits)
    if not same:
        for group in groups:
            group.word.block("ttl").mark_unknown()
            bgp.block("ttl").mark_unknown()
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
        port, _, number = unit.rpartition(".")
        there = ports[port].units.get(number) if port in ports else None
        if there is None or "inet6" not in there.families:  # no neighbor is discovered there
            continue
        yield Session(name, "", peer_of(ports, name), 0, None, None)
    for neighbor in group.neighbors:
        local = neighbor.local or owners.beside(neighbor.peer)
        owner = owners.unit(local)
        interface = owner[0].name if owner is not None else ""
        remote = asn if group.internal else neighbor.asn
        yield Session(
            interface,
            "",
            neighbor_of(neighbor.description) or peer_of(ports, interface),
            remote or 0,
            local,
            neighbor.peer,
        )


def peer_of(ports: Mapping[str, Port], name: str) -> str:
    """Return the device at the other end of a port, which is the first word of the port's description (``PEER PORT``)."""
    port = ports.get(name)
    return far_end(port.description)[0] if port is not None else ""


def _policies(options: PolicyOptions, groups: list[Group]) -> Iterator[Policy]:
    """Yield the policies that groups use: single policies in the order of the text, then each chain of policies as one policy.

    ``options`` has the definitions in ``policy-options``.
    """
    chains = [names for group in groups for names in (group.imports, group.exports) if names]
    single = {names[0] for names in chains if len(names) == 1} | options.more.keys()
    for name in options.policies:
        if name in single:
            yield policies.policy(options, (name,))
    for names in dict.fromkeys(chain for chain in chains if len(chain) > 1 or not options.policies.keys() & set(chain)):
        yield policies.policy(options, names)


def _advertised(bgp: Word) -> Iterator[FabricAdvertise]:
    for route in bgp.block("fabric-advertise").entries("route") if "fabric-advertise" in bgp.below else ():
        color = route.value("color")
        try:
            yield FabricAdvertise(Prefix.read(route.text), color or "", route.names("backup-color"))
        except ValueError:
            route.mark_unknown()
