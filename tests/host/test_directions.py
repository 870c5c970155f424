"""The direction in which large packets are lost: real kernels on both sides, with an MTU that is too small one way only."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave.host.checks import mtu_probes
from railweave.host.checks.outcome import FAILED, Outcome
from railweave.host.machine import CommandOutput
from tests.host.machines import Parts, Written, forms, healthy, ping
from tests.host.machines.plans import plan
from tests.host.test_checks import look
from tests.live.lab.machine import needs_nft
from tests.netns import Server, needs_root, server

SOURCE = Path(__file__).parents[2] / "src"
SMALL_PORT = "table inet x {\n chain p {\n type filter hook prerouting priority 0;\n meta length > 1600 drop;\n }\n}\n"
NO_LARGE_ANSWERS = (
    "table inet x {\n chain o {\n type filter hook output priority 0;\n meta length > 1600 drop;\n }\n}\n"
)
SMALL_ONLY = "packets of 128 bytes come back, of 9000 bytes none"
NO_REPORTS = (
    "table inet y {\n chain o {\n type filter hook output priority 0;\n icmp type { 3, 11 } drop;\n"
    " icmpv6 type { 1, 3 } drop;\n }\n}\n"
)
ENDS = {4: ("10.9.0.1", "10.9.0.0", "10.200.0.1"), 6: ("fc00:9::1", "fc00:9::", "fc00:77::1")}
PROBES = """
import json, sys
from railweave.host.checks import mtu_probes
from railweave.host.machine import ThisMachine
from railweave.host.probing import _Probe, probed
source, gateway, beyond = sys.argv[1:]
loss = mtu_probes.loss(ThisMachine(), ["eth0", source], gateway, beyond, 9000, [source])
probe = _Probe(source, gateway, 9000)
probed([probe])
print(json.dumps([loss.way, loss.seen, probe.outcome.outcome, probe.outcome.said]))
"""


@pytest.fixture
def host() -> Iterator[Server]:
    with server(["eth0"], mtu=9000) as made:
        for end, number in ((made, 1), (made.leaf, 0)):
            end.run("ip", "addr", "add", f"10.9.0.{number}/31", "dev", "eth0")
            end.run("ip", "-6", "addr", "add", f"fc00:9::{number}/127", "dev", "eth0", "nodad")
        for family, (source, gateway, _) in ENDS.items():  # as on a planned server: the source chooses the route
            made.run("ip", f"-{family}", "route", "add", "default", "via", gateway, "table", "100")
            made.run("ip", f"-{family}", "rule", "add", "from", source, "table", "100")
        for key in ("net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"):
            made.leaf.sysctl(key, 1)
        yield made


def told(host: Server, family: int) -> tuple[str, str, str, str]:
    done = host.run(sys.executable, "-c", PROBES, *ENDS[family], env={"PYTHONPATH": str(SOURCE)})
    way, seen, outcome, said = json.loads(done.stdout)
    return way, seen, outcome, said


@needs_root
@needs_nft
@pytest.mark.parametrize("family", [4, 6])
def test_each_direction_is_told_where_two_kernels_lose_large_packets(host: Server, family: int) -> None:
    _, gateway, _ = ENDS[family]
    host.leaf.run("nft", "-f", "-", input=SMALL_PORT)
    assert told(host, family) == (
        "there",
        f"lost on the way there: {gateway} reports packets of 128 bytes, and none of 9000; the way back is not seen",
        "size",
        f"{SMALL_ONLY}; lost on the way there: {gateway} reports packets of 128 bytes, and none of 9000",
    )
    host.leaf.run("nft", "delete", "table", "inet", "x")
    host.leaf.run("nft", "-f", "-", input=NO_LARGE_ANSWERS)
    assert told(host, family) == (
        "back",
        f"lost on the way back: {gateway} reports that a packet of 9000 bytes arrived",
        "size",
        f"{SMALL_ONLY}; lost on the way back: {gateway} reports that a packet of 9000 bytes arrived",
    )
    host.leaf.run("nft", "-f", "-", input=NO_REPORTS)
    assert told(host, family) == (
        "",
        f"direction not seen: {gateway} reports no packet that ends there",
        "size",
        f"{SMALL_ONLY}; direction not seen: {gateway} reports no closed port",
    )


@needs_root
@needs_nft
def test_a_route_with_a_small_mtu_is_named(host: Server) -> None:
    host.run("ip", "route", "replace", "10.9.0.0/32", "dev", "eth0", "mtu", "1500")
    way, seen, *_ = told(host, 4)
    assert (way, seen) == ("here", "this server's route to 10.9.0.0 has an MTU of 1500, so it sends no larger packet")


BEYOND = "192.0.2.1"
NOTHING = "1 packets transmitted, 0 received, 100% packet loss, time 0ms\n"


@pytest.mark.parametrize(
    ("small", "large", "way", "remedy"),
    [
        ("From {gateway} icmp_seq=1 Time to live exceeded\n", NOTHING, "on the way there", "that it receives"),
        ("From {gateway} icmp_seq=1 Time exceeded: Hop limit\n",) * 2 + ("on the way back", "sends and that the NIC"),
        ("From {gateway}%eth0 icmp_seq=1 Destination Net Unreachable\n",) * 2 + ("on the way back", "sends and"),
        ("From {own} icmp_seq=1 Destination Host Unreachable\n", NOTHING, "direction not seen", "in both directions"),
        (NOTHING, NOTHING, "direction not seen", "in both directions"),
        (None, None, "direction not seen", "in both directions"),
    ],
)
def test_the_check_names_the_direction(
    small: str | None, large: str | None, way: str, remedy: str, tmp_path: Path
) -> None:
    """An error of this server's own kernel says nothing about the gateway, and a recording may have no such answer."""
    file, wanted = plan("mi300x-leaf-24", tmp_path)
    parts = healthy(wanted)
    netdev, gateway = next(words for words in parts.commands if words[0] == "ping")[-2:]
    nic = next(nic for nic in wanted["nics"] if nic["netdev"] == netdev)
    parts.commands[ping(netdev, gateway, nic["mtu"])] = CommandOutput(NOTHING, "", 1)
    parts.say(forms.ping(gateway, 100), *ping(netdev, gateway, 128))
    own = nic["addresses"][0]["address"]
    for size, text in ((128, small), (nic["mtu"], large)):
        if text is not None:
            words = mtu_probes.echo(netdev, BEYOND, size, "-t", "1", "-I", own)
            parts.commands[words] = CommandOutput(text.format(gateway=gateway, own=own), "", 1)
    [outcome] = [one for one in _path_mtu(file, parts) if one.verdict == FAILED]
    assert way in outcome.seen
    assert outcome.seen.startswith(f"{gateway} answers 128 bytes, and not {nic['mtu']}; ")
    assert remedy in outcome.remedy


def _path_mtu(file: Path, parts: Parts) -> list[Outcome]:
    return [one.outcome for one in look(file, Written(parts)) if one.check.id == "host-path-mtu"]
