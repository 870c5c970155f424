"""Identity, the management port, logins, services, and access lists of the control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.number_ranges import numbers
from railweave.model.device.protection import LINK_LOCAL
from railweave.systems.sonic.render.names import MANAGEMENT_PORT, MANAGEMENT_VRF

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.device.control_plane import ControlPlane, ControlRule, Sources
    from railweave.model.device.management import LoginServer
    from railweave.model.device.model import DeviceConfig, Interface
    from railweave.systems.sonic.tables import Row, Tables


SERVICES = {"ssh": "SSH", "snmp": "SNMP", "ntp-replies": "NTP", "grpc": "EXTERNAL_CLIENT"}
"""Services that a table can be for, by our rules."""

SESSIONS = "ANY"
"""The service of rules that are for every protocol and port."""

_IP: dict[Family, str] = {"ipv4": "IP", "ipv6": "IPV6"}
_TYPE: dict[Family, str] = {"ipv4": "L3", "ipv6": "L3V6"}
_PROTOCOL = {"tcp": "6", "udp": "17"}
_HIGHEST = 9999


def control_plane(config: DeviceConfig) -> Tables:
    """``ACL_TABLE`` and ``ACL_RULE``; no rows where nothing is protected."""
    wanted = config.protection
    if wanted is None:
        return {}
    tables: dict[str, Row] = {}
    rules: dict[str, Row] = {}
    for family in _IP:
        made = list(_services(wanted, family))
        made.append((SESSIONS, list(_peers(wanted, family))))
        for service, rows in made:
            if rows:
                name = f"CONTROL_{service}_{family.upper()}"
                tables[name] = {"policy_desc": f"{service} of the switch", "type": "CTRLPLANE", "services": [service]}
                rules |= _numbered(name, rows)
        drops = list(_drops(wanted, family))
        if drops:
            name = f"SERVERS_{family.upper()}"
            ports = _server_ports(config)
            about = "from servers to the switch"
            tables[name] = {"policy_desc": about, "type": _TYPE[family], "stage": "ingress", "ports": ports}
            rules |= _numbered(name, drops)
    return {"ACL_TABLE": tables, "ACL_RULE": rules}


def _numbered(table: str, rows: Iterable[Row]) -> dict[str, Row]:
    """Rows with a priority each, the first the highest: equal ones would take each other's place."""
    return {f"{table}|RULE_{place}": {"PRIORITY": str(_HIGHEST - place), **row} for place, row in enumerate(rows)}


def _services(wanted: ControlPlane, family: Family) -> Iterator[tuple[str, list[Row]]]:
    for rule in wanted.of("management", family):
        service = SERVICES.get(rule.name.rpartition("-")[0])
        if service:
            more = _port(rule) if service == "EXTERNAL_CLIENT" else {}
            yield service, [_accepted(family, prefix, more) for prefix in wanted.source(rule).prefixes]


def _port(rule: ControlRule) -> Row:
    return {"L4_DST_PORT": str(rule.destination_ports[0][0])}


def _accepted(family: Family, prefix: Prefix, more: Row) -> Row:
    return {f"SRC_{_IP[family]}": prefix, **more, "PACKET_ACTION": "ACCEPT"}


def _peers(wanted: ControlPlane, family: Family) -> Iterator[Row]:
    """Peers that FRR has BFD with. Those that are known by link-local addresses alone are named with their ports."""
    sessions = [rule for rule in wanted.of("network", family) if rule.protocol == "udp" and rule.sources]
    found: dict[str, Sources] = {rule.sources: wanted.source(rule) for rule in sessions}
    for source in found.values():
        for prefix in source.prefixes:
            if prefix == LINK_LOCAL:
                yield from (_accepted(family, prefix, {"IN_PORTS": port}) for port in source.interfaces)
            else:
                yield _accepted(family, prefix, {})


def _server_ports(config: DeviceConfig) -> list[str]:
    return sorted((one.name for one in config.interfaces if one.kind == "server"), key=numbers)


def _drops(wanted: ControlPlane, family: Family) -> Iterator[Row]:
    for rule in wanted.server_ports:
        if rule.family != family:
            continue
        for prefix in rule.destinations:
            for first, last in rule.destination_ports:
                ports: Row = {"L4_DST_PORT": str(first)}
                if first != last:
                    ports = {"L4_DST_PORT_RANGE": f"{first}-{last}"}
                row: Row = {f"DST_{_IP[family]}": prefix, "IP_PROTOCOL": _PROTOCOL[rule.protocol]}
                yield {**row, **ports, "PACKET_ACTION": "DROP"}


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
