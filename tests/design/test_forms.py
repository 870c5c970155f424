"""Every form of a fabric that the file offers designs, renders and routes."""

from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.errors import DesignError
from railweave.model.device.build import device_config
from railweave.model.findings import Finding
from railweave.systems.junos import render as junos
from tests.conftest import designed

SHARED = """
name: two
fabrics:
  backend:
    topology: {stripes: 2, spines: 2, leaves_per_stripe: 4, oversubscription: 4}
    leaf: {device: qfx5240-64od}
    addressing: {server_pool: "fc00::/16"}
  storage:
    nics: storage
    topology: {stripes: 1, spines: 2, leaves_per_stripe: 2, links_per_spine: 2}
    leaf: {device: qfx5230-64cd}
    spine: {device: qfx5230-64cd}
    naming: {leaf: "sto-leaf{leaf}", spine: "sto-{spine}"}
    addressing: {server_pool: "fd10::/32", prefix_length: 64}
    load_balancing: {mode: dlb-flowlet}
    pools: {leaf_asn: 65100-65199, spine_asn: 65000-65009, vlan: 1000-1100, router_id: 10.254.0.0/24}
servers:
  - {names: "dgx[1-2]", model: dgx-h100, stripe: {backend: stripe1}}
  - {names: "dgx[3-4]", model: dgx-h100, stripe: {backend: stripe2}}
"""


def _errors(subject: Subject) -> list[Finding]:
    return [finding for finding in run_checks(subject) if finding.severity == "error"]


