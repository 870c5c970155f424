"""Who logs in and how: limits, servers that know logins; what server ports may send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.sonic.render.names import MANAGEMENT_PORT

if TYPE_CHECKING:
    from railweave.model.device.access import LoginServer
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.systems.sonic.tables import Row, Tables

STORMS = ("broadcast", "unknown-unicast", "unknown-multicast")
LEAST_ATTEMPTS = 3
"""The fewest wrong passwords that hostcfgd takes (sonic-host-services, ``SSH_MIN_VALUES``)."""

MOST_KBPS = 100_000_000
"""The highest limit that the model takes (sonic-storm-control.yang): 100 Gb/s."""


def access(config: DeviceConfig) -> Tables:
    """Logins with their servers and limits, in the management VRF; limits of floods."""
    return {**_logins(config), **_limits(config), **_storms(config)}


def _logins(config: DeviceConfig) -> Tables:
    """Without ``failthrough`` local users log in only where no server answers."""
    wanted = config.management.aaa()
    if wanted is None:
        return {}
    found: Tables = {
        "AAA": {"authentication": {"login": ",".join((*wanted.groups(), "local")), "failthrough": "False"}}
    }
    if wanted.tacacs:
        own: Row = {"passkey": f"<{wanted.tacacs[0].key}>", "src_intf": MANAGEMENT_PORT}
        found["TACPLUS"] = {"global": own}
        found["TACPLUS_SERVER"] = {
            one.host: {**_server(one, place), "tcp_port": str(one.port or 49)}
            for place, one in enumerate(wanted.tacacs)
        }
    if wanted.radius:
        found["RADIUS_SERVER"] = {
            one.host: {**_server(one, place), "auth_port": str(one.port or 1812)}
            for place, one in enumerate(wanted.radius)
        }
    return found


def _server(one: LoginServer, place: int) -> Row:
    """A server; the one with the highest priority is asked first."""
    return {"priority": str(64 - place), "timeout": str(one.timeout), "passkey": f"<{one.key}>", "vrf": "mgmt"}


def _limits(config: DeviceConfig) -> Tables:
    limits = config.management.login()
    if limits is None:
        return {}
    idle = str(limits.idle)
    return {
        "SSH_SERVER": {"POLICIES": {"authentication_retries": str(limits.attempts), "inactivity_timeout": idle}},
        "SERIAL_CONSOLE": {"POLICIES": {"inactivity_timeout": idle}},
    }


def kbps(config: DeviceConfig, port: Interface) -> int | None:
    """The limit of floods on a port in kb/s; None where there is none."""
    percent = config.storm_control()
    if percent is None or port not in config.edge_ports():
        return None
    return min(port.speed_gbps * 10_000 * percent, MOST_KBPS)


def _storms(config: DeviceConfig) -> Tables:
    limits = {port.name: limit for port in config.edge_ports() if (limit := kbps(config, port))}
    rows: dict[str, Row] = {f"{name}|{kind}": {"kbps": str(limit)} for name, limit in limits.items() for kind in STORMS}
    return {"PORT_STORM_CONTROL": rows} if rows else {}
