"""The engine of flows, from Python: it takes what the packet engine takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave import _sim
from railweave._sim import HERE, ONE_PORT, FlowEngine
from tests.leaf_spine import HOSTS, LEAVES, SPINES, arguments, traffic

NEVER = 2**64 - 1
WIRE = (4096 + 62 + 20) * 8 / 400_000
"""Microseconds that a full packet takes at 400G."""


def test_two_flows_into_a_host_share_its_port() -> None:
    engine = FlowEngine(
        **arguments(**traffic([(0, 5, 4096 * 1000), (1, 5, 4096 * 1000), (2, 3, 4096 * 1000)])), tolerance=0.0
    )
    engine.run(10**12)
    both, other, alone = engine.arrivals() / 1e6
    assert both == other == pytest.approx(2000 * WIRE, rel=0.03)
    assert alone == pytest.approx(1000 * WIRE, rel=0.03)
    assert (engine.arrived, engine.next_ps) == (3, None)
    assert engine.link_bytes()[:6].tolist() == pytest.approx([1000 * 4178 + 16] * 3 + [0] * 3)
    kind, port, _ = engine.bottlenecks()[0]
    assert (kind, port) == ("link", LEAVES * HOSTS + HOSTS + 2 + 1), "the second leaf's port to its second host"


def test_slices_and_folding_change_nothing() -> None:
    whole, sliced = (FlowEngine(**arguments(), fold=fold) for fold in (True, False))
    whole.run(10**12)
    for moment in range(10**7, 3 * 10**8, 10**7):
        sliced.run(moment)
        assert sliced.now_ps == moment
    assert (whole.arrivals() == sliced.arrivals()).all()
    assert whole.classes <= sliced.classes


def by_leaf(**changed: Any) -> dict[str, Any]:
    """The same with a column for the hosts of each leaf."""
    group = np.zeros((LEAVES + SPINES, LEAVES), np.uint32)
    group[range(LEAVES), range(LEAVES)] = HERE
    group[LEAVES:] = ONE_PORT | np.arange(LEAVES, dtype=np.uint32)
    column = np.repeat(np.arange(LEAVES, dtype=np.uint32), HOSTS)
    return {**arguments(), "group": group, "column": column, **changed}


def test_addresses_that_are_forwarded_alike_share_a_column() -> None:
    lost = (
        10**7,
        _sim.ROUTE,
        LEAVES * HOSTS,
        1,
        ONE_PORT | HOSTS,
    )  # the first leaf sends all to the second by one spine
    for changes in ([], [lost]):
        apart = [
            (at, what, leaf, LEAVES * HOSTS - 1 - host, y) for at, what, leaf, _, y in changes for host in range(HOSTS)
        ]
        one = FlowEngine(**by_leaf(changes=np.array(changes, np.uint64).reshape(-1, 5)))
        other = FlowEngine(**arguments(changes=np.array(apart, np.uint64).reshape(-1, 5)))
        for engine in (one, other):
            engine.run(10**12)
        assert (one.arrivals() == other.arrivals()).all()
        assert (one.link_bytes() == other.link_bytes()).all()


def test_a_host_that_is_not_here_is_not_reached() -> None:
    given = by_leaf()
    given["group"][0, 1] = HERE
    engine = FlowEngine(**given)
    engine.run(10**12)
    assert (engine.arrivals() == NEVER).tolist() == [True, True, False, False], (
        "these go from the first leaf to the second"
    )


def test_messages_wait_for_the_proxy() -> None:
    posts = {"host.post-cost": "10us"}
    given = {
        "queue_pairs": np.array([(0, 5, 5, 0)], np.uint32),
        "messages": np.array([(0, 64, 0, _sim.WRITE)] * 20, np.uint64),
    }
    engine = FlowEngine(**arguments(**given), parameters=posts)
    engine.run(10**12)
    assert np.diff(engine.arrivals()).tolist() == [10_000_000] * 19
    assert engine.bottlenecks()[0][0] == "post"


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"efficiency": 0.0}, "efficiency: 0 is not above 0 and at most 1"),
        ({"tolerance": 2.0}, "tolerance: 2 is not within 0 and 1"),
        ({"changes": np.array([(1, _sim.LOSS, 0, 9, 0)], np.uint64)}, "changes: flows know nothing of lost packets"),
        ({"changes": np.array([(1, _sim.STORM, 0, 3, 1)], np.uint64)}, "changes: flows know nothing of pauses"),
        ({"kinds": [0, 1]}, "kinds: this is list, no array"),
        ({"group": np.zeros((12, 8), np.uint32)}, "group: .* of shape \\(4, n\\)"),
        (
            {"group": np.full((4, 8), HERE, np.uint32)},
            "group: row 0: node 8: address 0: port 2147483646, and the switch",
        ),
        ({"column": np.full(8, 8, np.uint32)}, "column: row 0: it is 8, and there are 8 columns"),
        ({"column": np.zeros(5, np.uint32)}, "queue_pairs: row 0: to is 5, and there are 5 addresses"),
        (
            {"column": np.arange(8, dtype=np.uint32) // 4 * 4},
            "group: row 0: node 8: address 0: it leads to node 0, and queue pairs have addresses of several nodes there",
        ),
    ],
)
def test_mistakes(changed: dict[str, object], error: str) -> None:
    with pytest.raises(ValueError, match=f"^{error}"):
        FlowEngine(**arguments(**changed))


def test_a_flow_whose_way_is_gone_stands_still() -> None:
    changes = np.array([(10**7, _sim.LINK_DOWN, 5, 0, 0), (10**9, _sim.LINK_UP, 5, 0, 0)], np.uint64)
    engine = FlowEngine(**arguments(changes=changes))
    engine.run(10**9)
    assert (engine.arrivals() == NEVER).tolist() == [True, True, False, False], "the last was over"
    engine.run(10**12)
    assert (engine.arrivals() < NEVER).all()


def test_a_change_elsewhere_leaves_what_binds() -> None:
    """Networks are built anew at a change; a flow that has what it had is still bound by its link, not by its window."""
    one = traffic([(0, 5, 10_000_000)])
    changes = np.array([(10**7, _sim.RATE, 3, 200_000, 0)], np.uint64)
    quiet, changed = FlowEngine(**arguments(**one)), FlowEngine(**arguments(**one, changes=changes))
    for engine in (quiet, changed):
        engine.run(10**12)
    assert quiet.bottlenecks() == changed.bottlenecks()
    assert [kind for kind, _, _ in changed.bottlenecks()] == ["link"]


NUMBERS = st.one_of(st.integers(0, 12), st.sampled_from([2**16 - 1, 2**31, 2**32 - 1, 2**64 - 1, 400_000, 10**6]))
FIELDS = ("kinds", "cables", "group", "groups", "members", "column", "queue_pairs", "messages")


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.sampled_from(FIELDS), st.integers(0, 10**6), NUMBERS), min_size=1, max_size=6), st.booleans()
)
def test_no_array_makes_the_engine_panic(edits: list[tuple[str, int, int]], leaf: bool) -> None:
    given = by_leaf() if leaf else arguments()
    for name, place, value in edits:
        if name not in given:
            continue
        given[name].flat[place % given[name].size] = min(value, np.iinfo(given[name].dtype).max)
    try:
        engine = FlowEngine(**given)
    except ValueError as error:
        reason = str(error)
    else:
        reason = ""
    if reason:
        assert reason.split(":")[0] in FIELDS
        return
    engine.run(10**9)
    engine.arrivals()
    engine.link_bytes()
    engine.bottlenecks()
