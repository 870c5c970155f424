"""The devices of a lab with OpenSSH in front."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from railweave.live.lab import logins
from railweave.live.lab.running import Running

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
needs_sshd = pytest.mark.skipif(not os.access(SSHD, os.X_OK), reason="there is no sshd (openssh-server)")


@contextmanager
def reachable(running: Running) -> Iterator[Path]:
    """SSH servers of a lab's devices; gives the ``access.yaml`` by which they are reached."""
    try:
        yield logins.listen(running)
    finally:
        logins.close(running.place)
