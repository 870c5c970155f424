"""``fleet check`` and ``fleet mesh`` on a lab's servers, through OpenSSH: green as it was made, and what is broken is found."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from railweave import api
from railweave.live.fleet.checked import FleetCheckResult
from railweave.live.fleet.meshed import MeshResult
from railweave.live.lab import hosts
from railweave.live.lab.kernel import shaping
from railweave.live.lab.names import namespace
from railweave.live.lab.running import Running
from tests.conftest import example
from tests.live.fleet.lab_servers import needs_sshd, reachable
from tests.live.lab.machine import lab, needs_lab

pytestmark = [needs_lab, needs_sshd]

ONLY = ("network", "link-carrier", "link-mtu")
"""What a namespace has: links, addresses, tables, a firewall. It has no port of a speed and no RDMA device."""
SERVERS = ("H100-01", "H100-02", "H100-03", "H100-04")
GPU0, GPU1 = "gpu0_eth", "gpu1_eth"
NOTHING = ":"


@dataclass(frozen=True)
class Fault:
    """What is done on servers by the shell, which check finds it and how, and what its failures are said to share."""

    what: str
    do: str
    undo: str
    check: str
    seen: str
    shared: str = ""
    servers: tuple[str, ...] = SERVERS
    verdict: str = "failed"
    found_on: tuple[str, ...] = ()


def _nft(rule: str, policy: str = "accept") -> str:
    chain = "{ type filter hook input priority 0; policy " + policy + "; }"
    return f"nft add table inet x && nft add chain inet x i '{chain}'" + (
        f" && nft add rule inet x i {rule}" * bool(rule)
    )


def _route(table: int, do: str) -> str:
    """``$3`` is the gateway of a table's default route."""
    return f"set -- $(ip -6 route show default table {table}); {do}"


