"""A device's own types have what the fabric file's have, with the same defaults, so that nothing is dropped on the way."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel

from railweave.model.device import balancing, management, model, qos_model, timers
from railweave.model.device.reading import own_type
from railweave.model.intent import balancing as intent_balancing
from railweave.model.intent import buffers as intent_buffers
from railweave.model.intent import management as intent_management
from railweave.model.intent import qos as intent_class
from railweave.model.intent import qos as intent_qos
from railweave.model.intent import topology as intent_interconnect
from railweave.model.intent import underlay as intent_underlay

PAIRS: list[tuple[type[Any], type[BaseModel], set[str]]] = [
    (balancing.EgressQuantization, intent_balancing.EgressQuantization, set()),
    (balancing.Reassignment, intent_balancing.Reassignment, set()),
    (balancing.Dlb, intent_balancing.Dlb, set()),
    (balancing.Hash, intent_balancing.Hash, set()),
    (qos_model.Ecn, intent_class.Ecn, set()),
    # what a switch makes of it is in transmit_percent
    (qos_model.TrafficClass, intent_class.TrafficClass, {"bandwidth"}),
    (qos_model.Buffers, intent_buffers.Buffers, set()),
    (qos_model.Watchdog, intent_qos.Watchdog, set()),
    (management.User, intent_management.User, set()),
    (management.Syslog, intent_management.Syslog, set()),
    (management.SnmpUser, intent_management.SnmpUser, set()),
    (management.Snmp, intent_management.Snmp, set()),
    (management.Services, intent_management.Services, set()),
    # a device has an address of the pool, and its gateway, of its own
    (management.Management, intent_management.Management, {"pool", "gateway"}),
    (timers.Bfd, intent_underlay.Bfd, set()),
    (timers.RouterAdvertisements, intent_underlay.RouterAdvertisements, set()),
    (model.Macsec, intent_interconnect.Macsec, set()),
]


@pytest.mark.parametrize(("own", "given", "left"), PAIRS, ids=lambda one: getattr(one, "__name__", ""))
def test_the_same_fields_and_defaults(own: type[Any], given: type[BaseModel], left: set[str]) -> None:
    assert {one.name for one in dataclasses.fields(own)} == set(given.model_fields) - left
    if all(not one.is_required() for one in given.model_fields.values()):
        assert own() == own_type(own, given())


def test_every_value_is_taken() -> None:
    given = intent_class.TrafficClass(
        queue=4,
        dscp=(26, 30),
        lossless=True,
        pfc_priority=3,
        priority="strict-high",
        transmit_percent=85,
        buffer_percent=20,
        dynamic_threshold=9,
        ecn=intent_class.Ecn(min_fill=10, max_fill=30, max_probability=20, min_bytes=1000, max_bytes=2000),
    )
    marked = qos_model.Ecn(10, 30, 20, 1000, 2000)
    assert own_type(qos_model.TrafficClass, given) == qos_model.TrafficClass(
        4, (26, 30), True, 3, "strict-high", 85, 20, 9, marked
    )
