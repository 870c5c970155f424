"""The packet engine from Python: the same runs as railweave sim's, and arguments that are wrong."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave import _sim
from railweave._sim import ONE_PORT, PacketEngine, command
from tests.leaf_spine import HOSTS, LEAVES, SPINES, arguments, flow_file, network, traffic

NEVER = 2**64 - 1


@pytest.mark.parametrize(
    ("options", "balance", "more"),
    [
        ([], "ECMP", {}),
        (["--lb", "spray", "--set", "host.mtu=1024"], "SPRAY", {"parameters": {"host.mtu": "1024"}}),
        (["--lb", "dlb-per-packet", "--cc", "none"], "DLB_PER_PACKET", {"dcqcn": None}),
        (["--lb", "dlb", "--dcqcn", "hpcc", "--set", "seed=7"], "DLB", {"dcqcn": "hpcc", "parameters": {"seed": "7"}}),
        (
            ["--set", "alpha=0.1"],
            "ECMP",
            {"profiles": [{"alpha": "9"}, {"alpha": "0.1"}], "profile": np.full(12, 1, np.uint16)},
        ),
    ],
)
def test_the_same_run_as_the_command(tmp_path: Path, options: list[str], balance: str, more: dict[str, Any]) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text(flow_file())
    shape = f"leaf-spine:leaves={LEAVES},spines={SPINES},hosts={HOSTS}"
    words = ["--topology", shape, "--flows", flows, *options, "--json", "--output", tmp_path / "out.json"]
    assert command("test", [str(word) for word in words]) == 0
    wanted = json.loads((tmp_path / "out.json").read_text())

    engine = PacketEngine(**network(getattr(_sim, balance)), **traffic(), **more)
    engine.run(10**10)
    found = engine.counters()
    assert f"{found['trace_checksum']:016x}" == wanted["trace_checksum"]
    for name in found.keys() & wanted.keys() - {"trace_checksum"}:
        assert found[name] == wanted[name], name
    assert {name[8:]: count for name, count in found.items() if name.startswith("dropped_")} == wanted[
        "dropped_by_reason"
    ]
    assert found["pfc_pause_ps"] / 1e6 == wanted["pfc_pause_us"]
    arrivals = engine.arrivals()
    assert arrivals.dtype == np.uint64
    assert [time / 1e6 for time in arrivals.tolist()] == [flow["fct_us"] for flow in wanted["flows"]]


def test_where_a_run_is_cut_changes_nothing() -> None:
    whole, cut = PacketEngine(**arguments()), PacketEngine(**arguments())
    whole.run(10**10)
    assert (whole.arrivals() < NEVER).all()
    assert (cut.now_ps, cut.next_ps) == (0, 0)
    for moment in (0, 1, 5_000_000, 5_000_000, 20_000_000):
        cut.run(moment)
        assert cut.now_ps == moment
        assert cut.next_ps is not None
        assert cut.next_ps >= moment
    assert (cut.arrivals() == NEVER).any()
    cut.run(10**10)
    assert cut.counters() == whole.counters()
    assert (cut.arrivals() == whole.arrivals()).all()
    cut.run(2**62)
    assert cut.next_ps is None
    with pytest.raises(ValueError, match=r"^until_ps: 5 is not within now \(4611686018427387904\) and 2\^62$"):
        cut.run(5)


def test_port_counters() -> None:
    engine = PacketEngine(**arguments(**traffic([(0, 5, 4096 * 10)])))
    engine.run(10**10)
    ports = engine.port_counters()
    assert {counters.dtype for counters in ports.values()} == {np.dtype(np.uint64)}
    assert {counters.shape for counters in ports.values()} == {(2 * (8 + 4),)}
    frames = 10 * (4096 + 62)
    sent = ports["tx_bytes"]
    assert sent[0] >= frames, "host 0 sends all of it"
    assert sent[8 + 6 + 1] == sent[0], (
        "and its packets leave leaf 1, whose ports come after leaf 0's, by the port of host 5"
    )
    assert 0 < sent[5] < 10 * 100, "host 5 acknowledges"
    assert ports["queued_bytes"].sum() == 0


def test_messages_that_wait() -> None:
    """An answer starts as long after what it waits for as it says."""
    given = arguments(
        queue_pairs=np.array([(0, 5, 5, 0), (5, 0, 0, 5)], np.uint32),
        messages=np.array([(0, 100_000, 0, _sim.WRITE), (1, 1, 7_000_000, _sim.SEND)], np.uint64),
        after_start=np.array([0, 0, 1], np.uint64),
        after=np.array([0], np.uint32),
    )
    engine = PacketEngine(**given)
    engine.run(10**10)
    first, second = engine.arrivals().tolist()
    assert first + 7_000_000 + 4_000_000 < second < first + 7_000_000 + 4_100_000


@pytest.mark.parametrize(
    ("change", "counter"),
    [
        ((_sim.LINK_DOWN, 0, 0, 0), "dropped_link_down"),
        ((_sim.NODE_DOWN, 9, 0, 0), "dropped_link_down"),
        ((_sim.LOSS, 0, 2**31, 0), "dropped_lost_on_wire"),
        ((_sim.ROUTE, 8, 5, _sim.NO_GROUP), "dropped_no_route"),
        ((_sim.RECEIVE, 5, 10, 0), None),
        ((_sim.RATE, 5, 10, 0), None),
        ((_sim.STORM, 5, 3, 1), None),
    ],
)
def test_changes(change: tuple[int, ...], counter: str | None) -> None:
    """Each of them comes in time to keep the first message from its host, or to make it late."""
    at = 10_000_000
    plain = PacketEngine(**arguments())
    plain.run(10**9)
    engine = PacketEngine(**arguments(changes=np.array([(at, *change)], np.uint64)))
    engine.run(10**9)
    assert engine.arrivals()[0] > plain.arrivals()[0]
    if counter:
        assert plain.counters()[counter] == 0
        assert engine.counters()[counter] > 0


def test_a_rate_that_changes_on_a_cable_without_delay() -> None:
    """Nodes then affect each other after a frame's serialization, not at once: time goes on."""
    given = arguments(changes=np.array([(10_000_000, _sim.RATE, 5, 100_000, 0)], np.uint64))
    given["cables"][5, 3] = 0
    engine = PacketEngine(**given)
    engine.run(10**10)
    assert (engine.arrivals() < NEVER).all()


