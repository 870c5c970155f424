"""Checks of BGP sessions and their BFD sessions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from railweave.live.check.living import Deviation, NetworkStates, Part, link_and_ends
from railweave.live.check.ports import without_unit
from railweave.model.device.expected import Adjacency
from railweave.model.findings.registry import Rule
from railweave.model.state.question import FROZEN, NOT_RUNNING, not_running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from railweave.model.device.expected import Keys
    from railweave.model.device.model import Session as Peering
    from railweave.model.device.timers import Bfd
    from railweave.model.state.protocols import BfdSession, BgpSession

    Said = TypeVar("Said", BgpSession, BfdSession)

DAEMON = Rule(
    "daemon-not-running",
    "error",
    "living",
    "A routing daemon of a device does not run, or runs and answers nothing.",
    why="its sessions are down, and its routes are withdrawn",
    fix="look at the device's log for why it ended, and start it again",
)
MISSING = Rule(
    "session-missing",
    "error",
    "living",
    "A device does not have a BGP session of the design.",
    why="no prefix is exchanged over its link",
    fix="look for the neighbor on the link (router advertisements), and for the group in the configuration",
)
DOWN = Rule(
    "session-not-established",
    "error",
    "living",
    "A BGP session of the design is not established.",
    why="no prefix is exchanged over its link",
    fix="look at the link first, then at the AS numbers and the authentication of both ends",
)
AS = Rule(
    "session-as-differs",
    "error",
    "living",
    "The neighbor of a BGP session has another AS number than the design gives it.",
    why="the cable leads to another switch, or that switch has another configuration",
    fix="compare the neighbor's name by LLDP: move the cable, or load the designed configuration there",
)
BFD_DOWN = Rule(
    "bfd-down",
    "error",
    "living",
    "A BFD session of the design is not up.",
    why="a link that fails is noticed by the hold timer of BGP alone, after tens of seconds",
    fix="look whether BFD is configured at both ends with the same timers",
)
BFD_TIMERS = Rule(
    "bfd-timers-differ",
    "warning",
    "living",
    "A BFD session has other timers than the design gives it.",
    why="a link that fails is noticed later than predicted, or a busy link seems to fail",
    fix="load the designed configuration again at the end that differs",
)

_OF_BFD = {"bfdd", "bfd"}
_OF_ISIS = "isisd"


def _daemons(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for each daemon that a device reports as not running when it is asked a question."""
    for expected, _ in living.pairs():
        asked = living.unanswered.get(expected.device, {})
        gone = {name: why for why in asked.values() if (name := not_running(why))}
        for daemon, why in gone.items():
            broken: set[Part] = {("daemon", f"{expected.device} {daemon}")}
            watched = [each for each in (*expected.sessions, *expected.overlay_sessions) if each.bfd is not None]
            if daemon in _OF_BFD:
                broken.add(("daemon", f"{expected.device} bfd"))
                broken |= {carried(each.session) for each in watched}
            elif daemon == _OF_ISIS:
                broken.add(("daemon", f"{expected.device} isis"))
            else:
                broken |= {("daemon", f"{expected.device} {kind}") for kind in ("bgp", "isis")}
                broken |= {carried(each.session) for each in (*expected.sessions, *expected.overlay_sessions)}
            frozen = FROZEN in why
            yield Deviation(
                DAEMON,
                expected.device,
                f"{daemon} {f'{FROZEN}: it runs and answers nothing' if frozen else NOT_RUNNING}",
                expected.identity.because,
                breaks=frozenset(broken),
                fix="look what it waits for (`ps`, its log), then restart it" if frozen else None,
            )


