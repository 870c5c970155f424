"""All checks of a running network. Findings that follow from another finding are listed after it, as its symptoms."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.live.check import (
    cabling,
    counters,
    flapping,
    forwarding,
    identity,
    neighbors,
    ports,
    servers,
    sessions,
    strangers,
    tenants,
)
from railweave.live.check.living import OF_PREFIX, Deviation, Kind, NetworkStates, Part, asked_by, link_and_ends
from railweave.live.check.ports import same_port, short
from railweave.live.check.sessions import bfd_as_designed, by_daemons, by_end, carried, far_end, rests_on
from railweave.model.findings import SEVERITIES, Finding
from railweave.model.findings.registry import Rule
from railweave.model.intent.reading.source import FieldSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from railweave.model.device.expected import Adjacency, Session
    from railweave.model.device.model import Session as Peering
    from railweave.model.findings import Severity
    from railweave.model.intent.reading.source import Field
    from railweave.model.state.protocols import BgpSession, IsisAdjacency


ADJACENCY = Rule(
    "adjacency-not-up",
    "error",
    "living",
    "An IS-IS adjacency (level 2) of the design is missing or not up.",
    why="routes do not use the adjacency's link",
    fix="check the link first, then the MTU, the area in the network entity title, and the authentication at both ends",
    asked=(".underlay.protocol",),
)
_LEVEL_1 = 1


def adjacencies(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for every designed IS-IS adjacency that is absent or wrong, and for every fault of its designed BFD session.

    ``living`` has the expected and the reported states.
    """
    switches = {short(switch.name): switch.name for switch in living.network.switches}
    for expected, state in living.pairs():
        watched = by_end(state.bfd or ())
        for wanted in expected.adjacencies:
            ends = (expected.device, wanted.peer)
            daemons: frozenset[Part] = frozenset(("daemon", f"{end} isis") for end in ends)
            needs = link_and_ends(wanted.link, *ends) | daemons
            carried: Part = ("session", wanted.link)
            if state.isis is not None:
                wrong = _wrong(wanted, state.isis, switches)
                if wrong:
                    watch: list[Part] = [("daemon", f"{end} bfd") for end in ends if wanted.bfd is not None]
                    yield Deviation(
                        ADJACENCY,
                        expected.device,
                        f"IS-IS with {wanted.peer}: {wrong}",
                        wanted.because,
                        wanted.interface,
                        wanted.link,
                        breaks=frozenset([carried]),
                        needs=needs.union(watch),
                    )
            if wanted.bfd is not None and state.bfd is not None:
                bfd_session = watched.get(wanted.interface)
                yield from bfd_as_designed(
                    wanted, wanted.bfd, wanted.because, expected.device, bfd_session, needs | {carried}
                )


def _wrong(wanted: Adjacency, reported: tuple[IsisAdjacency, ...], switches: dict[str, str]) -> str:
    """Return a description of the fault of an IS-IS adjacency on an interface; empty if the adjacency is right.

    An adjacency is right if it is up at level 2 with the designed switch. ``wanted`` is the designed adjacency. ``reported`` are the
    adjacencies that the device reports. ``switches`` has the names of switches by their short names.
    """
    here = [
        adjacency
        for adjacency in reported
        if same_port(adjacency.interface, wanted.interface) and adjacency.level != _LEVEL_1
    ]
    if not here:
        return "is not there"
    down = [adjacency.state for adjacency in here if adjacency.state not in {None, "up"}]
    if len(down) == len(here):
        return f"is {down[0]}"
    others = [switches[name] for adjacency in here if (name := short(adjacency.system or "")) in switches]
    if others and wanted.peer not in others:
        return f"is with {others[0]}"
    return ""


PREFIXES = Rule(
    "prefixes-differ",
    "error",
    "living",
    "The number of prefixes that a session carries differs from the design.",
    why="the session is established and looks healthy, but routes are missing, or there are extra routes",
    fix="compare the policies of both ends with the designed policies: `railweave drift`",
    asked=OF_PREFIX,
)


