"""Checks of BGP sessions, their BFD sessions, and the path colors of the routes that they carry."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from railweave.live.check.living import OF_COLOR, Deviation, NetworkStates, Part, link_and_ends
from railweave.live.check.ports import without_unit
from railweave.model.device.expected import Adjacency
from railweave.model.findings.registry import Rule
from railweave.model.state.question import DEFAULT_VRF, FROZEN, NOT_RUNNING, about, not_running
from railweave.pages.shell import element, text
from railweave.pages.table import Cell, Table, columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from railweave.analysis.expect import Expected
    from railweave.model.device.expected import ColorPath, Keys
    from railweave.model.device.model import Session as Peering
    from railweave.model.device.timers import Bfd
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.protocols import BfdSession, BgpSession, Path

    Said = TypeVar("Said", BgpSession, BfdSession)

DAEMON = Rule(
    "daemon-not-running",
    "error",
    "living",
    "A routing daemon of a device is not running, or does not answer.",
    why="the daemon's sessions are down, and its routes are withdrawn",
    fix="read the device's log to find out why the daemon stopped, and start it again",
    asked=("role.nos",),
)
MISSING = Rule(
    "session-missing",
    "error",
    "living",
    "A device does not have a BGP session of the design.",
    why="no routes are exchanged over the session's link",
    fix=(
        "check whether the neighbor is found on the link (router advertisements), and whether the configuration "
        "has the BGP group"
    ),
    asked=("overlay?.overlay.vtep", ".underlay.peering"),
)
DOWN = Rule(
    "session-not-established",
    "error",
    "living",
    "A BGP session of the design is not established.",
    why="no routes are exchanged over the session's link",
    fix="check the link first, then the AS numbers and the authentication at both ends",
    asked=("overlay?.overlay.vtep", ".underlay.peering"),
)
AS = Rule(
    "session-as-differs",
    "error",
    "living",
    "The AS number of a BGP neighbor differs from the design.",
    why="the cable leads to a different switch, or that switch has a wrong configuration",
    fix="look up the neighbor's name in LLDP: move the cable, or load the designed configuration on the neighbor",
    asked=("overrides.devices.{peer}.asn", ".pools.{peer_role}_asn"),
)
BFD_DOWN = Rule(
    "bfd-down",
    "error",
    "living",
    "A BFD session of the design is not up.",
    why="a link failure is detected only by BGP's hold timer, after tens of seconds",
    fix="check whether BFD is configured at both ends, with the same timers",
    asked=("overlay?.overlay.bfd.enabled", ".underlay.bfd.enabled"),
)
BFD_TIMERS = Rule(
    "bfd-timers-differ",
    "warning",
    "living",
    "The timers of a BFD session differ from the design.",
    why="a link failure is detected later than predicted, or a busy link is treated as failed",
    fix="load the designed configuration at the end that differs",
    asked=("overlay?.overlay.bfd.{field}", ".underlay.bfd.{field}"),
)

_OF_BFD = {"bfdd", "bfd"}
_OF_ISIS = "isisd"


def _daemons(living: NetworkStates) -> Iterator[Deviation]:
    """Yield a finding for each routing daemon that does not run, according to a device's answers.

    ``living`` has the expected and the reported states.
    """
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
                fix="find out what the daemon waits for (`ps`, its log), then restart it" if frozen else None,
            )


def sessions(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about every BGP session of the design, on links and in the overlay.

    ``living`` has the expected and the reported states.
    """
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
    """Return reported sessions by end. Each session has two keys: the neighbor's address, and the port on which it runs.

    If several sessions have the same key, the first is returned.
    """
    session_by_end: dict[str, Said] = {}
    for session in reported:
        for end in (session.peer, session.interface, without_unit(session.interface) if session.interface else None):
            if end is not None:
                session_by_end.setdefault(end, session)
    return session_by_end


def far_end(peering: Peering) -> str:
    """Return the key of the session ``peering`` in the result of ``by_end``: the neighbor's address, or else the port."""
    return str(peering.peer_address or peering.interface)


def carried(peering: Peering) -> Part:
    """Return the BGP session ``peering`` as a ``Part`` of the network: the session of a link, or an overlay session between two loopbacks.

    The result is the same for both ends of the session.
    """
    return ("session", peering.link or "--".join(sorted(map(str, (peering.local_address, peering.peer_address)))))


def by_daemons(peer: str, device: str, kind: str) -> frozenset[Part]:
    """Return the daemons of a kind, such as ``bgp``, on ``device`` and ``peer``, each as a ``Part`` of the network."""
    return frozenset(("daemon", f"{end} {kind}") for end in (device, peer))


