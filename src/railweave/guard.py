"""Removal of unfinished files and folders after the program was killed. They may hold secrets, and no handler runs after ``kill -9``.

A small process waits at the end of a pipe. It is told the path of each unfinished file or folder before the path exists. The kernel
closes the pipe when the program ends for any reason; the process then removes the paths that are left, and ends.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_PROGRAM = """
import os, shutil, sys
left = set()
for line in sys.stdin:
    if line.endswith("\\n"):
        path = os.fsdecode(bytes.fromhex(line[1:]))
        (left.add if line[0] == "+" else left.discard)(path)
for path in left:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError:
        shutil.rmtree(path, ignore_errors=True)
"""
_lock = threading.Lock()
_pipe: int | None = None
_of_process = 0
"""The process that has begun the guard. A process that it forks begins a guard of its own."""


@contextlib.contextmanager
def removed_if_killed(path: Path) -> Generator[None]:
    """Have the file or folder at ``path`` removed if this process is killed during a ``with`` statement.

    ``path`` must be a name that cannot be guessed, and that nothing else will ever have. If no process can be begun, for example
    because there are too many, work goes on without it.
    """
    name = os.fsencode(path.absolute()).hex()
    _tell(f"+{name}\n")
    try:
        yield
    finally:
        _tell(f"-{name}\n")


def _tell(line: str) -> None:
    global _pipe, _of_process  # noqa: PLW0603 - one guard for the whole process
    with _lock, contextlib.suppress(OSError):
        if _pipe is None or _of_process != os.getpid():
            _pipe, _of_process = _begun(), os.getpid()
        try:
            os.write(_pipe, line.encode())  # shorter than PIPE_BUF: not mixed with the lines of others
        except BrokenPipeError:  # another process has ended it
            os.close(_pipe)
            _pipe = None


def _begun() -> int:
    """Begin the process that removes what is left, in a session of its own. Return the end of the pipe to write to."""
    reads, writes = os.pipe()
    try:
        os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            {"PYTHONUTF8": "1"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, reads, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
    except BaseException:
        os.close(writes)
        raise
    finally:
        os.close(reads)
    return writes
