"""NetworkManager keeps what it has given a fabric NIC when the link flaps, and leaves the kernel's NICs alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from railweave.model.device.host_model import HostConfig
from railweave.outputs.rendering.host import netplan
from tests.docs.installed_server import BUS
from tests.netns import Namespace, Server, needs_root, server, until
from tests.outputs.rendering.host.servers import addresses, config, routes, rules

PROGRAM = shutil.which("NetworkManager") or shutil.which("NetworkManager", path="/usr/sbin")
needs_network_manager = pytest.mark.skipif(
    PROGRAM is None or shutil.which("dbus-daemon") is None,
    reason="there is no NetworkManager (apt install network-manager dbus)",
)

# Private mounts; /sys read-only, for NetworkManager then asks no udev, which knows nothing of a namespace's NICs.
_START = """
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -o remount,bind,ro /sys
mkdir -p /run/dbus /run/nm/connections /run/nm/system
install -m 600 "$1"/*.nmconnection /run/nm/connections
dbus-daemon --config-file="$1/bus.xml" --fork --nopidfile --print-pid >"$1/bus.pid"
exec "$2" --no-daemon --config="$1/main.conf" --config-dir="$1/conf.d" --system-config-dir=/run/nm/system \
  --state-file=/run/nm/state --intern-config=/run/nm/intern.conf --pid-file=/run/nm/pid >"$1/log" 2>&1
"""

_MAIN = (
    "[main]\nplugins=keyfile\ndns=none\nauth-polkit=false\n[keyfile]\npath=/run/nm/connections\n[logging]\nlevel=INFO\n"
)


def connection(number: int, nic: str, address: str, gateway: str) -> str:
    """A connection with a static address, and a table of its own for it."""
    return f"""[connection]
id={nic}
uuid=00000000-0000-0000-0000-{number:012d}
type=ethernet
interface-name={nic}
[ipv4]
method=manual
address1={address}/24
route1=0.0.0.0/0,{gateway}
route1_options=table={200 + number}
routing-rule1=priority {50 + number} from {address} table {200 + number}
[ipv6]
method=disabled
"""


@contextmanager
def running(host: Namespace, folder: Path, one: HostConfig, drop_in: str) -> Iterator[None]:
    """Run NetworkManager with a connection for each NIC of a server, until the end of the context."""
    (folder / "conf.d").mkdir()
    (folder / "conf.d" / "railweave.conf").write_text(drop_in)
    (folder / "bus.xml").write_text(BUS)
    (folder / "main.conf").write_text(_MAIN)
    for number, nic in enumerate(one.nics):
        text = connection(number, nic.netdev, nic.addresses[0].address, nic.addresses[0].gateway)
        (folder / f"{nic.netdev}.nmconnection").write_text(text)
    assert PROGRAM is not None
    start = host.argv("unshare", "--mount", "bash", "-euc", _START, "nm", folder, PROGRAM)
    with subprocess.Popen(start, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as daemon:
        try:
            yield
        finally:
            daemon.terminate()
            daemon.wait(timeout=10)
            if (bus := folder / "bus.pid").exists():
                subprocess.run(["kill", bus.read_text().strip()], check=False)


def two_nics() -> HostConfig:
    one = config("mi300x-leaf-24", "host1")
    return replace(one, nics=one.nics[:2])


def up(host: Server, nic: str) -> bool:
    return bool(addresses(host)[nic])


@needs_root
@needs_network_manager
def test_a_flap_takes_nothing(tmp_path: Path) -> None:
    """The second NIC, which the file does not name, is the proof that NetworkManager would have taken it."""
    one = two_nics()
    kept, control = one.nics
    (text,) = netplan.network_manager_files(replace(one, nics=(kept,))).values()
    with server([kept.netdev, control.netdev]) as host, running(host, tmp_path, one, text):
        until(lambda: len(rules(host)) == len(routes(host)) == 2, "NetworkManager has set up both NICs", 20)
        for nic in (kept, control):
            host.leaf.run("ip", "link", "set", nic.netdev, "down")
        until(lambda: not up(host, control.netdev) and len(rules(host)) == 1, "the second NIC has nothing", 20)
        assert addresses(host)[kept.netdev] == {kept.addresses[0].address}
        assert {route[3] for route in routes(host)} == {kept.netdev}
        assert {rule[1] for rule in rules(host)} == {kept.addresses[0].address}


@needs_root
@needs_network_manager
def test_the_kernels_nics_are_left_alone(tmp_path: Path) -> None:
    one = two_nics()
    first, other = one.nics
    kernel = replace(one, nics=(replace(first, slaac=True),), advertisements_by="kernel")
    (text,) = netplan.network_manager_files(kernel).values()
    with server([first.netdev, other.netdev]) as host, running(host, tmp_path, one, text):
        until(lambda: up(host, other.netdev), "NetworkManager has set up the other NIC", 20)
        assert not up(host, first.netdev)


def test_every_fabric_nic_is_named_and_only_the_kernels_are_unmanaged() -> None:
    for by, unmanaged in (("networkd", False), ("kernel", True)):
        one = config("h100-rlb", "H100-01", by)
        (text,) = netplan.network_manager_files(one).values()
        names = ";".join(f"interface-name:={nic.netdev}" for nic in one.nics)
        assert f"[device-railweave]\nmatch-device={names}\nignore-carrier=yes\n" in text
        assert (f"[device-railweave-unmanaged]\nmatch-device={names}\nmanaged=no\n" in text) is unmanaged
