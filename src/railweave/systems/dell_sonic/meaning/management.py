"""Conversion between the management settings of a device and their statements (``statements.management``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.device.management import Aaa, EdgePorts, Login, Management, Security, Services
from railweave.systems.dell_sonic.statements.management import Limits, ManagementPort, System
from railweave.systems.dell_sonic.words import fewest
from railweave.systems.sonic.names import vrf_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import DeviceConfig
    from railweave.systems.dell_sonic.statements.ports import Lines


def system_of(config: DeviceConfig) -> System:
    """Return the management settings of a device as the values that its configuration lines print."""
    management, names = config.management, vrf_names(config)
    aaa, login = management.aaa(), management.login()
    return System(
        name=config.name,
        vrfs=tuple(names[vrf.name] for vrf in config.vrfs),
        port=ManagementPort(config.management_address, config.management_gateway),
        users=management.users,
        tacacs=aaa.tacacs if aaa else (),
        radius=aaa.radius if aaa else (),
        asked=aaa.groups()[0] if aaa else None,
        login=Limits(login.lockout, login.attempts, login.idle) if login else None,
        dns=management.dns,
        ntp=management.ntp,
        **Management.lldp_of(management),
        snmp=management.snmp,
        certificate=management.services.grpc_certificate,
    )


def management_of(system: System, ports: Iterable[Lines], *, protected: bool) -> Management:
    """Return the management settings that the values in configuration lines describe. A limit that no line sets has its default.

    Login servers that no login uses are left out. ``ports`` are the settings of interfaces. ``protected`` is True if an access list
    protects the switch.
    """
    servers = system.asked is not None and (system.tacacs or system.radius)
    aaa = Aaa(system.tacacs, system.radius) if servers else None
    login, edge = _login(system.login), _edge_ports(ports)
    return Management(
        dns=system.dns,
        ntp=system.ntp,
        users=system.users,
        syslog=system.syslog,
        snmp=system.snmp,
        services=Services(grpc_certificate=system.certificate),
        **Management.lldp_of(system),
        security=Security(login, aaa, edge) if protected or login or aaa or edge else None,
    )


def _login(limits: Limits | None) -> Login | None:
    if limits is None:
        return None
    usual = Login()
    return Login(
        attempts=usual.attempts if limits.attempts is None else limits.attempts,
        lockout=usual.lockout if limits.lockout is None else limits.lockout,
        idle=usual.idle if limits.idle is None else limits.idle,
    )


def _edge_ports(ports: Iterable[Lines]) -> EdgePorts | None:
    """Return the protection of server ports: BPDU guard, and the storm-control limit as a percentage of the port's speed.

    If ports have different limits, the least frequent one is returned, so that a deviating port stays visible.
    """
    every = list(ports)
    guarded = any(port.guarded for port in every)
    limited = [(port, limit) for port in every for limit in port.floods.values() if port.speed]
    if not limited:
        return EdgePorts(guarded, None) if guarded else None
    percent = fewest(round(limit / (10_000 * (port.speed or 1))) for port, limit in limited)
    return EdgePorts(guarded, percent)
