"""The configuration of a switch in the data model of Arista's AVD (``eos_cli_config_gen``).

This data validates ``eos.conf``. Therefore, every value is computed from the ``DeviceConfig`` a second time, and only names are shared
with the renderer of the file (``systems/eos/names.py``). Lines that AVD's schema cannot express are in the key ``eos_cli``, as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.systems.eos.avd.ports import encryption, interfaces, logins, snmp_lists
from railweave.systems.eos.avd.qos import control_plane, qos
from railweave.systems.eos.avd.routing import key_profiles, routing
from railweave.systems.eos.names import MANAGEMENT_PORT, MANAGEMENT_VRF, SNMP_CLIENTS, SNMP_GROUP, SSL_PROFILE, secret

if TYPE_CHECKING:
    from railweave.model.device.management import Management, Snmp
    from railweave.model.device.model import DeviceConfig


SEVERITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "any")
LEVELS = ("emergencies", "alerts", "critical", "errors", "warnings", "notifications", "informational", "debugging")
"""EOS's words for the severities in ``SEVERITIES``, in the same order.

EOS has one level for all log servers, so the most detailed level that any server needs applies to all.
"""


def _lldp(wanted: Management, address: str) -> dict[str, Any]:
    """Return the settings of LLDP under AVD's key. ``address`` is the management address that the switch announces.

    ``wanted`` has the device's management settings. There, the hold time is a number of intervals (30 s each by default); EOS needs
    seconds.
    """
    sends: dict[str, Any] = {"management_address": address, "vrf": MANAGEMENT_VRF}
    settings: dict[str, Any] = sends if wanted.lldp else {"run": False}
    if wanted.lldp_interval is not None:
        settings["timer"] = wanted.lldp_interval
    if wanted.lldp_hold is not None:
        settings["holdtime"] = wanted.lldp_hold * (wanted.lldp_interval or 30)
    return settings


def management(config: DeviceConfig, raw: list[str]) -> dict[str, Any]:
    """Return AVD's keys for logins, servers, APIs and the management port. Lines that the schema cannot express are appended to ``raw``."""
    wanted = config.management
    address = config.management_address
    six = address.family == "ipv6"
    settings: dict[str, Any] = {
        "hostname": config.name,
        "clock": {"timezone": wanted.time_zone},
        "lldp": _lldp(wanted, address.address),
        "management_interfaces": [
            {"name": MANAGEMENT_PORT, "vrf": MANAGEMENT_VRF, "ipv6_address" if six else "ip_address": address}
        ],
        "ipv6_static_routes" if six else "static_routes": [
            {"vrf": MANAGEMENT_VRF, "prefix": "::/0" if six else "0.0.0.0/0", "next_hop": config.management_gateway}
        ],
        "management_ssh": {
            "authentication": {"empty_passwords": "deny"},
            "enable": False,
            "vrfs": [{"name": MANAGEMENT_VRF, "enable": True}],
        },
    }
    if wanted.domain:
        settings["dns_domain"] = wanted.domain
    if wanted.dns:
        settings["ip_name_server"] = {
            "vrfs": [{"name": MANAGEMENT_VRF, "servers": [{"ip_address": server} for server in wanted.dns]}]
        }
    if wanted.ntp:
        settings["ntp"] = {"vrf": MANAGEMENT_VRF, "servers": [{"name": server} for server in wanted.ntp]}
    if wanted.banner:
        settings["banners"] = {"login": "\n".join([*wanted.banner.splitlines(), "EOF"])}
    if wanted.security and wanted.security.login:
        settings["management_ssh"]["idle_timeout"] = wanted.security.login.idle
    settings |= snmp_lists(wanted.snmp)
    if wanted.snmp:
        settings["snmp_server"] = _snmp(wanted.snmp)
    if wanted.services.eapi:
        settings["management_api_http"] = {"enable_vrfs": [{"name": MANAGEMENT_VRF}]}
    if wanted.services.netconf:
        raw += ["management api netconf", "   transport ssh default", f"      vrf {MANAGEMENT_VRF}"]
    return {**settings, **_logins(wanted, raw), **_logging(wanted), **_telemetry(wanted), **_security(config)}


