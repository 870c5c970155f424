"""Sessions with FRR's daemons, and the recovery of BGP sessions that BFD holds down, which FRR 10.3 does not restore by itself.

If BFD went down at both ends of a session, the bgpd at each end keeps the state "BFD down". Each bgpd then refuses
connections from the other end ("incoming conn rejected - no AF activated for peer"), so the session stays down.
BFD waits for the session, so BFD stays down too. FRR's pull request 18562, by its title, fixes this. Configuring
BFD again at one end clears the state.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import LabError
from railweave.live.lab import fib
from railweave.reading import parse_json
from railweave.systems.frr.tree import BFD_PROFILE, OVERLAY_BFD_PROFILE, OVERLAY_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.fib import Difference
    from railweave.live.lab.running import Running
    from railweave.model.device.model import Session


TIMEOUT_S = 20
_SUCCESS, _WARNING = 0, 1  # lib/command.h


class Vty:
    """A privileged command session with one daemon of a router. ``run`` is the folder that the daemon sees as /run/frr."""

    def __init__(self, run: Path, daemon: str) -> None:
        self._name = daemon
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        try:
            folder = os.open(run, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            raise LabError(f"{run} is gone: `railweave lab down`, then `lab up` again") from None
        try:
            # By way of the folder's descriptor: an address has room for 107 characters only (unix(7)).
            self._socket.connect(f"/proc/self/fd/{folder}/{daemon}.vty")
        except OSError as error:
            raise LabError(f"{run.parents[1].name}: {daemon} does not answer: {error.strerror}") from None
        finally:
            os.close(folder)
        self.run("enable")

    def __enter__(self) -> Vty:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def run(self, command: str) -> str:
        """Run a command and return its output.

        Raises ``LabError`` if the daemon refuses the command or does not answer.
        """
        answer = b""
        try:
            self._socket.sendall(command.encode() + b"\0")
            while len(answer) < 4 or answer[-4:-1] != b"\0\0\0":
                more = self._socket.recv(1 << 16)
                if not more:
                    raise LabError(f"{self._name} ended while it was asked for `{command}`")
                answer += more
        except OSError as error:
            raise LabError(f"{self._name} does not answer `{command}`: {error}") from None
        text = answer[:-4].decode("utf-8", "replace")
        if answer[-1] not in {_SUCCESS, _WARNING}:
            raise LabError(f"{self._name} refuses `{command}`: {text.strip()}")
        return text

    def json(self, command: str) -> dict[str, Any]:
        """Return the JSON object that a command prints. Raises ``LabError`` if the command fails or prints no JSON."""
        text = self.run(f"{command} json")
        try:
            return cast("dict[str, Any]", parse_json(text or "{}"))
        except ValueError:
            raise LabError(f"{self._name} answers `{command} json` with no JSON: {text[:80]!r}") from None

    def configure(self, lines: Iterable[str]) -> None:
        """Change the running configuration. Raises ``LabError`` at the first line that is refused."""
        self.run("configure terminal")
        for line in lines:
            self.run(line)
        self.run("end")


PATIENCE_S = 7
"""The seconds to wait before sessions are released; sessions try to connect again by themselves after 5 s."""


def release(lab: Running) -> list[str]:
    """Release BGP sessions that BFD holds down: for each such session of a leaf, configure BFD again for the session's peer group.

    Return the released sessions, each as ``leaf interface``, and add them to ``lab.released``. Do nothing within ``PATIENCE_S`` seconds of
    the last release: configuring BFD resets sessions, so more frequent releases would keep them down.
    """
    released: list[str] = []
    if time.monotonic() < lab.released_at + PATIENCE_S:
        return released
    for config in lab.plan.configs.values():
        if config.role != "leaf" or config.bgp is None or config.bgp.bfd is None:
            continue
        with lab.vty(config.name, "bgpd") as vty:
            peers = vty.json(f"show bgp {config.bgp.families[0]} unicast summary").get("peers", {})
            groups = [(group.name, BFD_PROFILE, _neighbors(group.sessions)) for group in config.bgp.groups]
            if config.overlay is not None and config.overlay.bfd is not None:
                peers |= vty.json("show bgp l2vpn evpn summary").get("peers", {})
                groups.append((OVERLAY_GROUP, OVERLAY_BFD_PROFILE, _neighbors(config.overlay.neighbors)))
            for group, profile, neighbors in groups:
                held = [name for name in neighbors if _is_held(vty, name, peers.get(name, {}).get("state"))]
                if held:
                    again = f"neighbor {group} bfd"
                    vty.configure([f"router bgp {config.bgp.asn}", f"no {again}", f"{again} profile {profile}"])
                    lab.released_at = time.monotonic()
                released += [f"{config.name} {name}" for name in held]
    lab.released += released
    return released


def _neighbors(sessions: Iterable[Session]) -> list[str]:
    return [session.peer_address or session.interface for session in sessions]


def _is_held(vty: Vty, name: str, state: str | None) -> bool:
    if state in {None, "Established"}:
        return False
    known = vty.json(f"show bgp neighbors {name}").get(name, {})
    return known.get("peerBfdInfo", {}).get("status") == "Down"


def wait_and_release(
    lab: Running, expected: Routes, limit_s: float, poll_s: float = fib.POLL_S
) -> tuple[float | None, list[Difference]]:
    """Wait until the kernels forward as expected, and meanwhile release sessions that BFD holds down.

    Return (seconds that it took, remaining differences). The seconds are None if differences remain after ``limit_s`` seconds. The kernels
    are read every ``poll_s`` seconds. The network must have no faults.
    """
    took, left = fib.wait(lab, expected, min(PATIENCE_S, limit_s), poll_s)
    spent = 0.0
    while took is None and spent < limit_s:
        release(lab)
        spent += PATIENCE_S
        took, left = fib.wait(lab, expected, PATIENCE_S, poll_s)
    return (None if took is None else spent + took), left
