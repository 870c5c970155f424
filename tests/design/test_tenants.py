"""Tenants in the design: who is touched by a change, what numbers they get."""

from __future__ import annotations

from pathlib import Path

from railweave.device.build import device_config
from railweave.device.host import host_config
from railweave.render import junos
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