_BLUE = "case $SERVER in *1|*2) table=10001;; *) table=10005;; esac"
"""The table of one color, on two servers that of the one NIC, on the others that of the other NIC."""
_TAKEN = "fc00:1:1:1:a288:c2ff:fe3b:5066/64"
_TWICE = (
    f"case $SERVER in *2) ip addr add {_TAKEN} dev {GPU0} nodad;; "
    f"*) sysctl -qw net.ipv6.conf.{GPU0}.accept_dad=1; ip addr del {_TAKEN} dev {GPU0}; ip addr add {_TAKEN} dev {GPU0}; "
    f"for _ in $(seq 100); do ip addr show dev {GPU0} | grep -q dadfailed && break; sleep 0.1; done;; esac"
)
_TWICE_UNDONE = f"sysctl -qw net.ipv6.conf.{GPU0}.accept_dad=0; ip addr del {_TAKEN} dev {GPU0}"
NO_FIREWALL = "nft delete table inet x"
ROUNDS = (
    (
        Fault("MTU of 1,500", f"ip link set {GPU0} mtu 1500", f"ip link set {GPU0} mtu 9000", "link-mtu", "1500", "rail 1"),
        Fault(
            "stray IPv4 address", f"ip addr add 192.0.2.1/24 dev {GPU1}", f"ip addr del 192.0.2.1/24 dev {GPU1}",
            "host-stray-addresses", "192.0.2.1/24", "rail 2", verdict="warning",
        ),
        Fault(
            "NIC in a hierarchy of rates", f"tc qdisc add dev {GPU0} root htb", f"tc qdisc del dev {GPU0} root",
            "host-traffic-control", f"htb on {GPU0}", servers=SERVERS[:3],
        ),
        Fault("RoCE dropped", _nft("udp dport 4791 drop"), NO_FIREWALL, "host-firewall", "drop UDP port 4791"),
        Fault(
            "rule removed", f"{_BLUE}; set -- $(ip -6 rule | grep -m1 lookup.$table); ip -6 rule del from $3 lookup $table", NOTHING,
            "host-routes", "table 1000", "color blue",
        ),
        Fault(
            "accept_ra off", f"sysctl -qw net.ipv6.conf.{GPU1}.accept_ra=0", f"sysctl -qw net.ipv6.conf.{GPU1}.accept_ra=1",
            "host-router-advertisements", "accept_ra 0", "rail 2", servers=SERVERS[1:],
        ),
        Fault(
            "address missing", f"set -- $(ip -6 -o addr show dev {GPU1} scope global); ip addr del $4 dev {GPU1}", NOTHING,
            "host-addresses", "no address", "rail 2", servers=SERVERS[1:],
        ),
    ),
    (
        Fault(
            "forwarding on, so that advertisements are ignored", f"sysctl -qw net.ipv6.conf.{GPU0}.forwarding=1",
            f"sysctl -qw net.ipv6.conf.{GPU0}.forwarding=0", "host-router-advertisements", "forwarding 1", "rail 1",
        ),
        Fault(
            "rate limited", f"tc qdisc add dev {GPU1} root tbf rate 1gbit burst 1mbit latency 50ms",
            f"tc qdisc del dev {GPU1} root", "host-traffic-control", f"tbf on {GPU1}", servers=SERVERS[1:],
        ),
        Fault("firewall that drops by default", _nft("", "drop"), NO_FIREWALL, "host-firewall", "drops by default", verdict="warning"),
        Fault(
            "route in a wrong table",
            _route(10003, f"ip -6 route add default via $3 dev {GPU0} table 77; ip -6 route del default table 10003"),
            "ip -6 route flush table 77", "host-routes", "table 10003", "rail 1",
        ),
        Fault(
            "address of another prefix", f"ip addr add fd99::1/64 dev {GPU0}", f"ip addr del fd99::1/64 dev {GPU0}",
            "host-stray-addresses", "fd99::1/64", "rail 1", verdict="warning",
        ),
        Fault("NIC switched off", f"ip link set {GPU1} down", f"ip link set {GPU1} up", "link-carrier", "down", "rail 2"),
    ),
    (
        Fault(
            "wrong gateway", _route(10002, f"ip -6 route replace default via ${{3%1}}99 dev {GPU0} table 10002"), NOTHING,
            "host-routes", "table 10002", "rail 1",
        ),
        Fault(
            "IPv6 off", f"sysctl -qw net.ipv6.conf.{GPU1}.disable_ipv6=1", f"sysctl -qw net.ipv6.conf.{GPU1}.disable_ipv6=0",
            "host-router-advertisements", "IPv6 is off", "rail 2", servers=SERVERS[:3],
        ),
        Fault(
            "address that another server has too", _TWICE, _TWICE_UNDONE, "host-addresses", "someone else has it",
            servers=SERVERS[1::-1], found_on=SERVERS[:1],
        ),
    ),
)  # fmt: skip


def test_faults_of_servers_are_found_and_grouped(tmp_path: Path) -> None:
    network = example("h100-rlb")
    # As it is in a namespace: no systemd-networkd takes advertisements there.
    network = replace(network, hosts=network.hosts.model_copy(update={"router_advertisements": "kernel"}))
    fabric = tmp_path / "fabric.yaml"
    with (
        lab(fabric, network, "rails=2,spines=2") as (_, running),
        reachable(running) as access,
    ):
        _mesh(running, fabric, access)
        clean = _checked(running, access)
        assert clean.good, clean.to_text()
        assert not clean.findings(), clean.to_text()
        by_slice = api.fleet_check(fabric, lab=True)
        assert by_slice.good
        assert [(answer.server, answer.verdicts) for answer in by_slice.answers] == [
            (answer.server, answer.verdicts) for answer in clean.answers
        ]
        for faults in ROUNDS:
            with _made(running, faults):
                found = _checked(running, access)
            for one in faults:
                _is_found(found, one)
        _ports_down(running, access)


