"""What switches have, carried over to what the lab runs for them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from railweave.analysis.checks.subject import Subject
from railweave.live.lab.emulated import emulated
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from tests.conftest import example

LEAF = "stripe1-leaf1"


@cache
def _designed() -> Subject:
    return Subject.of(example("h100-rlb"))


def _emulated(changed: DeviceConfig) -> tuple[DeviceConfig, list[str]]:
    subject = _designed()
    made, said = emulated(subject.network, subject.configs | {LEAF: changed})
    return made[LEAF], said


def test_what_is_as_designed_runs_as_designed() -> None:
    subject = _designed()
    made, said = emulated(subject.network, subject.configs)
    assert said == []
    assert made == {name: device_config(subject.network, name, "frr") for name in subject.configs}


def test_a_session_that_is_gone_is_gone_in_the_lab_by_the_name_that_its_port_has_there() -> None:
    own = _designed().configs[LEAF]
    assert own.bgp is not None
    first = own.bgp.groups[0]
    group = replace(first, sessions=())
    found, said = _emulated(replace(own, bgp=replace(own.bgp, groups=(group, *own.bgp.groups[1:]))))
    assert said == []
    assert found.bgp is not None
    assert [len(one.sessions) for one in found.bgp.groups] == [0, 1, 1, 1]


def test_numbers_of_sessions_and_gateways_are_carried_over() -> None:
    own = _designed().configs[LEAF]
    assert own.bgp is not None
    groups = tuple(replace(one, local_as=65099) for one in own.bgp.groups)
    gateways = tuple(replace(one, mtu=1500) for one in own.gateways)
    found, said = _emulated(replace(own, bgp=replace(own.bgp, asn=65099, groups=groups), gateways=gateways))
    assert found.bgp is not None
    assert (found.bgp.asn, {one.local_as for one in found.bgp.groups}) == (65099, {65099})
    assert {one.mtu for one in found.gateways} == {1500} or said, "what has another value there is said"


def test_what_the_lab_has_in_another_form_is_said() -> None:
    own = _designed().configs[LEAF]
    assert own.bgp is not None
    groups = tuple(replace(one, fabric_color=None) for one in own.bgp.groups)
    _, said = _emulated(replace(own, bgp=replace(own.bgp, groups=groups)))
    assert len(said) == len(groups)
    assert all("as designed in the lab" in one and one.startswith(LEAF) for one in said)


def test_what_the_lab_has_nothing_of_is_left_alone() -> None:
    own = _designed().configs[LEAF]
    assert own.qos is not None
    found, said = _emulated(replace(own, qos=replace(own.qos, buffer_monitor=not own.qos.buffer_monitor)))
    assert said == []
    assert found == device_config(_designed().network, LEAF, "frr")
