"""The designed configuration takes what its text says otherwise, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from railweave.model.device.build import device_config
from railweave.model.device.fields import amended
from railweave.model.device.model import DeviceConfig
from railweave.systems import system
from tests.retarget import retargeted


def _leaf(nos: str = "eos") -> DeviceConfig:
    return device_config(retargeted("h100-rlb", nos), "stripe1-leaf1")


def _read(config: DeviceConfig, *changes: tuple[str, str]) -> DeviceConfig:
    texts = system(config.nos).files(config)
    file = next(iter(system(config.nos).trees(config)))
    text = texts[file]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    reader = system(config.nos).reader
    assert reader is not None
    return reader.read({**texts, file: text}).config


def test_the_designed_text_changes_nothing() -> None:
    config = _leaf()
    assert amended(config, _read(config), _read(config)) == config


def test_one_value_is_taken_and_all_that_the_text_has_no_words_for_stays() -> None:
    config = _leaf()
    found = amended(config, _read(config), _read(config, ("set local-preference 200", "set local-preference 20")))
    assert found != config
    assert found.interfaces == config.interfaces, "lengths and names of cables are the design's"
    assert found.bgp is not None
    assert config.bgp is not None
    assert replace(found, bgp=replace(found.bgp, policies=config.bgp.policies)) == config


def test_what_is_gone_from_the_text_is_gone() -> None:
    config = _leaf()
    assert config.bgp is not None
    group = config.bgp.groups[0]
    found = amended(config, _read(config), _read(config, (f"   neighbor {group.name} bfd\n", "")))
    assert found.bgp is not None
    assert found != config


def test_what_the_text_has_more_is_there_too() -> None:
    config = _leaf("frr")
    more = ("maximum-paths 4\n", "maximum-paths 4\n  network fc00:77::/64\n")
    found = amended(config, _read(config), _read(config, more))
    assert found.bgp is not None
    assert config.bgp is not None
    assert set(found.bgp.prefix_lists) - set(config.bgp.prefix_lists) == {"(networks)"}


def test_another_order_is_the_order_of_the_text() -> None:
    config = _leaf("frr")
    assert config.bgp is not None
    before = _read(config)
    assert before.bgp is not None
    policy = next(one for one in before.bgp.policies if len(one.terms) > 2)
    turned = replace(policy, terms=policy.terms[::-1])
    policies = tuple(turned if one is policy else one for one in before.bgp.policies)
    found = amended(config, before, replace(before, bgp=replace(before.bgp, policies=policies)))
    assert found.bgp is not None
    terms = next(one for one in found.bgp.policies if one.name == policy.name).terms
    assert [one.name for one in terms] == [one.name for one in turned.terms]