def edited(name: str, place: tuple[int, ...], value: int) -> dict[str, Any]:
    array = arguments()[name].copy()
    array[place] = value
    return {name: array}


def waiting(after: list[tuple[int, ...]]) -> dict[str, Any]:
    """Messages that wait for these, by turns from host 5 to host 0 and back, all of a direction on one queue pair."""
    return {
        "queue_pairs": np.array([(5, 0, 0, 5), (0, 5, 5, 0)], np.uint32),
        "messages": np.array([(number % 2, 1, 0, _sim.WRITE) for number in range(len(after))], np.uint64),
        "after_start": np.cumsum([0, *map(len, after)]).astype(np.uint64),
        "after": np.array([before for one in after for before in one], np.uint32),
    }


WRONG = [
    ({"kinds": [0, 1]}, "kinds: this is list, no array: give an array of uint8 of shape (n,)"),
    (
        {"kinds": np.zeros(12)},
        "kinds: this is an array of float64 of shape (12,): give an array of uint8 of shape (n,)",
    ),
    (
        {"cables": np.zeros((3, 2), np.uint64)},
        "cables: this is an array of uint64 of shape (3, 2): give an array of uint64 of shape (n, 4)",
    ),
    (
        {"cables": np.zeros((2, 4), ">u8")},
        "cables: this is an array of >u8 of shape (2, 4): give an array of uint64 of shape (n, 4)",
    ),
    (
        {"cables": np.asfortranarray(network()["cables"])},
        "cables: its numbers do not lie in order: give numpy.ascontiguousarray of it",
    ),
    (
        {"cables": np.frombuffer(bytes(65), np.uint8)[1:].view(np.uint64).reshape(2, 4)},
        "cables: its numbers do not lie in order: give numpy.ascontiguousarray of it",
    ),
    (edited("kinds", (3,), 2), "kinds: row 3: 2 is no kind: give HOST or SWITCH"),
    (
        {"kinds": np.ones(12, np.uint8)},
        "kinds: a network of 0 hosts has nobody to send to; give at least 2 hosts",
    ),
    (edited("cables", (2, 0), 12), "cables: row 2: a is 12, and there are 12 nodes"),
    (edited("cables", (2, 0), 2**63), "cables: row 2: a is 9223372036854775808, and there are 12 nodes"),
    (edited("cables", (2, 1), 2), "cables: row 2: node 2 is linked to itself"),
    (edited("cables", (2, 0), 1), "cables: row 2: host 1 has a second cable: a host has one port"),
    (edited("cables", (2, 0), 9), "cables: node 2 has none"),
    (edited("cables", (2, 2), 0), "cables: row 2: rate_mbps is 0: give 1 to 10000000"),
    (edited("cables", (2, 3), 10**13), "cables: row 2: delay_ps is 10000000000000: give 0 to 1000000000000"),
    (
        {"group": np.zeros((5, 8), np.uint32)},
        "group: this is an array of uint32 of shape (5, 8): give an array of uint32 of shape (4, n)",
    ),
    (edited("group", (0, 5), 1), "group: row 0: node 8: address 5: group 1, and there are 1 groups"),
    (edited("group", (2, 5), 0), "group: row 2: node 10: address 5: port 5, and the switch has 2"),
    (edited("group", (2, 5), ONE_PORT | 2), "group: row 2: node 10: address 5: port 2, and the switch has 2"),
    (edited("groups", (0, 1), 0), "groups: row 0: len is 0: give 1 to 65535"),
    (edited("groups", (0, 1), 3), "groups: row 0: it ends at 3, and there are 2 members"),
    (edited("groups", (0, 0), 2**32 - 1), "groups: row 0: it ends at 4294967297, and there are 2 members"),
    (edited("groups", (0, 2), 4), "groups: row 0: balance is 4, and there are 4 ways to share"),
    (edited("members", (1,), 6), "group: row 0: node 8: address 4: port 6, and the switch has 6"),
    (edited("queue_pairs", (1, 0), 8), "queue_pairs: row 1: src is 8, and there are 8 hosts"),
    (edited("queue_pairs", (1, 0), 5), "queue_pairs: row 1: host 5 sends to itself"),
    (edited("queue_pairs", (1, 2), 8), "queue_pairs: row 1: to is 8, and there are 8 addresses"),
    (
        edited("queue_pairs", (1, 2), 0),
        "queue_pairs: row 1: to is address 0, which is host 0's before and host 5's here",
    ),
    (edited("messages", (1, 0), 4), "messages: row 1: qp is 4, and there are 4 queue pairs"),
    (edited("messages", (1, 1), 10**13), "messages: row 1: bytes is 10000000000000: give 0 to 1000000000000"),
    (edited("messages", (1, 2), 10**16), "messages: row 1: start_ps is 10000000000000000: give 0 to 1000000000000000"),
    (edited("messages", (1, 3), 3), "messages: row 1: verb is 3, and there are 3 verbs"),
    (
        {"messages": np.array([(0, 10**12, 0, 0)] * 18, np.uint64)},
        "messages: row 17: queue pair 0 has more than 4294967295 packets: divide them among several",
    ),
    ({"after": np.zeros(0, np.uint32)}, "after: after_start and after are given together or not at all"),
    (
        {"after_start": np.zeros(5, np.uint64), "after": np.zeros(1, np.uint32)},
        "after_start: it runs from 0 to 0, not from 0 to 1",
    ),
    (
        {"after_start": np.array([0, 2, 1, 1, 1], np.uint64), "after": np.zeros(1, np.uint32)},
        "after_start: row 1: 2 comes after 0, and there are 1 in after",
    ),
    (
        {"after_start": np.array([0, 1, 0, 1, 1], np.uint64), "after": np.full(1, 2, np.uint32)},
        (
            "after: row 0: message 0 leaves host 0, and message 2, for which it waits, arrives at host 2: "
            "start_ps and after_delay_ps are 0, and must be at least 1001680, which the shortest wire takes"
        ),
    ),
    (
        {"after_start": np.array([0, 0, 0, 1, 1], np.uint64), "after": np.full(1, 4, np.uint32)},
        "after: row 0: it is 4, and there are 4 messages",
    ),
    (
        {
            "after_start": np.array([0, 0, 1], np.uint64),
            "after": np.zeros(1, np.uint32),
            "after_of": np.array([0, 0, 0, 2], np.uint32),
        },
        "after_of: row 3: it is 2, and there are 2 lists",
    ),
    (
        {
            "after_start": np.zeros(0, np.uint64),
            "after": np.zeros(0, np.uint32),
            "after_of": np.zeros(4, np.uint32),
        },
        "after_start: it has where each list begins, and where the last one ends",
    ),
    (
        edited("group", (1, 5), ONE_PORT | 2),
        "group: row 1: node 9: address 5: it leads to node 6, and queue pairs have the address for node 5",
    ),
    (
        edited("members", (1,), 2),
        "group: row 0: node 8: address 5: it leads to node 2, and queue pairs have the address for node 5",
    ),
    (
        {
            "kinds": np.zeros(4, np.uint8),
            "cables": np.array([(0, 1, 1000, 0), (2, 3, 1000, 0)], np.uint64),
            "group": np.zeros((0, 8), np.uint32),
            **traffic([(0, 1, 1), (0, 2, 1)]),
        },
        "queue_pairs: row 1: host 0 is linked to node 1 alone, and sends to host 2",
    ),
    (waiting([(), (2,), (1,)]), "after: message 1 waits for itself, by others or by those before it on its queue pair"),
    (
        waiting([(1,), (2,), ()]),
        "after: message 0 waits for itself, by others or by those before it on its queue pair",
    ),
    (
        {"changes": np.zeros((1, 4), np.uint64)},
        "changes: this is an array of uint64 of shape (1, 4): give an array of uint64 of shape (n, 5)",
    ),
    ({"changes": np.array([(0, 9, 0, 0, 0)], np.uint64)}, "changes: row 0: there is no change 9"),
    (
        {"changes": np.array([(0, _sim.LINK_DOWN, 24, 0, 0)], np.uint64)},
        "changes: row 0: port is 24, and there are 24 ports",
    ),
    (
        {"changes": np.array([(0, _sim.LINK_DOWN, 0, 0, 6)], np.uint64)},
        "changes: row 0: 6 is of no use to the change: give 0",
    ),
    (
        {"changes": np.array([(0, _sim.RATE, 0, 0, 0)], np.uint64)},
        "changes: row 0: rate_mbps is 0: give 1 to 10000000",
    ),
    (
        {"changes": np.array([(0, _sim.STORM, 9, 3, 1)], np.uint64)},
        "changes: row 0: port 9 is switch 8's: give the port of a host",
    ),
    (
        {"changes": np.array([(0, _sim.STORM, 1, 5, 1)], np.uint64)},
        "changes: row 0: nothing is sent in class 5, so nothing can be paused",
    ),
    (
        {"changes": np.array([(0, _sim.ROUTE, 1, 0, 0)], np.uint64)},
        "changes: row 0: node 1 is a host: give a switch",
    ),
    (
        {"changes": np.array([(0, _sim.ROUTE, 10, 0, 0)], np.uint64)},
        "changes: row 0: port 5, and the switch has 2",
    ),
    (
        {"changes": np.array([(0, _sim.ROUTE, 9, 5, ONE_PORT | 2)], np.uint64)},
        "changes: row 0: it leads to node 6, and queue pairs have the address for node 5",
    ),
    ({"dcqcn": "swift"}, 'dcqcn: "swift" is unknown: give connectx, hpcc, dcqcn-p or None'),
    ({"parameters": {"host.mtu": "1"}}, "parameters: host.mtu: 1 is too small; give 256 to 9KB"),
    ({"parameters": {"host.mtu": 4096}}, "parameters: 'host.mtu': 4096: give names and values as text"),
    (
        {"parameters": {"dlb.min": "90%"}},
        "parameters: dlb.min (90%) is not below dlb.max (50%); give a dlb.max above dlb.min",
    ),
    ({"profiles": [{}]}, "profile: nothing says which node has which profile"),
    (
        {"profiles": [{}], "profile": np.ones(12, np.uint16)},
        "profile: row 0: it is 1, and there are 1 profiles",
    ),
    (
        {"profiles": [{}, {"buffer": "x"}], "profile": np.ones(12, np.uint16)},
        "profiles[1]: buffer: ",
    ),
    ({"without_pfc": np.array([99], np.uint32)}, "without_pfc: row 0: it is 99, and there are 24 ports"),
    ({"without_ecn": np.array([8, 0], np.uint32)}, "without_ecn: row 1: port 0 is a host's: give ports of switches"),
]


