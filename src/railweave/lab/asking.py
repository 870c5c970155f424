"""A lab's routers as devices that can be asked: the questions of FRRouting, answered in their namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.lab.frr.routers import daemon_pid
from railweave.lab.kernel.namespace import RUN
from railweave.lab.names import namespace
from railweave.reach.command import Command
from railweave.reach.failure import ReachError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from railweave.lab.state import Place
    from railweave.reach.target import Target, Transport
    from railweave.state.question import Protocol


def opener(place: Place, frr_root: str) -> Callable[[Target, Protocol], Awaitable[Transport]]:
    """What opens a connection to a router of a lab, for ``collect``: ``vtysh`` runs where its daemons do, other commands in its namespace."""

    async def opened(target: Target, protocol: Protocol) -> Transport:
        if protocol != "ssh":
            raise ReachError("not asked", f"a router of a lab is not asked by {protocol}")
        pid = next((found for one in ("zebra", "bgpd") if (found := daemon_pid(place, target.name, one))), None)
        inside = ["nsenter", f"--net={RUN / namespace(place.lab, target.name)}"]
        if pid is None:
            raise ReachError("unreachable", f"no daemon of {target.name} runs")
        return Command({"vtysh": [*inside, f"--mount=/proc/{pid}/ns/mnt", "chroot", frr_root], "": inside})

    return opened
