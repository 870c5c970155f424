"""Tenants in the design: who is touched by a change, what numbers they get."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.systems.junos import render as junos
from tests.conftest import designed, example

FABRIC = """
name: shared
fabrics:
  backend:
    topology: {{stripes: 2, spines: 2}}
    leaf: {{device: qfx5240-64od, release: 23.4X100-D31}}
    load_balancing: {{mode: dlb-flowlet}}
    overlay: {{vtep: ipv6}}
    tenants:
      first: {{members: [n1, n3]}}
{more}
servers:
  - {{names: "n[1-2]", model: h100-8gpu-cx7, stripe: stripe1}}
  - {{names: "n[3-4]", model: h100-8gpu-cx7, stripe: stripe2}}
"""


def test_a_new_tenant_touches_only_its_leaves(tmp_path: Path) -> None:
    before, lock = designed(tmp_path, FABRIC.format(more=""))
    after, _ = designed(tmp_path, FABRIC.format(more='      second: {members: ["n[2,4]:gpu[0-1]_eth"]}'), lock)
    changed = {
        switch.name
        for switch in after.switches
        if junos.files(device_config(before, switch.name)) != junos.files(device_config(after, switch.name))
    }
    assert changed == {"stripe1-leaf1", "stripe1-leaf2", "stripe2-leaf1", "stripe2-leaf2"}


def test_a_tenant_keeps_its_numbers_when_one_before_it_goes(tmp_path: Path) -> None:
    both, lock = designed(tmp_path, FABRIC.format(more="      second: {members: [n2]}"))
    text = FABRIC.format(more="      second: {members: [n2]}").replace("      first: {members: [n1, n3]}\n", "")
    alone, _ = designed(tmp_path, text, lock)
    assert alone.fabrics[0].tenants == both.fabrics[0].tenants[1:]
    assert alone.server("n2") == both.server("n2")


def test_a_nic_without_a_tenant_has_a_shut_port_and_no_address(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, FABRIC.format(more=""))
    nic = network.server("n2").nics[0]
    assert nic.addresses == ()
    config = device_config(network, nic.leaf)
    port = next(one for one in config.interfaces if one.peer == "n2")
    lines = junos.files(config)["junos.set"].splitlines()
    assert f"set interfaces {port.name} disable" in lines
    assert host_config(network, "n2").rules == ()


def test_gpus_of_one_server_in_three_tenants() -> None:
    """EVPN test report, "GPU Isolation": individual GPUs within a server are assigned to different tenants."""
    network = example("evpn-gpu-isolation")
    server = network.server("H100-01")
    assert [nic.tenant for nic in server.nics] == ["tenant-1"] * 2 + ["tenant-2"] * 2 + ["tenant-3"] * 4
    jobs = dict(host_config(network, "H100-01").tenant_jobs)
    visible = {tenant: job[0].value for tenant, job in jobs.items()}
    assert visible == {"tenant-1": "0,1", "tenant-2": "2,3", "tenant-3": "4,5,6,7"}


def test_the_lab_of_the_report_has_its_links() -> None:
    """Facts on the report's lab: 4 leaves, 8 x 400G down each, 2 x 400G to each of 4 spines."""
    network = example("evpn-gpu-isolation")
    leaves = [switch for switch in network.switches if switch.role == "leaf"]
    assert len(leaves) == 4
    for leaf in leaves:
        cables = network.cables_of(leaf.name)
        assert [c.speed_gbps for c in cables if c.kind == "server"] == [400] * 8
        spines = [c.b.device for c in cables if c.kind == "fabric" and c.speed_gbps == 400]
        assert {spine: spines.count(spine) for spine in spines} == dict.fromkeys(
            ("spine1", "spine2", "spine3", "spine4"), 2
        )


def test_the_mixed_bed_of_the_report() -> None:
    """EVPN test report, Tables 1 and 2: roles and models, release, and 2 x 400G from each leaf to each spine."""
    network = example("evpn-functional")
    assert {switch.name: switch.model for switch in network.switches} == {
        "leaf1": "qfx5240-64od",
        "leaf2": "qfx5230-64cd",
        "leaf3": "qfx5130-32cd",
        "leaf4": "qfx5130-32cd",
        "leaf5": "qfx5130-32cd",  # Table 2 has "QFX5130-32QD" here, Table 1 three QFX5130-32CD
        "spine1": "qfx5240-64qd",
        "spine2": "qfx5240-64qd",
        "spine3": "qfx5230-64cd",
        "spine4": "qfx5230-64cd",
    }
    assert {switch.release for switch in network.switches} == {"23.4X100-D31"}
    links = [(c.a.device, c.b.device) for c in network.cables if c.kind == "fabric" and c.speed_gbps == 400]
    assert {pair: links.count(pair) for pair in links} == {
        (f"leaf{leaf}", f"spine{spine}"): 2 for leaf in range(1, 6) for spine in range(1, 5)
    }
    names = {server.name for server in network.servers}
    assert names == {f"{kind}-0{number}" for kind in ("H100", "MI300") for number in range(1, 5)}


def test_the_mixed_bed_has_ipv4_tunnels_over_unnumbered_ipv6_links() -> None:
    """EVPN test report, test plan goals: IPv6 underlay by auto-discovery, IPv4 overlay with IPv6 next hops (RFC 5549)."""
    lines = junos.files(device_config(example("evpn-functional"), "leaf3"))["junos.set"].splitlines()
    assert "set protocols bgp group spine-underlay family inet unicast extended-nexthop" in lines
    assert any("dynamic-neighbor" in line and "peer-auto-discovery family inet6 ipv6-nd" in line for line in lines)
    assert "set routing-instances tenant-2 protocols evpn ip-prefix-routes advertise direct-nexthop" in lines


def test_servers_are_told_the_route_to_the_others() -> None:
    """EVPN test report, Table 9: "rio-prefix" on gateways of tenants (RFC 4191)."""
    for name in ("evpn-gpu-isolation", "evpn-functional"):
        network = example(name)
        leaf = next(switch for switch in network.switches if switch.role == "leaf")
        lines = junos.files(device_config(network, leaf.name))["junos.set"].splitlines()
        found = [line for line in lines if "rio-prefix fc00::/16" in line]
        assert len({line.split()[4] for line in found}) == len(network.segments_of(leaf.name))


def test_static_ipv6_servers_of_tenants(tmp_path: Path) -> None:
    """EVPN test report, "static IPv6 addresses": numbered by server, without router advertisements."""
    text = FABRIC.format(more="").replace("overlay:", "addressing: {server_mode: static}\n    overlay:")
    network, _ = designed(tmp_path, text)
    for server, slot in (("n1", 1), ("n3", 1)):
        for nic in network.server(server).nics:
            [address] = nic.addresses
            assert (address.origin, address.prefix_length) == ("static", 64)
            subnet = network.segment_of(server, nic).subnets[0]
            assert ipaddress.ip_address(address.address) in ipaddress.ip_network(subnet.prefix)
            assert int(ipaddress.ip_address(address.address)) & 0xFFFF == 1 + slot
    config = device_config(network, "stripe1-leaf1")
    assert all(gateway.advertisements is None for gateway in config.gateways)
    assert not any("rio-prefix" in line for line in junos.files(config)["junos.set"].splitlines())
    assert host_config(network, "n1").nics[0].slaac is False
