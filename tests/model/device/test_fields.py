"""Configurations are held against each other field by field; names that a system does not print are no differences."""

from __future__ import annotations

from dataclasses import replace

from railweave.model.device.build import device_config
from railweave.model.device.fields import differences
from railweave.model.device.model import DeviceConfig
from tests.retarget import retargeted

UNPRINTED = ("qos.classes.name", "gateways.vlan_name")


def leaf() -> DeviceConfig:
    network = retargeted("mi300x-leaf-24", "dell_sonic")
    return device_config(network, network.switches[0].name)


def renamed(config: DeviceConfig) -> DeviceConfig:
    """The same with other names of classes and VLANs."""
    qos = config.qos
    assert qos is not None
    return replace(
        config,
        qos=replace(
            qos,
            classes={f"other-{name}": one for name, one in reversed(qos.classes.items())},
            marking={f"other-{name}": one for name, one in qos.marking.items()},
            default_class=f"other-{qos.default_class}",
        ),
        interfaces=tuple(replace(one, vlan=one.vlan and f"other-{one.vlan}") for one in config.interfaces),
        gateways=tuple(replace(one, vlan_name=f"other-{one.vlan_name}") for one in config.gateways),
    )


def test_fields_of_a_class_have_names() -> None:
    config = leaf()
    assert config.qos is not None
    classes = {name: replace(one, dscp=(63,)) for name, one in config.qos.classes.items()}
    changed = replace(config, qos=replace(config.qos, classes=classes))
    assert {one.field for one in differences(config, changed)} == {"qos.classes.dscp"}
    assert differences(config, changed, ["qos.classes.dscp"]) == []


def test_an_order_can_be_left_aside() -> None:
    config = leaf()
    assert config.qos is not None
    changed = replace(config, interfaces=config.interfaces[::-1], qos=replace(config.qos, ports=config.qos.ports[::-1]))
    assert {one.field for one in differences(config, changed)} == {"interfaces.order", "qos.ports.order"}
    assert differences(config, changed, ["interfaces.order", "qos.ports.order"]) == []


def test_classes_go_by_queues_and_vlans_by_numbers() -> None:
    config = leaf()
    other = renamed(config)
    assert differences(other, config) != []
    assert differences(other, config, UNPRINTED) == []
    wrong = replace(other, interfaces=tuple(replace(one, vlan=None) for one in other.interfaces))
    assert {one.field for one in differences(wrong, config, UNPRINTED)} == {"interfaces.vlan"}
