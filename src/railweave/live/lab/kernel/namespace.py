"""Network namespaces: functions to enter them, run commands, set kernel parameters, and read link counters."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.reading import file_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from railweave.live.lab.running import Running
    from railweave.model.device.model import DeviceConfig


Direction = tuple[str, str]
"""A link, and the device that receives the packets on it."""


@dataclass(frozen=True)
class Snapshot:
    """The bytes received so far, by link and receiving device."""

    received: dict[Direction, int]

    def since(self, before: Snapshot) -> dict[Direction, int]:
        """Return the bytes received since the earlier snapshot ``before``, by link and receiving device."""
        return {key: value - before.received[key] for key, value in self.received.items()}


def snapshot(lab: Running) -> Snapshot:
    """Return the current counters of all links."""
    received: dict[Direction, int] = {}
    for space in lab.plan.spaces():
        device = space.partition("@")[0]
        for name, counters in lab.kernel(space).interfaces().values():
            link = lab.plan.link(device, name)
            if link is not None:
                received[link, device] = counters.rx_bytes
    return Snapshot(received)


def vrf_space(device: str, vrf: str) -> str:
    """Return the name of a VRF's namespace, or of the device's main namespace if ``vrf`` is empty."""
    return f"{device}@{vrf}" if vrf else device


def spaces_of(config: DeviceConfig) -> list[str]:
    """Return the names of a switch's namespaces: the main namespace, and one for each VRF."""
    return [config.name, *(vrf_space(config.name, vrf.name) for vrf in config.vrfs)]


RUN = Path("/run/netns")
"""The folder in which iproute2 keeps the names of network namespaces (ip-netns(8))."""

LINES_AT_ONCE = 100
"""The largest number of commands for one process of ``ip``.

Each command may open two namespaces, so one ``ip`` stays far below the default limit of 1,024 open files per process.
"""

_CLONE_NEWNET, _CLONE_NEWUTS = 0x40000000, 0x04000000  # sched.h


def _setns(descriptor: int, kind: int = _CLONE_NEWNET) -> None:  # os.setns is there from Python 3.12 on
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, kind):
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


@contextmanager
def entered(name: str) -> Generator[None, None, None]:
    """Enter a network namespace with this thread while the context lasts.

    Sockets created and processes started in the context stay in the namespace. Raises ``LabError`` if the namespace
    does not exist.
    """
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        try:
            there = os.open(RUN / name, os.O_RDONLY)
        except FileNotFoundError:
            raise LabError(f"the namespace {name} is gone: `railweave lab down`, then `lab up` again") from None
        try:
            _setns(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            _setns(here)
    finally:
        os.close(here)


@contextmanager
def named(name: str) -> Generator[None, None, None]:
    """Give this thread a host name of its own while the context lasts. Processes started in the context keep the name.

    The name is set by a system call: only the machine's root can write /proc/sys/kernel/hostname.
    """
    here = os.open("/proc/thread-self/ns/uts", os.O_RDONLY)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_CLONE_NEWUTS):
            raise LabError(f"this system gives no host names (unshare): {os.strerror(ctypes.get_errno())}")
        try:
            socket.sethostname(name)
            yield
        finally:
            _setns(here, _CLONE_NEWUTS)
    finally:
        os.close(here)


def has_user(user: int, group: int) -> bool:
    """Return True if files and processes can have a user and a group. In a user namespace of one user, only root's exist."""
    return _mapped("uid_map", user) and _mapped("gid_map", group)


def _mapped(file: str, number: int) -> bool:
    rows = [list(map(int, row.split())) for row in file_text(Path("/proc/self", file)).splitlines()]
    return any(first <= number < first + count for first, _, count in rows)


def existing(prefix: str) -> list[str]:
    """Return the names of network namespaces that begin with a prefix."""
    return sorted(path.name for path in RUN.glob(f"{prefix}*")) if RUN.is_dir() else []


def ip(words: Iterable[str], *, inside: str = "") -> str:
    """Run ``ip`` in the namespace ``inside``, or in the current one if ``inside`` is empty, and return its output.

    Raises ``LabError`` with the message of ``ip`` if it fails.
    """
    command = ["ip", *(["-n", inside] if inside else []), *words]
    return _run(command, None)


def ip_batch(lines: Iterable[str], *, inside: str = "") -> None:
    """Run many commands of ``ip``, one per line. Raises ``LabError`` that names the first command that failed.

    They run in the namespace ``inside``, or in the current one if ``inside`` is empty.

    Each ``ip`` process runs ``LINES_AT_ONCE`` commands. It keeps every namespace of its lines open until it ends, and prints ``Invalid
    "netns" value`` when it cannot open more files.
    """
    rows = [f"{line}\n" for line in lines]
    for first in range(0, len(rows), LINES_AT_ONCE):
        text = "".join(rows[first : first + LINES_AT_ONCE])
        _run(["ip", *(["-n", inside] if inside else []), "-batch", "-"], text)


def _run(command: list[str], text: str | None) -> str:
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603 - no shell
    except FileNotFoundError:
        raise LabError(f"the {command[0]} command is not there: install iproute2") from None
    if done.returncode:
        raise LabError(f"{' '.join(command)}: {_reason(done.stderr, text)}")
    return done.stdout


def _reason(stderr: str, text: str | None) -> str:
    lines = stderr.strip().splitlines()
    failed = next((line for line in lines if line.startswith("Command failed")), "")
    number = failed.rpartition(":")[2]
    which = f"{text.splitlines()[int(number) - 1]}: " if text and number.isdecimal() else ""
    return which + " ".join(line for line in lines if line != failed)


def set_parameters(values: Mapping[str, str | int]) -> None:
    """Set kernel parameters of this thread's namespace. Names are paths below /proc/sys.

    Raises ``LabError`` if the kernel lacks a parameter or refuses its value.
    """
    for name, value in values.items():
        try:
            Path("/proc/sys", name).write_text(f"{value}\n", encoding="ascii")
        except OSError as error:
            raise LabError(f"/proc/sys/{name} cannot be set to {value}: {error.strerror}") from None
