"""The configuration of a switch in the data model of Arista's AVD (``eos_cli_config_gen``).

It is what ``eos.conf`` is validated by, so nothing of its renderer is used: every value is computed from the
``DeviceConfig`` a second time, and only names are shared (``systems/eos/names.py``). What AVD's schema has no word for
stands in its ``eos_cli``, as text.
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
"""EOS's words for the severities, in the same order. Of several servers the one that wants most decides: there is one level."""


def management(config: DeviceConfig, raw: list[str]) -> dict[str, Any]:
    """Logins, servers, APIs and the management port. ``raw`` takes lines that the schema has no word for."""
    wanted = config.management
    address = config.management_address
    six = address.family == "ipv6"
    found: dict[str, Any] = {
        "hostname": config.name,
        "clock": {"timezone": wanted.time_zone},
        "lldp": {"management_address": address.address, "vrf": MANAGEMENT_VRF} if wanted.lldp else {"run": False},
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
        found["dns_domain"] = wanted.domain
    if wanted.dns:
        found["ip_name_server"] = {
            "vrfs": [{"name": MANAGEMENT_VRF, "servers": [{"ip_address": one} for one in wanted.dns]}]
        }
    if wanted.ntp:
        found["ntp"] = {"vrf": MANAGEMENT_VRF, "servers": [{"name": one} for one in wanted.ntp]}
    if wanted.banner:
        found["banners"] = {"login": "\n".join([*wanted.banner.splitlines(), "EOF"])}
    if wanted.security and wanted.security.login:
        found["management_ssh"]["idle_timeout"] = wanted.security.login.idle
    found |= snmp_lists(wanted.snmp)
    if wanted.snmp:
        found["snmp_server"] = _snmp(wanted.snmp)
    if wanted.services.eapi:
        found["management_api_http"] = {"enable_vrfs": [{"name": MANAGEMENT_VRF}]}
    if wanted.services.netconf:
        raw += ["management api netconf", "   transport ssh default", f"      vrf {MANAGEMENT_VRF}"]
    return {**found, **_logins(wanted, raw), **_logging(wanted), **_telemetry(wanted), **_security(config)}


def _logins(wanted: Management, raw: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"aaa_root": {"disabled": True}}
    users: list[dict[str, Any]] = []
    for name, user in wanted.users.items():
        privilege, role = (15, "network-admin") if user.role == "super-user" else (1, "network-operator")
        one: dict[str, Any] = {"name": name, "privilege": privilege, "role": role}
        one |= {"sha512_password": secret(user.password)} if user.password else {"no_password": True}
        one |= dict(zip(("ssh_key", "secondary_ssh_key"), user.ssh_keys, strict=False))
        users.append(one)
    if users:
        found["local_users"] = users
    return {**found, **logins(wanted, raw)}


def _logging(wanted: Management) -> dict[str, Any]:
    if not wanted.syslog:
        return {}
    level = LEVELS[max(SEVERITIES.index(one.severity) for one in wanted.syslog)]
    hosts: dict[str, list[int]] = {}
    for one in wanted.syslog:
        hosts.setdefault(one.host, []).append(one.port)
    servers = [{"name": host, "ports": ports} for host, ports in hosts.items()]
    return {
        "logging": {"trap": level, "format": {"rfc5424": True}, "vrfs": [{"name": MANAGEMENT_VRF, "hosts": servers}]}
    }


def _snmp(snmp: Snmp) -> dict[str, Any]:
    found: dict[str, Any] = {"vrfs": [{"name": "default", "enable": False}, {"name": MANAGEMENT_VRF, "enable": True}]}
    found |= {key: value for key, value in (("contact", snmp.contact), ("location", snmp.location)) if value}
    if snmp.community:
        one: dict[str, Any] = {"name": secret(snmp.community), "access": "ro"}
        lists = {f"access_list_{family}": {"name": SNMP_CLIENTS} for family in ("ipv4", "ipv6")}
        found["communities"] = [{**one, **lists} if snmp.clients else one]
    if snmp.users:
        found["groups"] = [{"name": SNMP_GROUP, "version": "v3", "authentication": "priv"}]
        found["users"] = [
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
            else {
                "version": "3",
                "users": [{"username": next(iter(snmp.users)), "authentication_level": "priv"}],
            }
        )
        found["hosts"] = [{"host": target, "vrf": MANAGEMENT_VRF, **how} for target in snmp.trap_targets]
        found["traps"] = {"enable": True}
    return found


def _telemetry(wanted: Management) -> dict[str, Any]:
    if not wanted.services.grpc_certificate:
        return {}
    grpc = {"name": "default", "ssl_profile": SSL_PROFILE, "port": wanted.services.grpc_port, "vrf": MANAGEMENT_VRF}
    return {"management_api_gnmi": {"provider": "eos-native", "transport": {"grpc": [grpc]}}}


def _security(config: DeviceConfig) -> dict[str, Any]:
    """``management security``: keys of TCP-AO, and the certificate of gNMI."""
    found: dict[str, Any] = {}
    if profiles := key_profiles(config):
        found["shared_secret_profiles"] = profiles
    if config.management.services.grpc_certificate:
        file = {"file": f"{SSL_PROFILE}.pem", "key": f"{SSL_PROFILE}.key"}
        found["ssl_profiles"] = [{"name": SSL_PROFILE, "certificate": file}]
    return {"management_security": found} if found else {}


def structured_config(config: DeviceConfig) -> dict[str, Any]:
    """The structured configuration."""
    raw: list[str] = []
    found = {**management(config, raw), **encryption(config, raw), **interfaces(config)}
    found |= {**qos(config, raw), **routing(config), **control_plane(config)}
    raw += config.extra.strip().splitlines()
    return {**found, "eos_cli": "\n".join(raw)} if raw else found
