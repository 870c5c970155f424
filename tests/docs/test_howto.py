"""docs/howto/bring-up-a-gpu-server.md, its steps from start to end: every block marked ``sh``, in order, on a server.

The other blocks hold what a network namespace cannot do. What systemd would do for them is done here, by the unit files
that the page and the build put in place.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from railweave.host import changes, host_file, journal, kernel
from railweave.model.device.host_model import HostConfig
from tests.conftest import EXAMPLES, ROOT, example
from tests.docs.installed_server import MANAGEMENT, Installed, advertising, installed
from tests.host.plans import dump
from tests.netns import Server, needs_root, server, until, usable
from tests.outputs.rendering.host.networkd import needs_networkd
from tests.outputs.rendering.host.servers import (
    addresses,
    check_as_planned,
    check_way_out,
    config,
    macs,
    planned_addresses,
    routes,
    rules,
)

PAGE = ROOT / "docs" / "howto" / "bring-up-a-gpu-server.md"
AFTER_THE_STEPS = "\n## Set up a bare server\n"
HOST = "H100-01"
NETWORKD, KERNEL, OURS = "netplan and systemd-networkd", "The kernel", "railweave host"
needs_bus = pytest.mark.skipif(shutil.which("dbus-daemon") is None, reason="there is no dbus-daemon (apt install dbus)")

# What takes systemd as the first process, a boot loader, another machine, real NICs or RDMA devices.
NOT_IN_A_NAMESPACE = re.compile(
    r"railweave (build|host zipapp) |scp |cd |update-grub$|reboot$|systemctl |udevadm |sysctl --system|\./nic-(nvm|qos)\.sh"
    r"|make plugin$|install -m \d+ \.\./(lib(nccl|rccl)-net-railweave|railweave-rdma-ping)|ldconfig$"
    r"|railweave-host (env -- |check( --only (nics|qos|counters)| --json| --since| --all|$))|hosts/mpirun\.sh |addresses\(\) |for from in "
)


@dataclass(frozen=True)
class Block:
    """A fenced block, and the headings above it."""

    step: str
    way: str
    marked: str
    text: str


def blocks() -> list[Block]:
    found: list[Block] = []
    step = way = ""
    steps, after, _ = PAGE.read_text().partition(AFTER_THE_STEPS)
    assert after
    for part in re.finditer(r"^## ([^\n]*)\n|^### ([^\n]*)\n|^```(\w*)\n(.*?)^```\n", steps, re.MULTILINE | re.DOTALL):
        heading, sub, marked, text = part.groups()
        if heading is not None:
            step, way = heading, ""
        elif sub is not None:
            way = sub
        else:
            found.append(Block(step, way, marked, text))
    return found


def test_what_is_run_and_what_is_not() -> None:
    found = blocks()
    assert {one.marked for one in found} == {"sh", ""}
    assert {one.way for one in found} == {"", NETWORKD, KERNEL, OURS}
    for one in found:
        if not one.marked:
            for line in one.text.splitlines():
                assert NOT_IN_A_NAMESPACE.match(line), f"could be run: mark the block as sh, or say why not: {line}"


def built(folder: Path, mode: str) -> str:
    """Do step 1 on the workstation, for a copy of the example; gives how the files come to the server."""
    (folder / "examples").mkdir()
    for file in EXAMPLES.glob("h100-rlb.*"):
        shutil.copy(file, folder / "examples")
    with (folder / "examples" / "h100-rlb.yaml").open("a") as file:
        file.write(f"\nhosts: {{router_advertisements: {mode}}}\n")
    block = blocks()[0].text
    commands = [line for line in block.splitlines() if line.startswith("railweave ")]
    program = f'railweave() {{ {sys.executable} -c "from railweave.cli import main; main()" "$@"; }}'
    script = "\n".join([program, *commands])
    subprocess.run(["bash", "-euc", script], cwd=folder, check=True, capture_output=True)
    (copy,) = [line for line in block.splitlines() if line.startswith("scp ")]
    return f"cd {folder}; " + copy.replace("scp ", "cp ").replace(f"root@{HOST}:", "")


class Reader:
    """Someone who follows the page, step by step, in one shell."""

    def __init__(self, machine: Installed, way: str) -> None:
        self.machine = machine
        self.way = way
        self.folder = "/"

    def follow(self, *steps: str) -> str:
        """Run what these steps say; gives what it printed."""
        said = ""
        for one in blocks():
            if one.marked == "sh" and one.step.startswith(steps) and one.way in {"", self.way}:
                said += self.machine.bash(f"cd {self.folder}\n{one.text}pwd >/run/folder")
                self.folder = self.machine.bash("cat /run/folder").strip()
        return said

    def unit(self, name: str, key: str) -> str:
        """What systemd would run for a unit."""
        text = self.machine.bash(f"cat /etc/systemd/system/{name}")
        (command,) = re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)
        return command


@contextmanager
def example_server(folder: Path, way: str) -> Iterator[tuple[Reader, HostConfig, Server]]:
    """The server of the page with its leaves, the files copied to it, and someone in front of it."""
    mode = "kernel" if way == KERNEL else "networkd"
    one = config("h100-rlb", HOST, mode)
    copy = built(folder, mode)
    began = time.time_ns()
    timers = example("h100-rlb").fabrics[0].router_advertisements
    # Whoever gives the NICs their addresses gives them their MTU: where that is not ours to do, they have it.
    with server([*macs(one), MANAGEMENT], macs=macs(one), mtu=9000 if way == OURS else 1500) as host:
        for nic in macs(one):  # a switch port takes all that a server sends
            host.leaf.run("ip", "link", "set", nic, "mtu", "9202")
        for nic in one.nics:
            for address in nic.addresses:
                host.leaf.run("ip", "addr", "add", f"{address.gateway}/{address.prefix_length}", "dev", nic.netdev)

        def advertise() -> None:
            for nic in one.nics:
                host.advertise(
                    nic.netdev,
                    [address.prefix for address in nic.addresses],
                    valid_s=timers.prefix_valid_lifetime,
                    preferred_s=timers.prefix_preferred_lifetime,
                    router_lifetime_s=timers.router_lifetime,
                    settle=False,
                )

        with installed(host, folder) as machine:
            machine.bash(copy)
            with advertising(advertise):
                yield Reader(machine, way), one, host
            written = machine.written()
    assert {"/etc/railweave/host.json", "/usr/local/bin/railweave-host", "/etc/sysctl.d/70-railweave.conf"} <= written
    real = [file for file in map(Path, written) if file.exists() and file.stat().st_ctime_ns >= began]
    assert not real, "the machine that runs the test is not the one that is set up"


def check(reader: Reader, one: HostConfig, host: Server) -> None:
    """Do step 5, and see that it is true."""
    said = reader.follow("5.")
    assert "via fc00:1:1:1::1 dev gpu0_eth table gpu0_subnet1" in said
    assert said.count(", MTU 9000, 4 of 4 addresses\n") == 8
    assert ", nothing to change\n" in said
    assert "planned" not in said.split("\n\n", 1)[1], "no note of something that is not as planned"
    assert "1 received" in said
    plan = json.loads(reader.machine.bash("railweave-host plan --json"))
    assert plan["commands"] == []
    # an address is there, and planned, some time before duplicate address detection lets go of it
    with suppress(AssertionError):  # what is there instead says more
        until(lambda: past_detection(host, one), "addresses are past duplicate address detection", timeout_s=60)
    assert {nic.netdev: addresses(host)[nic.netdev] for nic in one.nics} == planned_addresses(one)
    check_as_planned(host, one)
    check_way_out(host, one, "fc00:9:9:9::1")


def past_detection(host: Server, one: HostConfig) -> bool:
    shown = addresses(host)
    return {nic.netdev: shown[nic.netdev] for nic in one.nics} == planned_addresses(one)


def networkd_has_configured(reader: Reader, one: HostConfig) -> None:
    """It first takes away the addresses that it did not form itself, or before it was started again."""

    def states() -> list[str]:
        lines = reader.machine.bash("networkctl list --no-legend").splitlines()
        return [line.split()[-1] for line in lines if any(nic.netdev in line.split() for nic in one.nics)]

    until(lambda: states() == ["configured"] * len(one.nics), "networkd has configured the NICs", timeout_s=30)


def nothing_left(one: HostConfig, host: Server) -> bool:
    return not rules(host) and not routes(host)


@needs_root
@needs_networkd
@needs_bus
def test_netplan(tmp_path: Path) -> None:
    with example_server(tmp_path, NETWORKD) as (reader, one, host):
        reader.follow("1.", "2.", "3.", "4.")
        networkd_has_configured(reader, one)
        check(reader, one, host)
        assert "unmanaged" not in reader.machine.bash("networkctl list | grep gpu")
        reader.machine.stop_networkd()  # an update of the package, for example
        reader.machine.start_networkd()
        networkd_has_configured(reader, one)
        check(reader, one, host)
        assert reader.machine.bash("railweave-host undo") == "nothing to undo\n"
        reader.follow("7.")
        until(lambda: nothing_left(one, host), "tables and rules are gone")


@needs_root
@needs_networkd
@needs_bus
def test_kernel(tmp_path: Path) -> None:
    with example_server(tmp_path, KERNEL) as (reader, one, host):
        before = sorted(dump(host))  # the default routes of equal weight are in the order of the last advertisements
        reader.follow("1.", "2.", "3.")
        restart(reader)
        reader.follow("4.")
        reader.machine.stop_networkd()
        reader.machine.start_networkd()
        reader.machine.bash(reader.unit("railweave-net.service", "ExecStart"))
        check(reader, one, host)
        reader.machine.stop_networkd()
        reader.machine.start_networkd()
        check(reader, one, host)
        assert reader.machine.bash("railweave-host undo") == "nothing to undo\n"
        reader.machine.bash(reader.unit("railweave-net.service", "ExecStop"))
        reader.follow("7.")
        assert nothing_left(one, host)
        assert {line for line in dump(host) if "rule" in line} == {line for line in before if "rule" in line}


def restart(reader: Reader) -> None:
    """Do what a restart does to kernel parameters: those of this network only, others are the whole machine's."""
    text = reader.machine.bash("cat /etc/sysctl.d/70-railweave.conf")
    lines = [line for line in text.splitlines() if line.startswith("net.")]
    assert lines
    for line in lines:
        key, value = line.split(" = ")
        reader.machine.host.sysctl(re.sub(r"[./]", lambda sign: "/" if sign[0] == "." else ".", key), int(value))


