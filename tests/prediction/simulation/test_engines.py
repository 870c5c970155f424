"""Which engine runs, and how far flows are from packets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.engines import SCENARIOS, Scenario, compare

import railweave
from railweave._sim import LOSS, FlowEngine
from railweave.errors import InputError
from railweave.prediction.simulation import collective
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.engines import choice as engine_choice
from railweave.prediction.simulation.engines.choice import forecast, links_crossed
from railweave.prediction.simulation.model.outages import Outage, timeline
from tests.conftest import EXAMPLES
from tests.prediction.simulation.beds import bed, engine

LAB = railweave.load(EXAMPLES / "h100-rlb.yaml")
MIB = 1 << 20
QUICK = ("tree all-reduce", "incast of 16 NICs", "ring all-gather, 1 queue pair", "all-to-all, oversubscribed 2:1")
SIMPLE_RING = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"}


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [one for one in SCENARIOS if one.what in QUICK], ids=lambda one: one.what)
def test_flows_take_as_long_as_packets(scenario: Scenario) -> None:
    """The others: ``python -m benchmarks.engines``."""
    found = compare(scenario)
    assert found.allowed(scenario), found
    assert (found.marked > 0) == (scenario.sooner > 0), "what is marked, and that alone, may take packets longer"


def test_ten_scenarios_are_compared() -> None:
    assert len({one.what for one in SCENARIOS}) == 10
    page = (EXAMPLES.parent / "docs" / "engine.md").read_text()
    assert all(f"| {one.what} | {one.example} |" in page for one in SCENARIOS)


def test_packet_hops_are_estimated_as_they_are_counted() -> None:
    """Where nothing is marked: notifications of marks are packets besides."""
    found = predict(LAB, "all-to-all", 16 * MIB, qps=3, settings={"class.3.ecn": "off"})
    assert found.counters is not None
    assert found.counters["cnps"] == 0
    assert found.choice.engine == "packet"
    assert found.choice.packet_hops == found.counters["packet_hops"]


def test_links_are_those_that_packets_cross() -> None:
    _, _, fabric = bed("h100-rlb")
    nics = fabric.wiring.nics
    pairs = fabric.queue_pairs([(nics[0], nic, 0) for nic in nics[1:]])
    crossed = links_crossed(fabric.wiring, fabric.arguments(pairs))
    assert (crossed == links_crossed(fabric.wiring, fabric.flow_arguments(pairs))).all()
    for row in (0, len(pairs) // 2, len(pairs) - 1):
        one = engine(fabric, pairs[row : row + 1], [(0, 1000, 0)])
        one.run(10**9)
        assert one.counters()["data_packet_hops"] == crossed[row]
    assert len(np.unique(crossed)) > 1


def test_tables_by_prefix_are_those_by_address() -> None:
    """With a dead spine that routes follow: changes of routes are by prefix, too."""
    _, plane, fabric = bed("h100-rlb")
    pairs = fabric.addresses.pairs(
        *np.array([(a, b, b % 8) for a in range(32) for b in range(32) if a != b], np.uint32).T
    )
    messages = np.array([(row, 10 * MIB, 0, 0) for row in range(len(pairs))], np.uint64)
    follows = timeline(fabric.wiring, plane, fabric.routes, [Outage("spine1", 10**8)], 10**8)
    found: list[Any] = []
    for given in (fabric.arguments(pairs, follows), fabric.flow_arguments(pairs, follows)):
        flows = FlowEngine(**given, messages=messages)
        flows.run(10**13)
        found.append((given["group"].size, flows.arrivals(), flows.link_bytes()))
    (by_address, arrivals, sent), (small, *others) = found
    assert small < by_address
    assert (arrivals == others[0]).all()
    assert (sent == others[1]).all()


def test_auto_takes_flows_beyond_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    small: dict[str, Any] = {"collective": "all-reduce", "size_bytes": 8 * MIB, "qps": 2}
    asked = predict(LAB, **small, engine="flow")
    monkeypatch.setattr(engine_choice, "MOST_PACKET_HOPS", 1000)
    auto = predict(LAB, **small).to_json()
    assert (auto["engine"], auto["packet_hops"], auto["trace_checksum"]) == ("flow", None, None)
    assert "above" in auto["engine_reason"]
    assert any(note.startswith("flow engine") for note in auto["notes"])
    assert auto["time_us"] == asked.to_json()["time_us"]
    assert "engine         flow (asked for; about " in asked.to_text()
    assert predict(LAB, **small, engine="packet").to_json()["engine"] == "packet"


def test_auto_keeps_packets_for_what_flows_do_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, fabric = bed("h100-rlb")
    pairs = fabric.queue_pairs([(fabric.wiring.nics[0], fabric.wiring.nics[-1], 0)])
    arguments = fabric.arguments(pairs)
    arguments["changes"] = np.array([(10**6, LOSS, 0, 1000, 0)], np.uint64)
    monkeypatch.setattr(engine_choice, "packet_hops", lambda *_: 10**9)
    assert engine_choice.choose("auto", fabric.wiring, arguments, None).engine == "packet"  # type: ignore[arg-type]


def test_no_such_engine() -> None:
    with pytest.raises(InputError, match="'flows' is not an engine"):
        predict(LAB, "all-reduce", MIB, engine="flows")


@pytest.mark.parametrize(
    ("nccl", "size"),
    [
        (SIMPLE_RING, 2048),
        ({"NCCL_ALGO": "Tree", "NCCL_PROTO": "Simple"}, 2048),
        ({"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring"}, 16),
    ],
)
def test_one_flow_a_connection_takes_as_long_as_its_messages(
    nccl: dict[str, str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, Any] = {"size_bytes": size * MIB, "qps": 4, "nccl": nccl, "engine": "flow"}
    messages = predict(LAB, "all-reduce", **known)
    monkeypatch.setattr(collective, "MOST_FLOW_MESSAGES", 0)
    whole = predict(LAB, "all-reduce", **known)
    assert whole.program.messages == len(whole.program.connections) < messages.program.messages
    assert whole.time_ps == pytest.approx(messages.time_ps, rel=1 / 6)
    if nccl.get("NCCL_ALGO") == "Ring":  # in a tree some proxies have more to post than others
        assert whole.load.proxy_ps == messages.load.proxy_ps, "credit messages are posted too"
    assert "one flow per connection" in whole.choice.why


def test_long_and_large_runs_are_announced() -> None:
    assert forecast("packet", 1_000_000, 1000, 1000) == ""
    assert forecast("packet", 200_000_000, 1000, 1000).startswith("about 30 s and 0.1 GB by packets")
    assert "4.2 GB by flows" in forecast("flow", 10**9, 1_000_000, 58_000_000)
