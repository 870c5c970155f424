"""systemd-networkd in a namespace, with folders of its own in place of the machine's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.netns import Namespace, until

PROGRAM = Path("/lib/systemd/systemd-networkd")

# Private mounts; /sys read-only, for networkd then asks no udev, which knows nothing of a namespace's NICs.
_START = """
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -o remount,bind,ro /sys
for folder in /etc/systemd/network /etc/systemd/networkd.conf.d /usr/lib/systemd/network; do
  [ ! -d $folder ] || mount -t tmpfs tmpfs $folder
done
mkdir -p /run/systemd/network /run/systemd/networkd.conf.d
install -d -o systemd-network -g systemd-network /run/systemd/netif /run/systemd/netif/{links,leases,lldp}
for file in "$1"/*.network; do install -m 644 "$file" /run/systemd/network/; done
for file in "$1"/*.conf; do [ ! -e "$file" ] || install -m 644 "$file" /run/systemd/networkd.conf.d/; done
exec "$2" >"$3" 2>&1 </dev/null
"""

needs_networkd = pytest.mark.skipif(not PROGRAM.exists(), reason=f"there is no {PROGRAM} (apt install systemd)")


@dataclass(frozen=True)
class Networkd:
    """A running networkd; ``log`` is what it says."""

    log: Path

    def said(self, what: str) -> int:
        """How many lines hold some words."""
        return sum(what in line for line in self.log.read_text().splitlines())


@contextmanager
def networkd(host: Namespace, files: Path, log: Path) -> Iterator[Networkd]:
    """Run networkd with the ``.network`` and ``.conf`` files of a folder, until the end of the context."""
    log.touch()
    start = ["unshare", "--mount", "bash", "-euc", _START, "networkd", files, PROGRAM, log]
    daemon = subprocess.Popen(host.argv(*start), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env={**os.environ, "SYSTEMD_LOG_LEVEL": "info", "SYSTEMD_LOG_COLOR": "0", "SYSTEMD_LOG_TARGET": "console"})  # fmt: skip
    try:
        running = Networkd(log)
        until(lambda: daemon.poll() is not None or running.said("Enumeration completed"), "networkd has started")
        assert daemon.poll() is None, log.read_text()
        yield running
    finally:
        daemon.terminate()
        daemon.wait(timeout=10)