def test_servers_are_shared_by_fabrics(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, SHARED)
    server = network.server("dgx3")
    assert [(nic.fabric, nic.name) for nic in server.nics] == [
        *(("backend", f"gpu{n}_eth") for n in range(8)),
        ("storage", "stor0_eth"),
        ("storage", "stor1_eth"),
    ]
    assert {nic.leaf for nic in server.nics if nic.fabric == "storage"} == {"sto-leaf1", "sto-leaf2"}
    assert len({switch.management_address for switch in network.switches}) == len(network.switches)
    assert _errors(Subject.of(network)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '    naming: {leaf: "sto-leaf{leaf}", spine: "sto-{spine}"}\n',
            "",
            "duplicate name: fabrics 'backend' and 'storage'",
        ),
        (
            'server_pool: "fd10::/32"',
            'server_pool: "fc00::/16"',
            "overlapping prefixes: fc00:1:1:1::/64 of servers of fabric 'backend'",
        ),
        ("nics: storage", "nics: gpu", "both connect the 'gpu' NICs"),
        ("router_id: 10.254.0.0/24", "router_id: 10.255.0.0/16", ""),
    ],
)
def test_fabrics_may_not_collide(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SHARED.replace(old, new)
    assert text != SHARED
    if not message:
        designed(tmp_path, text)  # one router-id pool may serve both: the lock deals it
        return
    with pytest.raises(DesignError, match=message):
        designed(tmp_path, text)


FORM = """
name: form
fabrics:
  backend:
    topology: {stripes: 2, spines: 2, leaves_per_stripe: 2, links_per_spine: 2, oversubscription: 4}
    leaf: {device: qfx5240-64od, release: RELEASE}
    load_balancing: {mode: MODE}
    underlay: {peering: PEERING}
    addressing: ADDRESSING
    pools: {fabric_links: LINKS}
servers: [{names: "n[1-4]", model: h100-8gpu-cx7}]
"""
SLAAC = "{server_pool: fc00::/16}"
STATIC4 = "{server_pool: 10.0.0.0/8, prefix_length: 24, bits: {stripe: 6, rail: 5, color: 5}, server_mode: static}"


FAMILIES = [
    (SLAAC, "fd00:ffff::/48"),
    (STATIC4, "172.16.0.0/16"),
    ("{server_pool: fc00::/16, server_link: routed}", "fd00:ffff::/48"),
    (
        "{server_pool: 10.0.0.0/8, prefix_length: 31, server_mode: static, server_link: routed, gateway_host: 0}",
        "172.16.0.0/16",
    ),
]
"""Server addresses with link addresses of the same family: SLAAC and static, on VLANs and on routed links."""


@pytest.mark.slow
@pytest.mark.parametrize("release", ["25.4R1", "23.4X100-D31"])
@pytest.mark.parametrize("mode", ["ecmp", "dlb-flowlet", "dlb-per-packet", "rlb"])
@pytest.mark.parametrize("peering", ["auto-discovered", "numbered"])
@pytest.mark.parametrize(("addressing", "links"), FAMILIES)
def test_every_form_is_free_of_errors(
    tmp_path: Path, release: str, mode: str, peering: str, addressing: str, links: str
) -> None:
    text = FORM.replace("RELEASE", release).replace("MODE", mode).replace("PEERING", peering)
    network, _ = designed(tmp_path, text.replace("ADDRESSING", addressing).replace("LINKS", links))
    for nos in (None, "frr"):
        configs = {switch.name: device_config(network, switch.name, nos) for switch in network.switches}
        assert _errors(Subject(network, configs)) == []
    leaf = next(switch.name for switch in network.switches)
    lines = junos.files(device_config(network, leaf))["junos.set"]
    assert ("neighbor" in lines and "peer-as " in lines) == (peering == "numbered")
    assert ("fabric-color" in lines) == (mode == "rlb" and release == "25.4R1")
    assert ("local-preference 200" in lines) == (mode == "rlb" and release != "25.4R1")
    assert ("ecmp-dlb flowlet" in lines) == (mode in {"dlb-flowlet", "rlb"})
    assert ("ecmp-dlb per-packet" in lines) == (mode == "dlb-per-packet")
    assert f"ether-type {'ipv4' if 'static' in addressing else 'ipv6'}" in lines or mode == "ecmp"


def test_static_addresses_count_from_the_gateway(tmp_path: Path) -> None:
    text = FORM.replace("RELEASE", "25.4R1").replace("MODE", "ecmp").replace("PEERING", "auto-discovered")
    network, _ = designed(tmp_path, text.replace("ADDRESSING", STATIC4).replace("LINKS", "172.16.0.0/16"))
    segment = network.segments[0]
    nics = [server.nics[0].addresses[0] for server in network.servers if server.nics[0].vlan == segment.vlan]
    network_address = ipaddress.ip_network(segment.subnets[0].prefix).network_address
    assert segment.subnets[0].gateway == str(network_address + 1)
    assert [one.address for one in nics] == [str(network_address + 2 + n) for n in range(len(nics))]
    assert {one.origin for one in nics} == {"static"}


def test_routed_links_have_a_prefix_each_and_no_vlan(tmp_path: Path) -> None:
    text = FORM.replace("RELEASE", "25.4R1").replace("MODE", "rlb").replace("PEERING", "auto-discovered")
    addressing, links = FAMILIES[3]
    network, _ = designed(tmp_path, text.replace("ADDRESSING", addressing).replace("LINKS", links))
    nics = [(server, nic) for server in network.servers for nic in server.nics]
    assert {nic.vlan for _, nic in nics} == {None}
    subnets = [subnet for server, nic in nics for subnet in network.segment_of(server.name, nic).subnets]
    assert len({subnet.prefix for subnet in subnets}) == len(subnets) == 4 * 8 * 4
    for server, nic in nics:
        for one, subnet in zip(nic.addresses, network.segment_of(server.name, nic).subnets, strict=True):
            pair = [str(address) for address in ipaddress.ip_network(subnet.prefix)]
            assert [subnet.gateway, one.address] == pair  # RFC 3021: both addresses of a /31
    leaf = network.switches[0].name
    lines = junos.files(device_config(network, leaf))["junos.set"]
    assert "vlan" not in lines
    assert "irb" not in lines


def test_numbered_links_have_a_pair_each(tmp_path: Path) -> None:
    text = FORM.replace("RELEASE", "25.4R1").replace("MODE", "rlb").replace("PEERING", "numbered")
    network, _ = designed(tmp_path, text.replace("ADDRESSING", SLAAC).replace("LINKS", "fd00:ffff::/48"))
    links = [cable for cable in network.cables if cable.kind == "fabric"]
    assert len({end.address for cable in links for end in (cable.a, cable.b)}) == 2 * len(links)
    assert all(int(ipaddress.ip_address(c.b.address)) - int(ipaddress.ip_address(c.a.address)) == 1 for c in links)
    assert {cable.prefix_length for cable in links} == {127}


def test_overrides(tmp_path: Path) -> None:
    text = (
        SHARED
        + """
overrides:
  devices:
    spine1: {asn: 4200000777, router_id: 10.9.9.9, management_address: 172.20.200.1}
  nics:
    "dgx1:gpu0_eth": {addresses: {color1: "fc00:1:1:1::abc"}}
  cables:
    - {between: ["dgx1:gpu0_eth", stripe1-leaf1], ports: {stripe1-leaf1: "et-0/0/50:1"}, length: 2m}
    - {between: [stripe1-leaf1, spine1], length: 120m, optic: osfp-800g-2x400g-dr4}
"""
    )
    network, _ = designed(tmp_path, text)
    spine = network.switch("spine1")
    assert (spine.asn, spine.router_id, spine.management_address) == (4200000777, "10.9.9.9", "172.20.200.1/16")
    nic = network.server("dgx1").nics[0]
    assert (nic.addresses[0].address, nic.addresses[0].origin) == ("fc00:1:1:1::abc", "override")
    assert nic.leaf_port == "et-0/0/50:1"
    server = next(cable for cable in network.cables if cable.a.device == "dgx1" and cable.a.port == "gpu0_eth")
    assert (server.length_m, server.b.optic) == (2, "osfp-800g-2x400g-dac")
    long = next(cable for cable in network.cables if cable.a.device == "stripe1-leaf1" and cable.b.device == "spine1")
    assert (long.length_m, long.a.optic) == (120, "osfp-800g-2x400g-dr4")
    assert _errors(Subject.of(network)) == []


def test_an_inventory_row_of_what_is_gone_is_said_and_not_used(tmp_path: Path) -> None:
    inventory = "device,interface,mac,length\ngone1,gpu0_eth,58:a2:e1:46:c6:ca,\nstripe1-leaf1,et-0/0/63:1,,7\n"
    network, _ = designed(tmp_path, SHARED, inventory=inventory)
    found = [(f.severity, f.file, f.line, f.what) for f in network.findings if f.id == "inventory-unused"]
    assert found == [
        ("warning", "fabric.inventory.csv", 2, "there is no device 'gone1'"),
        ("warning", "fabric.inventory.csv", 3, "stripe1-leaf1 has no cable in 'et-0/0/63:1'"),
    ]
