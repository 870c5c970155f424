"""Ports that do not pause: a packet that comes in by them is dropped when it does not fit, and nobody waits for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import railweave
from railweave.outputs.report.prediction.page import prediction_html
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.model.fabric import packet_fabric
from tests.conftest import designed
from tests.prediction.simulation.beds import plane_of
from tests.prediction.simulation.test_parameters import FABRIC, of, small

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from railweave.prediction.simulation.model.fabric import PacketFabric
    from railweave.prediction.simulation.prediction import Prediction

CONGESTED = """
name: small
fabrics:
  backend:
    topology: {{stripes: 2, spines: 2, leaves_per_stripe: 1, links_per_spine: 2, oversubscription: 4}}
    leaf: {{device: qfx5240-64od}}
    load_balancing: {{mode: ecmp}}
    qos: {{classes: {{no-loss: {{bandwidth: 50, ecn: null}}}}{more}}}
servers: [{{names: "n[1-4]", model: h100-8gpu-cx7}}]
{overrides}
"""
ALL = ("stripe1-leaf1", "stripe2-leaf1", "spine1", "spine2")
SIZE = 8 << 20
UPLINKS = ("et-0/0/0:0", "et-0/0/0:1", "et-0/0/1:0", "et-0/0/1:1")


def without(fabric: PacketFabric) -> set[tuple[str, str]]:
    """Switch and the kind of its cable, of the ports that have no PFC."""
    wiring = fabric.wiring
    nodes = {number: name for name, number in wiring.node.items()}
    found: set[tuple[str, str]] = set()
    for port in fabric.without_pfc.tolist():
        link = wiring.port_link(port)
        node = next(name for name in nodes.values() if name in wiring.switches and _on(fabric, link, name) == port)
        found.add((node, "server" if link.startswith("n") else "fabric"))
    return found


def _on(fabric: PacketFabric, link: str, name: str) -> int:
    try:
        return fabric.wiring.port(link, name)
    except KeyError:
        return -1


@pytest.mark.parametrize(
    ("ports", "wanted"),
    [
        ("all", set()),
        ("fabric", {("stripe1-leaf1", "server"), ("stripe2-leaf1", "server")}),
        ("server", {("stripe1-leaf1", "fabric"), ("stripe2-leaf1", "fabric")}),
    ],
)
def test_the_engine_knows_which_ports_pause(ports: str, wanted: set[tuple[str, str]], tmp_path: Path) -> None:
    """A spine of a fabric that pauses servers only has no lossless class at all."""
    fabric = small(tmp_path, f"qos: {{pfc: {{ports: {ports}}}}}")
    assert without(fabric) == wanted
    assert of(fabric, "spine1")["class.3.lossless"] == ("no" if ports == "server" else "yes")
    assert any("PFC: packets that arrive on a port without PFC" in note for note in fabric.notes) == bool(wanted)


def test_headroom_is_for_ports_that_pause(tmp_path: Path) -> None:
    """A server's cable of 10 m needs less than one of 50 m between switches."""
    both = of(small(tmp_path), "stripe1-leaf1")
    servers = of(small(tmp_path, "qos: {pfc: {ports: server}}"), "stripe1-leaf1")
    assert 0 < int(servers["switch.headroom"]) < int(both["switch.headroom"])


def run(folder: Path, more: str = "", overrides: str = "") -> Prediction:
    network, _ = designed(folder, CONGESTED.format(more=more, overrides=overrides))
    settings = {"buffer": "8MB", "host.timeout": "1ms"}
    return predict(network, "all-to-all", SIZE, qps=1, settings=settings, engine="packet")


def counted(found: Prediction) -> tuple[int, int]:
    assert found.counters is not None
    return found.counters["dropped_ingress_full"] + found.counters["dropped_egress_full"], found.counters["pfc_pauses"]


