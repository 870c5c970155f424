"""Commands for Dell Enterprise SONiC against those of the Thor2 guide (sections 2.4.2.3 and 2.5.2), after errata.

The guide's scan breaks words (``gos`` is ``qos``, ``gos—-map`` is ``qos-map``); its weights of 50 on three queues are 150
together, which a fabric file refuses.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from railweave.api import load
from railweave.model.config.number_ranges import ranges
from railweave.model.device.build import device_config
from railweave.model.device.overlay import standard
from railweave.systems.dell_sonic import render as dell_sonic
from railweave.systems.dell_sonic.tree import parse, to_text
from tests.conftest import designed
from tests.retarget import ON_DELL, retargeted

GUIDE = """\
    name: guide
    fabrics:
      backend:
        topology: {stripes: 1, leaves_per_stripe: 1}
        leaf: {device: z9664f-on, nos: dell_sonic, server_ports: {first: 0}}
        addressing:
          server_link: routed
          server_mode: static
          server_pool: 1.1.0.0/16
          server_prefix: "1.1.{server+100}.{rail*10+4}/31"
          gateway_host: 0
        mtu: {irb: 9100}
        qos:
          classes:
            best-effort: {transmit_percent: 30}
            no-loss: {queue: 3, dscp: [24, 26], transmit_percent: 30}
            storage: {queue: 4, dscp: [4], lossless: true, pfc_priority: 4, transmit_percent: 30}
            cnp: {queue: 6}
            network-control: null
          pfc: {watchdog: {poll_interval: 100, detection: 2, recovery: 400, action: drop}}
        naming: {leaf: "leaf{leaf}"}
    servers: [{names: "node[1-2]", model: mi300x-8gpu-thor2}]
    """


@cache
def text(device: str, name: str = "h100-rlb") -> str:
    return dell_sonic.files(device_config(retargeted(name, "dell_sonic"), device))["sonic.cli"]


def block(commands: str, header: str) -> list[str]:
    """What stands below a section at the top, without the spaces before it."""
    lines = commands.splitlines()
    start = lines.index(header) + 1
    return [line.strip() for line in lines[start : lines.index("exit", start)]]


@pytest.fixture
def guide(tmp_path: Path) -> str:
    network, _ = designed(tmp_path, GUIDE)
    return dell_sonic.files(device_config(network, "leaf1"))["sonic.cli"]


def test_maps_are_those_of_the_guide(guide: str) -> None:
    assert block(guide, "qos map dscp-tc ROCE") == [
        "dscp 0-3,5-23,25,27-47,49-63 traffic-class 0",
        "dscp 24,26 traffic-class 3",
        "dscp 4 traffic-class 4",
        "dscp 48 traffic-class 6",
    ]
    assert block(guide, "qos map tc-queue ROCE") == [f"traffic-class {number} queue {number}" for number in range(8)]
    assert block(guide, "qos map tc-pg ROCE") == [
        "traffic-class 3 priority-group 3",
        "traffic-class 4 priority-group 4",
        "traffic-class 0-2,5-7 priority-group 7",
    ]
    assert block(guide, "qos map pfc-priority-queue ROCE") == [
        f"pfc-priority {number} queue {number}" for number in range(8)
    ]


def test_queues_and_marking_are_those_of_the_guide(guide: str) -> None:
    """Weights aside: shares of 30 in place of 50."""
    dwrr = ["type dwrr", "weight 30", "exit"]
    assert block(guide, "qos scheduler-policy ROCE") == [
        "queue 0", *dwrr, "queue 3", *dwrr, "queue 4", *dwrr, "queue 6", "type strict", "exit",
    ]  # fmt: skip
    assert block(guide, "qos wred-policy ROCE") == [
        "green minimum-threshold 1048 maximum-threshold 2097 drop-probability 5", "ecn green",
    ]  # fmt: skip


def test_a_port_has_what_the_guide_gives_it(guide: str) -> None:
    found = block(guide, "interface Eth1/1")
    expected = """\
