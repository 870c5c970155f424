"""QoS: what a fabric file says changes single keys of the default classes."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from railweave.model.intent.qos import DEFAULT_CLASSES, Qos, TrafficClass

LOSSY = {"lossless": False, "pfc_priority": None}
STORAGE = {"queue": 5, "dscp": [18], "lossless": True, "pfc_priority": 4}


def qos(**classes: object) -> Qos:
    return Qos.model_validate({"classes": classes})


def test_the_defaults_are_those_of_the_sources() -> None:
    classes = Qos().classes
    assert {name: (one.queue, one.dscp, one.pfc_priority) for name, one in classes.items()} == {
        "best-effort": (0, (0,), None),
        "cnp": (3, (48,), None),
        "no-loss": (4, (26,), 3),
        "network-control": (7, (56,), None),
    }
    assert sum(one.transmit_percent or 0 for one in classes.values()) > 0
    assert classes["cnp"].priority == "strict-high"
    ecn = classes["no-loss"].ecn
    assert ecn is not None
    assert ecn.min_fill == 55


@pytest.mark.parametrize("data", [{}, {"classes": {}}, {"buffer_monitor": True}])
def test_nothing_said_leaves_them(data: dict[str, object]) -> None:
    assert Qos.model_validate(data) == Qos()


def test_one_key_changes_one_key() -> None:
    found = Qos.model_validate({"classes": {"no-loss": {"dscp": [26, 34]}}}).classes
    assert found["no-loss"] == Qos().classes["no-loss"].model_copy(update={"dscp": (26, 34)})
    assert {name: one for name, one in found.items() if name != "no-loss"} == {
        name: one for name, one in Qos().classes.items() if name != "no-loss"
    }


def test_null_removes_a_class() -> None:
    assert list(Qos.model_validate({"classes": {"cnp": None}}).classes) == ["best-effort", "no-loss", "network-control"]


def test_null_for_a_class_that_is_not_there() -> None:
    assert qos(storage=None) == Qos()


def test_a_new_class_stands_on_its_own() -> None:
    found = qos(storage={"queue": 5, "dscp": [34]}).classes
    assert list(found) == [*DEFAULT_CLASSES, "storage"]
    assert found["storage"] == TrafficClass(queue=5, dscp=(34,))


def test_merging_leaves_the_defaults_alone() -> None:
    qos(storage={"queue": 5}, cnp={"dscp": [40]})
    assert DEFAULT_CLASSES["cnp"]["dscp"] == (48,)
    assert "storage" not in DEFAULT_CLASSES


def test_a_class_may_take_what_another_gave_up() -> None:
    data = {"classes": {"no-loss": {"dscp": [34]}, "storage": {"queue": 5, "dscp": [26]}}}
    assert Qos.model_validate(data).classes["storage"].dscp == (26,)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ({"storage": {"queue": 4}}, "classes 'no-loss' and 'storage' use the same queue 4 -- give each its own"),
        (
            {"storage": {"queue": 5, "dscp": [48]}},
            "DSCP 48 is in classes 'cnp' and 'storage' -- put each DSCP value in one class only",
        ),
        (
            {"storage": {"queue": 5, "lossless": True, "pfc_priority": 3}},
            "classes 'no-loss' and 'storage' use the same PFC priority 3 -- give each its own",
        ),
        ({"storage": {"queue": 5, "lossless": True}}, "a lossless class needs a pfc_priority -- RoCEv2 fabrics use 3"),
        (
            {"no-loss": {"lossless": False}},
            "pfc_priority is set on a class that is not lossless -- set `lossless: true` or remove it",
        ),
        (
            {"no-loss": {"ecn": {"min_fill": 90}}},
            "min_fill 90 must be below max_fill 90 -- for example 55 and 90",
        ),
    ],
)
def test_collisions(classes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Qos.model_validate({"classes": classes})
    assert caught.value.errors()[0]["msg"] == f"Value error, {message}"


@pytest.mark.parametrize("side", ["", "egress_"])
def test_buffer_partitions_are_parts_of_a_whole(side: str) -> None:
    with pytest.raises(ValidationError, match="have the sum 110 %, more than 100 % -- the sum may be at most 100"):
        Qos.model_validate({"buffers": {f"{side}lossless": 90}})


def test_the_class_that_carries_rdma() -> None:
    data = Qos().lossless_class()
    assert data is not None
    assert data.dscp == (26,)
    lossy = Qos.model_validate({"classes": {"no-loss": None}})
    assert lossy.lossless_class() is None


@pytest.mark.parametrize(
    ("classes", "name"),
    [
        ({}, "no-loss"),
        ({"no-loss": LOSSY}, "no-loss"),
        ({"no-loss": LOSSY, "storage": STORAGE}, "no-loss"),
        ({"no-loss": None, "storage": STORAGE}, "storage"),
        ({"no-loss": {**LOSSY, "dscp": []}, "storage": STORAGE}, "storage"),
        ({"no-loss": None, "bulk": {"queue": 5, "dscp": [18], "ecn": {}}}, "bulk"),
        ({"no-loss": None}, None),
    ],
)
def test_rdma_data_is_no_loss_wherever_it_can_be(classes: dict[str, object], name: str | None) -> None:
    found = qos(**classes)
    assert found.rdma_name() == name
    assert found.rdma_class() == (found.classes[name] if name else None)
