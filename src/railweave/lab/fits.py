"""Whether a lab fits this machine, found out before anything of it is made; where not, the slice that does."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.errors import LabError
from railweave.lab import plan as plans
from railweave.lab import slicing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.lab.plan import Plan
    from railweave.network.model import Network

FILES_BESIDE = 256
"""Files that this process has open besides one socket for each namespace."""


@dataclass(frozen=True)
class Machine:
    """What this machine has left: memory, kB; files that a process may have open."""

    memory_kb: int
    files: int


@dataclass(frozen=True)
class Size:
    """A lab, counted."""

    routers: int
    servers: int
    spaces: int

    def missing(self, machine: Machine) -> str:
        """What a machine has too little of for it, as a sentence with the way out; empty where it fits."""
        takes = f"{counted(self.routers, 'router')} and {counted(self.servers, 'server')} would take about"
        memory_kb = plans.memory_kb(self.routers, self.servers)
        if memory_kb > machine.memory_kb:
            return f"{takes} {memory_kb / 1e6:.1f} GB, and {machine.memory_kb / 1e6:.1f} GB are free"
        if self.spaces + FILES_BESIDE > machine.files:
            need = self.spaces + FILES_BESIDE
            return (
                f"it asks {counted(self.spaces, 'namespace')} at once, and a process may have {machine.files:,} files open: "
                f"raise the limit (`ulimit -n {need}`)"
            )
        return ""


def machine() -> Machine:
    """What this machine has now."""
    memory = 0
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        word, value = line.split()[:2]
        if word == "MemAvailable:":
            memory = int(value)
    return Machine(memory, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def size_of(network: Network) -> Size:
    """The lab of a network."""
    routers, servers = len(network.switches), len(network.servers)
    vrfs = sum(len({one.tenant for one in network.segments_of(leaf.name)} - {""}) for leaf in network.switches)
    return Size(routers, servers, routers + vrfs + servers)


def check_fits(plan: Plan, whole: Network | None = None, has: Machine | None = None) -> None:
    """Raise ``LabError`` with what is missing, and the slice of the ``whole`` network that fits, where the lab does not."""
    has = has or machine()
    missing = size_of(plan.network).missing(has)
    if missing:
        raise LabError(
            f"{missing}{'; or' if '`' in missing else ':'} take a part, such as {_part(whole or plan.network, has)}"
        )


def _part(network: Network, has: Machine) -> str:
    """The largest of the slices tried that fits; the smallest, where none does."""
    text = ""
    for text in _parts(network):
        if not size_of(slicing.sliced(network, slicing.parse(text))).missing(has):
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


def open_more_files() -> None:
    """Let this process have as many files open as it may: it holds a socket in each namespace that it asks."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
