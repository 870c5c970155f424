"""Planes of NIC ports: who is joined to whom, what servers are told, and where queue pairs go."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from railweave.analysis.checks.checks import run_checks
from railweave.analysis.checks.planes import no_common_plane
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.analysis.routing.headers import walk
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import DesignError, InputError
from railweave.model.catalog import catalog
from railweave.model.catalog.server_shapes import with_shape
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.model.network.model import Network
from railweave.outputs.rendering.host.host_json import host_json
from railweave.outputs.rendering.tables import tables_of
from railweave.outputs.report.bom import bill
from tests.conftest import designed, example
from tests.planes import RLB, fabric_text, network_of_planes


@pytest.mark.parametrize("planes", [2, 4, 8])
def test_each_port_of_a_nic_is_in_a_plane_and_no_link_joins_two(planes: int, tmp_path: Path) -> None:
    network = network_of_planes(tmp_path, planes)
    for server in network.servers:
        for gpu in range(2):
            own = [nic for nic in server.nics if nic.name.startswith(f"gpu{gpu}_")]
            assert [network.plane_of(nic) for nic in own] == [f"plane{number + 1}" for number in range(planes)]
    switches = [cable for cable in network.cables if cable.kind == "fabric"]
    assert len(switches) == planes * 2 * 2 * 2  # planes x stripes x spines x links
    assert all(network.switch(one.a.device).plane == network.switch(one.b.device).plane for one in switches)
    # every plane has all rails: each leaf has a port of every GPU of its stripe's servers
    assert {switch.rails for switch in network.switches if switch.role == "leaf"} == {
        (2 * plane + 1, 2 * plane + 2) for plane in range(planes)
    }


def _kept(network: Network) -> Mapping[str, object]:
    """What people have cabled and configured by: links, and each leaf's AS number, router id and VLANs."""
    return {cable.name: (cable.a.address, cable.b.address) for cable in network.cables} | {
        switch.name: (
            switch.asn,
            switch.router_id,
            switch.management_address,
            [segment.vlan for segment in network.segments_of(switch.name)],
        )
        for switch in network.switches
    }


PODS = ("planes:", "stripes_per_pod: 1, super_spines: 2, planes:")
"""The change of a fabric of planes that puts each stripe into a pod, under super-spines."""


@pytest.mark.parametrize("planes", [2, 4])
def test_planes_under_super_spines_have_pods_of_their_own(planes: int, tmp_path: Path) -> None:
    network, _ = designed(tmp_path, fabric_text(planes).replace(*PODS))
    named = {switch.name: switch for switch in network.switches}
    supers = [switch for switch in network.switches if switch.role == "super-spine"]
    assert len(supers) == planes * 2 * 2  # planes x spines of a pod x super-spines of each
    for cable in (cable for cable in network.cables if cable.kind == "fabric"):
        near, far = named[cable.a.device], named[cable.b.device]
        assert near.plane == far.plane
        assert near.pod == far.pod or far.role == "super-spine"
    for switch in supers:
        below = [named[cable.a.device] for cable in network.cables_of(switch.name)]
        assert {spine.pod for spine in below} == {"pod1", "pod2"}
        assert len({spine.name.rpartition("-")[2] for spine in below}) == 1  # the same spine of each pod
    routes = ControlPlane(device_config(network, name) for name in named).routes()
    for number in range(planes):
        same = queue_pair_paths(network, routes, f"gpu-1:gpu0_p{number}", f"gpu-3:gpu1_p{number}", 1)
        assert [len(path.hops) for path in same] == [6]  # leaf, spine, super-spine and back, with both NICs
        other = queue_pair_paths(network, routes, f"gpu-1:gpu0_p{number}", f"gpu-3:gpu0_p{(number + 1) % planes}", 1)
        assert [path.hops for path in other] == [()]


