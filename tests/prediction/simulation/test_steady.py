"""A long run of packets is stopped when it repeats itself, and at no other time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import railweave
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.job import Job
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.queue_pairs import split
from railweave.prediction.simulation import collective
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.engines.packets import EQUAL, Rounds, StoppedRun, Watch, period, repeated_rounds
from railweave.prediction.simulation.engines.run import NEVER
from railweave.prediction.simulation.settings import by_name
from tests.conftest import EXAMPLES

LAB = railweave.load(EXAMPLES / "h100-rlb.yaml")
SMALL_LOOPS = {"NCCL_PROTO": "Simple", "NCCL_ALGO": "Ring", "NCCL_BUFFSIZE": "131072"}
"""A loop of 32 ranks and 16 channels is then 32 MiB."""


def test_a_run_that_is_stopped_takes_as_long_as_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collective, "LONG_PACKET_HOPS", 0)
    stopped = predict(LAB, "all-reduce", 256 << 20, qps=2, nccl=SMALL_LOOPS)
    whole = predict(LAB, "all-reduce", 256 << 20, qps=2, nccl=SMALL_LOOPS, exact=True)
    assert whole.steady is None
    assert stopped.steady is not None
    assert stopped.complete
    assert stopped.steady.share < 0.5
    assert abs(stopped.time_ps / whole.time_ps - 1) <= stopped.steady.error <= EQUAL
    assert stopped.load.link_ps == pytest.approx(whole.load.link_ps, rel=0.02)
    for one, other in zip(stopped.flows, whole.flows, strict=True):
        assert one["fct_us"] == pytest.approx(other["fct_us"], rel=EQUAL)
    assert "stopped at" in stopped.to_text()
    assert stopped.to_json()["steady_state"]["share_run"] == stopped.steady.share


def rounds_of(*words: str, size: int = 1 << 30, servers: int = 4, qps: int = 2) -> Rounds | None:
    known = parameters(by_name(words, "--nccl"))
    planned = program(Job.of_servers(servers), "all-reduce", size, known, credit=True)
    return repeated_rounds(planned, split(planned, qps, split_data=True))


def test_the_loops_of_a_ring_are_its_rounds() -> None:
    found = rounds_of("NCCL_PROTO=Simple", "NCCL_ALGO=Ring", size=8 << 30)
    assert found is not None
    assert found.round == 62 * 2, "steps, each of two slices"
    assert found.parts.shape == (64, 8 * found.round, 2)
    assert len(np.unique(found.parts)) == found.parts.size
    credit_messages, row, place = found.credits.T
    assert (
        len(np.unique(np.concatenate([credit_messages, found.parts.ravel()])))
        == len(credit_messages) + found.parts.size
    ), "all messages"
    assert (np.bincount(row) == len(credit_messages) // 64).all()
    assert place.max() < 8 * found.round - 1, "the last data needs no more credit"
    one = rounds_of("NCCL_PROTO=Simple", "NCCL_ALGO=Ring")
    assert one is not None
    assert one.round == 8 * 2, "in a single loop, the steps that one server's GPUs begin"


def test_what_does_not_repeat_has_no_rounds() -> None:
    assert rounds_of("NCCL_PROTO=Simple", "NCCL_ALGO=Ring", size=(8 << 30) + (400 << 20)) is None, "a smaller last one"


@given(st.lists(st.integers(0, 2), max_size=5), st.lists(st.integers(0, 2), min_size=1, max_size=6), st.integers(1, 12))
def test_periods_are_those_that_looking_finds(first: list[int], each: list[int], times: int) -> None:
    looks = first + each * times
    fits = (p for p in range(1, len(looks) // 4 + 1) if looks[2 * p :] == looks[p:-p])
    assert period(looks) == next(fits, None)


ROUND, ROUNDS, CONNECTIONS = 16, 10, 3
ROUNDS_OF_RUN = Rounds(np.arange(CONNECTIONS * ROUND * ROUNDS).reshape(CONNECTIONS, ROUND * ROUNDS, 1), ROUND)


def looked_at(durations: NDArray[np.int64], changed_ps: int = -1) -> StoppedRun | None:
    """A run whose messages take these times on each connection, looked at every 1000 ps until it is stopped."""
    ends = np.cumsum(durations, axis=1).astype(np.uint64).ravel()
    watch = Watch(ROUNDS_OF_RUN, changed_ps)
    for now in range(1000, int(ends.max()) + 1000, 1000):
        arrivals = np.where(ends < now, ends, np.uint64(NEVER))
        done = int((ends < now).sum())
        if watch.due(done, now) and (rest := watch.rest(arrivals, now)):
            return rest
    return None


def alike() -> NDArray[np.int64]:
    """Every round the same, its first message slower."""
    durations = np.full((CONNECTIONS, ROUNDS, ROUND), 1000)
    durations[:, :, 0] = 1500
    return durations


def flat(durations: NDArray[np.int64]) -> NDArray[np.int64]:
    return durations.reshape(CONNECTIONS, -1)


def test_rounds_that_are_alike_are_carried_on_exactly() -> None:
    durations = alike()
    durations[:, 0] *= 3  # start-up
    rest = looked_at(flat(durations))
    assert rest is not None
    assert (rest.arrivals == np.cumsum(flat(durations), axis=1).ravel()).all()
    assert rest.steady.at_ps >= int(durations[0, :2].sum()), "not before two rounds are over"
    assert 0 < rest.steady.error < EQUAL


def test_connections_go_on_at_their_own_pace() -> None:
    durations = alike() * 1000
    durations[1] += 5000
    rest = looked_at(flat(durations))
    assert rest is not None
    assert rest.arrivals.max() == durations[1].sum()
    assert rest.steady.error >= 0.004 * 0.5


@pytest.mark.parametrize("late", [500, 40_000])
def test_credit_messages_follow_their_data(late: int) -> None:
    """Each comes some time after its data; where that is more than a round, nothing is said of the rest."""
    ends = np.cumsum(flat(alike()), axis=1)
    row, place = (one.ravel() for one in np.indices(ends[:, :-4].shape))
    credit_messages = np.stack([ends.size + np.arange(row.size), row, place], axis=1)
    watch = Watch(Rounds(ROUNDS_OF_RUN.parts, ROUND, credit_messages))
    all_ends = np.concatenate([ends.ravel(), ends[row, place] + late]).astype(np.uint64)
    rests: list[StoppedRun] = []
    for now in range(1000, int(ends.max()), 1000):
        arrivals = np.where(all_ends < now, all_ends, np.uint64(NEVER))
        rest = watch.rest(arrivals, now)
        if rest is not None:
            rests.append(rest)
            break
    assert len(rests) == (late < ROUND * 1000)
    assert all((rest.arrivals == all_ends).all() for rest in rests)


@pytest.mark.parametrize("what", ["slower and slower", "one falls behind", "noise"])
def test_what_is_not_steady_is_run_to_the_end(what: str) -> None:
    durations = alike()
    if what == "slower and slower":
        durations += (np.arange(ROUNDS) * 25)[None, :, None]
    elif what == "one falls behind":
        durations[2] += 30
    else:
        durations += np.random.default_rng(1).integers(-80, 80, durations.shape)
    assert looked_at(flat(durations)) is None


def test_no_run_is_stopped_before_a_change() -> None:
    durations = flat(alike())
    end = int(durations[0].sum())
    early = looked_at(durations)
    late = looked_at(durations, changed_ps=end // 2)
    assert early is not None
    assert late is not None
    assert early.steady.at_ps < end // 2
    assert late.steady.at_ps >= end // 2 + int(durations[0, :ROUND].sum()), "a whole round after it"
    assert looked_at(durations, changed_ps=end) is None
