"""Ports that are shut and trunks of several VLANs, on every system: rendered, read back, and known to routes and checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from railweave.analysis.checks.devices import compare_device
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.model.device.build import device_config
from railweave.systems import system
from tests.conftest import example
from tests.retarget import retargeted
from tests.systems.there_and_back import lost, reader

if TYPE_CHECKING:
    from railweave.analysis.routing.table import Routes
    from railweave.model.device.model import DeviceConfig, Interface

SYSTEMS = ("junos", "eos", "sonic", "dell_sonic", "frr")
BARE = (3001, 3002, 3004)
"""VLANs that no gateway of the example has."""


def designed(nos: str, name: str, device: str) -> DeviceConfig:
    return device_config(example(name) if nos == "junos" else retargeted(name, nos), device, nos)


def with_port(config: DeviceConfig, name: str, **fields: object) -> DeviceConfig:
    ports = [replace(one, **fields) if one.name == name else one for one in config.interfaces]  # pyright: ignore[reportArgumentType]
    return replace(config, interfaces=tuple(ports))


def of_kind(config: DeviceConfig, kind: str) -> Interface:
    return next(one for one in config.interfaces if one.kind == kind)


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_shut_port_comes_back(nos: str) -> None:
    for name, device in (("h100-rlb", "stripe1-leaf1"), ("evpn-functional", "leaf1")):
        config = designed(nos, name, device)
        kinds = {one.kind for one in config.interfaces} - ({"server"} if nos == "frr" else set())
        for kind in sorted(kinds):
            assert lost(with_port(config, of_kind(config, kind).name, enabled=False)) == []


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_trunk_comes_back(nos: str) -> None:
    config = designed(nos, "mi300x-leaf-24", "leaf1")
    first = next(one for one in config.interfaces if one.vlan)
    own, other = [one.vlan for one in config.gateways if one.vlan][:2]
    assert own is not None
    assert other is not None
    assert lost(with_port(config, first.name, native_vlan=own, tagged=(other, *BARE))) == []
    assert lost(with_port(config, first.name, native_vlan=None, tagged=(own, other, *BARE))) == []
    assert lost(with_port(config, first.name, native_vlan=None, tagged=(own,))) == []


@pytest.mark.parametrize("nos", [one for one in SYSTEMS if one != "frr"])
def test_a_server_port_that_is_shut_is_found_and_named(nos: str) -> None:
    check_shut(nos, "server")


@pytest.mark.parametrize("nos", SYSTEMS)
def test_a_link_that_is_shut_is_found_and_named(nos: str) -> None:
    check_shut(nos, "fabric")


def check_shut(nos: str, kind: str) -> None:
    config = designed(nos, "h100-rlb", "stripe1-leaf1")
    port = of_kind(config, kind).name
    files = system(nos).files(config)
    found = system(nos).files(with_port(config, port, enabled=False))
    found = {file: (f"devices/x/{file}", found[file]) for file in system(nos).configurations(config)}
    result = compare_device(config, files, found)
    assert result.config is not None
    assert [one.name for one in result.config.interfaces if not one.enabled] == [port]
    assert {one.id for one in result.findings} == {"port-differs"}
    assert all(port in one.where or port in one.what or one.line for one in result.findings)


def test_routes_do_without_a_shut_link() -> None:
    network = example("h100-rlb")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    leaf = configs["stripe1-leaf1"]
    port = of_kind(leaf, "fabric")
    shut = ControlPlane({**configs, leaf.name: with_port(leaf, port.name, enabled=False)}.values())
    down = ControlPlane(configs.values()).routes({port.link})
    assert tables(shut, shut.routes()) == tables(shut, down)


def tables(plane: ControlPlane, routes: Routes) -> list[tuple[str, ...]]:
    return [routes.next_hops(name, prefix) for name in plane.configs for prefix in plane.prefixes]


def test_a_gateway_is_up_by_a_trunk_alone() -> None:
    network = example("evpn-functional")
    configs = {one.name: device_config(network, one.name) for one in network.switches}
    leaf = configs["leaf1"]
    gateway, another = [one for one in leaf.gateways if one.vlan][:2]
    assert gateway.vlan is not None
    gone = replace(leaf, interfaces=tuple(one for one in leaf.interfaces if one.vlan != gateway.vlan_name))
    other = next(one for one in gone.interfaces if one.vlan == another.vlan_name)
    carried = with_port(gone, other.name, tagged=(gateway.vlan,))
    for config, holds in ((gone, False), (carried, True)):
        routes = ControlPlane({**configs, leaf.name: config}.values()).routes()
        assert routes.held("leaf1", gateway.vrf, gateway.prefixes[0]) is holds


@pytest.mark.parametrize(
    ("nos", "file", "text", "tagged", "vlan"),
    [
        ("junos", "junos.conf", "vlans { a { vlan-id 10; } b { vlan-id 20; } } interfaces { et-0/0/0 { description \"s eth0\"; unit 0 { family ethernet-switching { interface-mode trunk; vlan { members [ a 20-21 ]; } } } } }", (10, 20, 21), "a"),
        ("junos", "junos.conf", "vlans { a { vlan-id 10; } b { vlan-id 20; } } interfaces { et-0/0/0 { native-vlan-id 20; unit 0 { family ethernet-switching { interface-mode trunk; vlan { members all; } } } } }", (10,), "b"),
        ("eos", "eos.conf", "vlan 10,20\ninterface Ethernet1\n   switchport trunk allowed vlan 10,20-21\n   switchport mode trunk\n", (10, 20, 21), "VLAN0010"),
        ("eos", "eos.conf", "vlan 10,20\ninterface Ethernet1\n   description a\n   switchport trunk native vlan 20\n   switchport mode trunk\n", (10,), "VLAN0020"),
        ("dell_sonic", "sonic.cli", "interface Eth1/1\n switchport access Vlan 5\n switchport trunk allowed Vlan 10,20-21\n", (10, 20, 21), "vn5"),
        ("sonic", "config_db.json", '{"PORT": {"Ethernet0": {"admin_status": "up", "lanes": "1", "speed": "400000"}}, "VLAN_MEMBER": {"Vlan10|Ethernet0": {"tagging_mode": "tagged"}, "Vlan20|Ethernet0": {"tagging_mode": "untagged"}}}', (10,), "Vlan20"),
    ],
)  # fmt: skip
def test_trunks_of_others(nos: str, file: str, text: str, tagged: tuple[int, ...], vlan: str) -> None:
    found = reader(nos).read({file: text})
    [port] = found.config.interfaces
    assert (port.tagged, port.vlan, port.enabled) == (tagged, vlan, True)
    assert found.not_understood == ()