@pytest.mark.parametrize(
    ("model", "nos"),
    [
        ("qfx5240-64od", "junos"),
        ("arista-7060x6-64pe", "eos"),
        ("z9864f-on", "sonic"),
        ("z9864f-on", "dell_sonic"),
        ("qfx5240-64od", "frr"),
    ],
)
def test_planes_under_super_spines_are_right_on_every_system(model: str, nos: str, tmp_path: Path) -> None:
    text = fabric_text(2, more="load_balancing: {mode: ecmp}").replace(*PODS)
    network, _ = designed(tmp_path, text.replace("{device: qfx5240-64od}", f"{{device: {model}, nos: {nos}}}"))
    configs = {switch.name: device_config(network, switch.name) for switch in network.switches}
    assert [one for one in run_checks(Subject(network, configs)) if one.severity == "error"] == []


@pytest.mark.parametrize("pods", [("", ""), PODS])
@pytest.mark.parametrize("more", [RLB, "underlay: {peering: numbered}"])
@pytest.mark.parametrize("steps", [(2, 3), (2, 4, 8), (4, 2, 4)])
def test_what_earlier_planes_have_stays_when_a_plane_is_added(
    steps: tuple[int, ...], more: str, pods: tuple[str, str], tmp_path: Path
) -> None:
    network, lock = designed(tmp_path, fabric_text(steps[0], more=more).replace(*pods))
    kept = _kept(network)
    for planes in steps[1:]:
        network, lock = designed(tmp_path, fabric_text(planes, more=more).replace(*pods), lock)
        now = _kept(network)
        assert {name: now[name] for name in kept.keys() & now.keys()} == {
            name: kept[name] for name in kept.keys() & now.keys()
        }
        assert len({switch.asn for switch in network.switches}) == len(network.switches)
        vlans = [(segment.stripe, segment.vlan) for segment in network.segments]
        assert len(set(vlans)) == len({vlan for _, vlan in vlans}) == len(vlans)
        kept = {**kept, **now}


MULTIPLANE = """
name: multiplane
hardware:
  switches:
    th5-512x100:
      extends: z9864f-on
      limits: {{ports: 512, ecmp_members: 512, source: "arXiv 2605.04333: 51.2 Tb/s as 512 x 100G"}}
fabrics:
  backend:
    topology: {{stripes: 1, {topology}}}
    leaf: {{device: th5-512x100, nos: sonic}}
    load_balancing: {{mode: ecmp}}
    qos: {{buffers: {{lossless: 70, headroom: 20}}}}
servers: [{{names: "gpu-[1-2]", model: {server}}}]
"""


@pytest.mark.parametrize(
    ("topology", "server", "uplinks", "link_percent", "port_percent"),
    [
        ("planes: 8, leaves_per_stripe: 1, spines: 4, links_per_spine: 64, link_speed: 100G", "gb300-nvl72-8x100", 256, 0.4, 87.5),
        ("planes: 4, leaves_per_stripe: 1, spines: 2, links_per_spine: 64, link_speed: 200G", "gb300-nvl72-4x200", 128, 0.8, 75.0),
        ("leaves_per_stripe: 1, spines: 2, links_per_spine: 16, link_speed: 800G", "vr-nvl72", 32, 3.1, 0.0),
    ],
)  # fmt: skip
def test_what_failures_cost_is_what_the_mrc_paper_counts(
    topology: str, server: str, uplinks: int, link_percent: float, port_percent: float, tmp_path: Path
) -> None:
    """arXiv 2605.04333: a lost leaf-spine link costs 0.4 % with 8 planes and 3 % with links of 800G; a lost port of a NIC leaves 87.5 % of 8 and 75 % of 4."""
    network, _ = designed(tmp_path, MULTIPLANE.format(topology=topology, server=server))
    for leaf in (switch.name for switch in network.switches if switch.role == "leaf"):
        up = [cable.speed_gbps for cable in network.cables_of(leaf) if cable.kind == "fabric"]
        assert len(up) == uplinks
        assert round(100 * up[0] / sum(up), 1) == link_percent
    nics = [nic for nic in network.servers[0].nics if network.fabric(nic.fabric).nic_number(nic.rail) == 1]
    speeds = [nic.speed_gbps for nic in nics]
    assert sum(speeds) == 800
    assert 100 * sum(speeds[1:]) / sum(speeds) == port_percent
    planes = {network.plane_of(nic) for nic in nics}
    assert len(planes) == len(nics)


