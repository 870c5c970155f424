"""A server as its distribution installed it: systemd-networkd for ``mgmt0``, on a system bus, and folders of its own.

What a page says to do there can be done as it says: files go to their real paths, and the machine that runs the test
keeps its own files. Everything ends with the context.
"""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from railweave.analysis.checks import validators
from tests.netns import Server, until
from tests.outputs.rendering.host.networkd import PROGRAM as NETWORKD

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Overlays: what is written goes into memory, what the machine has stays as it is. What it has of its own that would
# take part is hidden. /sys read-only, for networkd then asks no udev, which knows nothing of a namespace's NICs.
_FOLDERS = ("/etc", "/root", "/usr/local", "/var/lib")
_PREPARE = """
mount --make-rprivate /
mount -t tmpfs tmpfs /run
for folder in "$@"; do
  mkdir -p /run/written$folder /run/work$folder
  mount -t overlay overlay -o lowerdir=$folder,upperdir=/run/written$folder,workdir=/run/work$folder $folder
done
mount -o remount,bind,ro /sys
for folder in /etc/netplan /etc/railweave /etc/systemd/network /etc/systemd/networkd.conf.d /usr/lib/systemd/network; do
  [ ! -d $folder ] || mount -t tmpfs tmpfs $folder
done
mkdir -p /run/dbus
install -d -o systemd-network -g systemd-network /run/systemd/netif /run/systemd/netif/{links,leases,lldp}
echo ready
read -r _
"""

BUS = """<busconfig><type>session</type><listen>unix:path=/run/dbus/system_bus_socket</listen><auth>EXTERNAL</auth>
<policy context="default"><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/><allow user="*"/>
</policy></busconfig>"""

# networkd clears up whenever it configures an interface, so it must have one, as on every server.
MANAGEMENT = "mgmt0"
_MANAGEMENT = f"[Match]\nName={MANAGEMENT}\n[Network]\nAddress=192.0.2.1/24\nIPv6AcceptRA=no\n"


@dataclass
class Installed:
    """A running server. ``host`` is its network; commands run in it have its files too."""

    host: Server
    holder: int
    networkd_log: Path
    _daemon: subprocess.Popen[bytes] | None = field(default=None)

    def argv(self, *argv: str | Path) -> list[str]:
        """The words that run a command in it."""
        return ["nsenter", f"--target={self.holder}", "--mount", "--net", "--wd=/", *map(str, argv)]

    def bash(self, text: str, code: int = 0, timeout: float = 60) -> str:
        """Run a script as a login of root would, and give what it prints. Raises AssertionError on another exit code."""
        done = subprocess.run(self.argv("bash", "-euc", text), env=_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False)  # fmt: skip
        assert done.returncode == code, f"exit code {done.returncode}\n{text}\n--\n{done.stdout}"
        return done.stdout

    def put(self, file: str, text: str, mode: str = "644") -> None:
        """Write a file in it."""
        subprocess.run(self.argv("install", "-D", "-m", mode, "/dev/stdin", file), input=text, text=True, check=True)

    def written(self) -> set[str]:
        """Every file that was written below the folders that are its own."""
        return set(self.bash("cd /run/written; find . -type f -o -type l | sed 's/^.//'").split())

    def start_networkd(self) -> None:
        """As systemd starts it."""
        self.networkd_log.write_text("")
        log = {"SYSTEMD_LOG_LEVEL": "info", "SYSTEMD_LOG_COLOR": "0", "SYSTEMD_LOG_TARGET": "console"}
        with self.networkd_log.open("ab") as out:
            self._daemon = subprocess.Popen(self.argv(NETWORKD), env={**_environment(), **log}, stdin=subprocess.DEVNULL, stdout=out, stderr=out)  # fmt: skip
        until(lambda: "Enumeration completed" in self.networkd_log.read_text(), "networkd has started")
        self._configured(f"{MANAGEMENT} is configured")
        # With udev it learns of an interface later than of the rules that are there; without it has not yet cleared up.
        lines = self.networkd_log.read_text().count(f"{MANAGEMENT}: ")
        self.bash(f"networkctl reconfigure {MANAGEMENT}")
        until(lambda: self.networkd_log.read_text().count(f"{MANAGEMENT}: ") > lines, "networkd begins again")
        self._configured(f"{MANAGEMENT} is configured again")

    def _configured(self, what: str) -> None:
        until(lambda: "configured" in self.bash(f"networkctl list {MANAGEMENT} 2>&1 || true"), what)

    def stop_networkd(self) -> None:
        """As systemd stops it."""
        if self._daemon is not None:
            _end(self._daemon)
            self._daemon = None

    @contextmanager
    def service(self, command: str, log: Path) -> Iterator[None]:
        """Run a command as a service."""
        with log.open("wb") as out:
            running = subprocess.Popen(self.argv(*command.split()), env=_environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out)  # fmt: skip
        try:
            yield
            assert running.poll() is None, log.read_text()
        finally:
            code = _end(running)
        assert code == 0, log.read_text()


@contextmanager
def installed(host: Server, folder: Path) -> Iterator[Installed]:
    """Install a server in a network namespace with a NIC ``mgmt0``; ``folder`` is for logs."""
    generator = validators.find(None)
    if isinstance(generator, str):
        pytest.skip(generator)
    if shutil.which("nft") is None:  # host check looks at the firewall
        pytest.skip("the nft command is not there: install nftables")
    start = host.argv("unshare", "--mount", "bash", "-euc", _PREPARE, "prepare", *_FOLDERS)
    holder = subprocess.Popen(start, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdin is not None
    assert holder.stdout is not None
    bus: subprocess.Popen[bytes] | None = None
    one = Installed(host, holder.pid, folder / "networkd.log")
    try:
        if holder.stdout.readline() != "ready\n":
            pytest.skip("no overlay file systems here")
        if "/bin/netplan" not in one.bash("command -v netplan || true"):
            search = ":".join(map(str, generator.libraries))
            one.put("/usr/local/bin/netplan", f'#!/bin/sh\n[ "$*" = generate ] || exit 2\nLD_LIBRARY_PATH={search} exec {generator.program}\n', "755")  # fmt: skip
        if "/ping" not in one.bash("command -v ping || true"):
            pytest.skip("there is no ping (`make test-programs`)")
        one.put("/run/dbus/system.conf", BUS)
        words = ("dbus-daemon", "--nofork", "--nopidfile", "--config-file=/run/dbus/system.conf")
        bus = subprocess.Popen(
            one.argv(*words), env=_environment(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(lambda: one.bash("test ! -S /run/dbus/system_bus_socket || echo there"), "the bus is there")
        one.put("/etc/systemd/network/50-management.network", _MANAGEMENT)
        one.start_networkd()
        yield one
    finally:
        one.stop_networkd()
        if bus is not None:
            _end(bus)
        holder.stdin.close()
        holder.wait(timeout=10)
        holder.stdout.close()


@contextmanager
def advertising(send: Callable[[], None], every_s: float = 0.25) -> Iterator[None]:
    """Call ``send`` again and again, meanwhile."""
    over = threading.Event()
    wrong: list[BaseException] = []

    def repeat() -> None:
        try:
            while not over.wait(every_s):
                send()
        except BaseException as error:  # noqa: BLE001 - raised below, in the thread of the test
            wrong.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert not wrong, wrong


def _environment() -> dict[str, str]:
    return {"PATH": PATH, "HOME": "/root", "LC_ALL": "C.UTF-8"}


def _end(one: subprocess.Popen[bytes]) -> int:
    one.terminate()
    return one.wait(timeout=10)
