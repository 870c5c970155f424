"""A first boot in a lab: a router with nothing but a name gets its address from a real DHCP server and its files from ``deploy ztp --serve``, and is brought to its design."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_acknowledge, deploy_apply, deploy_plan, deploy_ztp
from railweave.live.lab import fib, life, logins
from railweave.live.lab.frr.routers import daemon_pid
from railweave.live.lab.names import namespace
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.running import Running
from railweave.operations.deploy.ztp.serving import LOG
from railweave.writing import write_file
from tests.conftest import frr_root
from tests.live.lab.day_two.campaign import FABRIC, say
from tests.live.lab.day_two.drain import saved

SPACE, PORT, SERVER, HTTP = "rw-ztp-lab", "mgmt0", "172.20.255.1", 8080
NEW, SERIAL = "spine4", "SN-4711"
HEAD = ["| step | what came of it | time |", "|---|---|---|"]
BEFORE = FABRIC.replace("spines: 4", "spines: 3")
RUN = """#!/bin/sh
exec nsenter --mount=/proc/{pid}/ns/mnt --uts=/proc/{pid}/ns/uts chroot {root} env RAILWEAVE_LAB=1 sh -s < "$1"
"""
"""Runs what the router fetched where its daemons are: their files, their name."""
KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 3)
except ConnectionRefusedError:  # the machine is there, and nothing listens
    sys.exit(0)
sys.exit(1)
"""
"""Whether an address answers."""


@contextmanager
def served(lab: Running, fabric: Path, out: Path) -> Iterator[None]:
    """A namespace with dnsmasq and the web server, cabled to the new router's management port."""
    words = ["ip", "link", "add", PORT, "netns", SPACE, "type", "veth", "peer", "name", PORT]
    children: list[subprocess.Popen[str]] = []
    subprocess.run(["ip", "netns", "add", SPACE], check=True)
    inside = ["ip", "netns", "exec", SPACE]
    try:
        subprocess.run([*words, "netns", namespace(lab.place.lab, NEW)], check=True)
        subprocess.run(["ip", "-n", SPACE, "link", "set", PORT, "up"], check=True)
        subprocess.run(["ip", "-n", SPACE, "address", "add", f"{SERVER}/16", "dev", PORT], check=True)
        program = "import sys; from railweave.cli import main; main()"
        ztp = ["deploy", "ztp", str(fabric), "-o", str(out), "--serve", f"{SERVER}:{HTTP}", "--interface", PORT]
        web = [*inside, sys.executable, "-c", program, *ztp]
        children.append(subprocess.Popen(web, stderr=subprocess.PIPE, text=True))
        _until(children[0], "until Ctrl-C")
        dhcp = [*inside, "dnsmasq", "-k", "--user=root", "--log-facility=-", f"--conf-file={out}/dnsmasq.conf"]
        dhcp += [f"--dhcp-leasefile={out}/leases", "--pid-file="]
        children.append(subprocess.Popen(dhcp, stderr=subprocess.PIPE, text=True))
        _until(children[1], "sockets bound")
        yield
    finally:
        for one in children:
            one.kill()
            one.wait()
            assert one.stderr is not None
            one.stderr.close()
        subprocess.run(["ip", "netns", "delete", SPACE], check=False)


def _until(child: subprocess.Popen[str], word: str) -> None:
    assert child.stderr is not None
    said = ""
    for line in child.stderr:
        said += line
        if word in line:
            return
    raise AssertionError(said)


