"""The process that holds the namespaces of a user's labs. With it, a user who is not root runs labs.

It is started as ``python -m railweave.live.lab.holder`` and creates these namespaces:

- user: the user is root in it, and no other user exists
- network and host name: empty, of the labs only
- mount: the file system of this machine, with a ``/run`` of its own, in which labs and namespaces have their names
- processes: the holder is the first process. When it ends, for whatever reason, the kernel kills every other process.

The first process writes the reason to standard error and exits with 1 if the kernel refuses a namespace.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

from railweave.live.lab import names
from railweave.live.lab.kernel.namespace import RUN

_NEWNS, _NEWUTS, _NEWUSER, _NEWPID, _NEWNET = 0x00020000, 0x04000000, 0x10000000, 0x20000000, 0x40000000  # sched.h
SPACES = _NEWNS | _NEWUTS | _NEWUSER | _NEWPID | _NEWNET
"""The namespaces that a holder has, as flags of setns(2)."""

_BIND, _REC, _PRIVATE = 4096, 16384, 1 << 18  # sys/mount.h
_ENDS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}

READY = names.FOLDER
"""The folder that a holder creates last, in its ``/run``."""


def main() -> None:
    """Create the namespaces, start the first process in them, and print its process id when it is ready."""
    user, group = os.geteuid(), os.getegid()
    _call("user namespace", "unshare", SPACES)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        try:
            Path("/proc/self", name).write_text(text, encoding="ascii")
        except OSError as error:
            sys.exit(f"user namespace: {name}: {error.strerror}")
    ready, writing = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, {*_ENDS, signal.SIGCHLD})
    first = os.fork()
    if first == 0:
        os.close(ready)
        _prepare()
        os.write(writing, b"1")
        os.close(writing)
        _hold()
    os.close(writing)
    if not os.read(ready, 1):
        sys.exit(1)  # the first process has written why
    print(first)


def _call(subject: str, function: str, *arguments: object) -> None:
    """Call a function of the C library, or exit with its error."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, function)(*arguments):
        sys.exit(f"{subject}: {function}: {os.strerror(ctypes.get_errno())}")


def _mount(subject: str, source: str, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    words = [None if word is None else word.encode() for word in (source, target, kind)]
    _call(subject, "mount", *words, ctypes.c_ulong(flags), None if data is None else data.encode())


def _prepare() -> None:
    """Mount this namespace's /proc and /run. Folders of the machine's /run stay, except those of namespaces and of labs."""
    _mount("mounts", "none", "/", None, _REC | _PRIVATE)
    _mount("/proc", "proc", "/proc", "proc")
    left_out = {RUN.name, names.FOLDER.parent.name}
    kept = {
        path: os.open(path, os.O_PATH)
        for path in Path("/run").iterdir()
        if path.name not in left_out and path.is_dir() and not path.is_symlink()
    }
    _mount("/run", "tmpfs", "/run", "tmpfs", data="mode=755")
    for path, descriptor in kept.items():
        path.mkdir()
        _mount(str(path), f"/proc/self/fd/{descriptor}", str(path), None, _BIND | _REC)
        os.close(descriptor)
    with contextlib.suppress(FileNotFoundError):  # `lab up` says that iproute2 is missing
        subprocess.run(["ip", "link", "set", "lo", "up"], check=False, stderr=subprocess.DEVNULL)  # noqa: S607 - of this machine
    READY.mkdir(parents=True)


def _hold() -> None:
    """Wait for a signal that ends this process, and meanwhile collect the processes that ended."""
    os.setsid()
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    while signal.sigwait({*_ENDS, signal.SIGCHLD}) == signal.SIGCHLD:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            continue
    os._exit(0)


if __name__ == "__main__":
    main()
