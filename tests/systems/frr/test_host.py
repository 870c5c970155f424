"""Links and kernel parameters of the Linux host below FRR: designed, read back as zebra shows them, changed, and taken back."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest

from railweave.analysis.drift.running import running_configs
from railweave.errors import RenderError
from railweave.model.device.model import DeviceConfig
from railweave.systems.frr import host
from railweave.systems.frr.host import LINKS, PARAMETERS, THEN_DAEMONS
from tests.netns import needs_root
from tests.retarget import retargeted

LEAF = "stripe1-leaf1"


@pytest.fixture(scope="module")
def leaf() -> DeviceConfig:
    from railweave.model.device.build import device_config

    return device_config(retargeted("evpn-gpu-isolation", "frr"), LEAF)


def shown(config: DeviceConfig) -> str:
    """The links of a design as zebra shows them (``show interface vrf all json``, FRR 10.7), with some that no design has."""
    links: dict[str, dict[str, object]] = {
        "lo": {"mtu": 65536},
        "eth0": {"mtu": 1500},
        "docker0": {"mtu": 1500, "interfaceType": "Bridge"},
        "et-60": {"mtu": 1500, "interfaceType": "Other"},
        "only-configured": {"pseudoInterface": True, "mtu": 0},
    }
    for node in host.parsed(LINKS, host.designed(config)[LINKS]).nodes:
        link, value = links.setdefault(node.name[1], {}), " ".join(node.values)
        words, _, vrf = value.partition(" vrf ")
        if node.name[2] == "type":
            kind, vni, local = (*words.split(), "", "")[:3]
            link |= {
                "interfaceType": {"bridge": "Bridge", "vxlan": "Vxlan"}.get(kind, "VETH"),
                "vrfName": vrf or "default",
            }
            link |= {"vxlanId": {vni: {"mcastGroup": "0.0.0.0"}}, "vtepIp": local} if kind == "vxlan" else {}  # noqa: S104
        else:
            key = {"mtu": "mtu", "master": "masterInterface", "vrf": "vrfName", "alias": "OsDescription"}[node.name[2]]
            link[key] = int(value) if key == "mtu" else value
    return json.dumps(links)


def test_what_zebra_shows_of_a_design_needs_no_command(leaf: DeviceConfig) -> None:
    assert host.changes(LINKS, shown(leaf), host.designed(leaf)[LINKS]) == []
    asked = "".join(f"/proc/sys/{name}:{value}\n" for name, value in host.parameters(leaf).items())
    assert host.changes(PARAMETERS, asked, host.designed(leaf)[PARAMETERS]) == []


def _smaller(config: DeviceConfig) -> DeviceConfig:
    return replace(config, interfaces=tuple(replace(port, mtu=4000) for port in config.interfaces))


def _other_vlan(config: DeviceConfig) -> DeviceConfig:
    server = next(port for port in config.interfaces if port.vlan)
    other = next(
        gateway
        for gateway in config.gateways
        if gateway.vlan_name != server.vlan and gateway.vrf != host.vrf_by_interface(config)[server.name]
    )
    return replace(
        config,
        interfaces=tuple(replace(port, vlan=other.vlan_name) if port == server else port for port in config.interfaces),
    )


def _fewer_tenants(config: DeviceConfig) -> DeviceConfig:
    gone = config.vrfs[0].name
    gateways = tuple(gateway for gateway in config.gateways if gateway.vrf != gone)
    vlans = {gateway.vlan_name for gateway in gateways}
    ports = tuple(port if port.vlan in vlans else replace(port, vlan=None) for port in config.interfaces)
    return replace(config, vrfs=config.vrfs[1:], gateways=gateways, interfaces=ports)


CHANGES: dict[str, tuple[Callable[[DeviceConfig], DeviceConfig], list[str]]] = {
    "mtu": (_smaller, ["on et-0-0 ip link set dev et-0-0 mtu 3986"]),
    "vlan": (_other_vlan, ["to_vrf et-16-0 'tenant-2'", "join et-16-0 irb.12"]),
    "tenant": (
        _fewer_tenants,
        ["gone br20001", "gone vni20001", "to_vrf et-16-0 ''"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_has_its_commands_and_its_way_back(leaf: DeviceConfig, name: str) -> None:
    change, commands = CHANGES[name]
    old, new = host.designed(leaf)[LINKS], host.designed(change(leaf))[LINKS]
    there, back = host.changes(LINKS, shown(leaf), new), host.changes(LINKS, new, old)
    assert set(commands) <= set(there)
    assert back
    assert not any("docker0" in command or "et-60" in command for command in there)


def test_a_tunnel_is_made_after_the_daemons_know_its_vrf_with_all_that_belongs_to_it(leaf: DeviceConfig) -> None:
    without, design = host.designed(_fewer_tenants(leaf))[LINKS], host.designed(leaf)[LINKS]
    commands = host.changes(LINKS, without, design)
    then = commands[commands.index(THEN_DAEMONS) :]
    assert f"tunnel vni20001 'tenant-1' 20001 {host.endpoint(leaf)} br20001 9000" in then
    assert not any("join vni20001" in command for command in commands)


def test_an_endpoint_that_changes_makes_the_tunnel_again(leaf: DeviceConfig) -> None:
    design = host.designed(leaf)[LINKS]
    other = design.replace(f"vxlan 20001 {host.endpoint(leaf)}", "vxlan 20001 10.0.0.1")
    commands = host.changes(LINKS, design, other)
    assert commands[0] == "gone vni20001"
    assert commands[-1] == "tunnel vni20001 'tenant-1' 20001 10.0.0.1 br20001 9000"


def test_routing_and_checks_see_what_the_host_runs(leaf: DeviceConfig) -> None:
    network = retargeted("evpn-gpu-isolation", "frr")
    running = {**host.designed(_smaller(_other_vlan(leaf))), "frr.conf": _text(leaf)}
    config = running_configs(network, {LEAF: running})[LEAF]
    assert {port.mtu for port in config.interfaces if port.kind == "fabric"} == {4000}
    assert host.vrf_by_interface(config)["et-16-0"] == "tenant-2"
    assert host.vrf_by_interface(leaf)["et-16-0"] == "tenant-1"


def _text(config: DeviceConfig) -> str:
    from railweave.systems import system

    return system("frr").files(config)["frr.conf"]


@pytest.mark.parametrize("text", ["link et-0-0 color blue\n", '{"et-0-0": 3}', "nonsense"])
def test_a_text_that_is_neither_form_is_refused(text: str) -> None:
    with pytest.raises(RenderError):
        host.parsed(LINKS, text)


@needs_root
@pytest.mark.parametrize("ports", [(), ("port-1",)])
def test_a_bridge_keeps_its_address_when_its_tunnel_is_made_again(leaf: DeviceConfig, ports: tuple[str, ...]) -> None:
    """The commands of the change run in a namespace. Without a port a bridge has no address, and zebra announces the former one."""
    design = host.designed(leaf)[LINKS]
    commands = host.changes(LINKS, design, design.replace(f"vxlan 20001 {host.endpoint(leaf)}", "vxlan 20001 10.0.0.1"))
    tunnel = f"vni20001 type vxlan id 20001 local {host.endpoint(leaf)} dstport 4789"
    script = [
        f"{host.SHELL}\nknown() {{ :; }}",  # zebra is not there
        "ip link add br20001 mtu 9000 type bridge",
        *(f"ip link add {port} mtu 9000 type dummy; ip link set {port} master br20001" for port in ports),
        f"ip link add {tunnel}; ip link set vni20001 master br20001",
        "ip -o link show dev br20001",
        *(command for command in commands if "vni20001" in command),
        "ip -o link show dev br20001; ip -d -o link show dev vni20001",
    ]
    space = f"rw-test-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", space], check=True)
    try:
        words = ["ip", "netns", "exec", space, "sh", "-c", "\n".join(script)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    finally:
        subprocess.run(["ip", "netns", "del", space], check=True)
    addresses = re.findall(r"br20001: .* link/ether (\S+)", done.stdout)
    assert len(addresses) == 2
    assert addresses[0] == addresses[1] != "00:00:00:00:00:00"
    assert "local 10.0.0.1" in done.stdout


def test_the_description_of_a_servers_port_is_the_alias_of_its_link(leaf: DeviceConfig) -> None:
    port = next(port for port in leaf.interfaces if port.kind == "server" and not port.outside)
    design = host.designed(leaf)[LINKS]
    line = f"link {port.name} alias {port.description}"
    assert line in design
    there = host.changes(LINKS, design.replace(f"{line}\n", ""), design)
    assert there == [f"on {port.name} ip link set dev {port.name} alias '{port.description}'"]
    assert host.changes(LINKS, design, design.replace(f"{line}\n", "")) == [
        f"on {port.name} ip link set dev {port.name} alias ''"
    ]


def test_an_alias_that_a_shell_would_take_apart_is_not_read(leaf: DeviceConfig) -> None:
    links = json.loads(shown(leaf))
    links["et-60"]["OsDescription"] = "it's $(reboot)"
    nodes = host.parsed(LINKS, json.dumps(links)).nodes
    assert not any(node.name == ("link", "et-60", "alias") for node in nodes)