mtu 9100
speed 400000
fec RS
unreliable-los auto
no shutdown
ip address 1.1.101.14/31
queue 3 wred-policy ROCE
scheduler-policy ROCE
qos-map dscp-tc ROCE
qos-map tc-queue ROCE
qos-map tc-pg ROCE
qos-map pfc-priority-queue ROCE
priority-flow-control priority 3
priority-flow-control priority 4
priority-flow-control watchdog action drop
priority-flow-control watchdog on detect-time 200
priority-flow-control watchdog restore-time 400"""
    assert [line for line in found if not line.startswith(("description", "buffer"))] == expected.splitlines()
    headroom = [line for line in found if line.startswith("buffer")]
    assert [line.rpartition(" ")[0] for line in headroom] == ["buffer priority-group 3", "buffer priority-group 4"]
    assert "ip address 1.1.101.24/31" in block(guide, "interface Eth1/2")


@pytest.mark.parametrize("name", ON_DELL)
def test_what_is_printed_reads_back_and_prints_the_same(name: str) -> None:
    network = retargeted(name, "dell_sonic")
    for switch in network.switches[:1] + network.switches[-1:]:
        for printed in dell_sonic.files(device_config(network, switch.name)).values():
            assert to_text(parse(printed)) == printed


def test_colors_are_communities_of_32_bits() -> None:
    """Neither sonic_bgp_communities nor sonic_route_maps of dellemc.enterprise_sonic has large communities."""
    lines = text("stripe1-leaf1").splitlines()
    assert "bgp community-list standard path-green permit 64512:1001 any" in lines
    assert " set community 64512:1001 additive" in lines
    assert not any("large" in line for line in lines)
    assert (standard("65001:1:4"), standard("4200000001:0:1")) == ("65001:1004", "64512:1")


def test_sessions_are_unnumbered_and_know_their_neighbor() -> None:
    found = text("stripe1-leaf1")
    router = block(found, "router bgp 4200001001")
    at = router.index("neighbor interface Eth1/1/1")
    assert router[at + 1 : at + 4] == ["remote-as 4200000001", "peer-group spine-green", "description spine1"]
    assert "bestpath as-path multipath-relax" in router
    at = router.index("peer-group spine-green")
    assert "route-map from-green in" in router[at : at + 9]
    port = block(found, "interface Eth1/1/1")
    assert {"ipv6 enable", "no ipv6 nd suppress-ra"} <= set(port)


def test_split_ports_come_before_their_channels() -> None:
    lines = text("stripe1-leaf1").splitlines()
    assert lines.index("interface breakout port 1/17 mode 2x400G") < lines.index("interface Eth1/17/1")


COPPER = "cabling: {server: {length: 2m, optic: osfp-800g-2x400g-dac, far_optic: osfp-800g-2x400g-dac}}"


@pytest.mark.parametrize(("cabling", "kinds"), [("", set()), (COPPER, {"server"})], ids=["optical", "copper"])
def test_ports_train_where_their_cable_is_copper(cabling: str, kinds: set[str], tmp_path: Path) -> None:
    """Thor2 guide, section 2.5.2. The guide's own ports have it, whose cables it does not name."""
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(
        "name: trained\nfabrics:\n  backend:\n    topology: {stripes: 1, spines: 2}\n"
        "    leaf: {device: z9864f-on, nos: dell_sonic}\n    spine: {device: z9864f-on, nos: dell_sonic}\n"
        + (f"    {cabling}\n" if cabling else "")
        + "servers: [{names: 'node[1-2]', model: h100-8gpu-cx7}]\n"
    )
    network = load(fabric)
    for switch in network.switches:
        config = device_config(network, switch.name)
        printed = dell_sonic.files(config)["sonic.cli"]
        trained = {
            one.kind
            for one in config.interfaces
            if "standalone-link-training" in block(printed, f"interface {one.name}")
        }
        assert trained == (kinds if switch.role == "leaf" else set())


def test_what_ends_the_session_is_in_a_file_of_its_own() -> None:
    files = dell_sonic.files(device_config(retargeted("h100-rlb", "dell_sonic"), "spine1"))
    assert files["prepare.cli"].splitlines() == [
        "configure terminal", "interface-naming standard", "end", "write memory", "configure terminal", "buffer init lossless",
    ]  # fmt: skip
    assert "interface-naming" not in files["sonic.cli"]


def test_adaptive_routing_has_the_knobs_of_the_design() -> None:
    """evpn-gpu-isolation: flowlets, 128 us, 2048 flows, 1,000,000 samples a second, so one a microsecond."""
    found = text("stripe1-leaf1", "evpn-gpu-isolation")
    assert block(found, "ars object ROCE") == ["mode flowlet-quality", "idle-time 128", "max-flows 2048"]
    assert block(found, "ars profile ROCE") == ["sampling-interval 1"]
    assert "ars bind profile ROCE" in found


def test_tenants_have_a_tunnel() -> None:
    found = text("stripe1-leaf1", "evpn-server-isolation")
    tunnel = block(found, "interface vxlan vtep")
    assert tunnel[0].startswith("source-ip ")
    assert any(line.startswith("map vni 20001 vrf Vrf") for line in tunnel), tunnel
    assert "ip vrf Vrf-tenant-1" in found.splitlines()


def test_what_is_not_confirmed_is_said() -> None:
    config = device_config(retargeted("h100-rlb", "dell_sonic"), "stripe1-leaf1")
    ids = {finding.id for finding in dell_sonic.gaps(config)}
    assert {"dell-no-model", "dell-prepare", "dell-ars-object", "dell-management"} <= ids


@pytest.mark.parametrize(("values", "words"), [([0, 1, 2], "0-2"), ([4], "4"), ([1, 3, 4, 9], "1,3-4,9"), ([], "")])
def test_numbers_as_ranges(values: list[int], words: str) -> None:
    assert ranges(values) == words
