"""Pools that fabrics of one file share: nothing allotted overlaps, and a new fabric moves none before it."""

from __future__ import annotations

import ipaddress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.design.addresses.segments import BLOCKS
from railweave.errors import DesignError
from railweave.model.device.build import device_config
from railweave.model.intent.lock import Lock
from railweave.model.network.model import Network
from tests.conftest import designed, example


def fabric(name: str, nics: str, number: int, *, numbered: bool, tenants: bool) -> str:
    peering = "numbered" if numbered else "auto-discovered"
    tenant = f"tenants: {{t{number}: {{networks: {{w{number}: {{members: n1, prefix: 10.66.{number}.0/24}}}}}}}}"
    return f"""
  {name}:
    nics: {nics}
    naming: {{leaf: "{name}-{{stripe}}-leaf{{leaf}}", spine: "{name}-{{spine}}"}}
    topology: {{stripes: 2, spines: 2, leaves_per_stripe: 1, oversubscription: 8, servers_per_stripe: 1}}
    leaf: {{device: qfx5130-32cd, release: 23.4R2, server_ports: {{first: 8}}}}
    addressing: {{server_mode: static, server_pool: 10.{number}.0.0/16, prefix_length: 24}}
    pools: {{fabric_links: 10.128.0.0/9}}
    underlay: {{peering: {peering}}}
    load_balancing: {{mode: ecmp}}
    {tenant if tenants else ""}
"""


def several(forms: list[tuple[bool, bool]], lock: Lock | None = None) -> tuple[Network, Lock]:
    """Up to three fabrics of the same servers; a form is whether links are numbered, and whether there are tenants."""
    kinds = zip(("frontend", "storage", "gpu"), forms, strict=False)
    parts = [
        fabric(f"f{number}", nics, number, numbered=numbered, tenants=tenants)
        for number, (nics, (numbered, tenants)) in enumerate(kinds, 1)
    ]
    text = f'name: several\nfabrics:{"".join(parts)}\nservers: [{{names: "n[1-2]", model: dgx-h100-aidc}}]\n'
    with TemporaryDirectory() as folder:
        return designed(Path(folder), text, lock)


def prefixes(network: Network) -> list[str]:
    """Everything that is allotted, each once."""
    found = [network.management.pool]
    found += [one.prefix for fabric in network.fabrics for tenant in fabric.tenants for one in tenant.networks]
    found += [subnet.prefix for one in network.segments if not one.network for subnet in one.subnets]
    found += [str(ipaddress.ip_network(f"{c.a.address}/31", strict=False)) for c in network.cables if c.a.address]
    for switch in network.switches:
        found += dict.fromkeys(one for one in (switch.router_id, switch.loopback) if one)
    return found


def assert_apart(network: Network) -> None:
    nets = sorted(ipaddress.IPv4Network(one) for one in prefixes(network))
    assert not [(one, other) for one, other in pairwise(nets) if one.overlaps(other)]
    for attribute in ("asn", "router_id", "management_address"):
        values = [getattr(switch, attribute) for switch in network.switches]
        assert len(set(values)) == len(values), attribute
    vnis = [tenant.vni for fabric in network.fabrics for tenant in fabric.tenants]
    vnis += [one.vni for fabric in network.fabrics for tenant in fabric.tenants for one in tenant.networks]
    assert len(set(vnis)) == len(vnis)
    for switch in network.switches:
        vlans = [one.vlan for one in device_config(network, switch.name).gateways if one.vlan]
        assert len(set(vlans)) == len(vlans)


@settings(max_examples=12)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=3))
def test_nothing_allotted_overlaps(forms: list[tuple[bool, bool]]) -> None:
    network, _ = several(forms)
    assert_apart(network)


def test_the_example_shares_its_pools_without_overlap() -> None:
    network = example("aidc-three-fabrics")
    assert len(network.fabrics) == 4
    assert_apart(network)


def test_a_new_fabric_moves_none_before_it() -> None:
    forms = [(True, True), (True, False), (True, True)]
    before, lock = several(forms[:2])
    after, _ = several(forms, lock)
    assert after.switches[: len(before.switches)] == before.switches
    assert after.fabrics[:2] == before.fabrics
    assert set(before.cables) <= set(after.cables)


def test_a_shared_pool_is_an_eighth_each() -> None:
    network, _ = several([(True, False), (True, False)])
    first, second = (fabric.leaf_asns for fabric in network.fabrics)
    size = (4200099999 - 4200001001 + 1) // BLOCKS
    assert first == (4200001001, 4200001001 + size - 1)
    assert second == (4200001001 + size, 4200001001 + 2 * size - 1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("server_pool: 10.2.0.0/16", "server_pool: 10.1.0.0/16", "overlapping prefixes: 10.1."),
        ("server_pool: 10.2.0.0/16", "server_pool: 172.20.0.0/16", "overlapping prefixes: 172.20."),
        ("fabric_links: 10.128.0.0/9}\n    underlay: {peering: numbered", "fabric_links: 10.1.0.0/16}\n    underlay: {peering: numbered", "fabric_links of fabrics|overlapping prefixes"),
    ],
)  # fmt: skip
def test_overlaps_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    parts = [fabric(f"f{n}", nics, n, numbered=True, tenants=False) for n, nics in ((1, "frontend"), (2, "storage"))]
    text = f'name: several\nfabrics:{"".join(parts)}\nservers: [{{names: "n[1-2]", model: dgx-h100-aidc}}]\n'
    assert old in text
    with pytest.raises(DesignError, match=message):
        designed(tmp_path, text.replace(old, new))
