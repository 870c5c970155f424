"""Servers of a design as virtual machines with Soft-RoCE, on one switch in a network namespace of their own, logged in to by SSH.

Everything runs in the namespace of the process that starts them: ``unshare --net`` before.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import yaml

from railweave.model.network.devices import Server
from railweave.model.network.model import Network

OWN = Path(__file__).parent
MANAGEMENT = "10.77.0"
READY = "guest: ready"
BOOT_S = 300.0


def missing() -> str:
    """Why there can be no virtual machines here; empty where there can be."""
    if os.geteuid() != 0:
        return "it needs root"
    wanted = ("qemu-system-x86_64", "mke2fs", "ip", "ssh-keygen", "unshare")
    return next((f"there is no {one}" for one in wanted if shutil.which(one) is None), "")


@contextmanager
def guests(network: Network, names: Sequence[str], root: Path, work: Path) -> Generator[Path]:
    """Virtual machines for these servers, for as long as it lasts; gives the ``access.yaml`` by which they are logged in to."""
    work.mkdir(parents=True, exist_ok=True)
    servers = [network.server(name) for name in names]
    disk = _disk(root, work)
    _keys(work, names)
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "link", "add", "br0", "type", "bridge")
    _run("ip", "link", "set", "br0", "mtu", "9000", "up")
    _run("ip", "addr", "add", f"{MANAGEMENT}.254/24", "dev", "br0")
    running: list[subprocess.Popen[bytes]] = []
    try:
        for number, server in enumerate(servers, 1):
            running.append(_started(number, server, disk, root, work, _own(network, number, server, names, work)))
        for number, one in enumerate(running, 1):
            _wait(one, work / f"{servers[number - 1].name}.log")
        yield _access(names, work)
    finally:
        for one in running:
            one.terminate()
        for one in running:
            one.wait(30)


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


def _disk(root: Path, work: Path) -> Path:
    """The disk that all of them read, and each writes to a copy of its own of."""
    disk = work / "disk.img"
    shutil.copy2(OWN / "guest.sh", root / "guest.sh")
    disk.unlink(missing_ok=True)
    _run("mke2fs", "-qq", "-t", "ext4", "-d", str(root), str(disk), "2500M")
    return disk


def _keys(work: Path, names: Sequence[str]) -> None:
    for name in ("key", *(f"{name}.host_key" for name in names)):
        (work / name).unlink(missing_ok=True)
        (work / f"{name}.pub").unlink(missing_ok=True)
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(work / name))


def _mac(number: int) -> str:
    return f"52:54:00:77:00:{number:02x}"


def _own(network: Network, number: int, server: Server, names: Sequence[str], work: Path) -> Path:
    """The second disk of a virtual machine: who it is."""
    nics = [f"{_mac(number)} mgmt0 - {MANAGEMENT}.{number}/24 -"]
    for nic in server.nics:
        pool = network.fabric(nic.fabric).server_pool
        nics += [f"{nic.mac} {nic.netdev} {nic.rdma} {one.address}/128 {pool}" for one in nic.addresses]
    hosts = [f"{MANAGEMENT}.{at} {name}" for at, name in enumerate(names, 1)]
    texts = {"name": server.name, "nics": "\n".join(nics) + "\n", "hosts": "\n".join(hosts) + "\n"}
    texts |= {"key.pub": (work / "key.pub").read_text(), "host_key": (work / f"{server.name}.host_key").read_text()}
    path = work / f"{server.name}.tar"
    with tarfile.open(path, "w") as out:
        for name, text in texts.items():
            one = tarfile.TarInfo(name)
            one.size = len(text.encode())
            out.addfile(one, io.BytesIO(text.encode()))
    return path


def _started(number: int, server: Server, disk: Path, root: Path, work: Path, own: Path) -> subprocess.Popen[bytes]:
    boot = root / "boot"
    kernel, initrd = (max(boot.glob(f"{one}-*")) for one in ("vmlinuz", "initrd.img"))
    words = [
        "qemu-system-x86_64",
        *os.environ.get("TRIAL_ACCEL", "-accel tcg,thread=multi").split(),
        "-cpu",
        "max",
        "-smp",
        "1",
    ]
    words += ["-m", "1536", "-nographic", "-no-reboot", "-kernel", str(kernel), "-initrd", str(initrd)]
    words += ["-append", "root=/dev/vda rw console=ttyS0 quiet init=/guest.sh net.ifnames=0"]
    words += [
        "-drive",
        f"file={disk},format=raw,if=virtio,snapshot=on",
        "-drive",
        f"file={own},format=raw,if=virtio,readonly=on",
    ]
    for at, mac in enumerate([_mac(number), *(nic.mac for nic in server.nics)]):
        tap = f"tap{number}-{at}"
        _run("ip", "tuntap", "add", tap, "mode", "tap")
        _run("ip", "link", "set", tap, "mtu", "9000", "master", "br0", "up")
        words += ["-netdev", f"tap,id=n{at},ifname={tap},script=no,downscript=no"]
        words += ["-device", f"virtio-net-pci,netdev=n{at},mac={mac},host_mtu=9000"]
    with (work / f"{server.name}.log").open("wb") as log:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _wait(one: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + BOOT_S
    while READY not in log.read_text(errors="replace"):
        ended, late = one.poll() is not None, time.monotonic() > until
        assert not ended, f"a virtual machine ended: {log.read_text(errors='replace')[-1000:]}"
        assert not late, f"a virtual machine does not boot: {log.read_text(errors='replace')[-1000:]}"
        time.sleep(0.5)


def _access(names: Sequence[str], work: Path) -> Path:
    lines = [
        f"{MANAGEMENT}.{number} {' '.join((work / f'{name}.host_key.pub').read_text().split()[:2])}\n"
        for number, name in enumerate(names, 1)
    ]
    (work / "known_hosts").write_text("".join(lines))
    access = {
        "defaults": {"user": "root", "key": str(work / "key"), "known_hosts": str(work / "known_hosts")},
        "devices": {name: {"address": f"{MANAGEMENT}.{number}"} for number, name in enumerate(names, 1)},
        "connect_seconds": 60,
        "answer_seconds": 120,
    }
    path = work / "access.yaml"
    path.write_text(yaml.safe_dump(access))
    return path
