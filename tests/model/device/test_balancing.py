"""Selective DLB and global load balancing: who gets which statements, and where they are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from railweave.errors import DesignError
from railweave.model.device.build import device_config
from railweave.prediction.simulation.model.fabric import balancing_notes
from railweave.systems.junos import render as junos
from tests.conftest import designed

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.model.network.model import Network

FABRIC = """
name: balanced
fabrics:
  backend:
    topology: {{stripes: {stripes}, spines: {spines}, leaves_per_stripe: 1, servers_per_stripe: 1, oversubscription: 16{more}}}
    leaf: {{device: {device}, release: 23.4X100-D31}}
    load_balancing: {{{balancing}}}
    {rest}
servers: [{{names: "gpu-[1-{stripes}]", model: h100-8gpu-cx7}}]
"""
IPV4 = """addressing: {server_mode: static, server_link: routed, server_pool: 10.200.0.0/16, prefix_length: 31, gateway_host: 0}
    pools: {fabric_links: 10.252.0.0/14}
    underlay: {peering: numbered}"""
SELECTIVE = "mode: dlb-per-packet, selective: {opcodes: [write-only, 7]}"
GLOBAL = "mode: dlb-flowlet, global_balancing: true"
TENANT = "tenants: {red: {members: [gpu-1, gpu-2]}}"


def network(
    folder: Path,
    balancing: str,
    *,
    device: str = "qfx5240-64od",
    stripes: int = 2,
    spines: int = 2,
    more: str = "",
    rest: str = "",
) -> Network:
    text = FABRIC.format(balancing=balancing, device=device, stripes=stripes, spines=spines, more=more, rest=rest)
    return designed(folder, text)[0]


def statements(found: Network, name: str) -> set[str]:
    return set(junos.files(device_config(found, name))["junos.set"].splitlines())


def test_a_filter_on_routed_server_ports_picks_the_opcodes(tmp_path: Path) -> None:
    """Juniper, Selective Dynamic Load Balancing: exhibits 2, 3, 4 and 6; opcode 10 is RDMA WRITE only."""
    found = network(tmp_path, SELECTIVE, rest=IPV4)
    own = statements(found, "stripe1-leaf1")
    term = "set firewall family inet filter dlb-by-opcode term rdma"
    ports = [one.name for one in device_config(found, "stripe1-leaf1").interfaces if one.kind == "server"]
    assert len(ports) == 8
    assert own >= {
        "set forwarding-options enhanced-hash-key ecmp-dlb per-packet",
        "set forwarding-options enhanced-hash-key ecmp-dlb ether-type none",
        "set system packet-forwarding-options firewall profiles inet udf-profile1",
        f"{term} from rdma-opcode 10",
        f"{term} from rdma-opcode 7",
        f"{term} then dynamic-load-balance enable",
        f"{term} then accept",
        "set firewall family inet filter dlb-by-opcode term rest then accept",
        *(f"set interfaces {port} unit 0 family inet filter input dlb-by-opcode" for port in ports),
    }
    assert "set forwarding-options enhanced-hash-key ecmp-dlb ether-type ipv4" not in own


def test_bridged_ports_have_it_in_their_own_family(tmp_path: Path) -> None:
    own = statements(network(tmp_path, SELECTIVE), "stripe1-leaf1")
    head = "set firewall family ethernet-switching filter dlb-by-opcode term rdma-ipv6 from ip-version ipv6 rdma-opcode"
    profile = "set system packet-forwarding-options firewall profiles ethernet-switching udf-profile1"
    assert own >= {f"{head} 10", f"{head} 7", profile}
    assert any(line.endswith("family ethernet-switching filter input dlb-by-opcode") for line in own)


@pytest.mark.parametrize(("rest", "bound"), [("", True), (TENANT, False)])
def test_spines_have_the_filter_unless_packets_are_in_tunnels(rest: str, bound: bool, tmp_path: Path) -> None:
    own = statements(network(tmp_path, SELECTIVE, rest=rest), "spine1")
    assert any("filter input dlb-by-opcode" in line for line in own) is bound
    assert any(line.startswith("set firewall") for line in own) is bound
    assert "set forwarding-options enhanced-hash-key ecmp-dlb ether-type none" in own


def test_a_model_without_it_balances_every_packet_and_is_named(tmp_path: Path) -> None:
    found = network(tmp_path, SELECTIVE, device="qfx5130-32cd")
    assert [one.where for one in found.findings if one.id == "selective-dlb-absent"] == [
        "backend qfx5130-32cd on junos 23.4X100-D31"
    ]
    own = statements(found, "stripe1-leaf1")
    assert "set forwarding-options enhanced-hash-key ecmp-dlb ether-type ipv6" in own
    assert not any("dlb-by-opcode" in line for line in own)


def test_global_balancing_gives_each_tier_its_part(tmp_path: Path) -> None:
    """Juniper, Global Load Balancing: spines are helpers, leaves balance."""
    found = network(tmp_path, GLOBAL)
    assert "set protocols bgp global-load-balancing load-balancer-only" in statements(found, "stripe2-leaf1")
    assert "set protocols bgp global-load-balancing helper-only" in statements(found, "spine2")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"device": "qfx5230-64cd"}, "qfx5230-64cd on junos 23.4X100-D31 does not support it"),
        ({"more": ", links_per_spine: 2"}, "one link between a leaf and a spine, but there are 2"),
        ({"rest": TENANT}, "routes of tenants and overlays"),
        ({"stripes": 65}, "it supports 64 leaves, but there are 65"),
        ({"more": ", stripes_per_pod: 1, super_spines: 2"}, "leaf-spine-leaf fabrics only"),
    ],
)
def test_global_balancing_is_refused_where_it_is_not_documented(
    change: dict[str, object], why: str, tmp_path: Path
) -> None:
    with pytest.raises(DesignError, match=why):
        network(tmp_path, GLOBAL, **change)  # type: ignore[arg-type]


def test_the_simulator_says_what_it_makes_of_both(tmp_path: Path) -> None:
    leaf = device_config(network(tmp_path, SELECTIVE), "stripe1-leaf1")
    assert any("opcodes are ignored" in note for note in balancing_notes(leaf.balancing))
    (tmp_path / "b").mkdir()
    leaf = device_config(network(tmp_path / "b", GLOBAL), "stripe1-leaf1")
    assert any("own links only" in note for note in balancing_notes(leaf.balancing))


def test_rebalancing_on_a_model_without_a_source_is_noted(tmp_path: Path) -> None:
    found = network(tmp_path, "profile: thor2-qfx5240", device="qfx5230-64cd")
    assert "path-rebalancing-undocumented" in {one.id for one in found.findings}