@pytest.mark.parametrize(
    ("topology", "server", "ports", "panels", "straight"),
    [
        ("planes: 8, leaves_per_stripe: 1, spines: 4, links_per_spine: 64, link_speed: 100G", "gb300-nvl72-8x100", 8, 8, 256),
        ("planes: 4, leaves_per_stripe: 1, spines: 2, links_per_spine: 64, link_speed: 200G", "gb300-nvl72-4x200", 4, 16, 128),
    ],
)  # fmt: skip
def test_lanes_of_a_shared_module_cross_shuffle_panels(
    topology: str, server: str, ports: int, panels: int, straight: int, tmp_path: Path
) -> None:
    """64 NICs of 800G: each panel joins as many NICs as a leaf port has links with the leaf ports of all planes, a lane to each."""
    text = MULTIPLANE.format(topology=topology, server=server).replace("gpu-[1-2]", "gpu-[1-16]")
    network, _ = designed(tmp_path, text)
    rows = list(csv.DictReader(io.StringIO(tables_of(network)["panels.csv"](network))))
    by_panel: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        by_panel.setdefault(row["panel"], []).append(row)
    assert len(by_panel) == panels
    for crossing in by_panel.values():
        assert {row["size"] for row in crossing} == {f"{ports} x {ports}"}
        crossed = {(row["a_connector"], row["b_connector"]) for row in crossing}
        assert len(crossed) == len(crossing) == ports * ports  # each connector has one link to each of the other side
        for side in "ab":
            lanes = {(row[f"{side}_connector"], row[f"{side}_lanes"]) for row in crossing}
            assert len(lanes) == ports * ports
        assert len({row["b_device"] for row in crossing}) == ports  # a leaf of each plane
    counts = {(item.kind, item.name): item.count for item in bill(network)}
    pluggables = {name: count for (kind, name), count in counts.items() if kind == "pluggable"}
    assert min(pluggables.values()) == 64  # one module in each NIC
    assert counts["shuffle panel", f"{ports} x {ports}"] == panels
    trunks = {name: count for (kind, name), count in counts.items() if kind == "fibre cable"}
    assert sorted(trunks.values()) == sorted([2 * 64, straight])
    labels = {(cable.a.lanes, cable.speed_gbps) for cable in network.cables if cable.kind == "server"}
    width = 8 // ports
    assert {lanes for lanes, _ in labels} == {
        str(number + 1) if width == 1 else f"{number * width + 1}-{(number + 1) * width}" for number in range(ports)
    }


STORAGE = """
name: t
fabrics:
  storage:
    nics: storage
    topology: {{stripes: 1, leaves_per_stripe: 2, spines: 0}}
    leaf: {{device: arista-7060x6-64pe, nos: eos}}
    load_balancing: {{mode: ecmp}}
servers: [{{names: "files-[1-8]", model: ours}}]
hardware:
  servers:
    ours:
      extends: weka-storage
      source: this test
      nics: {{storage: {{nic: {nic}, ports: {ports}, names: [stor0_eth, stor1_eth], rdma: [mlx5_0, mlx5_1], source: this test}}}}
"""


@pytest.mark.parametrize(("nic", "ports", "cards"), [("connectx-7-200", 1, 16), ("bluefield-3-2x200", 2, 8)])
def test_a_switch_port_of_four_links_to_cages_of_their_own_is_a_breakout(
    nic: str, ports: int, cards: int, tmp_path: Path
) -> None:
    """The NICs have QSFP112 cages, a module in each: no shuffle panel, and lanes that each module counts from 1."""
    network, _ = designed(tmp_path, STORAGE.format(nic=nic, ports=ports))
    assert {(cable.a.optic, cable.a.lanes) for cable in network.cables} == {("qsfp112-200g-dr2", "1-2")}
    assert {cable.b.lanes for cable in network.cables} == {"1-2", "3-4", "5-6", "7-8"}
    assert "panels.csv" not in tables_of(network)
    counts = {(item.kind, item.name): item.count for item in bill(network)}
    assert counts["NIC", nic] == cards
    assert counts["pluggable", "qsfp112-200g-dr2"] == 16
    assert counts["pluggable", "osfp-800g-4x200g-dr2"] == 4
    assert {key: count for key, count in counts.items() if key[0] == "fibre cable"} == {
        ("fibre cable", "single-mode fibre breakout, 1 to 4, 10 m"): 4
    }


