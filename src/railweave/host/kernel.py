"""The kernel's routes and rules, read and changed with iproute2's ``ip``.

``-N`` makes ``ip`` print numbers, because railweave changes the names of tables, and an administrator can change the
names of protocols.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from .entries import Entry, Route, Rule, route_of, rule_of
from .failure import HostError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Command = tuple[str, Entry]
"""A change: ``add`` or ``del``, and the route or rule to add or delete."""


@dataclass(frozen=True)
class Kernel:
    """All routes of all tables, and all rules, of both families, in the kernel's order."""

    routes: tuple[Route, ...]
    rules: tuple[Rule, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All rules, then all routes."""
        return (*self.rules, *self.routes)


def read() -> Kernel:
    """Return the kernel's present routes and rules. Raises HostError if ``ip`` fails."""
    routes = [route_of(f, row) for f in (4, 6) for row in ip_json(f"-{f}", "-N", "-d", "route", "show", "table", "all")]
    rules = [rule_of(f, row) for f in (4, 6) for row in ip_json(f"-{f}", "-N", "-d", "rule", "show")]
    return Kernel(tuple(routes), tuple(rules))


def ip_json(*words: str) -> list[dict[str, Any]]:
    """Return the JSON objects that ``ip -j WORDS`` prints. Raises HostError if ``ip`` is missing, fails or prints no JSON."""
    done = _ip("-j", *words)
    while "Dump was interrupted" in done.stderr:  # something else changed it meanwhile: "may be inconsistent"
        done = _ip("-j", *words)
    if done.returncode:
        raise HostError(f"ip -j {' '.join(words)}: {_reason(done.stderr)}")
    try:
        return [load for load in json.loads(done.stdout or "[]") if load]
    except ValueError as error:
        raise HostError(f"ip -j {' '.join(words)}: no JSON; railweave needs iproute2 5.5 or newer") from error


def command_line(command: Command) -> str:
    """Return a change as an operator would type it, such as ``ip -4 rule add …``."""
    verb, entry = command
    return " ".join(["ip", f"-{entry.family}", *entry.words(verb)])


def change(commands: Iterable[Command], lock: int) -> None:
    """Make changes in order, IPv4 first. Stops at the first failure and raises HostError with the command.

    ``lock`` is the descriptor of the locked file. ``ip`` inherits the descriptor, so the lock is held until ``ip`` ends, even
    if this program is killed.
    """
    for failed in _batches(commands, lock):
        raise HostError(failed)


def attempt(commands: Iterable[Command], lock: int) -> list[str]:
    """Make changes as ``change`` does, but continue after a failure. Return a line with command and reason for each failure.

    Raises HostError if ``ip`` is missing.
    """
    return list(_batches(commands, lock, "-force"))


def _batches(commands: Iterable[Command], lock: int, *options: str) -> Iterator[str]:
    """Make the IPv4 changes, then the IPv6 changes. Yield a line for each failure of a family before the next family begins.

    ``lock`` is the descriptor that ``ip`` inherits. ``options`` are further options of ``ip``.
    """
    commands = list(commands)
    for family in (4, 6):
        batch = [command for command in commands if command[1].family == family]
        if not batch:
            continue
        # A file, not a pipe: were we killed while we write, ip would carry out half a line.
        with tempfile.TemporaryFile("w+") as lines:
            lines.writelines(" ".join(entry.words(verb)) + "\n" for verb, entry in batch)
            lines.flush()
            lines.seek(0)
            done = _ip(f"-{family}", "-batch", "-", *options, stdin=lines, lock=lock)
        if done.returncode:
            # Of each that fails: why, and then its line.
            parts = re.split(r"^Command failed .*:(\d+)\s*$", done.stderr, flags=re.MULTILINE)
            failed = [(command_line(batch[int(line) - 1]), why) for why, line in zip(parts[::2], parts[1::2])]
            for command, why in failed or [(f"ip -{family} -batch", done.stderr)]:
                yield f"{command}: {_reason(why)}"


def _ip(*words: str, stdin: IO[str] | int = subprocess.DEVNULL, lock: int = -1) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["ip", *words],
            check=False,
            stdin=stdin,
            capture_output=True,
            text=True,
            pass_fds=[] if lock < 0 else [lock],
            start_new_session=True,  # Ctrl-C is for us: what ip does is finished, or rolled back as a whole
        )
    except FileNotFoundError:
        raise HostError("the ip command is not there: install iproute2") from None


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if not line.startswith("Command failed")]
    text = " ".join(lines).replace("RTNETLINK answers: ", "").replace("Error: ", "").strip()
    return text or "failed without saying why"
