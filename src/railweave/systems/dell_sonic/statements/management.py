"""Management statements of Enterprise SONiC: host name, logins and login servers, limits of logins, and services."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.codecs import NAME, NAME_FORM, choice, defines, number
from railweave.model.config.statements import Codec, Statements, each, fixed, ignored, line, part
from railweave.model.device.management import LoginServer, Snmp, Syslog, User
from railweave.systems.dell_sonic.statements import effects
from railweave.systems.dell_sonic.statements.words import (
    ADDRESS,
    ADDRESS_FORM,
    HOST,
    INTERFACE_ADDRESS,
    SECRET,
    TEXT,
    WORD,
)

if TYPE_CHECKING:
    from railweave.model.config.addresses import Address, InterfaceAddress

SECURITY_PROFILE = "railweave"
TENANT = Codec(rf"(?!mgmt$){NAME_FORM}", word=r"(?!(?:mgmt|management|default)$)\S+", shown_as="name")
"""The codec (conversion from and to text) for the name of a VRF other than the VRF of the management port."""


@dataclass(frozen=True, slots=True)
class ManagementPort:
    """The settings of the management port: its address, and its gateway in the management VRF."""

    address: InterfaceAddress | None = None
    gateway: Address | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of logins.

    They are the number of wrong passwords before a lockout, the duration of the lockout in minutes, and the idle time of a
    session in minutes.
    """

    lockout: int | None = None
    attempts: int | None = None
    idle: int | None = None


@dataclass(frozen=True, slots=True)
class System:
    """The values of all management statements.

    ``asked`` is the kind of servers that logins ask first, or None if logins ask no server. ``port`` is the management port.
    """

    name: str = ""
    vrfs: tuple[str, ...] = ()
    port: ManagementPort | None = None
    users: dict[str, User] = field(default_factory=dict[str, User])
    tacacs: tuple[LoginServer, ...] = ()
    radius: tuple[LoginServer, ...] = ()
    asked: str | None = None
    login: Limits | None = None
    dns: tuple[str, ...] = ()
    ntp: tuple[str, ...] = ()
    lldp: bool = True
    lldp_interval: int | None = None
    lldp_hold: int | None = None
    snmp: Snmp | None = None
    certificate: str | None = None
    syslog: tuple[Syslog, ...] = ()


def _profile(text: str) -> str:
    if text != SECURITY_PROFILE:
        raise ValueError(text)  # the certificate of any other profile is unknown
    return "secret:?"


def _written_profile(reference: str) -> str:
    del reference
    return SECURITY_PROFILE


def _servers(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split() if word not in {"vrf", "mgmt"})


OPTIONS = (
    "{ timeout <timeout>| key <key>| encrypted| port <port>| auth-port <port>| vrf <_word>| priority <_word>| auth-type <_word>"
    "| source-interface <_word>| re-transmit <_word>}"
)
PORT, TIMEOUT = number(1, 65535), number(1, 60)
ROLE = choice(
    {"super-user": "admin", "operator": "operator", "read-only": "operator"}, netadmin="operator", secadmin="operator"
)
NTP_OPTIONS = "{ iburst| prefer| true| false| minpoll <_word>| maxpoll <_word>| key <_word>| version <_word>}"
LOGGING = "{ remote-port <port>| source-interface <_word>| vrf <_word>| message-type <_word>| severity <_word>| protocol <_word>}"

SNMP = (
    line("snmp-server location <location>", "spytest system/snmp", usual="", location=TEXT),
    line("snmp-server contact <contact>", "spytest system/snmp", usual="", changed="removed", contact=TEXT),
    line(
        "snmp-server community <community>[ group <_group>]",
        "spytest system/snmp",
        changed="removed",
        community=SECRET,
        _group=NAME,
    ),
    each(
        "snmp-server host <it> community <community> traps v2c",
        "trap_targets",
        "spytest system/snmp",
        also=("snmp-server host <it> community <community>[ <_more>]",),
        it=Codec(ADDRESS_FORM, shown_as="address"),
        community=SECRET,
        _more=Codec(r"traps v[12]c?", word=".+"),
    ),
)

