"""The fluid model that the engine is held against (docs/validation.md)."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from benchmarks.validation.chance import mean_queue
from benchmarks.validation.fluid import Parameters, Receiver, events, integrate, jain, steady_queue
from benchmarks.validation.thresholds import headroom

RECEIVERS: list[Receiver] = ["window", "spaced"]


@pytest.mark.parametrize("receiver", RECEIVERS)
def test_flows_settle_at_the_fixed_point(receiver: Receiver) -> None:
    model = Parameters(p_max=0.1)
    course = integrate(model, [(4, 0.0)], 0.06, receiver)
    assert course.queue[-1] == pytest.approx(steady_queue(model, 4, receiver), rel=0.03)
    assert course.rates[0][-1] == pytest.approx(10e9, rel=0.001)


def test_a_late_flow_gets_its_share() -> None:
    course = integrate(Parameters(), [(2, 0.0), (1, 0.03)], 0.16, "spaced", step=2e-6)
    first, late = (rates[-1] for rates in course.rates)
    assert late == pytest.approx(first, rel=0.02)
    assert late == pytest.approx(40e9 / 3, rel=0.02)


@pytest.mark.parametrize("receiver", RECEIVERS)
def test_more_flows_hold_a_longer_queue_until_marking_cannot(receiver: Receiver) -> None:
    queues = [steady_queue(Parameters(), flows, receiver) for flows in (2, 4, 8, 12)]
    assert all(before < after for before, after in pairwise(queues))
    assert math.isnan(steady_queue(Parameters(), 16, receiver))


@pytest.mark.parametrize("receiver", RECEIVERS)
def test_without_marks_timers_just_run(receiver: Receiver) -> None:
    model = Parameters()
    rates = events(model, receiver, 0.0, model.capacity)
    expected = 1 / model.increase_timer + model.capacity * model.frame / model.byte_counter
    assert rates.increases == pytest.approx(expected, rel=1e-3)
    assert rates.cuts == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("receiver", RECEIVERS)
def test_where_all_is_marked_a_cut_comes_every_tau(receiver: Receiver) -> None:
    rates = events(Parameters(), receiver, 1.0, 1e6)
    assert rates.cuts == pytest.approx(1 / 50e-6, rel=0.02)
    assert rates.increases < 1.0


def test_single_events_hold_what_averages_do() -> None:
    model = Parameters(p_max=0.1)
    assert mean_queue(model, 4, 0.06, 1) == pytest.approx(steady_queue(model, 4, "spaced"), rel=0.2)


def test_jains_index() -> None:
    assert jain([1.0, 1.0, 1.0]) == pytest.approx(1)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)


def test_headroom_is_the_wire_twice_and_the_packets_at_its_ends() -> None:
    # 100 m at 400G: 1010.8 ns of 50 bytes each, three full packets and a pause
    assert headroom(100, 400e9) == pytest.approx(50_540 + 3 * 4178 + 84, abs=2)
    assert headroom(100, 400e9, response=1e-6) - headroom(100, 400e9) == pytest.approx(50_000, abs=1)
