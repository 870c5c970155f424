"""Network namespaces: entering them, commands, settings and counters in them, and the namespace of each interface."""

from __future__ import annotations

import ctypes
import os
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Mapping

    from railweave.live.lab.running import Running
    from railweave.model.device.model import DeviceConfig, Gateway


Direction = tuple[str, str]
"""A link, and the device that a packet on it goes to."""


@dataclass(frozen=True)
class Snapshot:
    """Bytes received from each link so far, by where they went."""

    received: dict[Direction, int]

    def since(self, before: Snapshot) -> dict[Direction, int]:
        """Bytes that came since another snapshot."""
        return {key: value - before.received[key] for key, value in self.received.items()}


def snapshot(lab: Running) -> Snapshot:
    """The counters of all links now."""
    received: dict[Direction, int] = {}
    for space in lab.plan.spaces():
        device = space.partition("@")[0]
        for name, counters in lab.kernel(space).interfaces().values():
            link = lab.plan.link(device, name)
            if link is not None:
                received[link, device] = counters.rx_bytes
    return Snapshot(received)


def vrf_space(device: str, vrf: str) -> str:
    """The space of a device's VRF; the device's own where ``vrf`` is empty."""
    return f"{device}@{vrf}" if vrf else device


def spaces_of(config: DeviceConfig) -> list[str]:
    """The spaces of a switch: its own, and one for each VRF."""
    return [config.name, *(vrf_space(config.name, vrf.name) for vrf in config.vrfs)]


def gateway_interface(gateway: Gateway) -> str:
    """The interface of a server-facing gateway."""
    return gateway.name


def vrf_by_interface(config: DeviceConfig) -> dict[str, str]:
    """The VRF of each interface of a switch that is in one: gateways, and the ports of their VLANs."""
    vrfs = {gateway_interface(gateway): gateway.vrf for gateway in config.gateways if gateway.vrf}
    by_vlan = {
        gateway.vlan_name: gateway.vrf for gateway in config.gateways if gateway.vlan is not None and gateway.vrf
    }
    vrfs.update({port.name: by_vlan[port.vlan] for port in config.interfaces if port.vlan in by_vlan})
    return vrfs


RUN = Path("/run/netns")
"""Where iproute2 keeps the names of network namespaces (ip-netns(8))."""

LINES_AT_ONCE = 100
"""Commands for one ``ip``: two namespaces each stay far below the 1,024 files that a process may have open by default."""

_CLONE_NEWNET = 0x40000000  # sched.h


def _setns(descriptor: int) -> None:  # os.setns is there from Python 3.12 on
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


@contextmanager
def entered(name: str) -> Generator[None, None, None]:
    """Be in a network namespace with this thread: sockets made there stay there, processes started there run there.

    Raises ``LabError`` where there is none of that name.
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


def existing(prefix: str) -> list[str]:
    """The namespaces whose names begin so."""
    return sorted(path.name for path in RUN.glob(f"{prefix}*")) if RUN.is_dir() else []


def ip(words: Iterable[str], *, inside: str = "") -> str:
    """Return the output of ``ip``, run in a namespace if one is named.

    Raises ``LabError`` with the message of ``ip`` if it fails.
    """
    command = ["ip", *(["-n", inside] if inside else []), *words]
    return _run(command, None)


def ip_batch(lines: Iterable[str], *, inside: str = "") -> None:
    """Have ``ip`` carry out many commands, a line each. Raises ``LabError`` that names the first that failed.

    One ``ip`` takes ``LINES_AT_ONCE`` of them: it keeps every namespace that a line names open until it ends, and says
    ``Invalid "netns" value`` where it may open no more.
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
    """Set kernel parameters of the namespace that this thread is in; names as below /proc/sys. Raises ``LabError``."""
    for name, value in values.items():
        try:
            Path("/proc/sys", name).write_text(f"{value}\n", encoding="ascii")
        except OSError as error:
            raise LabError(f"/proc/sys/{name} cannot be set to {value}: {error.strerror}") from None