def test_no_example_has_shuffle_panels() -> None:
    """A module with a connector for each link needs none."""
    assert [
        name for name in ("gb300-racks", "two-planes", "h100-rlb") if "panels.csv" in tables_of(example(name))
    ] == []


def test_a_leaf_a_rail_in_each_plane_where_the_file_says_nothing(tmp_path: Path) -> None:
    text = fabric_text(links=1).replace("leaves_per_stripe: 1, ", "")
    network, _ = designed(tmp_path, text)
    assert len([one for one in network.switches if one.role == "leaf"]) == 2 * 2 * 2  # stripes x planes x rails
    assert [one.name for one in network.switches if one.stripe == "stripe1"] == [
        f"stripe1-leaf{number}" for number in (1, 2, 3, 4)
    ]
    assert [one.plane for one in network.switches if one.stripe == "stripe1"] == ["plane1"] * 2 + ["plane2"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("more", [RLB, "load_balancing: {mode: dlb-flowlet}", "underlay: {peering: numbered}"])
@pytest.mark.parametrize("nos", [None, "frr"])
def test_every_check_passes(more: str, nos: str | None, tmp_path: Path) -> None:
    found = network_of_planes(tmp_path, more=more)
    configs = {switch.name: device_config(found, switch.name, nos) for switch in found.switches}
    assert [one for one in run_checks(Subject(found, configs)) if one.severity != "info"] == []
    assert "rail-planes" not in {one.id for one in found.findings}


def test_servers_know_which_gpu_a_port_is_beside_and_nccl_merges_them() -> None:
    config = host_config(example("two-planes"), "gpu-01")
    assert {nic.name: nic.gpu for nic in config.nics} == {
        f"gpu{gpu}_p{port}": gpu for gpu in range(8) for port in range(2)
    }
    assert len({one.table_name for nic in config.nics for one in nic.addresses}) == 16 * 4
    job = {one.name: one.value for one in config.job}
    assert job["NCCL_IB_HCA"].startswith("=mlx5_0:1:0:0,mlx5_1:1:0:1,mlx5_2:1:1:0,")
    assert job["UCX_NET_DEVICES"].startswith("mlx5_0:1,mlx5_1:1,")
    assert (job["NCCL_IB_MERGE_NICS"], job["NCCL_NET_MERGE_LEVEL"]) == ("1", "PORT")
    assert job["NCCL_IB_QPS_PER_CONNECTION"] == "4"  # of each port: one a path color
    assert "NCCL_IB_RESILIENCY_PORT_FAILOVER" not in job  # the net plugin does so by itself
    firmware = {one.name: one.value for one in config.nics[0].firmware}
    assert firmware["LINK_TYPE_P1"] == firmware["LINK_TYPE_P2"] == "2"
    addresses = [one["address"] for nic in json.loads(host_json(config))["nics"] for one in nic["addresses"]]
    assert len(addresses) == 16 * 4


def test_nccls_own_transport_is_asked_to_fail_over(tmp_path: Path) -> None:
    plain = host_config(network_of_planes(tmp_path, more="load_balancing: {mode: dlb-flowlet}"), "gpu-1")
    job = {one.name: one.value for one in plain.job}
    assert job["NCCL_IB_RESILIENCY_PORT_FAILOVER"] == job["NCCL_IB_RESILIENCY_PORT_RECOVERY"] == "1"
    one_port = {one.name for one in host_config(example("h100-rlb"), "H100-01").job}
    assert not {name for name in one_port if "MERGE" in name or "RESILIENCY" in name}


@pytest.mark.parametrize(
    ("given", "noted"),
    [
        ("NCCL_IB_MERGE_NICS: 0", True),
        ("NCCL_NET_MERGE_LEVEL: loc", True),
        ("NCCL_IB_MERGE_NICS: 1", False),
        ("NCCL_NET_MERGE_LEVEL: PORT", False),
    ],
)
def test_jobs_that_do_not_merge_ports_are_noted(given: str, noted: bool, tmp_path: Path) -> None:
    text = fabric_text(last=f"hosts: {{job: {{environment: {{{given}}}}}}}")
    network, _ = designed(tmp_path, text)
    found = [one for one in network.findings if one.id == "job-ports-apart"]
    line = next(number for number, row in enumerate(text.splitlines(), 1) if row.startswith("hosts:"))
    assert [(one.severity, one.line) for one in found] == ([("warning", line)] if noted else [])
    one_port = "fabrics: {backend: {topology: {stripes: 1}, leaf: {device: qfx5240-64od}}}"
    single, _ = designed(
        tmp_path,
        f"name: single\n{one_port}\nservers: [{{names: gpu-1, model: h100-8gpu-cx7}}]\nhosts: {{job: {{environment: {{{given}}}}}}}\n",
    )
    assert "job-ports-apart" not in {one.id for one in single.findings}


def test_a_server_with_fewer_nics_keeps_both_ports_of_each() -> None:
    model = catalog().servers["hgx-b300-8gpu-cx8-2x400"]
    name, four = with_shape("x", model, None, 4)
    assert (name, four.nics["gpu"].names) == (
        "x-8x4",
        tuple(f"gpu{gpu}_p{port}" for port in (0, 1) for gpu in range(4)),
    )
    assert [four.nics["gpu"].gpu_of(rail, 8) for rail in range(1, 9)] == [0, 2, 4, 6, 0, 2, 4, 6]
    _, ten = with_shape("x", model, 10, 10)
    assert (len(ten.nics["gpu"].names), ten.nics["gpu"].adapters) == (20, 10)
    assert len(set(ten.nics["gpu"].names)) == len(set(ten.nics["gpu"].rdma)) == 20


@pytest.mark.parametrize(
    ("planes", "ports", "said"),
    [
        (2, 1, "2 planes are given, but the NICs of two-gpus (line 9) have one port"),
        (4, 2, "4 planes are given, but the NICs of two-gpus (line 9) have 2 ports"),
    ],
)
def test_planes_are_as_many_as_ports(planes: int, ports: int, said: str, tmp_path: Path) -> None:
    with pytest.raises(DesignError, match=re.escape(said)):
        network_of_planes(tmp_path, planes, ports=ports)


@pytest.mark.parametrize("leaves", ["leaves_per_stripe: 1", "leaves_per_stripe: 4"])
def test_rails_have_planes_only_where_nics_have_one_port(leaves: str, tmp_path: Path) -> None:
    text = fabric_text().replace("planes: 2, leaves_per_stripe: 1", f"planes: rail, {leaves}")
    said = r"fabric.yaml:5: planes: rail needs NICs with one port, .* \(line 9\) have 2 ports\n +set `planes: 2`"
    with pytest.raises(DesignError, match=said):
        designed(tmp_path, text)


@pytest.mark.parametrize("planes", [2, 4])
def test_a_slice_of_a_server_has_every_port_of_its_nics(planes: int, tmp_path: Path) -> None:
    more = 'tenant_slices: {servers: ["gpu-[1-4]"], gpus: 1}\n    load_balancing: {mode: dlb-flowlet}'
    network = network_of_planes(tmp_path, planes, more=more)
    for server in network.servers:
        own = {nic.name: nic.tenant for nic in server.nics}
        assert own == {f"gpu{gpu}_p{port}": f"tenant-{gpu + 1}" for port in range(planes) for gpu in range(2)}


def test_ports_of_a_nic_are_in_one_tenant(tmp_path: Path) -> None:
    apart = """tenants:
      red: {members: ["gpu-[1-4]:gpu0_p0"]}
      blue: {members: ["gpu-[1-4]:gpu1_p[0-1]", "gpu-[1-4]:gpu0_p1"]}
    load_balancing: {mode: dlb-flowlet}"""
    with pytest.raises(DesignError) as refused:
        network_of_planes(tmp_path, more=apart)
    said = "gpu-1:gpu0_p0 and gpu-1:gpu0_p1 are ports of one NIC, but belong to tenants 'red' and 'blue'"
    assert str(refused.value).count("are ports of one NIC") == 1
    assert f"fabric.yaml:9: {said}" in str(refused.value)
    together = apart.replace("gpu0_p0", "gpu0_p[0-1]").replace(', "gpu-[1-4]:gpu0_p1"', "")
    assert {nic.tenant for nic in network_of_planes(tmp_path, more=together).servers[0].nics} == {"red", "blue"}


def test_leaves_of_a_plane_share_its_rails(tmp_path: Path) -> None:
    with pytest.raises(DesignError, match="2 rails cannot be divided equally among 3 leaves"):
        network_of_planes(tmp_path, leaves=3)


def test_queue_pairs_take_ports_in_turn_and_then_path_colors() -> None:
    network = example("two-planes")
    routes = ControlPlane(device_config(network, switch.name) for switch in network.switches).routes()
    src, dst = "gpu-01:gpu3_p0+gpu3_p1", "gpu-03:mlx5_6+mlx5_7"
    found = queue_pair_paths(network, routes, src, dst, 10)
    assert [one.hops[0][0].link.partition("--")[0] for one in found[:4]] == ["gpu-01:gpu3_p0", "gpu-01:gpu3_p1"] * 2
    assert [one.color for one in found] == [
        color for color in ("green", "blue", "red", "orange", "green") for _ in range(2)
    ]
    for qp, path in enumerate(found):
        spines = {end.partition(":")[0] for hop in path.hops for one in hop for end in one.link.split("--")}
        assert {network.switch(one).plane for one in spines if not one.startswith("gpu-")} == {f"plane{qp % 2 + 1}"}
    wire = walk(network, routes, found[1], src, dst).data
    assert wire[0].link.startswith("gpu-01:gpu3_p1--")
    # a single port goes to its like, whatever ports the other end is named with
    one = queue_pair_paths(network, routes, "gpu-01:gpu3_p1", dst, 2)
    assert {path.hops[-1][0].link.partition("--")[0] for path in one} == {"gpu-03:gpu3_p1"}


@pytest.mark.parametrize(
    ("gone", "down", "expected"),
    [
        # of a NIC that has a port less than the other, NCCL has as many queue pairs as of the other
        ('"gpu-1:gpu0_p1": failed', [], [("p0", 0), ("p0", 0), ("p0", 1), ("p0", 1), ("p0", 2), ("p0", 2)]),
        ('"gpu-3:gpu0_p0": failed', [], [("p1", 0), ("p1", 0), ("p1", 1), ("p1", 1), ("p1", 2), ("p1", 2)]),
        ('"stripe[1-2]-leaf2": failed', [], [("p0", 0), ("p0", 1), ("p0", 2), ("p0", 3), ("p0", 0), ("p0", 1)]),
        ('"plane2-spine[1-2]": failed', [], [("p0", 0), ("p0", 0), ("p0", 1), ("p0", 1), ("p0", 2), ("p0", 2)]),
        ("", ["plane1-spine1", "plane1-spine2"], [("p1", 0), ("p1", 0), ("p1", 1), ("p1", 1), ("p1", 2), ("p1", 2)]),
    ],
)
def test_queue_pairs_of_a_port_without_a_path_go_by_the_other_ports(
    gone: str, down: list[str], expected: list[tuple[str, int]], tmp_path: Path
) -> None:
    network = network_of_planes(tmp_path, last=f"status: {{{gone}}}" if gone else "")
    plane = ControlPlane((device_config(network, switch.name) for switch in network.switches), network.absent)
    src, dst = "gpu-1:gpu0_p0+gpu0_p1", "gpu-3:gpu0_p0+gpu0_p1"
    found = queue_pair_paths(network, plane.routes(down), src, dst, 6)
    assert [one.hops[0][0].link.partition("--")[0][-2:] for one in found] == [port for port, _ in expected]
    fabric = network.fabrics[0]
    colors = [fabric.color_name(one.color) for one in network.server("gpu-1").nics[0].addresses]
    assert [colors.index(one.color) for one in found] == [color for _, color in expected]


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ('"gpu-1:gpu0_p1": failed', []),
        ('"gpu-1:gpu0_p1": failed, "gpu-1:gpu1_p0": failed', []),  # GPUs of one server do not need the fabric
        (
            '"gpu-1:gpu0_p1": failed, "gpu-2:gpu0_p0": failed',
            ["gpu-1:gpu0_p0: it has ports only in plane1, and gpu-2:gpu0_p1 only in plane2: no plane is alive at both"],
        ),
        (
            '"stripe1-leaf1": failed, "stripe2-leaf2": failed',
            [
                "gpu-1:gpu0_p1: it has ports only in plane2, and gpu-3:gpu0_p0 only in plane1: no plane is alive at both; the same holds for 15 more pairs of NICs"
            ],
        ),
    ],
)
def test_two_nics_without_a_plane_alive_at_both_are_an_error(gone: str, said: list[str], tmp_path: Path) -> None:
    subject = Subject.of(network_of_planes(tmp_path, last=f"status: {{{gone}}}"))
    found = list(no_common_plane.run(subject))
    assert [f"{one.where}: {one.what}" for one in found] == said
    assert {one.severity for one in found} <= {"error"}


