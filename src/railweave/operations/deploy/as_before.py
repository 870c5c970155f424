"""Whether a switch that was restarted is as it was before: sessions, prefixes they bring, neighbors on its ports, routes.

It is compared with itself, not with the design: what was wrong already is no reason to stop, and what is less than before is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from railweave.model.state.device_state import DeviceState


@dataclass(frozen=True)
class Stood:
    """What a switch was. ``boot`` tells one start from the next.

    ``sessions`` are the prefixes that each established BGP session brings, by neighbor and address family; ``bfd`` those of BFD that were
    up, ``heard`` what each port hears by LLDP, ``routes`` the next hops of routes that were asked for.
    """

    version: str
    boot: str
    sessions: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, "Mapping[str, int]"])
    bfd: tuple[str, ...] = ()
    heard: Mapping[str, str] = field(default_factory=dict[str, str])
    routes: Mapping[str, int] = field(default_factory=dict[str, int])

    def to_json(self) -> dict[str, Any]:
        """Its form in the journal's folder."""
        return {
            **vars(self),
            "sessions": {name: dict(one) for name, one in self.sessions.items()},
            "bfd": list(self.bfd),
            "heard": dict(self.heard),
            "routes": dict(self.routes),
        }

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Stood:
        """The other way."""
        return cls(
            found["version"], found["boot"], found["sessions"], tuple(found["bfd"]), found["heard"], found["routes"]
        )


def stood(state: DeviceState, boot: str) -> Stood:
    """What a switch is now."""
    sessions = {
        f"{one.vrf or 'default'} {one.interface or one.peer}": {
            family: count
            for family, found in one.families.items()
            if (count := found.accepted if found.accepted is not None else found.received) is not None
        }
        for one in state.bgp or ()
        if one.established
    }
    return Stood(
        (state.identity.version if state.identity else None) or "",
        boot,
        sessions,
        tuple(sorted({f"{one.interface or ''} {one.peer}" for one in state.bfd or () if one.state == "up"})),
        {port: found[0].system for port, found in (state.neighbors or {}).items() if found and found[0].system},
        {f"{one.vrf} {one.prefix}": len(one.next_hops) for one in state.routes or ()},
    )


def less(before: Stood, now: Stood) -> Iterator[str]:
    """What a switch has less of than before; a line each."""
    for name, families in before.sessions.items():
        found = now.sessions.get(name)
        if found is None:
            yield f"the BGP session with {_named(name)} was established, and is not"
            continue
        for family, count in families.items():
            if found.get(family, 0) < count:
                yield f"{_named(name)} brings {found.get(family, 0)} of {count} {family} prefixes"
    for name in before.bfd:
        if name not in now.bfd:
            yield f"the BFD session with {name.strip()} was up, and is not"
    for port, system in before.heard.items():
        if now.heard.get(port) != system:
            yield f"{port} heard {system} by LLDP, and hears {now.heard.get(port) or 'nothing'}"
    for name, count in before.routes.items():
        if now.routes.get(name, 0) < count:
            yield f"the route {_named(name)} has {now.routes.get(name, 0)} of {count} next hops"


def _named(name: str) -> str:
    vrf, _, rest = name.partition(" ")
    return rest if vrf == "default" else f"{rest} in {vrf}"


def restarted(before: str, now: str) -> bool:
    """Whether two answers to which start this is are of two starts. Times by a device's own clock move by fractions."""
    try:
        return abs(float(now) - float(before)) > CLOCK_S
    except ValueError:
        return now != before


CLOCK_S = 30
"""How far the time of a start may move from one answer to the next (EOS: ``bootupTimestamp``)."""
