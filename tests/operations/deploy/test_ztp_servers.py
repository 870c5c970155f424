"""First boot by real DHCP: ISC Kea and dnsmasq in a namespace give each device its address and files by its serial number, and strangers nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tests.netns import Namespace, needs_root
from tests.operations.deploy.test_ztp import LEAF, SERIAL, made_of

PORT, ADDRESS = "ztp0", "172.20.0.2/16"
READY = {"kea": "DHCP4_STARTED", "dnsmasq": "DHCP, sockets bound"}
PROGRAMS = {"kea": "kea-dhcp4", "dnsmasq": "dnsmasq"}
SCRIPT = """#!/bin/sh
[ "$1" = bound ] && env > "$0.said"
exit 0
"""
SAID = {
    "junos": ["-V", "Juniper-qfx5240-64od-{serial}"],
    "eos": ["-V", "Arista;DCS-7060X6;1.0;{serial}"],
    "sonic": ["-C", "-V", "x", "-x", "61:{client}"],
    "frr": ["-V", "railweave;{serial}"],
}
"""How a device of each system says its serial number to udhcpc's server."""

pytestmark = [
    needs_root,
    pytest.mark.skipif(shutil.which("udhcpc") is None, reason="no udhcpc: apt install udhcpc"),
]


@dataclass
class Client:
    """A device in a namespace of its own, at the other end of the server's cable."""

    space: Namespace
    folder: Path

    def asks(self, nos: str, serial: str, *more: str) -> dict[str, str]:
        """What DHCP gives it, by udhcpc's names; empty where that is nothing."""
        script = self.folder / "script"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        said = script.with_name("script.said")
        said.unlink(missing_ok=True)
        client = f"SONiC##S9999-64##{serial}".encode().hex()
        words = [one.format(serial=serial, client=client) for one in SAID[nos]]
        self.space.run(
            *(
                "udhcpc",
                "-i",
                PORT,
                "-s",
                str(script),
                "-n",
                "-q",
                "-f",
                "-t",
                "2",
                "-T",
                "1",
                "-O",
                "bootfile",
                "-O",
                "43",
                "-O",
                "150",
            ),
            *("-O", "66", *words, *more),
            check=False,
        )
        return dict(one.split("=", 1) for one in said.read_text().splitlines() if "=" in one) if said.exists() else {}


@contextmanager
def server(kind: Literal["kea", "dnsmasq"], out: Path) -> Iterator[Client]:
    """A DHCP server with a text that ``deploy ztp`` wrote, and a client."""
    if shutil.which(PROGRAMS[kind]) is None:
        pytest.skip(f"no {PROGRAMS[kind]}")
    near, far = Namespace(f"rw{os.getpid()}-ztp-server-{kind}"), Namespace(f"rw{os.getpid()}-ztp-client-{kind}")
    for one in (near, far):
        subprocess.run(["ip", "netns", "add", one.name], check=True)
    child = None
    try:
        words = ["ip", "link", "add", PORT, "netns", near.name, "type", "veth", "peer", "name", PORT, "netns", far.name]
        subprocess.run(words, check=True)
        for one in (near, far):
            one.run("ip", "link", "set", PORT, "up")
        near.run("ip", "address", "add", ADDRESS, "dev", PORT)
        words = (
            ["kea-dhcp4", "-d", "-c", str(out / "kea-dhcp4.conf")]
            if kind == "kea"
            else [
                *("dnsmasq", "-k", "--user=root", "--log-facility=-", "--no-ping"),
                *(f"--conf-file={out}/dnsmasq.conf", f"--dhcp-leasefile={out}/leases", "--pid-file="),
            ]
        )
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "KEA_LOCKFILE_DIR": str(out), "KEA_PIDFILE_DIR": str(out)}
        child = subprocess.Popen(
            near.argv(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env
        )
        assert child.stdout is not None
        said = ""
        for line in child.stdout:
            said += line
            if READY[kind] in line:
                break
        else:
            raise AssertionError(said)
        yield Client(far, out)
    finally:
        if child is not None:
            child.kill()
            child.wait()
            assert child.stdout is not None
            child.stdout.close()
        for one in (near, far):
            subprocess.run(["ip", "netns", "delete", one.name], check=False)


def without_leases(out: Path) -> None:
    """Kea's leases are kept in memory here."""
    path = out / "kea-dhcp4.conf"
    head, _, rest = path.read_text().partition("\n")
    found = json.loads(rest)
    found["Dhcp4"]["lease-database"]["persist"] = False
    path.write_text(f"{head}\n{json.dumps(found)}")


@pytest.mark.parametrize("kind", ["kea", "dnsmasq"])
@pytest.mark.parametrize("nos", SAID)
def test_a_serial_number_gets_its_address_and_files_and_no_other_does(
    tmp_path: Path, kind: Literal["kea", "dnsmasq"], nos: str
) -> None:
    """``AB123`` is how ``AB1234`` begins, and each gets its own."""
    made = made_of(tmp_path, nos, interface=PORT)
    without_leases(tmp_path / "out")
    with server(kind, tmp_path / "out") as client:
        for device in made.devices:
            found = client.asks(nos, device.serial)
            assert found["ip"] == device.ip, device.name
            assert found.get("bootfile") == device.options.bootfile
            if nos == "junos":
                sent = re.sub(r"\W", "", found["opt43"]).lower()
                assert (
                    sent
                    == b"".join(
                        bytes((code, len(text))) + text.encode() for code, text in sorted(device.options.vendor.items())
                    ).hex()
                )
                assert found["opt150"] == "ac140002"
        assert client.asks(nos, "ZZ99") == {}


@pytest.mark.parametrize("kind", ["kea", "dnsmasq"])
def test_a_juniper_that_says_its_serial_number_as_its_host_name(
    tmp_path: Path, kind: Literal["kea", "dnsmasq"]
) -> None:
    made = made_of(tmp_path, "junos", interface=PORT)
    without_leases(tmp_path / "out")
    [leaf] = [one for one in made.devices if one.name == LEAF]
    with server(kind, tmp_path / "out") as client:
        assert client.asks("eos", SERIAL, "-x", f"hostname:{SERIAL}") == {}, "it is no Juniper"
        found = client.asks("junos", "another", "-x", f"hostname:{SERIAL}")
        assert found["ip"] == leaf.ip
