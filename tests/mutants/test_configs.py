"""Configurations and texts that lack something are rendered, read, checked and routed without an exception."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import pytest

from railweave.model.catalog import in_force
from railweave.model.device.model import DeviceConfig
from railweave.systems import system, systems
from tests.drawn import every
from tests.mutants.configs import at, crashes, designed, edited, networks, places, put

MUTANTS = 500 if every() else 120


@pytest.mark.slow
def test_nothing_that_is_read_raises_an_exception() -> None:
    """Of more, by hand: ``python -m tests.mutants.configs 100000 1``."""
    assert [str(one) for one in crashes(MUTANTS, 1)] == []


def test_every_field_has_a_place() -> None:
    """A field that a new type of ``DeviceConfig`` has is mutated without anything said about it."""
    _, configs = designed("evpn-functional", "eos")
    config = configs["leaf1"]
    fields = {place.field for place in places(config, DeviceConfig)}
    assert {("qos", "classes", "pfc_priority"), ("bgp", "policies", "terms", "match", "community")} <= fields
    assert {
        ("vrfs", "prefixes"),
        ("gateways", "prefixes"),
        ("overlay", "neighbors", "peer_as"),
    } <= fields
    assert not fields & {("name",), ("nos",), ("schema",)}


def test_a_value_is_put_where_it_was_found() -> None:
    _, configs = designed("evpn-functional", "eos")
    config = configs["leaf1"]
    for place in places(config, DeviceConfig):
        value = at(config, place.path)
        assert put(config, place.path, lambda _, value=value: value) == config


def test_texts_are_edited_as_they_were() -> None:
    text = "".join(f"line {number}\n" for number in range(40))
    first, again = (edited(text, random.Random("a")) for _ in range(2))  # noqa: S311 - not secrets
    assert first == again
    assert first[0] != text


def test_every_system_has_every_example() -> None:
    made = list(networks())
    assert len(made) == len(set(made))
    assert {nos for _, nos in made} == {"dell_sonic", "eos", "frr", "junos", "sonic"}


@pytest.mark.parametrize("nos", sorted(systems()))
@pytest.mark.parametrize(
    ("example", "device"), [("aidc-three-fabrics", "backend2-spine4"), ("evpn-functional", "leaf1")]
)
def test_what_others_name_may_be_missing(nos: str, example: str, device: str) -> None:
    """Profiles, groups and policies name ports, gateways, VRFs: a device that was read may lack any or all of them."""
    network, configs = designed(example, nos)
    config, here = configs[device], system(nos)
    with in_force(network.catalog):
        for field in fields(DeviceConfig):
            whole = getattr(config, field.name)
            if isinstance(whole, tuple) and whole:
                for left in ((), whole[1:], whole[:-1]):
                    one = replace(config, **{field.name: left})
                    assert isinstance(here.gaps(one), list)
                    assert here.files(one)
