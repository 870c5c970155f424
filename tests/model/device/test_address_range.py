"""The prefix by which collective libraries find GIDs holds every address of the job, wherever it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.host import host_config
from railweave.model.device.host_job import address_range
from tests.conftest import designed, example

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

FABRIC = """
name: x
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 2, spines: 2, links_per_spine: 4}
    leaf: {device: qfx5240-64od, server_ports: {first: 16}}
    load_balancing: {mode: ecmp}
    addressing: {server_pool: "fd20::/32"}
    tenants:
      a: {networks: {n: {members: ["H100-[01-02]"], prefix: 10.200.0.0/24}}}
      b: {members: ["H100-[03-04]:gpu[4-7]_eth"]}
servers:
  - {names: "H100-[01-02]", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "H100-[03-04]", model: h100-8gpu-cx7, stripe: stripe2}
"""


def _range(network: Network, server: str) -> str:
    host = host_config(network, server)
    jobs = [variables for _, variables in host.tenant_jobs] or [host.job]
    found = {one.value for variables in jobs for one in variables if one.name == "NCCL_IB_ADDR_RANGE"}
    assert len(found) == 1
    return found.pop()


def test_the_prefix_of_a_layer_2_network_and_the_pool_of_a_tenant(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, FABRIC)
    assert _range(network, "H100-01") == "10.200.0.0/24"
    assert _range(network, "H100-03") == "fd20::/32"


def test_the_longest_prefix_that_holds_addresses_of_no_pool() -> None:
    network = example("frontend-mixed")
    one, other = (host_config(network, name).nics[0].addresses[0] for name in ("WEKA-1", "WEKA-4"))
    assert address_range(["10.20.0.0/16"], [one]) == "10.30.1.6/31"
    assert address_range(["10.20.0.0/16"], [one, other]) == "10.30.0.0/22"