@pytest.mark.parametrize(("changed", "error"), WRONG, ids=[error for _, error in WRONG])
def test_wrong_arguments(changed: dict[str, Any], error: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(error) + (r"\S" if error.endswith(" ") else "$")):
        PacketEngine(**arguments(**changed))


def test_the_example_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[1] / "docs" / "engine.md").read_text()
    example = re.search(r"```python\n((?:(?!```).)*)```\n```\n(.*?)```\n", page, re.DOTALL)
    assert example
    exec(example[1], {})  # noqa: S102 - the page's own words
    assert capsys.readouterr().out == example[2]


def test_arrays_are_copied() -> None:
    given = arguments()
    engine = PacketEngine(**given)
    for array in (given["cables"], given["group"], given["messages"]):
        array[:] = 0
    arrivals = engine.arrivals()
    arrivals[:] = 0
    assert (engine.arrivals() == NEVER).all()
    engine.run(10**10)
    assert (engine.arrivals() < NEVER).all()


def test_other_threads_run_meanwhile() -> None:
    engine = PacketEngine(**arguments(**traffic([(0, 5, 10**9), (1, 5, 10**9)])))
    ran = threading.Thread(target=engine.run, args=(10**11,))
    ran.start()
    busy = 0
    while ran.is_alive():
        try:
            engine.counters()
        except RuntimeError as error:
            busy += "borrowed" in str(error)
    ran.join()
    assert busy > 100
    assert (engine.arrivals() < NEVER).all()