def test_without_any_living_port_there_is_no_path(tmp_path: Path) -> None:
    network = network_of_planes(tmp_path, last='status: {"gpu-1:gpu0_p1": failed, "gpu-2:gpu0_p0": failed}')
    plane = ControlPlane((device_config(network, switch.name) for switch in network.switches), network.absent)
    found = queue_pair_paths(network, plane.routes(), "gpu-1:gpu0_p0+gpu0_p1", "gpu-2:gpu0_p0+gpu0_p1", 4)
    assert not any(one.hops for one in found)


@pytest.mark.parametrize(
    ("src", "dst", "said"),
    [
        ("gpu-01:gpu0_p0+gpu1_p1", "gpu-03:gpu0_p0", "gpu0_p0 and gpu1_p1 are not ports of one NIC"),
        ("gpu-01:gpu0_p0+gpu0_p0", "gpu-03:gpu0_p0", "names a port twice"),
        ("gpu-01:gpu0_p0+gpu9_p0", "gpu-03:gpu0_p0", "gpu-01 has no NIC 'gpu9_p0'"),
    ],
)
def test_ports_that_are_no_nic_are_refused(src: str, dst: str, said: str) -> None:
    network = example("two-planes")
    routes = ControlPlane(device_config(network, switch.name) for switch in network.switches).routes()
    with pytest.raises(InputError, match=re.escape(said)):
        queue_pair_paths(network, routes, src, dst, 1)