def sessions(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about every BGP session of the design, on links and in the overlay."""
    yield from _daemons(living)
    for expected, state in living.pairs():
        bgp_sessions, watched = by_end(state.bgp or ()), by_end(state.bfd or ())
        for each in (*expected.sessions, *expected.overlay_sessions):
            peering, bfd, because = each.session, each.bfd, each.because
            end = far_end(peering)
            if state.bgp is not None:
                deviations = _session(peering, because, expected.device, bgp_sessions.get(end))
                # A session that BFD watches goes down with it.
                watch: frozenset[Part] = (
                    by_daemons(peering.peer, expected.device, "bfd") if bfd is not None else frozenset()
                )
                yield from (replace(seen, needs=seen.needs | watch) for seen in deviations)
            if bfd is not None and state.bfd is not None:
                needs = rests_on(peering, expected.device) | {carried(peering)}
                yield from bfd_as_designed(peering, bfd, because, expected.device, watched.get(end), needs)


def by_end(reported: Sequence[Said]) -> dict[str, Said]:
    """Return reported sessions by neighbor address and by port. If a key occurs twice, the first session counts."""
    session_by_end: dict[str, Said] = {}
    for session in reported:
        for end in (session.peer, session.interface, without_unit(session.interface) if session.interface else None):
            if end is not None:
                session_by_end.setdefault(end, session)
    return session_by_end


def far_end(peering: Peering) -> str:
    """Return the key under which ``by_end`` has a session: the neighbor's address, or else the port."""
    return str(peering.peer_address or peering.interface)


def carried(peering: Peering) -> Part:
    """Return the part of the network that a session is: a link's session, or an overlay session between two loopbacks.

    Both ends of a session are the same part.
    """
    return ("session", peering.link or "--".join(sorted(map(str, (peering.local_address, peering.peer_address)))))


def by_daemons(peer: str, device: str, kind: str) -> frozenset[Part]:
    """Return the daemons of a kind on both devices, as parts."""
    return frozenset(("daemon", f"{end} {kind}") for end in (device, peer))


def rests_on(peering: Peering, device: str) -> frozenset[Part]:
    """Return the parts that a BGP session depends on: its link, and the devices and BGP daemons at both ends."""
    return link_and_ends(peering.link, device, peering.peer) | by_daemons(peering.peer, device, "bgp")


def _session(peering: Peering, because: Keys, device: str, bgp_session: BgpSession | None) -> Iterator[Deviation]:
    def seen(rule: Rule, description: str) -> Deviation:
        return Deviation(
            rule,
            device,
            f"session with {peering.peer}: {description}",
            because,
            peering.interface,
            carried(peering)[1],
            breaks=frozenset([carried(peering)]),
            needs=rests_on(peering, device),
        )

    if bgp_session is None:
        yield seen(MISSING, "is not there")
        return
    if bgp_session.peer_as not in {None, 0, peering.peer_as}:
        yield seen(AS, f"the neighbor has AS {bgp_session.peer_as}, the design has {peering.peer_as}")
    if bgp_session.established is False:
        reason = f", {bgp_session.last_error}" if bgp_session.last_error else ""
        yield seen(DOWN, f"{bgp_session.state}{reason}")


def bfd_as_designed(
    peering: Peering | Adjacency,
    wanted: Bfd,
    because: Keys,
    device: str,
    bfd_session: BfdSession | None,
    needs: frozenset[Part],
) -> Iterator[Deviation]:
    """Yield the faults of the BFD session of a routing session or an adjacency.

    ``needs`` are the parts that the routing session or the adjacency depends on.
    """
    needs |= by_daemons(peering.peer, device, "bfd")
    subject = f"BFD with {peering.peer}"
    if bfd_session is None or (bfd_session.state is not None and bfd_session.state != "up"):
        state = "is not there" if bfd_session is None else f"is {bfd_session.state}"
        link = peering.link if isinstance(peering, Adjacency) else carried(peering)[1]
        yield Deviation(BFD_DOWN, device, f"{subject} {state}", because, peering.interface, link, needs=needs)
        return
    timers = (bfd_session.tx_ms, bfd_session.multiplier)
    if None not in timers and timers != (wanted.minimum_interval, wanted.multiplier):
        has = f"{timers[0]:g} ms x {timers[1]}"
        text = f"{subject} has {has}, the design has {wanted.minimum_interval} ms x {wanted.multiplier}"
        yield Deviation(BFD_TIMERS, device, text, because, peering.interface, needs=needs)
