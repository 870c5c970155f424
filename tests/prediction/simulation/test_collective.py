"""Collectives on designed networks, packet by packet."""

from __future__ import annotations

from pathlib import Path

import pytest

import railweave
from railweave.errors import InputError
from railweave.prediction.simulation.bottleneck import Load, bottleneck
from railweave.prediction.simulation.collective import UNUSED_SPINES_NOTE, predict
from tests.conftest import EXAMPLES, designed

LAB = railweave.load(EXAMPLES / "h100-rlb.yaml")
MIB = 1 << 20


def test_a_large_ring_gets_the_line_less_headers() -> None:
    found = predict(LAB, "all-reduce", 256 * MIB, qps=4, nccl={"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"})
    assert found.complete
    # 400 Gb/s less 102 + 4 bytes of headers a packet of 4096; the ring's first and last steps do not fill the line
    line = 50 * 4096 / (4096 + 102)
    assert 0.9 * line * 8 < found.bus_bandwidth_gbytes < line * 8
    assert bottleneck(found.load, found.time_ps).kind == "link"
    assert found.counters["dropped_ingress_full"] == found.counters["retransmitted_packets"] == 0


def test_every_nic_sends_what_the_textbook_says() -> None:
    found = predict(LAB, "all-reduce", 64 * MIB, qps=2, nccl={"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring"})
    sent: dict[str, int] = {}
    for flow in found.flows:
        sent[flow["src"]] = sent.get(flow["src"], 0) + flow["bytes"]
    assert set(sent.values()) == {64 * MIB * 2 * 31 // 32 // 8}
    assert len(found.flows) == 32 * 2 * found.program.channels // 8


def test_one_queue_pair_has_one_color_and_its_uplink_binds() -> None:
    one, four = (predict(LAB, "all-to-all", 64 * MIB, qps=qps) for qps in (1, 4))
    assert "spine1" in bottleneck(one.load, one.time_ps).what  # all of them take the first color
    assert "spine" not in bottleneck(four.load, four.time_ps).what


def test_a_run_that_uses_no_spine_says_so(tmp_path: Path) -> None:
    """With one stripe every rail has one leaf, and NCCL keeps traffic on rails: a lost spine costs nothing."""
    text = """
name: t
fabrics:
  backend:
    topology: {stripes: 1, spines: 2, links_per_spine: 1, oversubscription: 4}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: ecmp}
servers: [{names: "gpu-[1-4]", model: h100-8gpu-cx7}]
"""
    network, _ = designed(tmp_path, text)
    remarks = [predict(network, name, MIB).remarks for name in ("all-reduce", "all-to-all")]
    assert all(UNUSED_SPINES_NOTE in remark for remark in remarks)
    assert UNUSED_SPINES_NOTE not in predict(LAB, "all-reduce", MIB).remarks


def test_pairs_of_send_and_receive_have_no_algorithm() -> None:
    found = predict(LAB, "all-to-all", MIB)
    assert found.to_text().startswith("all-to-all of 1048576 bytes: point to point, Simple, ")
    assert found.to_json()["algorithm"] == "point to point"


@pytest.mark.slow
def test_proxies_bind_where_messages_are_small() -> None:
    found = predict(
        LAB, "all-reduce", 64 * MIB, qps=32, nccl={"NCCL_PROTO": "Simple", "NCCL_IB_SPLIT_DATA_ON_QPS": "1"}
    )
    bound = bottleneck(found.load, found.time_ps)
    assert bound.kind == "proxy"


def test_the_same_question_has_the_same_answer() -> None:
    first, second = (predict(LAB, "all-gather", 8 * MIB, qps=4).to_json() for _ in range(2))
    del first["wall_s"], second["wall_s"]
    assert first == second
    assert first["bus_bandwidth_GBps"] == pytest.approx(first["alg_bandwidth_GBps"] * 31 / 32)


def test_what_binds_is_what_was_busy_longest() -> None:
    found = bottleneck(Load("a--b", 70, "h:nic", 90, 20), 100)
    assert found.to_json() == {"kind": "proxy", "what": "h:nic", "busy": 0.9, "next": {"kind": "link", "busy": 0.7}}
    assert found.to_text() == "proxy h:nic, busy 90.0% of the time (next: link, 70.0%)"


def test_nothing_is_busy_for_longer_than_the_time() -> None:
    """A run in a steady state estimates bytes and time separately, and their quotient may exceed 1."""
    bound = bottleneck(Load("a--b", 1011, "h:nic", 1002, 20), 1000)
    assert (bound.what, bound.busy, bound.next_busy) == ("a--b", 1.0, 1.0)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"collective": "all-redce"}, "collective: 'all-redce' is not a known collective"),
        ({"nccl": {"NCCL_BUFSIZE": "1"}}, "NCCL_BUFSIZE"),
        ({"qps": 0}, "NCCL_IB_QPS_PER_CONNECTION"),
        ({"lb": "magic"}, "magic"),
    ],
)
def test_mistakes(given: dict[str, object], error: str) -> None:
    with pytest.raises(InputError, match=error):
        predict(LAB, **({"collective": "all-reduce", "size_bytes": MIB} | given))


def test_a_wrong_engine_parameter_is_told() -> None:
    with pytest.raises(InputError, match=r"host\.mtuu"):
        predict(LAB, "all-reduce", MIB, settings={"host.mtuu": "1"})
