"""Statements about identity and management: the management port, names, time, logs, SNMP, gNMI, logins and login servers, containers and counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address
from railweave.model.config.codecs import choice, number
from railweave.model.config.statements import Codec, Row, Statements, fixed, ignored, line, part
from railweave.model.device.balancing import Hash
from railweave.model.device.management import Login, Management, Security, Snmp, SnmpUser, Syslog
from railweave.systems.frr.statements import SECRET
from railweave.systems.sonic import statements
from railweave.systems.sonic.branches import MASTER
from railweave.systems.sonic.statements import INTERFACE_ADDRESS, ON, STATE, TEXT, WORD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.addresses import InterfaceAddress

FEATURES = ("bgp", "lldp", "snmp", "gnmi", "radv", "macsec")
COUNTERS = ("PORT", "QUEUE", "PFCWD", "PG_DROP")
WATERMARKS = ("QUEUE_WATERMARK", "PG_WATERMARK", "BUFFER_POOL_WATERMARK")
STORMS = ("broadcast", "unknown-unicast", "unknown-multicast")
MOST_KBPS = 100_000_000
"""The highest storm-control limit in kb/s that the model allows (sonic-storm-control.yang): 100 Gb/s."""
FIRST = 64
"""The priority that railweave gives to the first login server."""


@dataclass(frozen=True, slots=True)
class ManagementAddress:
    """An address of the management port, and its gateway in the management VRF."""

    address: InterfaceAddress
    gateway: Address | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """A login server. The switch asks the server with the highest priority first.

    If ``key`` is None, the key for all servers of the same protocol applies.
    """

    priority: int = FIRST
    timeout: int = 5
    key: str | None = None
    port: int | None = None


@dataclass(frozen=True, slots=True)
class System:
    """The identity and management settings of a device, as the tables have them.

    - ``mode``: the mode of routing configuration, such as ``split-unified``.
    - ``framework``: ``true`` if SONiC starts the FRRouting daemons of its management framework.
    - ``features``, ``counters``: the state of each container and of each group of counters.
    - ``marks``: True if SONiC counts ECN marks.
    - ``asked``: the order of login methods, such as ``tacacs+,local``.
    - ``console_idle``: the idle time of console sessions in minutes.
    """

    name: str = ""
    role: str = ""
    platform: str = ""
    sku: str = ""
    asn: str = ""
    router_id: str = ""
    mode: str = ""
    framework: str = ""
    shut_neighbors: bool | None = None
    time_zone: str = ""
    features: dict[str, bool] = field(default_factory=dict[str, bool])
    counters: dict[str, bool] = field(default_factory=dict[str, bool])
    marks: bool | None = None
    watermarks: dict[str, bool] = field(default_factory=dict[str, bool])
    addresses: tuple[ManagementAddress, ...] = ()
    management: Management | None = None
    grpc_port: int | None = None
    hash: Hash | None = None
    asked: str = ""
    tacacs_key: str | None = None
    tacacs: dict[str, Server] = field(default_factory=dict[str, Server])
    radius_key: str | None = None
    radius: dict[str, Server] = field(default_factory=dict[str, Server])
    console_idle: int | None = None
    storms: dict[str, int] = field(default_factory=dict[str, int])
    """The storm-control limits in kb/s, by port and kind of traffic, such as ``Ethernet0 broadcast``."""


def _one_domain(text: str) -> str:
    domain, *others = text.split(",")
    if others:
        raise ValueError(text)  # a design has one search domain
    return domain


_LAYER3, _LAYER4 = ("SRC_IP", "DST_IP"), ("IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT")


def hash_fields(of: Hash) -> tuple[str, ...]:
    """Return SONiC's names of the packet fields that the hash ``of`` uses; empty for SONiC's default."""
    return (*(_LAYER3 if of.layer3 else ()), *(_LAYER4 if of.layer4 else ()))


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
CERTIFICATE = "/etc/sonic/telemetry/server"
"""The path of gNMI's certificate and key, without the suffixes ``.cer`` and ``.key``."""
CLIENT_CA = "/etc/sonic/telemetry/client-ca.cer"
"""The path of the CA certificate that signs the certificates of gNMI clients."""
PORT = "eth0"
IDLE = number(0, 35000)
LEAST_ATTEMPTS = 3
"""The smallest value that hostcfgd accepts for the number of wrong passwords before a disconnect (sonic-host-services, ``SSH_MIN_VALUES``)."""
IN_VRF = ignored("vrf <_vrf>", "the VRF in which the switch reaches a server", _vrf=WORD)
ASKED_FROM = fixed(f"src_intf {PORT}", statements.MODELS, when=lambda system: bool(system.tacacs))
FROM_PORT = ignored("src_intf <_port>", "the port from which the switch asks", _port=WORD)


def _named(names: Iterable[str]) -> Codec:
    return Codec("|".join(names), word="|".join(names))


row = partial(
    statements.row,
    codecs={
        "asn": Codec(r"\d+", shown_as="number"),
        "shut_neighbors": choice({True: "down", False: "up"}),
        "address": INTERFACE_ADDRESS,
        "gateway": Codec(r"[0-9a-f.:]+", Address.read, shown_as="address"),
        "domain": Codec(r"[A-Za-z0-9.-]+", _one_domain, shown_as="text"),
        "severity": choice(SEVERITIES, crit="critical"),
        **dict.fromkeys(("port", "grpc_port"), number(1, 65535)),
        **dict.fromkeys(("banner", "location", "contact"), TEXT),
        **dict.fromkeys(("auth", "privacy", "community", "key", "tacacs_key", "radius_key"), SECRET),
        "hash": choice({of: ",".join(hash_fields(of)) for of in (Hash(), Hash(layer4=False), Hash(layer3=False))}),
        "priority": number(1, FIRST),
        "timeout": number(1, 60),
        "attempts": number(1, 100),
        "console_idle": IDLE,
        "marks": ON,
    },
)


