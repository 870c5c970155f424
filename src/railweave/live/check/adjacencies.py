"""Adjacencies of IS-IS with their BFD."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.live.check.interfaces import same_port, short
from railweave.live.check.living import Seen, link_and_ends
from railweave.live.check.sessions import bfd_as_designed, by_end
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.live.check.living import Living, Part
    from railweave.model.device.expected import Adjacency
    from railweave.model.state.protocols import IsisAdjacency

ADJACENCY = Rule(
    "adjacency-not-up",
    "error",
    "living",
    "An IS-IS adjacency (level 2) of the design is missing or not up.",
    why="no route leads over its link",
    fix="look at the link first, then at the MTU, the area's network entity title and the authentication of both ends",
)
_LEVEL_1 = 1


def adjacencies(living: Living) -> Iterator[Seen]:
    """Every adjacency of the design, and BFD on it."""
    switches = {short(one.name): one.name for one in living.network.switches}
    for one, state in living.pairs():
        watched = by_end(state.bfd or ())
        for wanted in one.adjacencies:
            ends = (one.device, wanted.peer)
            daemons: frozenset[Part] = frozenset(("daemon", f"{end} isis") for end in ends)
            needs = link_and_ends(wanted.link, *ends) | daemons
            carried: Part = ("session", wanted.link)
            if state.isis is not None:
                wrong = _wrong(wanted, state.isis, switches)
                if wrong:
                    watch: list[Part] = [("daemon", f"{end} bfd") for end in ends if wanted.bfd is not None]
                    yield Seen(
                        ADJACENCY,
                        one.device,
                        f"IS-IS with {wanted.peer}: {wrong}",
                        wanted.because,
                        wanted.interface,
                        wanted.link,
                        breaks=frozenset([carried]),
                        needs=needs.union(watch),
                    )
            if wanted.bfd is not None and state.bfd is not None:
                found = watched.get(wanted.interface)
                yield from bfd_as_designed(wanted, wanted.bfd, wanted.because, one.device, found, needs | {carried})


def _wrong(wanted: Adjacency, said: tuple[IsisAdjacency, ...], switches: dict[str, str]) -> str:
    """What is wrong with the adjacency of an interface; empty where it is up at level 2, with the switch of the design."""
    here = [one for one in said if same_port(one.interface, wanted.interface) and one.level != _LEVEL_1]
    if not here:
        return "is not there"
    down = [one.state for one in here if one.state not in {None, "up"}]
    if len(down) == len(here):
        return f"is {down[0]}"
    others = [switches[name] for one in here if (name := short(one.system or "")) in switches]
    if others and wanted.peer not in others:
        return f"is with {others[0]}"
    return ""
