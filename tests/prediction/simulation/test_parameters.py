"""QoS, load balancing and NICs of a fabric file as parameters of the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railweave._sim import DLB, DLB_PER_PACKET, ECMP, SPRAY, PacketEngine
from railweave.errors import InputError
from railweave.model.catalog import catalog
from railweave.model.device.build import device_config
from railweave.model.device.host import host_config
from railweave.prediction.simulation.model.buffers import share_of_free
from railweave.prediction.simulation.model.fabric import Override, PacketFabric, override, packet_fabric, transport
from tests.conftest import designed, example
from tests.prediction.simulation.beds import bed, engine, plane_of

FABRIC = """
name: small
fabrics:
  backend:
    topology: {{stripes: 2, spines: 2, leaves_per_stripe: 1, servers_per_stripe: 1, oversubscription: 16}}
    leaf: {{device: qfx5240-64od{leaf}}}
    {more}
servers: [{{names: "n[1-2]", model: h100-8gpu-cx7}}]
"""


def small(folder: Path, more: str = "", leaf: str = "", lb: str | None = None) -> PacketFabric:
    network, _ = designed(folder, FABRIC.format(more=more, leaf=leaf))
    plane = plane_of(network)
    fabric = packet_fabric(network, plane.configs, plane.routes(), lb)
    accepted(fabric)
    return fabric


def accepted(fabric: PacketFabric) -> PacketEngine:
    """An engine that took the parameters and delivers with them."""
    names = fabric.wiring.nics
    one = engine(fabric, fabric.queue_pairs([(names[0], names[-1], 0)]), [(0, 50_000, 0)])
    one.run(10**9)
    assert one.counters()["delivered_packets"] == 13
    return one


def of(fabric: PacketFabric, switch: str) -> dict[str, str]:
    return fabric.profiles[int(fabric.profile[fabric.wiring.node[switch]])]


def test_the_defaults_of_a_fabric_file() -> None:
    """165 MB of a QFX5240 cut 80/10/10, data on priority 3 marked from 55 to 90 % of a port's part, CNPs strict on 6."""
    _, _, fabric = bed("h100-rlb")
    assert len(fabric.profiles) == 1, "leaves and spines are alike"
    own = fabric.profiles[0]
    wanted = {
        "switch.ingress-pool-lossless": "132000000",
        "switch.ingress-pool-lossy": "16500000",
        "switch.egress-pool-lossless": "132000000",
        "switch.ingress-alpha-lossless": "1",
        "switch.watchdog-poll": "100ms",
        "class.3.lossless": "yes",
        "class.3.service": "85",
        "class.3.ecn": f"{round(0.55 * 132e6 / 128)}..{round(0.9 * 132e6 / 128)}@100%",  # of 132 MB over 128 ports of 400G
        "class.3.egress-alpha": "128",  # no threshold of its own: Juniper's page on buffer-dynamic-threshold
        "class.6.service": "strict",
        "class.6.lossless": "no",
        "dlb.period": "16000000ps",
    }
    assert {name: own[name] for name in wanted} == wanted
    # 2 x 50 m x 5.054 ns x 50 B/ns, 905 quanta, 1080 ns of pipeline; a packet of 9216 takes 37 cells of 254 (model/catalog/headroom.py)
    wire = 25_270 + 57_920 + 54_000
    assert int(own["switch.headroom"]) == pytest.approx(wire * 37 * 254 / 9236 + 2 * 37 * 254, abs=10)
    assert set(fabric.balance) == {DLB}


def test_frames_by_address_family() -> None:
    """Wire sizes less preamble and gap: 82 B around an IPv4 payload, 102 B around an IPv6 one."""
    names = ("host.mtu", "host.header", "host.ack-bytes")
    ipv6, ipv4 = bed("h100-rlb")[2], bed("mi300x-leaf-24")[2]
    assert [ipv6.parameters[name] for name in names] == ["4096", "82", "86"]
    assert [ipv4.parameters[name] for name in names] == ["4096", "62", "66"]
    assert (ipv6.dcqcn, ipv4.dcqcn) == ("connectx", "dcqcn-p")
    assert ipv4.parameters["host.ack-every"] == "2"
    assert ipv4.parameters["host.cnp-class"] == "7", "Thor2 sends CNPs on 7"


