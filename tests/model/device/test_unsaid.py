"""Fields that a text has no words for: of all entries, of some, or the order of them."""

from __future__ import annotations

from dataclasses import replace

from railweave.model.device.build import device_config
from railweave.model.device.fields import differences
from railweave.model.device.model import DeviceConfig
from tests.conftest import example


def leaf() -> DeviceConfig:
    return device_config(example("h100-rlb"), "stripe1-leaf1", "sonic")


def test_a_field_of_some_entries_is_left_out() -> None:
    config = leaf()
    other = replace(config, interfaces=tuple(replace(one, mtu=1500) for one in config.interfaces))
    kinds = {one.name: one.kind for one in config.interfaces}
    found = differences(config, other, ["interfaces[kind=server].mtu"])
    assert {kinds[one.place[1]] for one in found} == {"fabric"}
    assert {one.field for one in found} == {"interfaces.mtu"}
    assert differences(config, other, ["interfaces[kind=server].mtu", "interfaces[kind=fabric,vlan=].mtu"]) == []


def test_entries_that_a_text_has_not_are_left_out() -> None:
    config = leaf()
    read = replace(config, interfaces=tuple(one for one in config.interfaces if one.kind != "server"))
    assert differences(read, config, ["interfaces[kind=server]"]) == []
    assert len(differences(read, config)) == len(config.interfaces) - len(read.interfaces)


def test_an_entry_of_a_mapping_has_fields() -> None:
    config = leaf()
    assert config.qos is not None
    classes = {name: replace(one, dscp=(), ecn=None) for name, one in config.qos.classes.items()}
    other = replace(config, qos=replace(config.qos, classes=classes))
    unsaid = ["qos.classes.ecn", "qos.classes[lossless=True].dscp"]
    found = differences(config, other, unsaid)
    assert {one.field for one in found} == {"qos.classes.dscp"}
    assert "no-loss" not in {one.place[2] for one in found}


def test_order_is_left_out_by_name() -> None:
    config = leaf()
    assert config.qos is not None
    other = replace(
        config,
        interfaces=config.interfaces[::-1],
        qos=replace(config.qos, ports=config.qos.ports[::-1]),
    )
    assert {one.field for one in differences(config, other)} == {"interfaces.order", "qos.ports.order"}
    assert differences(config, other, ["interfaces.order", "qos.ports.order"]) == []


def test_what_is_there_and_says_nothing_is_no_difference() -> None:
    config = leaf()
    other = replace(config, overlay=None, mac_vrf=None)
    assert differences(other, config) == []
    assert config.bgp is not None
    assert [one.field for one in differences(replace(config, bgp=None), config)] == ["bgp"]
