"""What servers get that have both address families: addresses, tables, rules, and the environment of their jobs."""

from __future__ import annotations

from dataclasses import replace

from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from railweave.outputs.rendering.host.netplan import netplan_yaml
from railweave.prediction.simulation.model.fabric import FRAMES, transport
from tests.dual_stack import dual


def _with_jobs_of(network: Network, family: str) -> Network:
    job = network.hosts.job.model_copy(update={"address_family": family})
    return replace(network, hosts=network.hosts.model_copy(update={"job": job}))


def test_a_nic_has_a_table_and_a_rule_for_each_family() -> None:
    host = host_config(dual("tenants"), "h1")
    nic = host.nics[0]
    four = nic.addresses[1]
    assert [(one.origin, one.table_name) for one in nic.addresses] == [
        ("slaac", "gpu0_subnet1"),
        ("static", "gpu0_subnet2"),
    ]
    assert (four.address, four.gateway, four.prefix) == ("10.2.17.2", "10.2.17.1", "10.2.17.0/24")
    of_four = [one for one in host.routes if one.table == four.table]
    assert [(one.to, one.via) for one in of_four] == [("default", "10.2.17.1")]
    assert [one.from_ for one in host.rules if one.table == four.table] == ["10.2.17.2"]
    text = netplan_yaml(host)
    assert "addresses: [10.2.17.2/24]" in text
    assert "via: 10.2.17.1, on-link" not in text  # the address itself says that the gateway is on the link


def test_a_tenant_with_pools_of_its_own_has_both_families_from_them() -> None:
    nic = next(one for one in host_config(dual("tenants"), "h1").nics if one.tenant == "tenant-3")
    assert [one.prefix for one in nic.addresses] == ["fd77:0:1:501::/64", "10.65.81.0/24"]


def test_on_routed_links_each_family_takes_what_is_bound_to_no_address() -> None:
    host = host_config(dual("tenants of one leaf each, on routed links"), "h1")
    last = {str(one.to) for one in host.rules if one.dev == host.nics[0].netdev and one.to is not None}
    assert {one.rpartition("/")[2] for one in last} == {"10", "16"}  # the lengths of the two pools


def test_a_job_uses_one_family() -> None:
    found = {}
    for family in ("ipv4", "ipv6"):
        host = host_config(_with_jobs_of(dual("tenants"), family), "h1")
        job = dict(host.tenant_jobs)["tenant-3"]
        found[family] = {one.name: one.value for one in job if one.name.startswith(("NCCL_IB_ADDR", "NCCL_SOCKET_F"))}
    assert found["ipv4"] == {
        "NCCL_IB_ADDR_FAMILY": "AF_INET",
        "NCCL_IB_ADDR_RANGE": "10.64.0.0/12",
        "NCCL_SOCKET_FAMILY": "AF_INET",
    }
    assert found["ipv6"]["NCCL_IB_ADDR_FAMILY"] == "AF_INET6"
    assert found["ipv6"]["NCCL_IB_ADDR_RANGE"] == "fd77::/32"


def test_the_simulated_header_is_of_the_family_that_jobs_use() -> None:
    host = host_config(dual("tenants"), "h1")
    nic = host.nics[0]
    qos = host.qos_of(nic.fabric)
    sizes = [
        transport(nic, qos, reordering=False, family=one).parameters["host.header"] for one in ("ipv4", "ipv6", None)
    ]
    assert sizes == [str(FRAMES["ipv4"]), str(FRAMES["ipv6"]), str(FRAMES["ipv6"])]
