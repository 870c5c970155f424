"""Flapping: ports and sessions that come up and go down again and again.

A flapping session is down in one reading and up in the next, so the other checks find it right half of the time. Here,
every loss is counted over ten minutes: by the device's own counter, or by comparing readings.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.live.check.living import OF_CABLE, Deviation, Part
from railweave.live.check.ports import of_port
from railweave.live.check.sessions import by_end, carried, far_end, rests_on
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.analysis.expect import Expected
    from railweave.model.state.device_state import DeviceState

WINDOW_S = 600.0
"""The seconds in which losses are counted."""
LEAST = 3
"""The smallest number of losses within ``WINDOW_S`` that counts as flapping: a restart or a moved cable causes one or two."""
CALM_S = 120.0
"""The seconds without a loss after which flapping has ended."""

_WHY = "each change moves routes and breaks connections, and looks right in half of the readings"
PORT = Rule(
    "port-flapping",
    "error",
    "living",
    "A port goes down and comes up again and again.",
    why=_WHY,
    fix="clean and reseat both ends; replace the module, then the cable; keep the port shut until it is repaired",
    asked=OF_CABLE,
)
SESSION = Rule(
    "session-flapping",
    "error",
    "living",
    "A BGP session is lost and established again and again.",
    why=_WHY,
    fix=(
        "if its link is stable: compare timers and MTU of both ends, look for a busy processor and for drops of control traffic"
    ),
    asked=("overlay?.overlay.vtep", ".underlay.peering"),
)
BFD = Rule(
    "bfd-flapping",
    "error",
    "living",
    "A BFD session goes down and comes up again and again.",
    why=_WHY,
    fix="if its link is stable: raise the interval or the multiplier, or find out what delays the packets",
    asked=("overlay?.overlay.bfd.enabled", ".underlay.bfd.enabled"),
)
PREFIXES = Rule(
    "prefixes-flapping",
    "warning",
    "living",
    "An established session withdraws and sends prefixes again and again.",
    why=_WHY,
    fix="find the device that originates the prefixes: `railweave routes` shows their path",
    asked=("overlay?.overlay.vtep", ".underlay.peering"),
)


class _Seen(NamedTuple):
    """One reading of an object: True if it is up (None: not known), its number, and the device's count of losses, if it has one."""

    up: bool | None
    number: int | None = None
    losses: int | None = None


@dataclass(slots=True)
class _Past:
    last: _Seen = field(default_factory=lambda: _Seen(None))
    lost: deque[float] = field(default_factory=lambda: deque[float](maxlen=256))
    flapping: bool = False

    def add(self, at: float, seen: _Seen) -> None:
        """Add a reading, and count what was lost since the reading before."""
        before = self.last
        counted = None if seen.losses is None or before.losses is None else max(seen.losses - before.losses, 0)
        went_down = before.up is True and seen.up is False
        fell = None not in (seen.number, before.number) and (seen.number or 0) < (before.number or 0)
        for _ in range(min(max(counted or 0, went_down or fell), 256)):
            self.lost.append(at)
        self.last = _Seen(
            before.up if seen.up is None else seen.up,
            before.number if seen.number is None else seen.number,
            before.losses if seen.losses is None else seen.losses,
        )
        while self.lost and self.lost[0] < at - WINDOW_S:
            self.lost.popleft()
        calm = not self.lost or at - self.lost[-1] >= CALM_S
        self.flapping = not calm and (self.flapping or len(self.lost) >= LEAST)


Kind = Literal["port", "session", "bfd", "prefixes"]
_RULES: dict[Kind, tuple[Rule, str]] = {
    "port": (PORT, "{what} went down"),
    "session": (SESSION, "the session of {what} was lost"),
    "bfd": (BFD, "BFD of {what} went down"),
    "prefixes": (PREFIXES, "the session of {what} lost prefixes"),
}