@pytest.mark.parametrize(("tenant", "header"), [("tenant-1", "82"), ("tenant-2", "62")])
def test_frames_are_those_of_the_tenant_that_sends(tenant: str, header: str, tmp_path: Path) -> None:
    """The first NICs of the first server have no address, those of one tenant IPv6 ones, those of the other IPv4 ones."""
    more = """load_balancing: {mode: ecmp}
    addressing: {server_pool: "fd20::/32"}
    tenants:
      tenant-1: {members: ["n[1-2]:gpu[2-3]_eth"]}
      tenant-2: {members: ["n[1-2]:gpu[4-5]_eth"], server_pools: [10.64.0.0/12]}"""
    network, _ = designed(tmp_path, FABRIC.format(more=more, leaf=""))
    plane = plane_of(network)
    fabric = packet_fabric(network, plane.configs, plane.routes(), tenant=tenant)
    assert fabric.parameters["host.header"] == header


def test_notifications_of_connectx_are_limited_by_address() -> None:
    """With a limit for the port, published all-to-alls are further off (docs/validation.md)."""
    assert bed("h100-rlb")[2].parameters["host.cnp-limit"] == "address"


@pytest.mark.parametrize("name", sorted(catalog().nics))
def test_rates_of_every_nic_with_dcqcn_rise_by_steps_that_grow_with_its_speed(name: str) -> None:
    """5 and 50 Mb/s for each 25 Gb/s: a vendor whose reaction is assumed to be ConnectX's rises as ConnectX does."""
    model = catalog().nics[name]
    network = example("h100-rlb")
    first = host_config(network, network.servers[0].name)
    nic = replace(first.nics[0], vendor=model.vendor, model=name, speed_gbps=200)
    found = transport(nic, first.qos_of(nic.fabric), reordering=False)
    assert found.dcqcn is not None
    assert [found.parameters[f"dcqcn.{step}"] for step in ("additive", "hyper")] == ["40M", "400M"]
    assert any("grow with the port's speed" in note for note in found.notes)


def test_configured_qos_reaches_the_engine(tmp_path: Path) -> None:
    qos = """
    qos:
      classes:
        no-loss: {pfc_priority: 5, dynamic_threshold: 10, transmit_percent: 60, ecn: {min_fill: 10, max_fill: 20, max_probability: 5}}
        cnp: {priority: low, transmit_percent: 7}
      buffers: {lossless: 50, headroom: 40, lossy: 10, egress_lossless: 70, ingress_dynamic_threshold: 4}
      pfc: {xon_offset: 25400, watchdog: {poll_interval: 10, detection: 3, recovery: 150, action: forward}}"""
    fabric = small(tmp_path, qos.strip("\n").strip())
    own = of(fabric, "spine1")
    wanted = {
        "switch.ingress-pool-lossless": "82500000",
        "switch.egress-pool-lossless": "115500000",
        "switch.ingress-alpha-lossless": "0.125",
        "switch.xon-offset": "25400",
        "switch.watchdog": "forward",
        "switch.watchdog-detection": "3",
        "switch.watchdog-recovery": "150ms",
        "class.5.lossless": "yes",
        "class.5.service": "60",
        "class.5.egress-alpha": "8",
        "class.5.ecn": f"{round(115.5e6 / 128 / 10)}..{round(115.5e6 / 128 / 5)}@5%",
        "class.6.service": "7",
    }
    assert {name: own[name] for name in wanted} == wanted
    assert fabric.parameters["host.data-class"] == "5"
    assert not any("xon" in note for note in fabric.notes)


def test_lossy_leaves_beside_lossless_spines(tmp_path: Path) -> None:
    lossy = ", qos: {classes: {no-loss: {lossless: false, pfc_priority: null}}}"
    fabric = small(tmp_path, leaf=lossy)
    leaf, spine = of(fabric, "stripe1-leaf1"), of(fabric, "spine1")
    assert (leaf["class.3.lossless"], spine["class.3.lossless"]) == ("no", "yes")
    assert leaf["switch.headroom"] == "0"
    assert "switch.watchdog" not in leaf


def test_lossy_data_beside_lossless_storage(tmp_path: Path) -> None:
    storage = "storage: {queue: 5, dscp: [18], lossless: true, pfc_priority: 3}"
    more = f"qos: {{classes: {{no-loss: {{lossless: false, pfc_priority: null}}, {storage}}}}}"
    own = of(small(tmp_path, more), "stripe1-leaf1")
    # Priority 3 is storage's, so data has another, and queues in the lossy pool: 10 % of 165 MB over 128 ports.
    assert "class.3.lossless" not in own
    assert own["class.1.lossless"] == "no"
    part = round(16.5e6 / 128)
    assert own["class.1.ecn"] == f"{round(0.55 * part)}..{round(0.9 * part)}@100%"