@pytest.mark.parametrize("engine", [PacketEngine, _sim.FlowEngine])
def test_messages_may_share_what_they_wait_for(engine: Any) -> None:
    sent = traffic([(0, 5, 50_000), (4, 5, 60_000), (5, 0, 20_000), (5, 4, 30_000), (5, 0, 40_000)])
    delays = np.array([10**6, 2 * 10**6], np.uint64)
    shared = engine(
        **arguments(**sent),
        after_start=np.array([0, 0, 2], np.uint64),
        after=np.array([0, 1], np.uint32),
        after_delay_ps=delays,
        after_of=np.array([0, 0, 1, 1, 0], np.uint32),
    )
    alone = engine(
        **arguments(**sent),
        after_start=np.array([0, 0, 0, 2, 4, 4], np.uint64),
        after=np.array([0, 1, 0, 1], np.uint32),
        after_delay_ps=np.tile(delays, 2),
    )
    for one in (shared, alone):
        one.run(10**10)
    assert (shared.arrivals() == alone.arrivals()).all()
    assert (shared.arrivals()[2:4] > shared.arrivals()[:2].max()).all()


NUMBERS = st.one_of(
    st.integers(0, 12), st.sampled_from([2**16 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 400_000, 10**6])
)
FIELDS = (
    "kinds",
    "cables",
    "group",
    "groups",
    "members",
    "queue_pairs",
    "messages",
    "changes",
    "after_start",
    "after",
    "after_of",
)


