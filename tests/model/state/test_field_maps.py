"""Field maps read what is where they say, and nothing else."""

from __future__ import annotations

import json

import pytest

from railweave.model.state.field_maps import Fields, choice, column, keyed, listed, numbered
from railweave.model.state.ports import Errors, InterfaceState, PfcCounters
from railweave.model.state.protocols import IsisAdjacency
from railweave.model.state.values import Answers, Value

PORT = Fields(
    InterfaceState,
    "name!=ifname admin_up=state/admin oper_up=state/oper:upper description=alias|ifalias||$0 mtu addresses=ips",
    upper=choice({"up": True, "down": False}),
    errors=Fields(Errors, "in_errors=rx out_errors=tx"),
)


def value(raw: object) -> tuple[Value, Answers]:
    answers = Answers("leaf1", {"q": json.dumps(raw)})
    tree = answers.tree("q")
    assert tree is not None
    return tree, answers


def test_places_readers_and_keys() -> None:
    row = {"ifname": "eth0", "state": {"admin": "yes", "oper": "UP"}, "mtu": "9216", "ips": ["a", "b"], "rx": 4}
    tree, answers = value({"x": row, "y": {"state": {"oper": "lost"}}})
    assert keyed("*", PORT)(tree) == {
        "eth0": InterfaceState(
            "eth0", True, True, description="x", mtu=9216, addresses=("a", "b"), errors=Errors(in_errors=4)
        )
    }
    assert answers.notes == ()


@pytest.mark.parametrize(
    ("given", "description"),
    [({"alias": "a", "ifalias": "b"}, "a"), ({"ifalias": "b"}, "b"), ({"alias": [], "ifalias": "b"}, "key")],
)
def test_the_first_place_that_is_there_counts_and_else_what_can_be_read(
    given: dict[str, object], description: str
) -> None:
    tree, _ = value({"ifname": "eth0", **given})
    assert PORT(tree, "key").description == description


def test_what_cannot_be_read_is_noted_and_absent() -> None:
    tree, answers = value({"x": {"ifname": "eth0", "mtu": "much", "state": 3}, "y": {"ifname": ["a", "b"]}, "z": 7})
    assert [port.mtu for port in listed("*", PORT)(tree)] == [None]
    assert {note.place for note in answers.notes} >= {"x.mtu", "x.state", "y.ifname", "z"}


def test_a_known_value_keeps_what_a_row_lacks() -> None:
    tree, _ = value({"ifname": "eth0", "mtu": 1500})
    known = InterfaceState("eth0", admin_up=True, mtu=9216, description="d")
    assert PORT.onto(known, tree, "d") == InterfaceState("eth0", admin_up=True, mtu=1500, description="d")


def test_paths_lead_through_maps_lists_and_any_depth() -> None:
    tree, _ = value({"vrfs": {"a": {"peers": [{"port": "p", "level": 2}]}, "b": {"peers": {"port": "q"}}}})
    adjacency = Fields(IsisAdjacency, "interface!=port system=$0 level")
    assert listed("vrfs/*/peers[]", adjacency)(tree) == (IsisAdjacency("p", "a", None, 2), IsisAdjacency("q", "b"))
    assert column("..port")(tree) == ("p", "q")


def test_numbers_are_the_last_key() -> None:
    tree, _ = value({"eth0": {"q": {"TC3": {"rx": 1}, "TCx": {"rx": 2}, "3": {"rx": 5}, "TC99999": {}}}})
    counters = numbered("*/q/*", Fields(PfcCounters, "received=rx"), "TC")
    assert counters(tree) == {"eth0": {3: PfcCounters(5)}}


def test_a_map_without_a_field_or_a_reader_is_refused() -> None:
    with pytest.raises(KeyError, match="colour"):
        Fields(InterfaceState, "colour")
    with pytest.raises(TypeError, match="nothing reads a Errors"):
        Fields(InterfaceState, "errors=rx")