def _is_found(found: FleetCheckResult, fault: Fault) -> None:
    here = {
        (answer.server, one.verdict)
        for answer in found.answers
        for one in answer.verdicts
        if one.check == fault.check and fault.seen in one.seen and one.verdict in {"failed", "warning"}
    }
    assert here == {(server, fault.verdict) for server in fault.found_on or fault.servers}, (
        fault.what,
        found.to_text(),
    )
    if fault.shared:
        assert (fault.check, fault.shared) in {(one.check, one.what) for one in found.shared}, (
            fault.what,
            found.to_text(),
        )


def _ports_down(running: Running, access: Path) -> None:
    """The ports of a rail's leaves go down: the servers have no carrier there."""
    links = [one.name for one in running.plan.network.cables if one.kind == "server" and one.a.port == GPU0]
    shaping.set_links(running, links, "down")
    found = _checked(running, access, ("link-carrier",))
    shaping.set_links(running, links, "up")
    assert [(one.check, one.what, len(one.members)) for one in found.shared] == [("link-carrier", "rail 1", 4)]


@contextmanager
def _made(running: Running, faults: Iterable[Fault]) -> Iterator[None]:
    """Faults while this lasts, and the plan's addresses, routes and rules afterwards."""
    for one in faults:
        for server in one.servers:
            _shell(running, server, one.do)
    try:
        yield
    finally:
        for one in faults:
            for server in one.servers:
                _shell(running, server, one.undo)
        assert hosts.wait_for_addresses(running, 60)
        hosts.apply_tables(running)


def _mesh(running: Running, fabric: Path, access: Path) -> None:
    network = running.plan.network

    def meshed() -> MeshResult:
        return api.fleet_mesh(fabric, lab=True)

    clean, by_ssh = meshed(), api.fleet_mesh(network, access=access)
    assert clean.good, clean.to_text()
    assert [(result.probe, result.outcome) for result in clean.results] == [
        (result.probe, result.outcome) for result in by_ssh.results
    ]
    assert len(clean.results) == 2 * 4 * (
        2 + 4
    )  # across on the two colors that have a spine, and on the leaf on all four
    link = next(one for one in network.cables if (one.a.device, one.b.device) == ("stripe1-leaf1", "spine2"))
    port = next(one for one in network.cables if (one.a.device, one.a.port) == ("H100-03", GPU1))
    green = next(one for one in network.segments if one.leaf == "stripe2-leaf1").subnets[0].prefix
    leaf = running.plan.interface(port.b.device, port.name)
    # What a spine does that has sessions and forwards nothing, a leaf port of a small MTU, a leaf that drops a color.
    _shell(running, "spine2", _forward("drop"))
    _shell(running, "stripe2-leaf1", _forward(f"ip6 saddr {green} drop"))
    _shell(running, port.b.device, f"ip link set {leaf} mtu 1500")
    broken = meshed()
    told = {(one.outcome, one.what[0]) for one in broken.common if one.what}
    assert told == {
        ("lost", "spine2"),
        ("lost", "color green on stripe2-leaf1"),
        ("size", f"NIC H100-03:{GPU1}"),
    }, broken.to_text()
    for device in ("spine2", "stripe2-leaf1"):
        _shell(running, device, NO_FIREWALL)
    _shell(running, port.b.device, f"ip link set {leaf} mtu {network.fabrics[0].mtu.server_port - 14}")
    # A link that is down: another takes its place, as designed, and nothing is lost once the routers have seen it.
    shaping.set_links(running, [link.name], "down")
    _until(lambda: meshed().good)
    shaping.set_links(running, [link.name], "up")


def _forward(rule: str) -> str:
    chain = "{ type filter hook forward priority 0; }"
    return f"nft add table inet x && nft add chain inet x f '{chain}' && nft add rule inet x f {rule}"


def _until(good: Callable[[], bool], limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not good():
        assert time.monotonic() < end


def _shell(running: Running, device: str, line: str) -> None:
    words = ["ip", "netns", "exec", namespace(running.place.lab, device), "env", f"SERVER={device}", "sh", "-c", line]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (device, line, done.stderr)


def _checked(running: Running, access: Path, only: Iterable[str] = ONLY) -> FleetCheckResult:
    return api.fleet_check(running.plan.network, access=access, only=list(only))
