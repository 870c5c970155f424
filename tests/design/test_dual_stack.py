"""What is refused of two address families, with the line of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import InputError
from tests.conftest import designed
from tests.dual_stack import FABRICS, dual

TENANTS = FABRICS["tenants"]


def refused(folder: Path, old: str, new: str) -> str:
    assert old in TENANTS
    with pytest.raises(InputError) as caught:
        designed(folder, TENANTS.replace(old, new))
    return str(caught.value)


def test_two_pools_of_one_family(tmp_path: Path) -> None:
    said = refused(tmp_path, "{server_pool: 10.0.0.0/10}", "{server_pool: 'fd01::/16'}")
    assert "have the same address family" in said


def test_pools_of_a_tenant_of_one_family(tmp_path: Path) -> None:
    assert "must have different address families" in refused(
        tmp_path, '"fd77::/32", 10.64.0.0/12', "10.80.0.0/12, 10.64.0.0/12"
    )


def test_pools_that_overlap(tmp_path: Path) -> None:
    assert "of tenant 'tenant-3' overlaps the fabric's server pool 10.0.0.0/10" in refused(
        tmp_path, "10.64.0.0/12", "10.0.0.0/10"
    )


def test_a_pool_too_small_names_its_own_line(tmp_path: Path) -> None:
    said = refused(tmp_path, "{server_pool: 10.0.0.0/10}", "{server_pool: 10.0.0.0/20}")
    assert "pool too small: 10.0.0.0/20" in said


def test_jobs_of_a_family_that_no_nic_has(tmp_path: Path) -> None:
    text = TENANTS.replace(", dual_stack: {server_pool: 10.0.0.0/10}", "").replace(
        ', server_pools: ["fd77::/32", 10.64.0.0/12]', ""
    )
    with pytest.raises(InputError, match="no NIC of backend has an ipv4 address"):
        designed(tmp_path, text + "    hosts: {job: {address_family: ipv4}}\n")


def test_an_override_fixes_the_address_of_its_own_family(tmp_path: Path) -> None:
    network, _ = designed(
        tmp_path, TENANTS + '    overrides: {nics: {"h1:gpu0_eth": {addresses: {default: 10.2.17.77}}}}\n'
    )
    nic = network.server("h1").nics[0]
    usual = dual("tenants").server("h1").nics[0]
    assert [one.address for one in nic.addresses] == [usual.addresses[0].address, "10.2.17.77"]
    assert [one.origin for one in nic.addresses] == ["slaac", "override"]


def test_without_dual_stack_nothing_is_different(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, TENANTS.replace(", dual_stack: {server_pool: 10.0.0.0/10}", ""))
    both, one = dual("tenants").server("h1").nics[0], network.server("h1").nics[0]
    assert one.addresses == both.addresses_of("ipv6")


def test_a_formula_may_take_something_away(tmp_path: Path) -> None:
    network = dual("plain")
    nets = [one.subnets[-1].prefix for one in network.segments]
    assert nets[:2] == ["fd01::/64", "fd01:0:0:1::/64"]
    assert len(set(nets)) == len(nets)
    text = FABRICS["plain"].replace("{stripe*8+rail-9}", "{stripe*8+rail-10}")
    with pytest.raises(InputError, match=r"\{stripe\*8\+rail-10\} is -1, below 0"):
        designed(tmp_path, text)


def test_two_tenants_with_one_route_target(tmp_path: Path) -> None:
    said = refused(tmp_path, 'server_pools: ["fd77::/32", 10.64.0.0/12]', 'route_target: "64999:7"')
    assert "duplicate route target 64999:7: tenant-2 and tenant-3" in said
    said = refused(tmp_path, 'server_pools: ["fd77::/32", 10.64.0.0/12]', 'route_target: "70000:7"')
    assert "is not a route target" in said
