"""What was ideal beside what is predicted; losses first; and comparisons that compare nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

import railweave
from railweave.prediction.simulation.bottleneck import Ideal
from railweave.prediction.simulation.compare import Comparison, Outcome
from railweave.prediction.simulation.engines.report import lost_text
from railweave.prediction.simulation.job_run import JobPrediction
from railweave.prediction.simulation.prediction import Prediction
from tests.conftest import example


def predicted(name: str = "h100-rlb", size: str = "4M") -> JobPrediction:
    return railweave.simulate(example(name), "all-reduce", size, engine="flow", watch=False)


@pytest.fixture(scope="module")
def found() -> JobPrediction:
    return predicted()


def only(found: JobPrediction) -> Prediction:
    (step,) = found.steps
    return step.prediction


def test_the_ideal_is_the_busiest_nic_at_line_rate(found: JobPrediction) -> None:
    one = only(found)
    assert one.ideal is not None
    sent: dict[str, int] = {}
    for flow in one.flows:
        for end in ("src", "dst"):
            sent[f"{end} {flow[end]}"] = sent.get(f"{end} {flow[end]}", 0) + flow["bytes"]
    assert one.ideal.nics_ps == pytest.approx(max(sent.values()) * 8 / 400e9 * 1e12, rel=0.01)
    assert one.ideal.servers_ps == one.program.floor_ps
    assert one.ideal.time_ps <= one.time_ps


def test_it_is_said_beside_the_prediction(found: JobPrediction) -> None:
    one = only(found)
    assert one.ideal is not None
    told, text = one.to_json()["ideal"], one.to_text()
    assert told.keys() == {
        "time_us",
        "bus_bandwidth_GBps",
        "share_reached",
        "share_of_line_rate",
        "share_of_server_bound",
    }
    assert told["share_reached"] == pytest.approx(told["time_us"] / one.to_json()["time_us"], abs=1e-4)
    assert told["share_reached"] == max(told["share_of_line_rate"], told["share_of_server_bound"])
    assert f"  ideal          {told['time_us']:.1f} us, " in text
    assert f"{told['share_of_line_rate']:.1%} of the NICs' line rate" in text
    assert "of the bound of the links inside servers (NVLink)" in text


def test_nothing_leaves_a_server() -> None:
    assert "no byte leaves a server" in Ideal(0, 10, "XGMI").to_text(20, only(predicted()).program)


def test_losses_come_first(found: JobPrediction) -> None:
    one = only(found)
    none = dict.fromkeys(("ecn_marked_packets", "pfc_pauses", "retransmitted_packets", "timeouts", "dropped_buffer"), 0)
    assert lost_text(none) == lost_text(None) == ""
    lossy = replace(one, counters={**none, "dropped_buffer": 1, "retransmitted_packets": 1200, "timeouts": 2})
    lines = lossy.to_text().splitlines()
    assert lines[1] == "  lost           1 packet dropped, 1,200 sent again, 2 timeouts"
    assert "lost" not in replace(one, counters=none).to_text()


def slower(found: JobPrediction, by: float) -> JobPrediction:
    (step,) = found.steps
    return replace(
        found, steps=(replace(step, prediction=replace(step.prediction, time_ps=round(step.prediction.time_ps * by))),)
    )


def test_ties_have_no_winner(found: JobPrediction) -> None:
    tied = Comparison(
        "lb", (Outcome("ecmp", found), Outcome("dlb", slower(found, 1.001)), Outcome("rlb", slower(found, 2)))
    )
    assert tied.winner is None
    assert (tied.to_json()["winner"], tied.to_json()["tied"]) == (None, ["ecmp", "dlb"])
    assert "ecmp and dlb are equally fast and the fastest, and rlb takes 100.0% longer." in tied.verdict()
    clear = Comparison("lb", (Outcome("ecmp", slower(found, 1.2)), Outcome("dlb", found)))
    assert clear.winner is not None
    assert (clear.winner.value, clear.to_json()["winner"]) == ("dlb", "dlb")
    assert "lb=dlb wins" in clear.verdict()


def test_alike_only_where_packets_crossed_a_spine(found: JobPrediction) -> None:
    crossed = Comparison("lb", (Outcome("ecmp", found), Outcome("dlb", found)))
    assert crossed.verdict().startswith("All variants take the same time")
    inside = predicted("mi300x-leaf-31", "1M")
    stayed = Comparison("lb", (Outcome("ecmp", inside), Outcome("dlb", inside)))
    assert "alike" not in stayed.verdict()
    assert "no packet crossed a spine" in stayed.verdict()
    assert stayed.winner is None


def test_the_links_inside_servers_have_the_name_of_the_server_model() -> None:
    text = Ideal(0, 10, "XGMI").to_text(20, only(predicted()).program)
    assert "of the bound of the links inside servers (XGMI)" in text
    assert "NVLink" not in text
