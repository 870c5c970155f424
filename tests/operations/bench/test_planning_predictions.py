"""What a plan expects is what ``railweave sim`` says, in the words in which ``bench import`` keeps results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import railweave
from railweave.api import bench_plan
from railweave.operations.bench.plan import NcclTests, Perftest, PlannedRun, RunRequest
from railweave.operations.bench.planning.jobs import jobs
from railweave.operations.bench.planning.making import (
    Question,
    options,
    predictions,
    slope_gbytes,
    write_bandwidth_gbps,
)
from railweave.operations.bench.planning.places import Routed
from railweave.operations.bench.planning.suites import MIB, RunSettings, Sizes, of_scope
from railweave.operations.bench.read import read
from railweave.operations.bench.runs import runs_of
from railweave.operations.store.records import Prediction
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.model.fabric import FRAMES
from railweave.prediction.simulation.question import answer, questions
from tests.conftest import EXAMPLES, example

FIXTURES = Path(__file__).parent / "fixtures"


def of(run: PlannedRun, quantity: str) -> dict[tuple[int | None, str], Prediction]:
    return {(one.size_bytes, one.place): one for one in run.predictions if one.quantity == quantity}


def kept_words() -> set[tuple[str, str, str]]:
    """Operation, place and quantity of everything that is kept of the outputs among the fixtures."""
    files = [file for file in sorted(FIXTURES.rglob("*")) if file.is_file()]
    runs = [run for file in files for run in runs_of(read(file.read_text(errors="replace"), str(file)), "", "")]
    return {(one.operation, one.place, one.quantity) for run in runs for one in run.samples}


def test_a_plan_takes_flows_sooner_than_sim_by_the_same_estimate() -> None:
    network = example("h100-rlb")
    plan = bench_plan(network, hosts="2", parts=["cluster"], predict=False)
    (test,) = [run.test for run in plan.runs if run.part == "cluster" and isinstance(run.test, NcclTests)][:1]
    asked = options(Question(RunRequest("x", "cluster", "", test, 0, None, 0.0), MIB))
    assert (asked["engine"], asked["most_hops"]) == ("auto", 60_000_000)
    given = {"collective": "all-reduce", "size": "1M"}
    for most, engine in ((None, "packet"), (60_000_000, "packet"), (1000, "flow")):
        (question,) = questions(network, given | {"most_hops": most})
        choice = answer(network, question).steps[0].prediction.choice
        assert choice.engine == engine
        assert "about 0." in choice.why, "packet hops of all three, by the same count"


@pytest.mark.slow
def test_a_collective_gets_what_sim_says_with_its_band() -> None:
    network, said = example("h100-rlb"), list[str]()
    plan = bench_plan(network, hosts="2", parts=["servers", "cluster"], progress=said.append)
    assert said[-1] == "predicting: 9 of 9 collectives", "both servers alone are one question, at three sizes"
    one, other = (run.predictions for run in plan.runs if run.part == "servers")
    assert one == other
    run = next(run for run in plan.runs if run.part == "cluster")
    assert isinstance(run.test, NcclTests)
    found = of(run, "busbw_gbytes_per_s")
    assert found.keys() == {(size * MIB, place) for size in (16, 128, 1024) for place in ("out-of-place", "in-place")}
    for (size, _), expected in found.items():
        alone = (
            railweave.simulate(network, "all-reduce", size, hosts="H100-01,H100-02", watch=False).steps[0].prediction
        )
        assert alone.band is not None
        assert expected.value == pytest.approx(alone.bus_bandwidth_gbytes, rel=1e-9)
        assert expected.low == pytest.approx(alone.program.bus_bandwidth_gbytes(alone.band.high_ps), rel=1e-9)
        assert expected.high == pytest.approx(alone.program.bus_bandwidth_gbytes(alone.band.low_ps), rel=1e-9)
        assert expected.low < expected.value < expected.high
        assert expected.operation == "all-reduce"
        assert expected.method.startswith("packet engine, seed 1")
    (average,) = of(run, "average_busbw_gbytes_per_s").values()
    assert (average.size_bytes, average.place) == (None, "")
    assert average.value == pytest.approx(sum(one.value for one in found.values()) / len(found), rel=1e-9)
    assert run.tolerance == 0.05
    words = {(one.operation, one.place, one.quantity) for run in plan.runs for one in run.predictions}
    assert words <= kept_words(), "predictions meet samples by these"


def test_perftest_gets_what_the_simulator_says() -> None:
    network = example("h100-rlb")
    plan = bench_plan(network, parts=["loops", "mesh"])
    fabric = bed_of(network).fabric
    runs = [one for one in plan.runs if one.part == "mesh"]
    for run in runs:
        assert isinstance(run.test, Perftest)
        (expected,) = run.predictions
        one, other = (f"{end.host}:{end.nic}" for end in (run.test.client, run.test.server))
        alone = write_bandwidth_gbps(fabric, one, other, 8 * MIB, qps=4, post_cost_ps=0, both_ways=True)
        assert expected.value == pytest.approx(alone, rel=0.01)
        assert expected.value * 0.98 < expected.low < expected.value < expected.high < expected.value * 1.02
        assert (expected.operation, expected.quantity) == ("write bidirectional bandwidth", "bandwidth_gbps")
        assert expected.size_bytes == 8 * MIB
        assert (expected.operation, expected.place, expected.quantity) in kept_words()
    assert len({run.predictions for run in runs}) == 1, "pairs of leaves are alike"
    assert not any(run.predictions for run in plan.runs if run.part == "loops")
    assert any(note.startswith("loops: no predictions") for note in plan.notes)


def test_perftest_goes_between_the_addresses_that_it_is_given() -> None:
    """A cable at a quarter of its rate is seen by the path color that takes it, and by no other."""
    network = example("h100-rlb")
    fabric = bed_of(network).fabric
    ends = "H100-01:gpu0_eth", "H100-03:gpu0_eth"
    slow = railweave.paths(network, *ends, qps=4)[2]
    cables = fabric.wiring.cables.copy()
    cables[fabric.wiring.cable[slow.hops[1][0].link], 2] //= 4
    planted = replace(fabric, wiring=replace(fabric.wiring, cables=cables))
    rates = [
        write_bandwidth_gbps(planted, *ends, 8 * MIB, qps=4, post_cost_ps=0, places=(place, place))
        for place in range(4)
    ]
    assert rates[2] == pytest.approx(100, rel=0.05)
    assert all(rate == pytest.approx(390, rel=0.02) for place, rate in enumerate(rates) if place != 2)


def test_the_guide_s_table_of_perftest_is_expected() -> None:
    """Thor 2 guide, section 2.8.2: 132.9 Gb/s of 2 KiB, 775 Gb/s of 8 MiB, both directions, four queue pairs."""
    plan = bench_plan(example("mi300x-leaf-31"), "acceptance", parts=["pairs"])
    (expected,) = {run.predictions for run in plan.runs}
    by_size = {one.size_bytes: one.value for one in expected}
    assert list(by_size) == [1 << power for power in range(1, 24)]
    assert by_size[2048] == pytest.approx(132.91, rel=0.05)
    assert by_size[8 * MIB] == pytest.approx(774.97, rel=0.05)


def test_perftest_follows_the_message_rate_and_then_the_wire() -> None:
    """From 2 B to 32 KiB: more bytes are never slower but for the header of a packet that is not full, and rates never jump."""
    network = example("mi300x-leaf-31")
    fabric, rate = bed_of(network).fabric, network.catalog.nics["thor2"].messages_per_us
    assert rate is not None
    ends = "host1:eth1", "host2:eth1"
    sizes = [2, 3, 64, 1000, 2048, 4096, 4097, 6144, 8192, 8193, 10240, 11264, 12288, 14336, 16384, 24576, 32768]
    post_ps = round(1e6 / rate)
    found = [write_bandwidth_gbps(fabric, *ends, size, qps=4, post_cost_ps=post_ps, both_ways=True) for size in sizes]
    pairs = zip(sizes, found, sizes[1:], found[1:], strict=False)
    for small, slow, large, fast in pairs:
        assert slow < fast * 1.002, (small, large)
        assert fast <= slow * large / small * 1.005, (small, large)
    for size, gbps in zip(sizes, found, strict=True):
        packets = -(-size // 4096)
        wire = 2 * 400 * size / (size + 16 + packets * (FRAMES["ipv4"] + 20))
        assert gbps == pytest.approx(min(2 * rate * size * 8 / 1e3, wire), rel=0.03), size


def test_small_messages_are_left_out_where_nobody_knows_the_nic_s_message_rate() -> None:
    plan = bench_plan(example("h100-rlb"), "acceptance", parts=["pairs"])
    assert min(one.size_bytes or 0 for run in plan.runs for one in run.predictions) == 64 << 10
    assert any("64 KiB" in note for note in plan.notes)


def test_queue_pairs_over_the_distance() -> None:
    """The 50 km article: about 32 Gb/s a queue pair, 13 of them fill 400G."""
    plan = bench_plan(example("dci-50km"), "fifty-km", parts=["distance"])
    rates: dict[int, float] = {}
    for run in plan.runs:
        assert isinstance(run.test, Perftest)
        rates[run.test.qps] = run.predictions[0].value
    assert list(rates) == [1, 2, 4, 8, 13, 16, 32]
    assert rates[1] == pytest.approx(32, rel=0.1)
    assert rates[4] == pytest.approx(4 * rates[1], rel=0.05)
    assert rates[16] == pytest.approx(390, rel=0.05)
    one = plan.runs[0].predictions[0]
    assert one.low < 32 < one.high, "as published"


@pytest.mark.slow
def test_the_slope_is_that_of_a_line_through_what_sim_says() -> None:
    network, variables = example("dci-50km"), {"NCCL_BUFFSIZE": str(16 * MIB), "NCCL_IB_QPS_PER_CONNECTION": "16"}
    (job,) = jobs(network, [server.name for server in network.servers])
    (scope,) = job.cluster()
    run = of_scope(
        job, scope, "all-reduce", Sizes(32 * MIB, 128 * MIB), RunSettings("", tuple(variables.items())), slope=True
    )
    (found,) = predictions(Routed.of(network), [], [run])
    (slope,) = (one for one in found if one.quantity == "slope_busbw_gbytes_per_s")
    sizes = [32 * MIB, 64 * MIB, 128 * MIB]
    times = [
        railweave.simulate(network, "all-reduce", size, nccl=variables, watch=False).time_ps / 1e6 for size in sizes
    ]
    assert slope.value == pytest.approx(1.5 / np.polyfit(sizes, times, 1)[0] / 1e3, rel=1e-6)
    assert slope.low < slope.value < slope.high


def test_a_slope_leaves_out_what_starting_takes() -> None:
    """Of 1.5 times 40 GB/s, with half a millisecond to start."""
    times = [(size, 500 + size / 40e3) for size in (4e9, 8e9, 16e9)]
    assert slope_gbytes(times, 1.5) == pytest.approx(60)


@pytest.mark.slow
def test_hardware_of_one_s_own_is_known_to_the_processes_that_predict(tmp_path: Path) -> None:
    """A server with AMD's GPUs by another name: RCCL, xGMI."""
    (tmp_path / "own").mkdir()
    own = "servers: {mine: {extends: mi300x-8gpu-thor2, rack_units: 5}}"
    (tmp_path / "own" / "own.yaml").write_text(own)
    (tmp_path / "fabric.yaml").write_text(
        (EXAMPLES / "mi300x-leaf-31.yaml").read_text().replace("mi300x-8gpu-thor2", "mine")
    )
    network = railweave.load(tmp_path / "fabric.yaml", hardware=tmp_path / "own")
    (run,) = bench_plan(network, parts=["servers"], hosts="1").runs
    expected = of(run, "busbw_gbytes_per_s")[16 * MIB, "in-place"]
    alone = railweave.simulate(network, "all-reduce", 16 * MIB, hosts="1", watch=False).steps[0].prediction
    assert expected.value == pytest.approx(alone.bus_bandwidth_gbytes, rel=1e-9)


def test_without_predictions_there_is_still_a_time() -> None:
    plan = bench_plan(example("h100-rlb"), "table12", predict=False)
    assert not any(run.predictions for run in plan.runs)
    assert all(run.estimate_s > 15 for run in plan.runs)