def _logins(wanted: Management, raw: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {"aaa_root": {"disabled": True}}
    users: list[dict[str, Any]] = []
    for name, user in wanted.users.items():
        privilege, role = (15, "network-admin") if user.role == "super-user" else (1, "network-operator")
        login: dict[str, Any] = {"name": name, "privilege": privilege, "role": role}
        login |= {"sha512_password": secret(user.password)} if user.password else {"no_password": True}
        login |= dict(zip(("ssh_key", "secondary_ssh_key"), user.ssh_keys, strict=False))
        users.append(login)
    if users:
        settings["local_users"] = users
    return {**settings, **logins(wanted, raw)}


def _logging(wanted: Management) -> dict[str, Any]:
    if not wanted.syslog:
        return {}
    level = LEVELS[max(SEVERITIES.index(syslog.severity) for syslog in wanted.syslog)]
    hosts: dict[str, list[int]] = {}
    for syslog in wanted.syslog:
        hosts.setdefault(syslog.host, []).append(syslog.port)
    servers = [{"name": host, "ports": ports} for host, ports in hosts.items()]
    return {
        "logging": {"trap": level, "format": {"rfc5424": True}, "vrfs": [{"name": MANAGEMENT_VRF, "hosts": servers}]}
    }


def _snmp(snmp: Snmp) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "vrfs": [{"name": "default", "enable": False}, {"name": MANAGEMENT_VRF, "enable": True}]
    }
    settings |= {key: value for key, value in (("contact", snmp.contact), ("location", snmp.location)) if value}
    if snmp.community:
        community: dict[str, Any] = {"name": secret(snmp.community), "access": "ro"}
        lists = {f"access_list_{family}": {"name": SNMP_CLIENTS} for family in ("ipv4", "ipv6")}
        settings["communities"] = [{**community, **lists} if snmp.clients else community]
    if snmp.users:
        settings["groups"] = [{"name": SNMP_GROUP, "version": "v3", "authentication": "priv"}]
        settings["users"] = [
            {
                "name": name,
                "group": SNMP_GROUP,
                "version": "v3",
                "auth": "sha256",
                "auth_passphrase": secret(user.auth),
                "priv": "aes",
                "priv_passphrase": secret(user.privacy),
            }
            for name, user in snmp.users.items()
        ]
    if snmp.trap_targets and (snmp.community or snmp.users):
        how: dict[str, Any] = (
            {"version": "2c", "community": secret(snmp.community)}
            if snmp.community
            else {"version": "3", "users": [{"username": next(iter(snmp.users)), "authentication_level": "priv"}]}
        )
        settings["hosts"] = [{"host": target, "vrf": MANAGEMENT_VRF, **how} for target in snmp.trap_targets]
        settings["traps"] = {"enable": True}
    return settings


def _telemetry(wanted: Management) -> dict[str, Any]:
    if not wanted.services.grpc_certificate:
        return {}
    grpc = {"name": "default", "ssl_profile": SSL_PROFILE, "port": wanted.services.grpc_port, "vrf": MANAGEMENT_VRF}
    return {"management_api_gnmi": {"provider": "eos-native", "transport": {"grpc": [grpc]}}}


def _security(config: DeviceConfig) -> dict[str, Any]:
    """Return AVD's key ``management_security``: the TCP-AO keys, and the certificate of gNMI."""
    settings: dict[str, Any] = {}
    if profiles := key_profiles(config):
        settings["shared_secret_profiles"] = profiles
    if config.management.services.grpc_certificate:
        file = {"file": f"{SSL_PROFILE}.pem", "key": f"{SSL_PROFILE}.key"}
        settings["ssl_profiles"] = [{"name": SSL_PROFILE, "certificate": file}]
    return {"management_security": settings} if settings else {}


def structured_config(config: DeviceConfig) -> dict[str, Any]:
    """Return the whole configuration of a device in AVD's data model (structured configuration)."""
    raw: list[str] = []
    structured = {**management(config, raw), **encryption(config, raw), **interfaces(config)}
    structured |= {**qos(config, raw), **routing(config), **control_plane(config)}
    raw += config.extra.strip().splitlines()
    return {**structured, "eos_cli": "\n".join(raw)} if raw else structured