SYSTEM = Statements(
    System,
    (
        line("hostname <name>", "ansible sonic_system", usual="", name=NAME),
        fixed("ip vrf mgmt", "ansible, tests of sonic_vrfs; spytest system/management_vrf"),
        each("ip vrf <it>", "vrfs", "ansible, tests of sonic_vrfs", it=defines("vrf", TENANT)),
        ignored("ip vrf <_name>", "a VRF that every switch has", _name=WORD),
        part(
            "port",
            ManagementPort,
            (
                line(
                    "ip address <address>[ gwaddr <gateway>]",
                    "spytest routing/ip",
                    changed="removed",
                    address=INTERFACE_ADDRESS,
                    gateway=ADDRESS,
                ),
                ignored("description <_text>", "a name", _text=TEXT),
                ignored("ip vrf forwarding mgmt", "the only VRF that it can be in"),
            ),
            "interface Management 0",
            "spytest routing/ip",
            disrupts=effects.EMPTIED,
        ),
        each(
            "username <name> password <password> role <role>",
            "users",
            "ansible, tests of sonic_users",
            User,
            by="name",
            name=NAME,
            password=SECRET,
            role=ROLE,
        ),
        each(
            "tacacs-server host <host> timeout <timeout> key <key>[ port <port>] vrf mgmt",
            "tacacs",
            "spytest security/tacacs",
            LoginServer,
            also=(f"tacacs-server host <host>{OPTIONS.replace('| auth-port <port>', '')}",),
            host=HOST,
            key=SECRET,
            port=PORT,
            timeout=TIMEOUT,
            _word=WORD,
        ),
        each(
            "radius-server host <host>[ auth-port <port>] timeout <timeout> key <key> vrf mgmt",
            "radius",
            "ansible sonic_radius_server (the place of key: its options)",
            LoginServer,
            also=(f"radius-server host <host>{OPTIONS.replace('| port <port>', '')}",),
            host=HOST,
            key=SECRET,
            port=PORT,
            timeout=TIMEOUT,
            _word=WORD,
        ),
        line(
            "aaa authentication login default group <asked> local",
            "spytest security/tacacs",
            also=("aaa authentication login default <asked>",),
            changed="removed",
            asked=Codec(r"tacacs\+|radius", word=".+", shown_as="tacacs+|radius"),
        ),
        part(
            "login",
            Limits,
            (
                line("login lockout period <lockout>", "ansible sonic_login_lockout", lockout=number(1, 60)),
                line("login lockout max-retries <attempts>", "ansible sonic_login_lockout", attempts=number(1, 16)),
                line("login exec-timeout <idle>", "ansible sonic_system", idle=number(0, 3600, unit=60)),
            ),
        ),
        each(
            "ip name-server <it> vrf mgmt",
            "dns",
            "spytest routing/ip_name_server",
            also=("ip name-server <it>",),
            it=Codec(ADDRESS_FORM, _servers, word=".+", shown_as="address", spreads=True),
        ),
        fixed("ntp vrf mgmt", "spytest system/ntp", when=lambda system: bool(system.ntp)),
        each(
            "ntp server <it>", "ntp", "spytest system/ntp", also=(f"ntp server <it>{NTP_OPTIONS}",), it=HOST, _word=WORD
        ),
        line("no lldp enable", "ansible sonic_lldp_global", sets={"lldp": False}),
        line("lldp enable", "ansible sonic_lldp_global", sets={"lldp": True}, prints=False),
        line("lldp timer <lldp_interval>", "ansible sonic_lldp_global", lldp_interval=number(5, 254)),
        line("lldp multiplier <lldp_hold>", "ansible sonic_lldp_global", lldp_hold=number(1, 10)),
        part("snmp", Snmp, SNMP),
        line(
            "ip telemetry security-profile <certificate>",
            "spytest system/gnmi",
            changed="removed",
            certificate=Codec(SECURITY_PROFILE, _profile, _written_profile, shown_as=SECURITY_PROFILE),
        ),
        each(f"logging server <host>{LOGGING}", "syslog", "", Syslog, host=HOST, port=PORT, _word=WORD),
        ignored(
            "interface-naming standard[ extended]", "names of ports, which are read as they are", "ansible sonic_system"
        ),
    ),
    disrupts=(),
)
"""The statements about management, with which ``sonic.cli`` begins."""
