"""Identity, the management port, and services."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.systems.sonic.render.names import MANAGEMENT_PORT, MANAGEMENT_VRF

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.sonic.tables import Row, Tables

TYPES = {"leaf": "LeafRouter", "spine": "SpineRouter", "super-spine": "UpperSpineRouter", "dci": "UpperSpineRouter"}
SEVERITIES = {
    "emergency": "crit",
    "alert": "crit",
    "critical": "crit",
    "error": "error",
    "warning": "warn",
    "notice": "notice",
    "info": "info",
    "any": "debug",
}
"""Severities of syslog by those that SONiC has (sonic-syslog.yang)."""

CERTIFICATE = "/etc/sonic/telemetry/server"
"""Where the certificate and key of gNMI are to lie, without ``.cer`` and ``.key``."""

CLIENT_CA = "/etc/sonic/telemetry/client-ca.cer"
"""Where the certificate of the authority is to lie that has signed the certificates of clients of gNMI."""


def secret(reference: str) -> str:
    """How a secret stands in a file until ``build --secrets`` puts its value in: ``<secret:NAME>``."""
    return f"<{reference}>"


def metadata(config: DeviceConfig) -> Tables:
    """``DEVICE_METADATA``. Routing is in ``frr.conf`` and nowhere else: ``split-unified``.

    Without ``frr_mgmt_framework_config`` SONiC starts no bfdd (sonic-buildimage, branches 202405 to 202605 and master,
    ``dockers/docker-fpm-frr/frr/supervisord``; see ``daemons``).
    """
    model = catalog().switches.get(config.model)
    platform = model.sonic if model else None
    row: Row = {"hostname": config.name, "type": TYPES[config.role]}
    if platform:
        row |= {"platform": platform.platform, "hwsku": platform.hwsku}
    if config.bgp:
        row |= {"bgp_asn": str(config.bgp.asn), "bgp_router_id": config.bgp.router_id}
    row |= {
        "docker_routing_config_mode": "split-unified",
        "frr_mgmt_framework_config": "true",
        "buffer_model": "traditional",
        "default_pfcwd_status": "disable",
        "timezone": config.management.time_zone,
    }
    return {"DEVICE_METADATA": {"localhost": row}}


def features(config: DeviceConfig) -> Tables:
    """``FEATURE``: router advertisements come from FRR, with the designed timers, so SONiC's own daemon for them is off.

    Whether LLDP runs is decided here alone: no daemon reads the table ``LLDP`` (sonic-buildimage, ``dockers/docker-lldp``: lldpmgrd reads ports and
    the name of the switch).
    """
    wanted = config.management
    states = {
        "bgp": True,
        "lldp": wanted.lldp,
        "snmp": wanted.snmp is not None,
        "gnmi": wanted.services.grpc_certificate is not None,
        "radv": False,
    }
    if any(port.macsec for port in config.interfaces):
        states["macsec"] = True
    return {"FEATURE": {name: {"state": "enabled" if on else "disabled"} for name, on in states.items()}}


def management(config: DeviceConfig) -> Tables:
    """The management port in a VRF of its own, name servers, time, syslog, banner."""
    wanted = config.management
    return {
        "MGMT_PORT": {MANAGEMENT_PORT: {"alias": MANAGEMENT_PORT, "admin_status": "up"}},
        "MGMT_INTERFACE": {f"{MANAGEMENT_PORT}|{config.management_address}": {"gwaddr": config.management_gateway}},
        "MGMT_VRF_CONFIG": {"vrf_global": {"mgmtVrfEnabled": "true"}},
        "DNS_NAMESERVER": {server: {} for server in wanted.dns},
        "DNS_OPTIONS": {"GLOBAL": {"search": [wanted.domain]}} if wanted.domain and wanted.dns else {},
        "NTP": {"global": {"vrf": MANAGEMENT_VRF, "src_intf": [MANAGEMENT_PORT]}} if wanted.ntp else {},
        "NTP_SERVER": {server: {"iburst": "on"} for server in wanted.ntp},
        "SYSLOG_SERVER": {
            server.host: {"port": str(server.port), "vrf": MANAGEMENT_VRF, "severity": SEVERITIES[server.severity]}
            for server in wanted.syslog
        },
        "BANNER_MESSAGE": {"global": {"state": "enabled", "login": wanted.banner}} if wanted.banner else {},
    }


def services(config: DeviceConfig) -> Tables:
    """SNMP and gNMI."""
    found: Tables = {}
    snmp = config.management.snmp
    if snmp is not None:
        found["SNMP"] = {}
        if snmp.location:
            found["SNMP"]["LOCATION"] = {"Location": snmp.location}
        if snmp.contact:
            found["SNMP"]["CONTACT"] = {"Contact": snmp.contact}
        found["SNMP_COMMUNITY"] = {secret(snmp.community): {"TYPE": "RO"}} if snmp.community else {}
        found["SNMP_USER"] = {
            name: {
                "SNMP_USER_TYPE": "Priv",
                "SNMP_USER_PERMISSION": "RO",
                "SNMP_USER_AUTH_TYPE": "HMAC-SHA-2",
                "SNMP_USER_AUTH_PASSWORD": secret(user.auth),
                "SNMP_USER_ENCRYPTION_TYPE": "AES",
                "SNMP_USER_ENCRYPTION_PASSWORD": secret(user.privacy),
            }
            for name, user in snmp.users.items()
        }
    if config.management.services.grpc_certificate is not None:
        port = str(config.management.services.grpc_port)
        found["GNMI"] = {
            "certs": {"ca_crt": CLIENT_CA, "server_crt": f"{CERTIFICATE}.cer", "server_key": f"{CERTIFICATE}.key"},
            "gnmi": {"port": port, "client_auth": "true", "vrf": MANAGEMENT_VRF},
        }
    return found


def counters(config: DeviceConfig) -> Tables:
    """``FLEX_COUNTER_TABLE``: what is counted; ECN marks where queues mark, peak occupancy where the design asks for it.

    Counting of marks is off by default (sonic-buildimage, ``init_cfg.json.j2``).
    """
    names = ["PORT", "QUEUE", "PFCWD", "PG_DROP"]
    if config.qos and config.qos.marking:
        names.append("WRED_ECN_QUEUE")
    if config.qos and config.qos.buffer_monitor:
        names += ["QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK"]
    return {"FLEX_COUNTER_TABLE": {name: {"FLEX_COUNTER_STATUS": "enable"} for name in names}}


def hashing(config: DeviceConfig) -> Tables:
    """``SWITCH_HASH``: the fields that next-hop groups are shared by."""
    fields = ecmp_fields(config)
    return {"SWITCH_HASH": {"GLOBAL": {"ecmp_hash": fields}}} if fields else {}


def ecmp_fields(config: DeviceConfig) -> list[str]:
    """Return the fields of the hash; empty: SONiC's own."""
    wanted = config.balancing.hash
    fields = ["SRC_IP", "DST_IP"] if wanted.layer3 else []
    return [*fields, *(["IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"] if wanted.layer4 else [])]
