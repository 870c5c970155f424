"""Labs of a user who is not root. All of them are in the namespaces of one process, their holder (``holder``).

A command about labs runs in these namespaces: this process enters them, starts the command there again, and waits for it. The
holder is started by the first ``lab up``, and ends with the last ``lab down``. It has no file; a mark in its environment
identifies it.
"""

from __future__ import annotations

import ctypes
import os
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab import holder, names
from railweave.live.lab.kernel import neighbors, processes
from railweave.live.lab.names import sudo_program
from railweave.reading import file_bytes, file_text
from railweave.tool_roots import INSIDE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MARK = "RAILWEAVE_LAB_HOLDER"
"""The environment variable that marks a holder."""

START_S, END_S = 10, 2
"""The longest times in seconds in which a holder starts and ends."""

SWITCHES = {
    "kernel.apparmor_restrict_unprivileged_userns": "1",
    "kernel.unprivileged_userns_clone": "0",
    "user.max_user_namespaces": "0",
}
"""Kernel parameters that forbid user namespaces, with the value that does so."""


VERBS = ("up", "status", "down", "test", "fault", "fib", "access")
"""The subcommands of ``railweave lab`` that need the lab's namespaces."""


def concern_labs(words: Sequence[str]) -> bool:
    """Return True if the arguments of railweave are of a command that starts or uses a lab."""
    if not words or {"-h", "--help"} & set(words):
        return False
    lab = words[0] == "lab" and len(words) > 1 and words[1] in VERBS
    return lab or "--lab" in words or (words[0] == "deploy" and "--rehearse" in words)


def run(words: Sequence[str], command: Sequence[str]) -> int | None:
    """Run a command line in the namespaces of this user's labs, and return its exit code.

    ``words`` are the arguments of railweave, ``command`` is the whole command line. Return None if the caller must run the
    command itself:

    - the user is root, or this process is in these namespaces already
    - the user has no lab, and the command starts none

    Raises ``LabError`` if this machine gives the user no namespaces, or if the root folder with FRR is not trusted.
    """
    if os.geteuid() == 0 or not concern_labs(words):
        return None
    first, starts = _oldest(), list(words[:2]) == ["lab", "up"]
    if first is None and not starts:
        return None
    named = [folder for option in ("--frr-root", "--image") if (folder := _value(words, option)) is not None]
    if named or starts:
        from railweave.live.lab.frr import rootfs

        rootfs.check_owner(named)
    first = first or _start(words)
    entries = neighbors.entries()
    environment = {
        **{key: value for key, value in os.environ.items() if key != MARK},
        **({} if entries is None else {neighbors.ENTRIES: str(entries)}),
        INSIDE: str(first),
    }
    process = os.pidfd_open(first)
    try:
        _wait_until_ready(first, process)
        folder = Path.cwd()
        if ctypes.CDLL(None, use_errno=True).setns(process, holder.SPACES):
            raise LabError(f"the namespaces of your labs cannot be entered: setns: {os.strerror(ctypes.get_errno())}")
        os.chdir(folder)
        code = _forwarded(command, environment)
        if not _in_use():
            _end(process)
        return code
    finally:
        os.close(process)


def _value(words: Sequence[str], option: str) -> Path | None:
    """Return the value of an option in a command line, or None if the option is missing."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == option:
            return Path(following)
        if word.startswith(f"{option}="):
            return Path(word.partition("=")[2])
    return None


def _oldest() -> int | None:
    """Return the process id of this user's oldest holder, or None if there is none."""
    return min(_holders(), default=(0, None))[1]


def _holders() -> Iterator[tuple[int, int]]:
    """Yield (start time, process id) of this user's holders."""
    mark = f"{MARK}={os.geteuid()}".encode()
    for path in processes.PROC.iterdir():
        if not path.name.isdecimal():
            continue
        try:
            if path.stat().st_uid != os.geteuid() or mark not in file_bytes(path / "environ").split(b"\0"):
                continue
            ids = next(row for row in file_text(path / "status").splitlines() if row.startswith("NSpid:")).split()
            if ids[2:] == ["1"]:  # the first process of a namespace
                yield int(file_text(path / "stat").rpartition(")")[2].split()[19]), int(path.name)
        except OSError:  # it ended meanwhile
            continue


def _start(words: Sequence[str]) -> int:
    """Start a holder, and return its process id. If another command started one at the same time, return the older of the two."""
    done = subprocess.run(
        [sys.executable, "-m", "railweave.live.lab.holder"],
        env={**os.environ, MARK: str(os.geteuid())},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise LabError(_refusal(done.stderr.strip(), words))
    started = int(done.stdout)
    first = _oldest() or started
    if first != started:
        processes.send(started, signal.SIGTERM)
    return first


def _refusal(reason: str, words: Sequence[str]) -> str:
    """Return the error for a machine that gives no user namespace: the reason, and the commands that help."""
    forbidding = [
        name
        for name, value in SWITCHES.items()
        if (path := Path("/proc/sys", name.replace(".", "/"))).exists() and file_text(path).strip() == value
    ]
    because = f" ({', '.join(f'{name} = {SWITCHES[name]}' for name in forbidding)})" if forbidding else ""
    return (
        f"this machine gives you no namespaces: {reason}{because}. A lab then needs root, for namespaces: "
        f"run `sudo {sudo_program()} {shlex.join(words)}`"
    )


def _wait_until_ready(first: int, process: int) -> None:
    """Wait until a holder that another command started has its namespaces."""
    ready = processes.PROC / str(first) / "root" / holder.READY.relative_to("/")
    until = time.monotonic() + START_S
    while not ready.exists():
        if time.monotonic() > until or select.select([process], [], [], 0.02)[0]:
            raise LabError("the process that holds the namespaces of your labs does not start: try again")


_WATCHED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
_OF_KERNEL = 0x80  # SI_KERNEL, sigaction(2): of the terminal, which sends the signal to the command, too


def _forwarded(command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a command, pass signals on to it, and return its exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    try:
        running = subprocess.Popen(command, env=environment, preexec_fn=_receive)  # noqa: PLW1509, S603 - no other thread runs
        while running.poll() is None:
            received = signal.sigwaitinfo(_WATCHED)
            if received.si_signo != signal.SIGCHLD and received.si_code != _OF_KERNEL:
                running.send_signal(received.si_signo)
    finally:
        _receive()
    return running.returncode if running.returncode >= 0 else 128 - running.returncode


def _receive() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _WATCHED)


def _in_use() -> bool:
    """Return True if the entered namespaces have a lab, or a process besides their first."""
    return any(names.FOLDER.iterdir()) or any(
        path.name.isdecimal() and path.name != "1" for path in processes.PROC.iterdir()
    )


def _end(process: int) -> None:
    """End a holder, and wait until it has ended."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        signal.pidfd_send_signal(process, number)
        if select.select([process], [], [], END_S)[0]:
            return