def test_a_switch_that_pauses_another_priority_than_the_nics_send(tmp_path: Path) -> None:
    fabric = small(tmp_path, leaf=", qos: {classes: {no-loss: {pfc_priority: 4}}}")
    assert fabric.parameters["host.data-class"] == "4", "NICs follow the leaves"
    assert of(fabric, "spine1")["class.4.lossless"] == "no"
    assert any("PFC priority 3 of the switches differs from the NICs' 4" in note for note in fabric.notes)


def test_headroom_that_does_not_go_round(tmp_path: Path) -> None:
    fabric = small(tmp_path, "qos: {buffers: {headroom: 0}}")
    assert of(fabric, "spine1")["switch.headroom"] == "0"
    assert any("headroom: ports need" in note for note in fabric.notes)


def test_no_class_for_what_the_nics_send(tmp_path: Path) -> None:
    fabric = small(tmp_path, "qos: {classes: {cnp: null}}")
    assert of(fabric, "spine1")["class.6.service"] == "5", "best effort's weight"
    assert any("no class of the switches has DSCP 48" in note for note in fabric.notes)


def test_a_system_without_qos() -> None:
    network, plane, _ = bed("h100-rlb")
    configs = {name: device_config(network, name, "frr") for name in plane.configs}
    fabric = packet_fabric(network, configs, plane.routes())
    assert not any(name.startswith(("switch.", "class.")) for own in fabric.profiles for name in own)
    assert any("frr has no QoS" in note for note in fabric.notes)
    accepted(fabric)


def test_alpha_by_index() -> None:
    """Broadcom's indices 0 to 10: 1/128 … 1, 2, 4, 8."""
    assert [float(share_of_free(index)) for index in range(11)] == [2.0**power for power in range(-7, 4)]


def test_load_balancing_of_the_file(tmp_path: Path) -> None:
    dlb = "dlb: {inactivity_interval: 128us, flowset_table_size: 2048, sampling_rate: 1000000, reassignment: {prob_threshold: 9}}"
    fabric = small(tmp_path, f"load_balancing: {{mode: dlb-flowlet, {dlb}}}")
    own = of(fabric, "stripe1-leaf1")
    assert {name: own[name] for name in own if name.startswith("dlb")} == {
        "dlb.inactivity": "128us",
        "dlb.flowsets": "2048",
        "dlb.period": "1000000ps",
        "dlb.min": "20%",
        "dlb.max": "50%",
        "dlb.rate-weight": "50%",
        "dlb.reassign-chance": "9",
        "dlb.quality-delta": "6",
    }
    assert set(fabric.balance) == {DLB}
    assert "host.recovery" not in fabric.parameters
    with pytest.raises(InputError, match="no path colors"):
        small(tmp_path, "load_balancing: {mode: ecmp}", lb="rlb")


def test_spraying_brings_the_transport_that_goes_with_it(tmp_path: Path) -> None:
    for lb, more in (("spray", ""), (None, "load_balancing: {mode: dlb-per-packet}")):
        fabric = small(tmp_path, more, lb=lb)
        assert fabric.parameters["host.recovery"] == "selective"
        assert fabric.parameters["host.reth"] == "every"
        assert fabric.parameters["host.window"] == "512"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, Override()),
        ("ecmp", Override(ECMP, joined=True)),
        ("spray", Override(SPRAY, joined=True)),
        ("dlb:inactivity=16us,min=10%", Override(DLB, True, (("dlb.inactivity", "16us"), ("dlb.min", "10%")))),
        ("rlb", Override()),
        ("rlb:within=dlb-per-packet", Override(DLB_PER_PACKET)),
    ],
)
def test_overrides(text: str | None, wanted: Override) -> None:
    assert override(text, colored=True) == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lottery", "'lottery' is not a mode"),
        ("dlb:inactivity", "'inactivity' does not have the form KNOB=VALUE"),
        ("dlb:inactvity=1us", "did you mean inactivity"),
        ("dlb:min=1%,min=2%", "min is given twice"),
        ("ecmp:min=1%", "ecmp has no knob 'min'"),
        ("rlb:within=x", "within=x is not a mode"),
    ],
)
def test_wrong_overrides(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        override(text, colored=True)


def test_knobs_reach_the_engine() -> None:
    fabric: Any = bed("h100-rlb", "dlb:inactivity=16us")[2]
    assert {own["dlb.inactivity"] for own in fabric.profiles} == {"16us"}
    wrong: Any = bed("h100-rlb", "dlb:inactivity=soon")[2]
    with pytest.raises(ValueError, match='inactivity: "soon" is no time'):
        accepted(wrong)