def test_leaves_drop_what_servers_send_where_only_switches_pause(tmp_path: Path) -> None:
    dropped, pauses = counted(run(tmp_path))
    assert dropped == 0
    assert pauses > 0
    found = run(tmp_path, ", pfc: {ports: fabric}")
    assert counted(found)[0] > 0
    assert found.errors == (), "that is how it is configured"


def test_single_ports_do_not_pause(tmp_path: Path) -> None:
    off = ", ".join(f"{port}: {{pfc: false}}" for port in UPLINKS)
    devices = ", ".join(f"{name}: {{ports: {{{off}}}}}" for name in ALL)
    assert counted(run(tmp_path, overrides=f"overrides: {{devices: {{{devices}}}}}"))[0] > 0


def taken_off(*switches: str, ports: Sequence[str] = UPLINKS) -> str:
    off = ", ".join(f"{port}: {{qos: false}}" for port in ports)
    return f"overrides: {{devices: {{{', '.join(f'{name}: {{ports: {{{off}}}}}' for name in switches)}}}}}"


def test_a_switch_without_quality_of_service_is_lossy_and_marks_nothing(tmp_path: Path) -> None:
    """The defaults mark RDMA data; a port without quality of service has one class, which does not."""
    network, _ = designed(tmp_path, CONGESTED.format(more="", overrides=taken_off(*ALL)))
    plane = plane_of(network)
    fabric = packet_fabric(network, plane.configs, plane.routes())
    own, leaf = of(fabric, "spine1"), of(fabric, "stripe1-leaf1")
    assert own["class.3.lossless"] == "no"
    assert own["class.3.ecn"] == own["class.6.ecn"] == "off"
    assert own["switch.egress-pool-lossy"] == own["switch.ingress-pool-lossy"] == "165000000"
    assert leaf["class.3.lossless"] == "yes"
    assert any(one.startswith("spine1, spine2: quality of service is off at all ports") for one in fabric.remarks)
    found = run(tmp_path, overrides=taken_off(*ALL))
    assert counted(found)[0] > 0
    for remark in fabric.remarks:
        assert f"note           {remark}" in found.to_text()
        assert remark in found.to_json()["notes"]


def test_ports_without_quality_of_service_do_not_mark(tmp_path: Path) -> None:
    def marked(overrides: str) -> int:
        own = CONGESTED.replace("ecn: null", "ecn: {{min_fill: 1, max_fill: 2}}")
        network, _ = designed(tmp_path, own.format(more="", overrides=overrides))
        found = predict(network, "all-to-all", SIZE, qps=1, settings={"host.timeout": "1ms"}, engine="packet")
        assert found.counters is not None
        assert bool(found.remarks) == bool(overrides)
        if overrides:
            assert "off at 4 ports (stripe1-leaf1 et-0/0/0:0, stripe1-leaf1 et-0/0/0:1, spine1" in found.remarks[0]
        return found.counters["ecn_marked_packets"]

    assert 0 < marked(taken_off("stripe1-leaf1", "spine1", ports=UPLINKS[:2])) < marked("")


def test_a_second_lossless_class_is_not_simulated_and_the_answer_says_so(tmp_path: Path) -> None:
    storage = "{queue: 5, dscp: [18], lossless: true, pfc_priority: 4, bandwidth: 30, ecn: {}}"
    more = f"qos: {{classes: {{no-loss: {{bandwidth: 50}}, best-effort: {{bandwidth: 10}}, storage: {storage}}}}}"
    assert small(tmp_path).remarks == ()
    (remark,) = small(tmp_path, more).remarks
    assert remark == (
        "only RDMA data is simulated, in class no-loss (50 % of a full port); nothing is sent in storage, which is "
        "also lossless, so RDMA data has the whole port"
    )
    network, _ = designed(tmp_path, FABRIC.format(more=more, leaf=""))
    found = railweave.simulate(network, "all-to-all", "1M", qps=1)
    assert f"  note           {remark}" in found.to_text()
    assert remark in found.to_json()["notes"]
    assert remark in prediction_html(network, [found])
