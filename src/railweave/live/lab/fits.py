"""Whether a lab fits this machine, found out before anything of it is made; where not, the slice that does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.errors import LabError
from railweave.live.lab import slicing
from railweave.live.lab.estimate import size_of
from railweave.live.lab.machine import machine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.live.lab.estimate import Size
    from railweave.live.lab.machine import Machine
    from railweave.live.lab.plan import Plan
    from railweave.model.network.model import Network

FILES_BESIDE = 256
"""Files that this process has open besides one socket for each namespace."""


def check_fits(plan: Plan, whole: Network | None = None, has: Machine | None = None) -> None:
    """Raise ``LabError`` with what is missing, and the slice of the ``whole`` network that fits, where the lab does not."""
    has = has or machine()
    missing = what_is_missing(size_of(plan.network), has)
    if missing:
        raise LabError(
            f"{missing}{'; or' if '`' in missing else ':'} take a part, such as {_part(whole or plan.network, has)}"
        )


def what_is_missing(size: Size, machine: Machine) -> str:
    """What a machine has too little of for a lab, as a sentence with the way out if there is one; empty where the lab fits."""
    takes = f"{counted(size.routers, 'router')} and {counted(size.servers, 'server')} would take about"
    if size.memory_kb > machine.memory_kb:
        return f"{takes} {size.memory_kb / 1e6:.1f} GB, and {machine.memory_kb / 1e6:.1f} GB are free"
    if size.spaces + FILES_BESIDE > machine.files:
        need = size.spaces + FILES_BESIDE
        return (
            f"it asks {counted(size.spaces, 'namespace')} at once, and a process may have {machine.files:,} files open: "
            f"raise the limit (`ulimit -n {need}`)"
        )
    if size.tasks > machine.tasks:
        return f"{takes} {size.tasks:,} processes and threads, and {machine.tasks:,} more may run"
    return ""


def _part(network: Network, has: Machine) -> str:
    """The largest of the slices tried that fits; the smallest, where none does."""
    text = ""
    for text in _parts(network):
        if not what_is_missing(size_of(slicing.sliced(network, slicing.parse(text))), has):
            return f"--slice {text}"
    return f"--slice {text or 'rails=1'}, which does not fit either"


def _parts(network: Network) -> Iterator[str]:
    """Slices of a network, ever smaller: fewer rails, then stripes, then spines, then servers."""
    leaves = [one for one in network.switches if one.role == "leaf"]
    counts = {
        "rails": (len({rail for one in leaves for rail in one.rails}), 1),
        "stripes": (len({one.stripe for one in leaves}), 2),
        "spines": (sum(one.role == "spine" for one in network.switches), 2),
        "servers": (len(network.servers), 2),
    }
    taken: dict[str, int] = {}
    for word, (whole, least) in counts.items():
        left = whole
        while left > least:
            left = taken[word] = max(least, -(-left // 2))
            yield ",".join(f"{one}={number}" for one, number in taken.items())
