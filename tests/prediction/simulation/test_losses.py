"""What a broken link and a full buffer cost, and that the result says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import railweave
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.reasons import reasons
from tests.conftest import example

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.prediction.simulation.prediction import Prediction

MIB = 1 << 20
SMALL_POOLS = {
    "class.3.ecn": "off",
    "switch.ingress-pool-lossless": "4MB",
    "switch.egress-pool-lossless": "4MB",
}


def broken(folder: Path, timeout: int, engine: str, retries: int = 7) -> Prediction:
    path = folder / "case.yaml"
    path.write_text(
        "traffic: [{collective: all-reduce, size: 8M, qps: 4}]\nreroute: 1ms\n"
        f"overrides: {{nccl: {{NCCL_IB_TIMEOUT: {timeout}, NCCL_IB_RETRY_CNT: {retries}}}}}\n"
        "faults: [{at: 30us, kind: device-down, device: spine1}]\n"
    )
    options: dict[str, Any] = {"scenario": path, "watch": False, "engine": engine}
    return railweave.simulate(example("h100-rlb"), **options).steps[0].prediction


@pytest.mark.parametrize("engine", ["packet", "flow"])
@pytest.mark.parametrize("timeout", [14, 20])
def test_a_lost_link_costs_what_nccl_tells_its_nics(timeout: int, engine: str, tmp_path: Path) -> None:
    found = broken(tmp_path, timeout, engine)
    waits_ps = 4_096_000 << timeout
    assert found.complete
    assert found.timeout_ps == waits_ps
    # once, from the last acknowledgement before the spine died; twice where what was sent again is lost too
    assert waits_ps <= found.time_ps < 2.1 * waits_ps + 10**9
    if engine == "packet":
        assert any("4.096 us x 2^NCCL_IB_TIMEOUT" in one for one in reasons(found)) or found.measured is None


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_queue_pairs_give_up_after_their_retries(engine: str, tmp_path: Path) -> None:
    """Two retries of 67 us are over long before routes follow after 1 ms."""
    found = broken(tmp_path, 4, engine, retries=2)
    assert not found.complete
    if found.counters is not None:
        assert found.counters["failed_queue_pairs"] > 0


def test_lossless_queues_are_held_back_at_ingress() -> None:
    """A lossless queue has no threshold of its own on Junos: pauses, not drops, keep the buffer from running over."""
    found = predict(example("h100-rlb"), "all-to-all", 16 * MIB, qps=1, settings=SMALL_POOLS, engine="packet")
    assert found.counters is not None
    assert found.counters["pfc_pauses"] > 0
    assert found.counters["dropped_egress_full"] == 0
    assert found.errors == ()


def test_a_drop_in_a_lossless_class_is_an_error_with_its_cause() -> None:
    limited = SMALL_POOLS | {"class.3.egress-alpha": "1"}
    found = predict(example("h100-rlb"), "all-to-all", 16 * MIB, qps=1, settings=limited, engine="packet")
    assert len(found.errors) == 1
    assert "dropped at egress" in found.errors[0]
    assert "class.3.egress-alpha 1" in found.errors[0]
    assert "switch.egress-pool-lossless (4MB)" in found.errors[0]
    assert found.errors[0] in found.to_text()
    assert found.to_json()["errors"] == list(found.errors)


def test_a_binding_proxy_says_that_a_fitted_constant_decides() -> None:
    found = predict(example("h100-rlb"), "all-gather", 16 * MIB, qps=32, engine="flow")
    notes = [one for one in found.notes if one.startswith("NCCL's proxies limit the result")]
    assert len(notes) == 1
    assert "32 queue pairs are more than in any published result" in notes[0]
    assert not [
        one
        for one in predict(example("h100-rlb"), "all-reduce", MIB, qps=1).notes
        if "NCCL's proxies limit the result" in one
    ]


def test_acknowledgements_do_not_cap_a_ring_below_what_is_published() -> None:
    """386.8 GB/s is published for rings on 400G NICs; with an acknowledgement a packet 380 is all that fits beside the data."""
    found = predict(
        example("h100-rlb"),
        "all-reduce",
        256 * MIB,
        qps=4,
        nccl={"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"},
        settings={"class.3.ecn": "off"},
    )
    alone = predict(
        example("h100-rlb"),
        "all-reduce",
        256 * MIB,
        qps=4,
        nccl={"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"},
        settings={"class.3.ecn": "off", "host.ack-every": "1"},
    )
    assert found.bus_bandwidth_gbytes > alone.bus_bandwidth_gbytes * 1.01
