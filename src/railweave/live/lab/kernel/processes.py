"""The processes of a lab. A mark in their environment identifies them; they are ended by their process ids."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.kernel.namespace import RUN, existing
from railweave.live.lab.names import MARK
from railweave.reading import file_bytes, file_text

if TYPE_CHECKING:
    from collections.abc import Iterable

PROC = Path("/proc")


def of_lab(lab: str) -> list[int]:
    """Return the process ids that have a lab's mark: the processes that the lab started, and their descendants."""
    mark = f"{MARK}={lab}".encode()
    pids: list[int] = []
    for path in PROC.iterdir():
        if not path.name.isdecimal() or int(path.name) == os.getpid():
            continue
        try:
            marked = mark in file_bytes(path / "environ").split(b"\0")
        except OSError:  # it ended meanwhile, or is of the kernel
            continue
        if marked:
            pids.append(int(path.name))
    return pids


def end(pids: Iterable[int], *, limit_s: float = 10) -> None:
    """Kill processes and wait until they have ended. Raises ``LabError`` if a process still runs after ``limit_s`` seconds."""
    left = list(pids)
    for pid in left:
        send(pid, signal.SIGKILL)
    until = time.monotonic() + limit_s
    while left := [pid for pid in left if alive(pid)]:
        if time.monotonic() > until:
            raise LabError(f"processes {', '.join(map(str, left))} do not end")
        time.sleep(0.02)


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process. Do nothing if the process no longer exists."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def alive(pid: int) -> bool:
    """Return True if a process exists and is not a zombie."""
    try:
        return file_text(PROC / str(pid) / "stat").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def inside(lab: str) -> list[str]:
    """Return the processes that run in a lab's namespaces, as ``PID (name)``."""
    spaces = {(path.stat().st_dev, path.stat().st_ino) for name in existing(f"{lab}-") if (path := RUN / name).exists()}
    processes: list[str] = []
    for path in PROC.iterdir() if spaces else ():
        if path.name.isdecimal() and int(path.name) != os.getpid():
            try:
                at = (path / "ns/net").stat()
                if (at.st_dev, at.st_ino) in spaces:
                    processes.append(f"{path.name} ({file_text(path / 'comm').strip()})")
            except OSError:  # it ended meanwhile
                continue
    return processes