def boots(lab: Running, folder: Path, out: Path, serial: str) -> tuple[bool, float]:
    """What a Linux router's image runs at its first boot; whether it ended well, and how long that took."""
    run = folder / "run.sh"
    write_file(run, RUN.format(pid=daemon_pid(lab.place, NEW, "zebra"), root=lab.frr.root))
    run.chmod(0o755)
    client = folder / "first-boot-client.sh"
    write_file(client, (out / SERIAL / client.name).read_text())
    client.chmod(0o755)
    begun = time.monotonic()
    words = ["ip", "netns", "exec", namespace(lab.place.lab, NEW), str(client), PORT, serial]
    tries = "4" if serial == SERIAL else "2"
    ran = subprocess.run(words, check=False, env={**os.environ, "FIRST_BOOT_RUN": str(run), "FIRST_BOOT_TRIES": tries})
    return ran.returncode == 0, time.monotonic() - begun


def tried() -> tuple[list[str], list[str]]:
    """The table, and what was wrong."""
    missing = [one for one in ("dnsmasq", "udhcpc") if shutil.which(one) is None]
    if missing:
        return HEAD, [f"no {one}: apt install dnsmasq-base udhcpc" for one in missing]
    table, wrong = list(HEAD), list[str]()
    with TemporaryDirectory() as name:
        folder = Path(name)
        fabric, larger, out = folder / "fabric.yaml", folder / "larger.yaml", folder / "out"
        fabric.write_text(BEFORE)
        larger.write_text(FABRIC)
        try:
            life.up(
                fabric,
                api.load(fabric),
                overlay=Overlay(bfd_interval_ms=300),
                frr_root=frr_root(),
                room_for=api.load(larger),
            )
            fabric.write_text(FABRIC)
            write_file(folder / "fabric.inventory.csv", f"device,interface,serial\n{NEW},,{SERIAL}\n")
            made = deploy_ztp(fabric, out, f"http://{SERVER}:{HTTP}")
            address = made.devices[0].ip
            with life.attach(fabric)[1] as lab, served(lab, fabric, out):
                stranger, took = boots(lab, folder, out, "ZZ-1")
                wrong += ["a stranger got an address"] if stranger else []
                table.append(
                    f"| serial number that is not in the inventory | no address, no file | {took:.0f} s, given up |"
                )
                booted, took = boots(lab, folder, out, SERIAL)
                wrong += [] if booted else ["the new router did not boot"]
                knock = [*("ip", "netns", "exec", SPACE), sys.executable, "-c", KNOCK, address]
                answers = subprocess.run(knock, check=False).returncode == 0
                wrong += [] if answers else [f"{address} does not answer"]
                said = (out / LOG).read_text() if (out / LOG).exists() else ""
                wrong += [] if f"given to {NEW} ({SERIAL})" in said else ["the web server gave nothing"]
                table.append(
                    f"| {NEW}: DHCP, the file, the least configuration | {address}, as the inventory has it | {took:.0f} s |"
                )
                wrong += _applied(lab, fabric, table)
        finally:
            life.down(fabric)
    return table, wrong


def _applied(lab: Running, fabric: Path, table: list[str]) -> list[str]:
    """Bring everything to the design by SSH, and see that it is there."""
    access, begun = logins.listen(lab), time.monotonic()
    hidden = ["host-name", "model", "serial-number", "server-cables"]
    [compared] = deploy_acknowledge(fabric, [NEW], lab=True, access=access, allow_unseen=hidden)
    if not compared.good:
        return compared.refused
    plan = deploy_plan(fabric, lab=True, access=access)
    if plan.refused or NEW not in plan.changed:
        return plan.refused or [f"{NEW} would not change"]
    deploy_apply(saved(plan, fabric), lab=True, access=access, progress=lambda text: say(f"  {text}"))
    took = time.monotonic() - begun
    wrong = [] if not (left := deploy_plan(fabric, lab=True, access=access)).changed else left.lines()[:3]
    with life.attach(fabric)[1] as now:
        settled, different = fib.wait(now, now.control_plane.routes(), 90, poll_s=1)
    wrong += [] if settled is not None else [str(one) for one in different[:3]]
    table.append(
        f"| `deploy plan` and `apply`: {NEW}, and its leaves | {len(plan.changed)} switches run their design | {took:.0f} s |"
    )
    return wrong
