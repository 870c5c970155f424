"""Talking to a daemon: FRR's vty over its Unix socket, as vtysh does.

A command ends with a zero byte, its answer with three and a byte for the result (FRR's lib/vty.c).
"""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import LabError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TIMEOUT_S = 20
_SUCCESS, _WARNING = 0, 1  # lib/command.h


class Vty:
    """A session with one daemon of a router, privileged. ``run`` is the folder that it sees as /run/frr."""

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
        """What a command prints. Raises ``LabError`` where the daemon refuses it or does not answer."""
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
        """The JSON object that a command prints. Raises ``LabError``."""
        text = self.run(f"{command} json")
        try:
            return cast("dict[str, Any]", json.loads(text or "{}"))
        except ValueError:
            raise LabError(f"{self._name} answers `{command} json` with no JSON: {text[:80]!r}") from None

    def configure(self, lines: Iterable[str]) -> None:
        """Change the configuration that runs. Raises ``LabError`` at the first line that is refused."""
        self.run("configure terminal")
        for line in lines:
            self.run(line)
        self.run("end")
