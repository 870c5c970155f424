"""The comparison of forwarding tables with each single link down, one after another."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from railweave.live.lab import fib
from railweave.live.lab.frr import held_sessions
from railweave.live.lab.kernel.outages import set_links

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.live.lab.running import Running

LIMIT_S = 20
"""How long routers are given to settle on what is left, and on the whole again."""


@dataclass(frozen=True)
class Swept:
    """One link down: seconds until kernels were as ``routes`` has it, and until they were again after its return.

    None where they were not within the limit; ``failures`` then say what was otherwise.
    """

    link: str
    entries: int
    settled_s: float | None
    returned_s: float | None
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether both states were reached."""
        return self.settled_s is not None and self.returned_s is not None

    def to_json(self) -> dict[str, Any]:
        """The JSON object."""
        return asdict(self)


def sweep(
    lab: Running, progress: Callable[[str], None] = lambda _: None, links: Sequence[str] | None = None
) -> list[Swept]:
    """Take down each link, alone, and compare every kernel's table with ``routes`` for that state; all where none are given."""
    found: list[Swept] = []
    whole = lab.control_plane.routes()
    links = links or [cable.name for cable in lab.plan.network.cables]
    for number, link in enumerate(links, 1):
        progress(f"link {number} of {len(links)}: {link}")
        expected = lab.control_plane.routes([link])
        entries = len(expected.fibs) * len(expected.prefixes)
        set_links(lab, [link], "down")
        try:
            settled, wrong = fib.wait(lab, expected, LIMIT_S)
        finally:
            set_links(lab, [link], "up")
        returned, left = held_sessions.wait_and_release(lab, whole, LIMIT_S, poll_s=0.2)
        failures = [f"down: {one}" for one in wrong] + [f"back: {one}" for one in left]
        found.append(Swept(link, entries, settled, returned, tuple(failures[:8])))
    return found
