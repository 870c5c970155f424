"""Identity, the management port, logins, services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import line, section
from railweave.systems.dell_sonic.render.access import logins
from railweave.systems.dell_sonic.tree import quoted
from railweave.systems.sonic.render.names import transit_vlan, vrf_names
from railweave.systems.sonic.render.system import secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import Section
    from railweave.model.device.model import DeviceConfig

ROLES = {"super-user": "admin", "operator": "operator", "read-only": "operator"}
SECURITY_PROFILE = "railweave"


def identity(config: DeviceConfig) -> Iterator[Section]:
    """Name, logins, and the management port in a VRF of its own."""
    wanted = config.management
    yield line(f"hostname {config.name}")
    yield line("ip vrf mgmt")
    names = vrf_names(config)
    for name in (names[vrf.name] for vrf in config.vrfs):
        yield line(f"ip vrf {name}")
    yield section(
        "interface Management 0", f"ip address {config.management_address} gwaddr {config.management_gateway}"
    )
    for name, user in wanted.users.items():
        if user.password:
            yield line(f"username {name} password {secret(user.password)} role {ROLES[user.role]}")
    yield from logins(wanted)


def services(config: DeviceConfig) -> Iterator[Section]:
    """Names, time, SNMP, telemetry, LLDP."""
    wanted = config.management
    for server in wanted.dns:
        yield line(f"ip name-server {server} vrf mgmt")
    if wanted.ntp:
        yield line("ntp vrf mgmt")
    for server in wanted.ntp:
        yield line(f"ntp server {server}")
    if not wanted.lldp:
        yield line("no lldp enable")
    snmp = wanted.snmp
    if snmp is not None:
        if snmp.location:
            yield line(f"snmp-server location {quoted(snmp.location)}")
        if snmp.contact:
            yield line(f"snmp-server contact {quoted(snmp.contact)}")
        if snmp.community:
            yield line(f"snmp-server community {secret(snmp.community)}")
            for target in snmp.trap_targets:
                yield line(f"snmp-server host {target} community {secret(snmp.community)} traps v2c")
    if wanted.services.grpc_certificate is not None:
        yield line(f"ip telemetry security-profile {SECURITY_PROFILE}")


def tunnel(config: DeviceConfig) -> Iterator[Section]:
    """The tunnel between leaves: a VLAN and a VRF for each VNI of a tenant, a VLAN for each of a layer-2 network."""
    if config.overlay is None or not config.vrfs or not config.overlay.endpoints:
        return
    names = vrf_names(config)
    yield section(
        "interface vxlan vtep",
        f"source-ip {config.overlay.endpoints[0].address}",
        [f"map vni {vrf.vni} vlan {transit_vlan(config, vrf.name)}" for vrf in config.vrfs],
        [f"map vni {one.vni} vlan {one.vlan}" for one in (config.mac_vrf.vlans if config.mac_vrf else ())],
        [f"map vni {vrf.vni} vrf {names[vrf.name]}" for vrf in config.vrfs],
    )