def _counters(into: str, names: Iterable[str]) -> Row:
    name = _named(names)
    return row("FLEX_COUNTER_TABLE <name>", "FLEX_COUNTER_STATUS <it>", into=into, by="name", name=name, it=ON)


STORM = Codec(rf"Ethernet\d+ (?:{'|'.join(STORMS)})", word=rf"\S+ (?:{'|'.join(STORMS)})")
SERVER = "priority <priority>; timeout <timeout>; passkey <key>; vrf mgmt"

SSH = row(
    "SSH_SERVER POLICIES",
    *(
        "authentication_retries <attempts>",
        line("inactivity_timeout <idle>", statements.MODELS, since="202411", idle=IDLE),
    ),
)
MANAGEMENT = (
    row("DNS_NAMESERVER <it>", into="dns"),
    row("DNS_OPTIONS GLOBAL", "search <domain>", since="202511"),
    row("NTP global", "vrf mgmt", IN_VRF, f"src_intf {PORT}", FROM_PORT, when=lambda management: bool(management.ntp)),
    row("NTP_SERVER <it>", "iburst on", line("iburst off", ""), into="ntp"),
    row("SYSLOG_SERVER <host>", "port <port>; vrf mgmt; severity <severity>", IN_VRF, into="syslog", made=Syslog),
    row(
        "BANNER_MESSAGE global",
        "state enabled; login <banner>",
        since="202411",
        when=lambda management: bool(management.banner),
    ),
    part(
        "snmp",
        Snmp,
        (
            row("SNMP LOCATION", "Location <location>"),
            row("SNMP CONTACT", "Contact <contact>", line("<_name> <contact>", "", contact=TEXT, _name=WORD)),
            row("SNMP_COMMUNITY <community>", "TYPE RO", line("TYPE ro", "")),
            row(
                "SNMP_USER <name>",
                "SNMP_USER_TYPE Priv; SNMP_USER_PERMISSION RO; SNMP_USER_AUTH_TYPE HMAC-SHA-2",
                "SNMP_USER_AUTH_PASSWORD <auth>; SNMP_USER_ENCRYPTION_TYPE AES; SNMP_USER_ENCRYPTION_PASSWORD <privacy>",
                into="users",
                made=SnmpUser,
                by="name",
            ),
        ),
    ),
    part("security", Security, (part("login", Login, (SSH,)),)),
)

SYSTEM = Statements(
    System,
    (
        row(
            "DEVICE_METADATA localhost",
            "hostname <name>; type <role>; platform <platform>; hwsku <sku>; bgp_asn <asn>; bgp_router_id <router_id>",
            "docker_routing_config_mode <mode>; frr_mgmt_framework_config <framework>; buffer_model traditional",
            "default_pfcwd_status disable; default_bgp_status <shut_neighbors>; timezone <time_zone>",
        ),
        row("FEATURE <name>", "state <it>", into="features", by="name", name=_named(FEATURES), it=STATE),
        _counters("counters", COUNTERS),
        row("FLEX_COUNTER_TABLE WRED_ECN_QUEUE", "FLEX_COUNTER_STATUS <marks>", since="202505"),
        _counters("watermarks", WATERMARKS),
        row(f"MGMT_PORT {PORT}", f"alias {PORT}; admin_status up"),
        row(f"MGMT_INTERFACE {PORT} <address>", "gwaddr <gateway>", into="addresses", made=ManagementAddress),
        row("MGMT_VRF_CONFIG vrf_global", "mgmtVrfEnabled true"),
        part("management", Management, MANAGEMENT),
        row(
            "GNMI certs",
            f"ca_crt {CLIENT_CA}; server_crt {CERTIFICATE}.cer; server_key {CERTIFICATE}.key",
            when=lambda system: system.grpc_port is not None,
        ),
        row(
            "GNMI gnmi",
            *("port <grpc_port>; client_auth true", line("vrf mgmt", statements.MODELS, since=MASTER)),
            when=lambda system: system.grpc_port is not None,
        ),
        row("SWITCH_HASH GLOBAL", "ecmp_hash <hash>"),
        row(
            "AAA authentication",
            *("login <asked>; failthrough False", line("failthrough false", "")),
            when=lambda system: bool(system.asked),
        ),
        row("TACPLUS global", "passkey <tacacs_key>", ASKED_FROM, FROM_PORT),
        row("TACPLUS_SERVER <host>", SERVER, IN_VRF, "tcp_port <port>", into="tacacs", made=Server, by="host"),
        row("RADIUS global", "passkey <radius_key>"),
        row("RADIUS_SERVER <host>", SERVER, IN_VRF, "auth_port <port>", into="radius", made=Server, by="host"),
        row("SERIAL_CONSOLE POLICIES", "inactivity_timeout <console_idle>", since="202411"),
        row("PORT_STORM_CONTROL <name>", "kbps <it>", into="storms", by="name", name=STORM, it=number(0, MOST_KBPS)),
    ),
)
"""The table of statements about identity and management."""