@pytest.mark.slow
@settings(max_examples=600)
@given(st.lists(st.tuples(st.sampled_from(FIELDS), st.integers(0, 10**6), NUMBERS), min_size=1, max_size=6))
def test_no_array_makes_the_engine_panic(edits: list[tuple[str, int, int]]) -> None:
    """Whatever numbers stand in the arrays: refused with a reason, or run."""
    changes = [(2_000_000 + 500_000 * number, number, 9, 0, 0) for number in range(4)]
    changes += [(4_000_000, _sim.RATE, 5, 1000, 0), (5_000_000, _sim.STORM, 5, 3, 1), (9_000_000, _sim.STORM, 5, 3, 0)]
    changes += [(6_000_000, _sim.ROUTE, 8, 5, 0), (6_000_000, _sim.RECEIVE, 5, 50_000, 0)]
    given = arguments(
        **traffic([(0, 5, 50_000), (5, 0, 20_000), (4, 5, 50_000)]),
        changes=np.array(changes, np.uint64),
        after_start=np.array([0, 0, 1, 1], np.uint64),
        after=np.zeros(1, np.uint32),
        after_of=np.arange(3, dtype=np.uint32),
    )
    for name, place, value in edits:
        array = given[name]
        array.flat[place % array.size] = min(value, np.iinfo(array.dtype).max)
    try:
        engine = PacketEngine(**given)
    except ValueError as error:
        reason = str(error)
    else:
        reason = ""
    if reason:
        assert reason.split(":")[0] in FIELDS
        return
    for moment in (10**6, 3 * 10**7, 10**8):
        engine.run(moment)
    assert engine.counters()["packet_hops"] >= 0
    engine.port_counters()
