"""Where ``auto`` changes engines, what it predicts does not jump."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import railweave
from railweave.prediction.simulation.agreement import ALLOWED, Loss, agreed, small_case
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.engines.choice import MOST_PACKET_HOPS

if TYPE_CHECKING:
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.conditions import SimulatedNetwork

EXAMPLE = Path(__file__).parents[3] / "examples/h100-rlb.yaml"
MIB = 1 << 20


@cache
def network() -> Network:
    return railweave.load(EXAMPLE)


@cache
def bed(lb: str | None) -> SimulatedNetwork:
    return bed_of(network(), lb)


def lower(monkeypatch: pytest.MonkeyPatch, limit: int, small: int) -> None:
    """Engines change at ``limit`` packet hops, and small cases have at most ``small``."""
    monkeypatch.setattr("railweave.prediction.simulation.engines.choice.MOST_PACKET_HOPS", limit)
    monkeypatch.setattr("railweave.prediction.simulation.agreement.SMALL_PACKET_HOPS", small)


@pytest.mark.parametrize("lb", [None, "ecmp", "dlb", "dlb-per-packet", "spray"])
@pytest.mark.parametrize(
    "collective", ["all-reduce", "all-gather", "reduce-scatter", "broadcast", "send-recv", "all-to-all"]
)
def test_engines_agree_where_auto_changes_them(
    collective: str, lb: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a limit of a few hundred thousand packet hops. All-to-all is marked, and may be run by packets after all."""
    packets = agreed(network(), collective, 16 * MIB, bed=bed(lb), qps=4)
    assert packets.choice.engine == "packet"
    lower(monkeypatch, packets.choice.packet_hops - 1, packets.choice.packet_hops // 2)
    beyond = agreed(network(), collective, 16 * MIB, bed=bed(lb), qps=4)
    assert beyond.choice.engine == "flow" or collective == "all-to-all"
    assert beyond.time_ps == pytest.approx(packets.time_ps, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("collective", "lb", "size"),
    [
        ("all-reduce", None, 27 << 30),
        ("all-gather", "ecmp", 54 << 30),
        ("reduce-scatter", "spray", 54 << 30),
    ],
)
def test_at_the_real_limit_rings_are_the_same_by_both(collective: str, lb: str | None, size: int) -> None:
    """Just above 200 million packet hops, which packets are asked for all the same, and end early because they are steady."""
    beyond = agreed(network(), collective, size, bed=bed(lb), qps=4)
    assert beyond.choice.engine == "flow"
    assert MOST_PACKET_HOPS < beyond.choice.packet_hops < 1.1 * MOST_PACKET_HOPS
    packets = agreed(network(), collective, size, bed=bed(lb), qps=4, engine="packet")
    assert packets.steady is not None
    assert beyond.time_ps == pytest.approx(packets.time_ps, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("lb", [None, "ecmp", "dlb", "dlb-per-packet", "spray"])
def test_where_marks_slow_senders_they_agree_too(lb: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """By packets after all, or with the loss of a small case: both are as near."""
    packets = agreed(network(), "all-to-all", 64 * MIB, bed=bed(lb), qps=4)
    lower(monkeypatch, 1_500_000, 1_000_000)
    beyond = agreed(network(), "all-to-all", 64 * MIB, bed=bed(lb), qps=4)
    assert packets.choice.packet_hops > 1_500_000
    assert beyond.time_ps == pytest.approx(packets.time_ps, rel=0.1)


@pytest.mark.slow
def test_the_loss_of_a_small_case_is_added_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    packets = agreed(network(), "all-to-all", 128 * MIB, bed=bed(None), qps=4)
    lower(monkeypatch, 3_000_000, 2_000_000)
    monkeypatch.setattr("railweave.prediction.simulation.agreement.MOST_SLOW_HOPS", 0)
    beyond = agreed(network(), "all-to-all", 128 * MIB, bed=bed(None), qps=4)
    assert beyond.choice.engine == "flow"
    assert any("congestion control" in note for note in beyond.notes)
    assert beyond.band is not None
    assert beyond.band.low_ps < beyond.time_ps < beyond.band.high_ps
    assert beyond.band.low_ps < packets.time_ps < beyond.band.high_ps


def test_a_small_case_has_fewer_servers_first_then_less_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("railweave.prediction.simulation.agreement.FEWEST", 2)
    case = small_case(bed(None), 64 * MIB, 40_000_000)
    assert [one.name for one in case.bed.job.servers] == ["H100-01", "H100-03"]
    assert case.size_bytes == 32 * MIB
    smaller = small_case(bed(None), 64 * MIB, 160_000_000)
    assert (len(smaller.bed.job.servers), smaller.size_bytes) == (2, 16 * MIB)
    assert len(smaller.bed.hosts) == 16


def test_what_is_not_sure_is_half_of_what_lies_between() -> None:
    loss = Loss(100, 400)
    assert loss.likely_ps == 200
    assert loss.unsure(800) == pytest.approx(0.2)
    assert Loss(100, 100).unsure(800) < ALLOWED