class Flapping:
    """The history of the ports, sessions, BFD sessions and received prefixes of a watched network.

    What flaps is reported at one end of its link, always the same, though it may be counted at the other.
    """

    def __init__(self) -> None:
        self._past: dict[tuple[str, Kind, str], _Past] = {}
        self._home: dict[str, tuple[str, str]] = {}
        """The end of each link at which its flapping is reported, as (device, port)."""

    def seen(
        self, at: float, expected: Mapping[str, Expected], states: Mapping[str, DeviceState]
    ) -> Iterator[Deviation]:
        """Add the readings of the time ``at`` (seconds since 1970). Yield what flaps now.

        A device that is not in ``states`` adds nothing, so that its return is no loss.
        """
        for device, wanted in expected.items():
            for port in wanted.ports:
                self._home.setdefault(port.link, (device, port.name))
            state = states.get(device)
            if state is not None:
                yield from self._ports(at, wanted, state)
                yield from self._sessions(at, wanted, state)

    def _ports(self, at: float, wanted: Expected, state: DeviceState) -> Iterator[Deviation]:
        interfaces = state.interfaces or {}
        for port in wanted.ports:
            interface = interfaces.get(port.name) or of_port(interfaces, port.name)
            if interface is None:
                continue
            changes = None if interface.flaps is None else interface.flaps // 2  # changes to down and to up
            up = False if interface.admin_up is False else interface.oper_up
            past = self._add(at, (wanted.device, "port", port.name), _Seen(up, None, changes))
            if past.flapping:
                parts: set[Part] = {("link", port.link), ("port", f"{wanted.device} {port.name}")}
                device, name = self._home[port.link]
                parts.add(("port", f"{device} {name}"))
                yield Deviation(
                    PORT,
                    device,
                    _text(past, at, "port", f"{wanted.device} {port.name}"),
                    port.because,
                    name,
                    port.link,
                    breaks=frozenset(parts),
                    needs=frozenset([("device", port.peer)]),
                )

    def _sessions(self, at: float, wanted: Expected, state: DeviceState) -> Iterator[Deviation]:
        bgp, watched = by_end(state.bgp or ()), by_end(state.bfd or ())
        for each in (*wanted.sessions, *wanted.overlay_sessions):
            peering, end = each.session, far_end(each.session)
            session, bfd = bgp.get(end), watched.get(end)
            seen: list[tuple[Kind, _Seen]] = []
            if session is not None:
                held = [family.received for family in session.families.values() if family.received is not None]
                up = session.established
                seen.append(("session", _Seen(up, None, session.flaps)))
                seen.append(("prefixes", _Seen(None, sum(held) if held and up else None)))
            if bfd is not None and bfd.state is not None:
                seen.append(("bfd", _Seen(bfd.state == "up")))
            broken: frozenset[Part] = frozenset([carried(peering)])
            needs = rests_on(peering, wanted.device)
            for kind, reading in seen:
                past = self._add(at, (wanted.device, kind, end), reading)
                if past.flapping:
                    port = peering.interface or ""
                    device, name = self._home.get(peering.link, (wanted.device, port))
                    yield Deviation(
                        _RULES[kind][0],
                        device,
                        _text(past, at, kind, f"{wanted.device} with {peering.peer}"),
                        each.because,
                        name,
                        carried(peering)[1],
                        breaks=broken if kind == "session" else frozenset(),
                        needs=needs if kind == "session" else needs | broken,
                    )

    def _add(self, at: float, key: tuple[str, Kind, str], seen: _Seen) -> _Past:
        past = self._past.get(key)
        if past is None:
            past = self._past[key] = _Past()
        past.add(at, seen)
        return past


def _text(past: _Past, at: float, kind: Kind, subject: str) -> str:
    minutes = max((past.lost[-1] - past.lost[0]) / 60, 1)
    last = f", last {at - past.lost[-1]:.0f} s ago" if at - past.lost[-1] >= 1 else ""
    return f"{_RULES[kind][1].format(what=subject)} {len(past.lost)} times in {minutes:.0f} min{last}"
