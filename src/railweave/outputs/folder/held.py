"""One build at a time in an output folder: the second is told whose turn it is."""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import platform
import time
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import OutputError
from railweave.manifest import HELD

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


@contextlib.contextmanager
def held(folder: Path) -> Generator[None]:
    """Hold a folder that is there. Raises ``OutputError`` with owner and age where another build holds it.

    The kernel lets go of the lock when the process ends, however it ends (flock(2)); a file that a killed build left is taken over.
    """
    path = folder / HELD
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {folder}: {error.strerror}; what was there is unchanged") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(file)
            os.close(file)
            raise OutputError(
                f"another build is writing {folder}: {owner}; wait for it, or give another folder"
            ) from None
        if os.fstat(file).st_nlink:
            break
        os.close(file)  # its owner had just removed it: what is locked is not what the next one finds
    try:
        owner = {"process": os.getpid(), "user": _user(), "machine": platform.node(), "since": int(time.time())}
        os.truncate(file, 0)
        os.write(file, (json.dumps(owner) + "\n").encode())
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(file)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return str(os.getuid())


def _owner(file: int) -> str:
    try:
        found = cast("dict[str, Any]", json.loads(os.pread(file, 4096, 0)))
        age = max(0, int(time.time()) - int(found["since"]))
        return f"process {found['process']} of {found['user']} on {found['machine']}, for {age} s"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "a process that has just begun"