@needs_root
@needs_networkd
@needs_bus
def test_railweave_host(tmp_path: Path) -> None:
    with example_server(tmp_path, OURS) as (reader, one, host):
        prefixes = [(nic.netdev, address.prefix) for nic in one.nics for address in nic.addresses]
        until(
            lambda: all(usable(host, nic, "to", prefix) for nic, prefix in prefixes), "the kernel has formed addresses"
        )
        before = sorted(dump(host))  # the default routes of equal weight are in the order of the last advertisements
        reader.follow("1.", "2.", "3.")
        reader.machine.stop_networkd()
        reader.follow("4.")
        reader.machine.start_networkd()  # it has read what the page lets one write
        check(reader, one, host)
        assert "nothing to change" in reader.machine.bash("railweave-host plan")
        assert "all in place: nothing changed" in reader.machine.bash("railweave-host apply --wait 60")
        log = tmp_path / "service.log"
        with reader.machine.service(reader.unit("railweave-host.service", "ExecStart"), log):
            until(lambda: "watching" in log.read_text(), "the service is at work")
            host.run("ip", "-6", "rule", "del", "from", one.nics[0].addresses[0].prefix)
            until(lambda: "repaired" in log.read_text(), "the service has repaired a rule")
            assert "is at work" in reader.machine.bash("railweave-host undo", code=1)
        check(reader, one, host)
        reader.follow("7.")
        assert sorted(dump(host)) == before
        assert "/etc/iproute2/rt_tables.d/railweave.conf" not in reader.machine.written()


def test_installed_names_are_no_change() -> None:
    folder = ROOT / "tests" / "golden" / "h100-rlb" / "hosts" / HOST
    plan = host_file.load(folder / "host.json")
    nothing = kernel.Kernel((), ())
    assert changes.to_plan(plan, nothing, journal.Journal(), (folder / "rt_tables.conf").read_text()).names is None
