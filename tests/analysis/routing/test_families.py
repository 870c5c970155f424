"""NICs of a tenant with one address family and with both: jobs and queue pairs use one that all have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.headers import walk
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import InputError
from railweave.model.device.host import host_config
from railweave.prediction.simulation.model.addresses import addresses
from railweave.prediction.simulation.model.wiring import wire
from tests.conftest import designed
from tests.two_stripes import text

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

DUAL = 'addressing: {server_pool: "fd20::/32", dual_stack: {server_pool: 10.0.0.0/10}}'
TENANT = """
tenants:
  a:
    members: ["H100-[01-02]"]
    networks: {n: {members: ["H100-[03-04]"], prefix: PREFIX}}
"""
PAIR = ("H100-01:gpu0_eth", "H100-03:gpu0_eth")


def network_of(folder: Path, *lines: str, more: str = "") -> Network:
    return designed(folder, text(*lines) + more)[0]


def variables(network: Network, server: str) -> dict[str, str]:
    config = host_config(network, server)
    return {one.name: one.value for one in config.job}


def warned(network: Network) -> list[str]:
    return [one.what for one in run_checks(Subject.of(network), slow=False) if one.id == "tenant-families"]


def test_one_that_all_have(tmp_path: Path) -> None:
    network = network_of(tmp_path, DUAL, TENANT.replace("PREFIX", "10.200.0.0/24"))
    routes = api.routes(network)
    for src, dst in (PAIR, PAIR[::-1]):
        (found,) = api.paths(network, src, dst, 1)
        assert ":" not in found.src_gid + found.dst_gid
        assert found.hops
        assert all(":" not in one.src + one.dst for one in walk(network, routes, found, src, dst).data)
    assert {variables(network, server)["NCCL_IB_ADDR_FAMILY"] for server in ("H100-01", "H100-03")} == {"AF_INET"}
    used = addresses(network, wire(network), routes.index)
    assert all(":" not in one for one in used.text)
    assert warned(network) == []


def test_none_that_all_have(tmp_path: Path) -> None:
    single = 'addressing: {server_pool: "fd20::/32"}'
    network = network_of(tmp_path, single, TENANT.replace("PREFIX", "10.200.0.0/24"))
    assert warned(network) == ["tenant a has NICs of IPv4 alone and NICs of IPv6 alone"]
    with pytest.raises(InputError, match=r"H100-01:gpu0_eth has IPv6 addresses, H100-03:gpu0_eth IPv4"):
        api.paths(network, *PAIR, 1)


def test_the_one_that_the_file_asks_for(tmp_path: Path) -> None:
    asked = "\nhosts: {job: {address_family: ipv6}}\n"
    network = network_of(tmp_path, DUAL, TENANT.replace("PREFIX", "10.200.0.0/24"), more=asked)
    assert warned(network) == ["not every NIC of tenant a has an IPv6 address: its jobs use IPv4"]
    assert variables(network, "H100-01")["NCCL_IB_ADDR_FAMILY"] == "AF_INET"


def test_a_family_that_a_nic_has_not(tmp_path: Path) -> None:
    network = network_of(tmp_path, DUAL, TENANT.replace("PREFIX", "10.200.0.0/24"))
    tables = api.routes(network)
    with pytest.raises(InputError, match="make it a routed member of its tenant"):
        queue_pair_paths(network, tables, *PAIR, 1, "ipv6")
    own = 'tenants: {a: {members: ["H100-[01-04]"], server_pools: [10.64.0.0/12]}}'
    other = network_of(tmp_path, DUAL, own)
    routes = api.routes(other)
    with pytest.raises(InputError, match="give its tenant a pool of it in `server_pools:`"):
        queue_pair_paths(other, routes, *PAIR, 1, "ipv6")
