"""Conversion between a device's identity and management settings and the tables of ``statements.management``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Address, InterfaceAddress
from railweave.model.device.balancing import Hash
from railweave.model.device.management import Aaa, EdgePorts, LoginServer, Management, Security, Services, Snmp
from railweave.systems.sonic.statements.management import (
    COUNTERS,
    FIRST,
    MOST_KBPS,
    STORMS,
    WATERMARKS,
    ManagementAddress,
    Server,
    System,
    hash_fields,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.systems.sonic.read.rows import TableReader

TYPES = {"leaf": "LeafRouter", "spine": "SpineRouter", "super-spine": "UpperSpineRouter", "dci": "UpperSpineRouter"}
UNKNOWN = InterfaceAddress("0.0.0.0/0")
_TACACS, _RADIUS = 49, 1812


def system_of(config: DeviceConfig) -> System:
    """Return the device's identity and management settings as the tables have them. railweave always makes these choices:

    - Routing is only in ``frr.conf`` (``split-unified``). Without ``frr_mgmt_framework_config`` SONiC starts no bfdd
      (sonic-buildimage, branches 202405 to 202605 and master, ``dockers/docker-fpm-frr/frr/supervisord``; see
      ``daemons``).
    - Router advertisements come from FRR, with the designed timers, so SONiC's own daemon for them (``radv``) is off.
    - Only ``FEATURE`` decides if LLDP runs: no daemon reads the table ``LLDP`` (sonic-buildimage,
      ``dockers/docker-lldp``: lldpmgrd reads ports and the name of the switch).
    - The counters of ECN marks are enabled, because they are off by default (sonic-buildimage, ``init_cfg.json.j2``).
    """
    management, qos, hashed = config.management, config.qos, config.balancing.hash
    model = catalog().switches.get(config.model)
    platform = model.sonic if model else None
    snmp, grpc = management.snmp, management.services.grpc_certificate is not None
    aaa, login = management.aaa() or Aaa(), management.login()
    features = {"bgp": True, "lldp": management.lldp, "snmp": snmp is not None, "gnmi": grpc, "radv": False}
    if any(port.macsec for port in config.interfaces):
        features["macsec"] = True
    return System(
        name=config.name,
        role=TYPES[config.role],
        platform=platform.platform if platform else "",
        sku=platform.hwsku if platform else "",
        asn=str(config.bgp.asn) if config.bgp else "",
        router_id=config.bgp.router_id if config.bgp else "",
        mode="split-unified",
        framework="true",
        time_zone=management.time_zone,
        features=features,
        counters=dict.fromkeys(COUNTERS, True),
        marks=True if qos and qos.marking else None,
        watermarks=dict.fromkeys(WATERMARKS, True) if qos and qos.buffer_monitor else {},
        addresses=(ManagementAddress(config.management_address, config.management_gateway),),
        management=management if management.dns else replace(management, domain=""),
        grpc_port=management.services.grpc_port if grpc else None,
        hash=Hash(hashed.layer3, hashed.layer4) if hash_fields(hashed) else None,
        asked=",".join((*aaa.groups(), "local")) if aaa.groups() else "",
        tacacs_key=aaa.tacacs[0].key if aaa.tacacs else None,
        tacacs=_ranked(aaa.tacacs, _TACACS),
        radius=_ranked(aaa.radius, _RADIUS),
        console_idle=login.idle if login else None,
        storms={
            f"{port.name} {kind}": limit
            for port in config.edge_ports()
            if (limit := kbps(config, port))
            for kind in STORMS
        },
    )


def _ranked(servers: Sequence[LoginServer], usual: int) -> dict[str, Server]:
    return {
        server.host: Server(FIRST - place, server.timeout, server.key, server.port or usual)
        for place, server in enumerate(servers)
    }


def kbps(config: DeviceConfig, port: Interface) -> int | None:
    """Return the storm-control limit of a port in kb/s, or None if the port has no limit."""
    percent = config.storm_control()
    if percent is None or port not in config.edge_ports():
        return None
    return min(port.speed_gbps * 10_000 * percent, MOST_KBPS)


def management_port(system: System) -> tuple[InterfaceAddress, Address]:
    """Return (address of the management port, its gateway)."""
    if not system.addresses:
        return UNKNOWN, UNKNOWN.address
    return system.addresses[0].address, system.addresses[0].gateway or UNKNOWN.address


def management_of(system: System, interfaces: Sequence[Interface], reader: TableReader) -> Management:
    """Return the management settings of a device. Values that ``Management`` cannot represent are marked as not understood.

    ``reader`` has the rows of the tables.
    """
    read = system.management or Management()
    grpc = system.features.get("gnmi", False) and system.grpc_port is not None
    login = read.login()
    if login and system.console_idle != login.idle:
        reader.mark_field_unknown("SERIAL_CONSOLE POLICIES", "inactivity_timeout")
    security = Security(login, _aaa(system, reader), _edge_ports(system, interfaces, reader))
    services = Services(netconf=False, grpc_certificate="secret:?" if grpc else None)
    return replace(
        read,
        time_zone=system.time_zone or "UTC",
        snmp=(read.snmp or Snmp()) if system.features.get("snmp", read.snmp is not None) else None,
        services=services if system.grpc_port is None else replace(services, grpc_port=system.grpc_port),
        lldp=system.features.get("lldp", True),
        security=None if security == Security() else security,
    )


def _aaa(system: System, reader: TableReader) -> Aaa | None:
    aaa = Aaa(
        tacacs=_servers(system.tacacs, system.tacacs_key, _TACACS),
        radius=_servers(system.radius, system.radius_key, _RADIUS),
    )
    if system.asked and system.asked.split(",") != [*aaa.groups(), "local"]:
        reader.mark_field_unknown("AAA authentication", "login")
    return aaa if aaa.groups() else None


def _servers(servers: Mapping[str, Server], key: str | None, usual: int) -> tuple[LoginServer, ...]:
    """Return the login servers in the order in which the switch asks them.

    ``key`` is the key of servers without their own key. ``usual`` is the default port.
    """
    return tuple(
        LoginServer(
            host, server.key or key or "secret:?", None if server.port == usual else server.port, server.timeout
        )
        for host, server in sorted(servers.items(), key=lambda item: -item[1].priority)
    )


def _edge_ports(system: System, interfaces: Sequence[Interface], reader: TableReader) -> EdgePorts | None:
    """Return the storm-control limit of server ports, as a percentage of their speed, or None if there is none.

    A limit that differs from that of most ports is marked as not understood. ``reader`` has the rows of the tables.
    """
    speeds = {port.name: port.speed_gbps for port in interfaces}
    percents: dict[str, int] = {}
    for name, limit in system.storms.items():
        speed = speeds.get(name.partition(" ")[0])
        if not speed:
            reader.mark_field_unknown(f"PORT_STORM_CONTROL {name}", "kbps")
        elif limit != MOST_KBPS:
            percents[name] = limit // (speed * 10_000)
    if not percents:
        return None
    most = Counter(percents.values()).most_common(1)[0][0]
    for name, percent in percents.items():
        if percent != most:
            reader.mark_field_unknown(f"PORT_STORM_CONTROL {name}", "kbps")
    return EdgePorts(bpdu_guard=False, storm_control=most)
