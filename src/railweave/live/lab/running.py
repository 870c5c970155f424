"""A running lab: its plan, access to its kernels and daemons, and the free resources of its machine."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.live.lab.frr.held_sessions import Vty
from railweave.live.lab.kernel.netlink import Netlink
from railweave.live.lab.names import namespace
from railweave.reading import file_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.routing.control_plane import ControlPlane
    from railweave.live.lab.frr.rootfs import Frr
    from railweave.live.lab.plan import Plan
    from railweave.live.lab.state import Place


PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Machine:
    """The free resources of a machine.

    - ``memory_kb``: the memory in kB.
    - ``files``: the number of files that a process may have open.
    - ``tasks``: the number of processes and threads that may still start.
    """

    memory_kb: int
    files: int
    tasks: int = sys.maxsize


def machine() -> Machine:
    """Return the free resources of this machine.

    If this process is in a control group with fewer free resources, return the resources of that group (cgroups(7)).
    """
    memory = next(
        int(line.split()[1]) for line in file_text(PROC / "meminfo").splitlines() if line.startswith("MemAvailable:")
    )
    # The fourth field of loadavg is "running/all" (proc(5)); every thread has a number of its own.
    running = int(file_text(PROC / "loadavg").split()[3].partition("/")[2])
    most = min(int(file_text(PROC / "sys/kernel" / name)) for name in ("pid_max", "threads-max"))
    return Machine(
        min([memory, *(left // 1024 for left in _left("memory", "memory.max", "memory.limit_in_bytes"))]),
        resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        min([most - running, *_left("pids", "pids.max", "pids.max")]),
    )


_USED = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes", "pids.max": "pids.current"}


def _left(controller: str, second: str, first: str) -> Iterator[int]:
    """Yield the free amount of a resource in each control group of this process, unless the group has no limit.

    ``controller`` is the kernel's controller of the resource, such as ``memory``. ``second`` and ``first`` are the names of the limit's
    file in version 2 and version 1 of control groups. In both versions, the limits of all parent groups apply too.
    """
    for line in file_text(PROC / "self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root, name = (CGROUPS / controller, first) if controllers else (CGROUPS, second)
        group = root / path.lstrip("/")
        for control_group in (group, *(above for above in group.parents if above.is_relative_to(root))):
            most, used = _number(control_group / name), _number(control_group / _USED[name])
            if most is not None and used is not None:
                yield max(0, most - used)


def _number(file: Path) -> int | None:
    """Return the number in a file, or None if the file does not exist or contains no number, such as `max`."""
    try:
        text = file_text(file).strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def open_more_files() -> None:
    """Raise this process's limit of open files to its maximum, because a lab needs a socket in each namespace."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Running:
    """A running lab. It keeps a socket open in each queried namespace, so call ``close`` or use it as a context manager.

    ``released`` has the sessions that were released because FRR did not restore them (``held_sessions``).
    ``released_at`` is the time of the last release.
    """

    def __init__(self, place: Place, plan: Plan, frr: Frr) -> None:
        open_more_files()
        self.place = place
        self.plan = plan
        self.frr = frr
        self.released: list[str] = []
        self.released_at = float("-inf")
        self._kernels: dict[str, Netlink] = {}
        self._interfaces: dict[str, dict[int, str]] = {}

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the sockets."""
        for kernel in self._kernels.values():
            kernel.close()
        self._kernels.clear()

    @cached_property
    def control_plane(self) -> ControlPlane:
        """The control plane of the lab's routers: a model that computes the routes they should have."""
        return self.plan.control_plane()

    def kernel(self, device: str) -> Netlink:
        """Return the connection to the kernel of a switch or server."""
        if device not in self._kernels:
            self._kernels[device] = Netlink(namespace(self.place.lab, device))
        return self._kernels[device]

    def interfaces(self, device: str) -> dict[int, str]:
        """Return the names of a device's interfaces by index. They are cached, because they do not change while the lab runs."""
        if device not in self._interfaces:
            self._interfaces[device] = {index: name for index, (name, _) in self.kernel(device).interfaces().items()}
        return self._interfaces[device]

    def vty(self, device: str, daemon: str) -> Vty:
        """Return a command session (``Vty``) with a daemon of a router."""
        return Vty(self.place.router(device) / "run/frr", daemon)