def rests_on(peering: Peering, device: str) -> frozenset[Part]:
    """Return the parts of the network on which a device's BGP session ``peering`` depends.

    They are its link, and the devices and BGP daemons at both ends.
    """
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
            peer=peering.peer,
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
    """Yield the faults of the BFD session that protects the routing session or adjacency ``peering``.

    ``wanted`` has the designed timers of BFD. ``because`` is the section of the fabric file that requires BFD, as keys. ``bfd_session`` is
    the reported session; None if the device reports none. ``needs`` are the parts of the network on which the routing session or the
    adjacency depends.
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
        field = "multiplier" if timers[0] == wanted.minimum_interval else "minimum_interval"
        yield Deviation(BFD_TIMERS, device, text, because, peering.interface, needs=needs, field=field)


PATH_MARKS = Rule(
    "path-marks-differ",
    "error",
    "living",
    "The color communities, AIGP attribute or local preference of a BGP path differ from the design.",
    why="the switch prefers a different path color than the one for which the servers' addresses were assigned",
    fix="check the policies of the neighbor and of this switch: `railweave drift`",
    asked=OF_COLOR,
)
PATH_MISSING = Rule(
    "path-missing",
    "error",
    "living",
    "A switch lacks a designed BGP path to a prefix.",
    why="the prefix has fewer paths than designed, so less bandwidth is left if one fails",
    fix="check the policies of the neighbor and of this switch: `railweave drift`",
    asked=OF_COLOR,
)
PATH_STRAY = Rule(
    "path-stray",
    "error",
    "living",
    "A switch has learned a BGP path to a prefix from a neighbor that must not advertise this prefix.",
    why="a leaf that advertises prefixes of other leaves carries their traffic when links fail",
    fix="check the export policy of the neighbor: it must reject routes learned from switches",
    asked=OF_COLOR,
)


def marks_of(path: Path) -> frozenset[str]:
    """Return all communities of a path (standard, large and extended), written as in the design."""
    texts = (*path.communities, *path.large_communities, *path.extended_communities)
    return frozenset(text.lower().removeprefix("large:") for text in texts)


OWN = {"", "Local", "i", "e", "?"}
"""The AS paths of a route that the switch itself originates. FRRouting shows a word, EOS the letter of the BGP origin."""


class SeenPaths:
    """The BGP paths to the example prefixes that a switch reports."""

    def __init__(self, expected: Expected, state: DeviceState) -> None:
        # A whole table shows no communities: only the answer about the prefix alone does.
        self._routes = {
            route.prefix: route
            for route in state.routes or ()
            if route.vrf == DEFAULT_VRF and about("route", DEFAULT_VRF, route.prefix) in state.answered
        }
        self._reported = by_end(state.bgp or ())
        self._addresses = Counter(session.peer for session in state.bgp or ())
        self.peers = {far_end(each.session): each.session for each in expected.sessions}
        self._by_prefix: dict[str, dict[str, Path] | None] = {}

    def by_peer(self, prefix: str) -> dict[str, Path] | None:
        """Return the paths to a prefix by the key of their session (``far_end``).

        The result is None if the switch does not show the paths, or does not show the neighbor of each path. Paths that
        a policy refuses are left out: the switch shows them as hidden.
        """
        if prefix not in self._by_prefix:
            route = self._routes.get(prefix)
            self._by_prefix[prefix] = None if route is None or route.paths is None else self._paired(route.paths)
        return self._by_prefix[prefix]

    def _paired(self, paths: Iterable[Path]) -> dict[str, Path] | None:
        by_peer: dict[str, Path] = {}
        for path in paths:
            if path.hidden or path.as_path in OWN:
                continue
            names = [path.peer, without_unit(path.peer or "")]
            session = self._reported.get(path.peer or "")
            if session is not None and self._addresses[path.peer] < 2:  # a link-local address may be on several links
                names += [session.interface, without_unit(session.interface or "")]
            end = next((name for name in names if name in self.peers), None)
            if end is None:
                return None
            by_peer[end] = path
        return by_peer

    def up(self, end: str) -> bool:
        """Return True if the session with the key ``end`` (``far_end``) is reported as established."""
        session = self._reported.get(end)
        return session is not None and session.established is True

    def shows(self, wanted: ColorPath) -> bool | None:
        """Return True if the switch shows the marks (communities and AIGP) of the designed path ``wanted``, right or wrong.

        Return False if it does not show them: for example, no path has a color community, although the design has one. Return None if the
        path is missing, or if the switch did not answer the query about the prefix. The subject "routes" counts such a missing answer.
        """
        if wanted.prefix not in self._routes:
            return None
        paths = self.by_peer(wanted.prefix)
        if paths is None:
            return False
        if far_end(wanted.session) not in paths:
            return None
        # How Junos prints colors is not published: a switch that shows none at all may print them elsewhere.
        colored = any(mark.startswith("color:") for mark in wanted.communities)
        return not colored or any(mark.startswith("color:") for path in paths.values() for mark in marks_of(path))


def colors(living: NetworkStates) -> Iterator[Deviation]:
    """Yield findings about the BGP paths of the example prefixes: color communities, AIGP, local preference, and sending neighbors.

    ``living`` has the expected and the reported states.
    """
    for expected, state in living.pairs():
        seen = SeenPaths(expected, state)
        by_prefix: dict[str, list[ColorPath]] = {}
        for wanted in expected.color_paths:
            by_prefix.setdefault(wanted.prefix, []).append(wanted)
        known = frozenset(mark for wanted in expected.color_paths for mark in wanted.communities)
        for prefix, all_wanted in by_prefix.items():
            paths = seen.by_peer(prefix)
            if paths is None:
                continue
            for wanted in all_wanted:
                end = far_end(wanted.session)
                if end in paths and seen.shows(wanted):
                    yield from _marks(wanted, paths[end], known)
                elif end not in paths and seen.up(end):
                    description = f"no path to {prefix} ({wanted.color}) of {wanted.leaf} from {wanted.session.peer}"
                    missing = _of_path(PATH_MISSING, wanted, description)
                    yield replace(missing, needs=missing.needs | _beyond(living, wanted))
            for end in paths.keys() - {far_end(wanted.session) for wanted in all_wanted}:
                stray = replace(all_wanted[0], session=seen.peers[end])
                of = f"{prefix} ({stray.color}) of {stray.leaf}"
                yield _of_path(
                    PATH_STRAY, stray, f"{stray.session.peer} passes on {of}, which the design has it keep to itself"
                )


def _beyond(living: NetworkStates, wanted: ColorPath) -> frozenset[Part]:
    """Return the parts of the network behind the neighbor from which the designed path ``wanted`` is learned.

    These are the leaf that has the prefix, its gateways, and the neighbor's links and sessions towards this leaf. ``living`` has the
    expected and the reported states.
    """
    needs: set[Part] = {("device", wanted.leaf), ("gateways", wanted.leaf)}
    peer = living.expected.get(wanted.session.peer)
    if peer is not None and peer.device != wanted.leaf:
        ports = next((route.ports for route in peer.routes if str(route.prefix) == wanted.prefix), None)
        for each in peer.sessions:
            if each.session.interface in ports if ports is not None else each.session.peer == wanted.leaf:
                needs |= {("link", each.session.link), carried(each.session)}
    return frozenset(needs)


def _of_path(rule: Rule, wanted: ColorPath, description: str) -> Deviation:
    needs = rests_on(wanted.session, wanted.device) | {carried(wanted.session)}
    prefixes = (wanted.prefix,)
    return Deviation(
        rule, wanted.device, description, wanted.because, wanted.session.interface, needs=needs, prefixes=prefixes
    )


def _marks(wanted: ColorPath, path: Path, known: frozenset[str]) -> Iterator[Deviation]:
    has = marks_of(path)
    faults = [
        f"has {name} {_shown(seen)}, the design has {_shown(designed)}"
        for name, seen, designed in (
            ("the communities", _words(has), _words(wanted.communities))
            if has & known != wanted.communities
            else ("", "", ""),
            ("AIGP", path.aigp, wanted.aigp),
            ("local preference", path.local_preference, wanted.local_preference),
        )
        if seen != designed and (name != "local preference" or seen is not None)
    ]
    if faults:
        subject = f"the path to {wanted.prefix} ({wanted.color}) of {wanted.leaf} from {wanted.session.peer}"
        yield _of_path(PATH_MARKS, wanted, f"{subject} {'; '.join(faults)}")


def _shown(value: object) -> object:
    return "none" if value is None else value


def _words(marks: Iterable[str]) -> str:
    return ", ".join(sorted(marks)) or "none"


def color_table(living: NetworkStates) -> Table:
    """Return the marks of the example prefixes on each spine, with a row for each prefix and a column for each spine.

    This is the table "Community and AIGP per spine, per prefix" of deterministic path forwarding. A cell shows the marks of the path that
    the spine learns from the leaf with the prefix. ``living`` has the expected and the reported states.
    """
    cells: dict[tuple[str, str], dict[str, Cell]] = {}
    spines: dict[str, None] = {}
    for expected, state in living.pairs():
        seen = SeenPaths(expected, state)
        for wanted in expected.color_paths:
            if wanted.session.peer == wanted.leaf:
                spines[expected.device] = None
                row = cells.setdefault((wanted.prefix, wanted.color), {})
                row.setdefault(expected.device, _mark_cell(wanted, seen))
    rows = [
        (f"{prefix} ({color})", *(row.get(spine, "") for spine in spines)) for (prefix, color), row in cells.items()
    ]
    return Table(columns("Prefix", *spines), rows, scrolls=True)


def _mark_cell(wanted: ColorPath, seen: SeenPaths) -> Cell:
    path = (seen.by_peer(wanted.prefix) or {}).get(far_end(wanted.session))
    if path is None or not seen.shows(wanted):
        return Cell(None, "not seen", markup=element("span", "not seen", class_="warning"))
    aigp = "" if path.aigp is None else f", AIGP {path.aigp}"
    preference = "" if path.local_preference in {None, 100} else f", preference {path.local_preference}"
    shown = f"{_words(marks_of(path))}{aigp}{preference}"
    wrong = any(_marks(wanted, path, wanted.communities))
    return Cell(shown, shown, markup=element("span", text(shown), class_="error") if wrong else "")