def prefixes(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for every established session whose number of prefixes differs from the design.

    If a leaf lacks a prefix, all devices beyond the leaf report this too. Findings are therefore sorted, likely sources first:

    - devices that receive all prefixes but send too few, and devices that hold fewer prefixes than their neighbor says it has sent
    - devices that receive too few prefixes from a neighbor that itself receives too few
    - all other devices

    ``living`` has the expected and the reported states.
    """
    sent = {
        (expected.device, each.session.link)
        for expected, state in living.pairs()
        for each, bgp_session in _established(expected.sessions, by_end(state.bgp or ()))
        if any(family.sent is not None for family in bgp_session.families.values())
    }
    wrong = [
        (expected.device, each, difference, received)
        for expected, state in living.pairs()
        for each, bgp_session in _established(expected.sessions, by_end(state.bgp or ()))
        for difference, received in _counts(bgp_session, each)
    ]
    short = {device for device, _, _, received in wrong if received}
    as_designed = sent - {(device, each.session.link) for device, each, _, received in wrong if not received}

    def follows(mismatch: tuple[str, Session, str, bool]) -> int:
        device, each, _, received = mismatch
        if received and (each.session.peer, each.session.link) in as_designed:
            return 0
        if received:
            return 2 if each.session.peer in short else 1
        return 2 if device in short else 0

    for device, each, difference, received in sorted(wrong, key=follows):
        peering = each.session
        # A session that BFD watches goes down with it.
        watch: frozenset[Part] = by_daemons(peering.peer, device, "bfd") if each.bfd is not None else frozenset()
        yield Deviation(
            PREFIXES,
            device,
            f"session with {peering.peer}: {difference}",
            each.because,
            peering.interface,
            needs=rests_on(peering, device) | _sources(living, peering.peer if received else device, peering) | watch,
        )


def _established(wanted: list[Session], bgp_sessions: dict[str, BgpSession]) -> Iterator[tuple[Session, BgpSession]]:
    for each in wanted:
        bgp_session = bgp_sessions.get(far_end(each.session))
        if bgp_session is not None and bgp_session.established:
            yield each, bgp_session


def _counts(bgp_session: BgpSession, expected: Session) -> Iterator[tuple[str, bool]]:
    """Yield (sentence, direction) for each number of prefixes of the reported ``bgp_session`` that differs from the session ``expected``.

    The direction is True for received prefixes and False for sent prefixes.
    """
    families = [family for name, family in bgp_session.families.items() if name in {"ipv4", "ipv6"}]
    before_policy = all(family.received is not None for family in families)
    received = [family.received if before_policy else family.accepted for family in families]
    right = expected.received if before_policy else expected.accepted
    color = f" of path color {expected.color}" if expected.color else ""
    if received and None not in received and (count := sum(number or 0 for number in received)) != right:
        yield f"{count} prefixes received{color}, the design has {right}", True
    sent = [family.sent for family in families]
    wanted = {expected.sent, expected.sent + expected.echoed}  # FRR sends a neighbor's own prefixes back to it
    if sent and None not in sent and (count := sum(number or 0 for number in sent)) not in wanted:
        yield f"{count} prefixes sent{color}, the design has {expected.sent}", False


def _sources(living: NetworkStates, sender: str, peering: Peering) -> frozenset[Part]:
    """Return the parts of the network on which the prefixes that ``sender`` sends over the session ``peering`` depend.

    They are the sender and its gateways, this session, and the sender's other sessions with their links, neighbors, and neighbors'
    gateways. ``living`` has the expected and the reported states.
    """
    others = living.expected.get(sender)
    parts: set[Part] = {("device", sender), ("gateways", sender), carried(peering)}
    for session in others.sessions if others else ():
        peer = session.session.peer
        parts |= {carried(session.session), ("device", peer), ("gateways", peer), ("link", session.session.link)}
    return frozenset(parts)


LOOKS = (
    identity.identity,
    identity.configurations,
    cabling.cabling,
    ports.ports,
    sessions.sessions,
    adjacencies,
    prefixes,
    sessions.colors,
    forwarding.forwarding,
    tenants.vrfs,
    tenants.overlay_prefixes,
    tenants.tunnels,
    servers.servers,
    strangers.strangers,
    counters.counters,
    servers.losses,
)
CAUSES = (
    (identity.SILENT, identity.UNREAD),
    (flapping.PORT,),
    (cabling.SWAPPED, cabling.WRONG),
    (ports.NO_OPTIC, ports.ABSENT, ports.SHUT, servers.ABSENT),
    (neighbors.LINKS,),
    (ports.DOWN, ports.NOT_BRIDGED),
    (sessions.DAEMON,),
    (servers.DOWN,),
    (identity.CONFIGURATION,),
    (identity.MOVED,),
    (strangers.ROGUE, strangers.DUPLICATE, strangers.STRAY, strangers.MISSING),
    (strangers.ORIGIN, forwarding.ROUTE_DROPS, forwarding.FILTER),
    (tenants.VRF_MISSING, tenants.VRF_DIFFERS),
    (neighbors.SESSIONS,),
    (flapping.SESSION,),
    (sessions.MISSING, sessions.DOWN, sessions.AS, ADJACENCY),
    (forwarding.GATEWAY_ADDRESS, forwarding.GATEWAY_DOWN, forwarding.GATEWAY_MAC),
    (tenants.VRF_MISSING, tenants.VRF_DIFFERS, tenants.TENANT_MAC),
)
"""The rules whose findings can explain other findings, in groups, the deepest cause first.

A finding can be explained only by a finding whose rule is in an earlier group.
"""
_DEPTH = {rule.id: depth for depth, rules in enumerate(CAUSES) for rule in rules}


_CONFIGURED: dict[str, tuple[Kind, ...]] = {
    **dict.fromkeys(
        (
            rule.id
            for rule in (
                *(forwarding.ROUTE_MISSING, forwarding.ROUTE_PORTS, forwarding.ROUTE_NOT_INSTALLED, PREFIXES),
                *(sessions.PATH_MARKS, sessions.PATH_MISSING, sessions.PATH_STRAY),
            )
        ),
        ("routing", "tenants"),
    ),
    **dict.fromkeys((rule.id for rule in (forwarding.ROUTE_DROPS, forwarding.ROUTE_PROTOCOL)), ("statics",)),
    **dict.fromkeys(
        (rule.id for rule in (tenants.LOST, tenants.FOREIGN, tenants.VRF_MISSING, tenants.VRF_DIFFERS)),
        ("tenants",),
    ),
}
"""For each rule, the kinds of configuration that can explain its findings.

The configuration may belong to any device. Static routes are an exception: they explain findings only on their device.
"""


def deviations(living: NetworkStates, more: Iterable[Deviation] = ()) -> list[Deviation]:
    """Return everything in the devices' answers that differs from the design, and the deviations in ``more``.

    ``living`` has the expected and the reported states.
    """
    seen = [deviation for look in LOOKS for deviation in look(living)]
    seen += [*neighbors.lost(living, seen), *more]
    return [
        deviation if deviation.rule is identity.CONFIGURATION else _configured(living, deviation) for deviation in seen
    ]


def _configured(living: NetworkStates, deviation: Deviation) -> Deviation:
    """Return a deviation with the configurations on which it depends added to its field ``needs``.

    These are the configuration of its port, and the configuration of policies, routes or tenants. A deviation of a route depends on the
    policies only if the running configurations and the design give the prefix different routes. ``living`` has the expected and the
    reported states.
    """
    kinds: tuple[Kind, ...] = _CONFIGURED.get(deviation.rule.id, ())
    tenants_own = living.tenant_prefixes.intersection(deviation.prefixes)
    rerouted = any(living.rerouted(deviation.device, prefix) for prefix in deviation.prefixes)
    if deviation.prefixes and not tenants_own and not rerouted:
        kinds = tuple(kind for kind in kinds if kind == "statics")
    needs: set[Part] = {(kind, deviation.device if kind == "statics" else "") for kind in kinds}
    needs |= {("prefix", prefix) for prefix in deviation.prefixes}
    if deviation.port:
        needs.add(("port", deviation.where))
    needs |= {part for part in deviation.breaks if part[0] == "session"}
    if deviation.rule in {sessions.DOWN, sessions.BFD_DOWN} and not deviation.port:  # between loopbacks
        needs.add(("routing", ""))
    breaks = deviation.breaks
    if deviation.rule in {tenants.VRF_MISSING, tenants.VRF_DIFFERS}:
        breaks |= {("tenants", "")}
    return replace(deviation, needs=deviation.needs | needs, breaks=breaks)


def diagnose(
    living: NetworkStates, line: Callable[[Sequence[Field]], FieldSource] = lambda _: FieldSource()
) -> list[Finding]:
    """Return the findings about everything that differs from the design.

    ``line`` takes fields of the fabric file and returns the first field that the file has, with its line. ``living`` has the expected and
    the reported states.
    """
    return explained(deviations(living), lambda deviation: line(asked_by(living, deviation)))


def explained(
    differences: Iterable[Deviation], asked: Callable[[Deviation], FieldSource] = lambda _: FieldSource()
) -> list[Finding]:
    """Return differences from the design as findings, with the most severe first.

    Each cause is followed by the findings that it explains, whose severity becomes ``info``.

    ``asked`` is a function that returns the field of the fabric file that a difference contradicts, with its line.
    """
    seen = _once(differences)
    roots = _roots(seen)
    symptoms: dict[int, list[int]] = {}
    for place, root in roots.items():
        symptoms.setdefault(root, []).append(place)

    def severity(place: int) -> Severity:
        """Return the worst severity of the deviation at index ``place`` and of the deviations that it explains."""
        each = [seen[index] for index in (place, *symptoms.get(place, ()))]
        severities: list[Severity] = [deviation.severity or deviation.rule.severity for deviation in each]
        return min(severities, key=SEVERITIES.index)

    def order(place: int) -> tuple[int, int, int]:
        return SEVERITIES.index(severity(place)), -len(symptoms.get(place, ())), place

    for place in symptoms:
        seen[place] = replace(seen[place], severity=severity(place))
    findings: list[Finding] = []
    for place in sorted((index for index in range(len(seen)) if index not in roots), key=order):
        findings.append(_finding(seen[place], asked, [seen[index] for index in symptoms.get(place, ())]))
        findings += [_finding(seen[index], asked, cause=seen[place]) for index in symptoms.get(place, ())]
    return findings


def _once(seen: Iterable[Deviation]) -> list[Deviation]:
    """Join pairs of deviations in ``seen`` that the two ends of one link report for the same rule. Other deviations are unchanged.

    A joined deviation is about the end that was reported first, and its text names both ends. Its fields ``needs`` and ``breaks`` combine
    those of both deviations.
    """
    merged: dict[object, Deviation] = {}
    for deviation in seen:
        key = (deviation.rule.id, deviation.link) if deviation.link else len(merged)
        if key in merged:
            first = merged[key]
            merged[key] = replace(
                first,
                what=f"{first.what}; at the other end, {deviation.where}: {deviation.what}",
                breaks=first.breaks | deviation.breaks,
                needs=first.needs | deviation.needs,
            )
        else:
            merged[key] = deviation
    return list(merged.values())


def _roots(seen: list[Deviation]) -> dict[int, int]:
    """Return, for each deviation that has a cause, its deepest cause. Key and value are indexes in ``seen``."""
    breaking: dict[Part, list[int]] = {}
    for place, deviation in enumerate(seen):
        for part in deviation.breaks:
            breaking.setdefault(part, []).append(place)
    last = len(CAUSES)

    def depth(place: int) -> int:
        given = seen[place].depth
        return _DEPTH.get(seen[place].rule.id, last) if given is None else given

    parent: dict[int, int] = {}
    for place, deviation in enumerate(seen):
        causes = {cause for part in deviation.needs for cause in breaking.get(part, ()) if depth(cause) < depth(place)}
        if causes:
            parent[place] = min(causes, key=lambda cause: (depth(cause), cause))

    def root(place: int) -> int:
        return root(parent[place]) if place in parent else place

    return {place: root(place) for place in parent}


def _finding(
    deviation: Deviation,
    asked: Callable[[Deviation], FieldSource],
    explains: Iterable[Deviation] = (),
    cause: Deviation | None = None,
) -> Finding:
    file, line, field = asked(deviation)
    kinds = Counter(each.rule.id for each in explains)
    more = f" This explains {counted(kinds.total(), 'more finding')}: " if kinds else ""
    description = (
        deviation.what + ("." if more else "") + more + ", ".join(f"{count} x {id_}" for id_, count in kinds.items())
    )
    return deviation.rule.finding(
        deviation.where,
        description,
        file=file,
        line=line,
        field=field,
        severity=deviation.severity if cause is None else "info",
        why=None if cause is None else f"it follows from {cause.rule.id} at {cause.where}",
        fix=deviation.fix if cause is None else "fix the cause first",
    )