def test_a_plane_is_absent_by_its_name(tmp_path: Path) -> None:
    for pattern in ("plane2", "backend/plane2"):
        network = network_of_planes(tmp_path, last=f"status: {{{pattern}: failed}}")
        of_plane = {one.name for one in network.switches if one.plane == "plane2"}
        assert {one.name for one in network.not_active} == of_plane
        assert {"plane2-spine1", "plane2-spine2"} < of_plane
        assert len(of_plane) == 4


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("plane3", r"there is no switch, server, plane or link 'plane3'\n +did you mean plane[12]\?"),
        ('"gpu-1:mlx5_2"', r"no switch, server, plane or link 'gpu-1:mlx5_2'\n +write .*: gpu-1:gpu1_p0"),
    ],
)
def test_what_status_does_not_know(pattern: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(DesignError, match=said):
        network_of_planes(tmp_path, last=f"status: {{{pattern}: failed}}")


def test_isis_says_that_planes_are_the_reason(tmp_path: Path) -> None:
    isis = (
        "underlay: {protocol: isis, peering: numbered}\n    load_balancing: {mode: ecmp}\n    "
        "pools: {fabric_links: 10.254.0.0/16}"
    )
    with pytest.raises(DesignError, match="not for a fabric with planes"):
        network_of_planes(tmp_path, more=isis)
