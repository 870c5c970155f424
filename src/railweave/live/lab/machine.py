"""What this machine has left for a lab: memory, open files, processes; what it allows this process and its control group."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Machine:
    """What a machine has left: memory, kB; files that a process may have open; processes and threads that may still start."""

    memory_kb: int
    files: int
    tasks: int = sys.maxsize


def machine() -> Machine:
    """What this machine has now, or this process's control group where that has less (cgroups(7))."""
    memory = next(
        int(line.split()[1])
        for line in (PROC / "meminfo").read_text(encoding="ascii").splitlines()
        if line.startswith("MemAvailable:")
    )
    # The fourth field of loadavg is "running/all" (proc(5)); every thread has a number of its own.
    running = int((PROC / "loadavg").read_text(encoding="ascii").split()[3].partition("/")[2])
    most = min(int((PROC / "sys/kernel" / name).read_text(encoding="ascii")) for name in ("pid_max", "threads-max"))
    return Machine(
        min([memory, *(left // 1024 for left in _left("memory", "memory.max", "memory.limit_in_bytes"))]),
        resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        min([most - running, *_left("pids", "pids.max", "pids.max")]),
    )


_USED = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes", "pids.max": "pids.current"}


def _left(controller: str, second: str, first: str) -> Iterator[int]:
    """What this process's control groups leave it of something; none where there is no limit.

    ``second`` and ``first`` are the limit's file in version 2 and version 1 of control groups. Of version 2 every group above counts too.
    """
    for line in (PROC / "self/cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root, name = (CGROUPS / controller, first) if controllers else (CGROUPS, second)
        group = root / path.lstrip("/")
        for one in (group, *(above for above in group.parents if above.is_relative_to(root))):
            most, used = _number(one / name), _number(one / _USED[name])
            if most is not None and used is not None:
                yield max(0, most - used)


def _number(file: Path) -> int | None:
    """The number in a file; None where there is no file, or the word `max`."""
    try:
        text = file.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None


def open_more_files() -> None:
    """Let this process have as many files open as it may: it holds a socket in each namespace that it asks."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
