"""Management statements of Junos: ``system``, ``snmp``, certificates, the instance of the management port, LLDP and layer-2 server ports."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from railweave.model.config.codecs import choice, in_range
from railweave.model.config.secret_words import reference
from railweave.model.config.statements import Codec, each, fixed, ignored, line, part
from railweave.model.device.management import Syslog
from railweave.systems.junos import words
from railweave.systems.junos.names import MANAGEMENT_INSTANCE
from railweave.systems.junos.table import Tree

if TYPE_CHECKING:
    from railweave.model.config.addresses import Address, Family, Prefix
    from railweave.model.config.statements import Row
    from railweave.systems.junos.words import Word


MODEL = "Juniper/yang, 23.4R1-EVO"


def _reference(secret: str) -> str:
    """Return the placeholder ``<secret:NAME>`` of a secret. ``build --secrets`` replaces the placeholder with the value.

    ``secret`` is ``secret:NAME``, as in the fabric file.
    """
    return f"<{secret}>"


def _of_family(text: str, family: Family) -> Address:
    address = words.address(text)
    if address.family != family:
        raise ValueError(text)
    return address


WORD = Codec(r"\S+", shown_as="word")
TEXT = Codec(r".+", shown_as="text")
SECRET = Codec(r"\S+", reference, _reference, shown_as="secret")
ADDRESS = Codec(r"[0-9a-f.:]+", words.address, shown_as="address")
PREFIX = Codec(r"[0-9a-f.:]+/\d+", words.prefix, shown_as="prefix")
ADDRESSES: dict[Family, Codec] = {
    "ipv4": Codec(r"192\.0\.2\.\d", partial(_of_family, family="ipv4"), word=r"[0-9.]+"),
    "ipv6": Codec(r"2001:db8::\d", partial(_of_family, family="ipv6"), word=r"[0-9a-f.:]+"),
}
"""The codec for each address family, which converts an address to text and back."""


def whole(low: int, high: int) -> Codec:
    """Return the codec that converts numbers to text and back. Only numbers from ``low`` to ``high`` are printed; any number can be read."""
    return Codec(in_range(low, high), words.whole, shown_as=f"{low}-{high}")


GRPC_CERTIFICATE = "railweave-grpc"
SEVERITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "any")


@dataclass(frozen=True, slots=True)
class Server:
    """A login server. If ``timeout`` is None, Junos's default applies."""

    host: str
    key: str | None = None
    port: int | None = None
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """An SSH public key. ``kind`` is its type, for example ``ssh-ed25519``; ``key`` is the whole line of the key."""

    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Account:
    """A user account. An unknown login class is read as ``read-only``, which has the fewest rights."""

    role: Literal["super-user", "operator", "read-only"] = "read-only"
    password: str | None = None
    keys: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class Clients:
    """The prefixes from which an SNMP community may be used in a routing instance."""

    clients: tuple[Prefix, ...] = ()


@dataclass(frozen=True, slots=True)
class Community:
    """An SNMP community: its access rights, and the prefixes from which clients may use it.

    ``clients`` are the prefixes in the default instance, ``instances`` those in each routing instance.
    """

    name: str
    access: str = ""
    clients: tuple[Prefix, ...] = ()
    instances: dict[str, Clients] = field(default_factory=dict[str, Clients])
    section: Word | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SnmpV3User:
    """A user of SNMP version 3, with authentication and privacy keys."""

    auth: str | None = None
    privacy: str | None = None
    section: Word | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Agent:
    """The settings of the SNMP agent."""

    location: str = ""
    contact: str = ""
    communities: tuple[Community, ...] = ()
    users: dict[str, SnmpV3User] = field(default_factory=dict[str, SnmpV3User])
    trap_targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class System:
    """The management settings, as the statements have them.

    - ``attempts``: the number of wrong passwords before Junos disconnects.
    - ``lockout``, ``idle``: the time in minutes for which a user is locked out, and after which an idle session ends.
    - ``order``: the order in which a login tries servers and local passwords.
    - ``certificate``: the name of the certificate of gRPC.
    """

    name: str = ""
    release: str = ""
    domain: str = ""
    root_password: str | None = None
    banner: str = ""
    attempts: int | None = None
    lockout: int | None = None
    idle: int | None = None
    users: dict[str, Account] = field(default_factory=dict[str, Account])
    order: tuple[str, ...] = ()
    radius: tuple[Server, ...] = ()
    tacacs: tuple[Server, ...] = ()
    netconf: bool = False
    netconf_rfc_compliant: bool = False
    grpc_port: int | None = None
    certificate: str | None = None
    time_zone: str = "UTC"
    dns: tuple[str, ...] = ()
    syslog: tuple[Syslog, ...] = ()
    ntp: tuple[str, ...] = ()
    snmp: Agent | None = None
    certificates: dict[str, str] = field(default_factory=dict[str, str])
    gateway: Address | None = None


INSTANCE = (
    ignored("routing-instance <_name>", "the instance by which the server is reached", _name=WORD),
    fixed(f"routing-instance = {MANAGEMENT_INSTANCE}", MODEL),
)
LOGIN_SERVER = (
    *INSTANCE,
    line("port <port>", MODEL, port=whole(1, 65535)),
    line("secret <key>", MODEL, key=SECRET),
    line("timeout <timeout>", MODEL, timeout=whole(1, 1000)),
)
USER = (
    line(
        "class <role>",
        MODEL,
        role=choice({role: role for role in ("super-user", "operator", "read-only")}, superuser="super-user"),
    ),
    line("authentication / encrypted-password <password>", MODEL, password=SECRET),
    each(
        "authentication / <kind> <key>",
        "keys",
        MODEL,
        Key,
        kind=choice({kind: kind for kind in ("ssh-rsa", "ssh-ed25519", "ssh-ecdsa", "ssh-dsa")}),
        key=TEXT,
    ),
)
GRPC = "system / services / extension-service / request-response / grpc"
CLIENTS = each("clients / <it>", "clients", MODEL, it=PREFIX)
SNMP = (
    line("location <location>", MODEL, usual="", location=TEXT),
    line("contact <contact>", MODEL, usual="", contact=TEXT),
    each(
        "community <name>",
        "communities",
        MODEL,
        Community,
        (
            line(
                "authorization <access>",
                MODEL,
                usual="",
                access=choice({"read-only": "read-only", "read-write": "read-write"}),
            ),
            CLIENTS,
            each("routing-instance <instance>", "instances", MODEL, Clients, (CLIENTS,), by="instance", instance=WORD),
        ),
        name=SECRET,
    ),
    each(
        "v3 / usm local-engine / user <name>",
        "users",
        MODEL,
        SnmpV3User,
        (
            line("authentication-sha256 / authentication-key <auth>", MODEL, auth=SECRET),
            line("privacy-aes128 / privacy-key <privacy>", MODEL, privacy=SECRET),
        ),
        by="name",
        name=WORD,
    ),
    each(
        "v3 / vacm / security-to-group / security-model usm / security-name <name> / group = railweave",
        "users",
        "",
        SnmpV3User,
        by="name",
        prints=True,
        name=WORD,
    ),
    fixed(
        "v3 / vacm / access / group railweave / default-context-prefix / security-model usm / security-level privacy / read-view = all",
        MODEL,
        lambda agent: bool(agent.users),
    ),
    fixed("view all / oid .1 : include", MODEL, lambda agent: bool(agent.users)),
    fixed("routing-instance-access", MODEL),
    fixed("trap-group railweave / version = v2", MODEL, lambda agent: bool(agent.trap_targets)),
    fixed(
        f"trap-group railweave / routing-instance = {MANAGEMENT_INSTANCE}",
        MODEL,
        lambda agent: bool(agent.trap_targets),
    ),
    each(
        "trap-group railweave / targets / <it>",
        "trap_targets",
        MODEL,
        also=("trap-group <_group> / targets / <it>",),
        it=WORD,
        _group=Codec(r"\S+", word="(?!railweave$).+"),
    ),
)
ROWS: tuple[Row, ...] = (
    line("version <release>", "", release=WORD),
    line("system / host-name <name>", MODEL, name=WORD),
    line("system / domain-name <domain>", MODEL, usual="", domain=WORD),
    line("system / root-authentication / encrypted-password <root_password>", MODEL, root_password=SECRET),
    line("system / login / message <banner>", MODEL, usual="", banner=TEXT),
    line("system / login / retry-options / tries-before-disconnect <attempts>", MODEL, attempts=whole(2, 10)),
    line("system / login / retry-options / lockout-period <lockout>", MODEL, lockout=whole(1, 43200)),
    line("system / login / idle-timeout <idle>", MODEL, idle=whole(0, 60)),
    each("system / login / user <user>", "users", MODEL, Account, USER, by="user", user=WORD),
    ignored("system / authentication-order password", "users of the device itself, who log in too"),
    each(
        "system / authentication-order [ <it> ]", "order", MODEL, it=choice({"tacacs+": "tacplus", "radius": "radius"})
    ),
    each("system / radius-server <host>", "radius", MODEL, Server, LOGIN_SERVER, host=WORD),
    each("system / tacplus-server <host>", "tacacs", MODEL, Server, LOGIN_SERVER, host=WORD),
    fixed("system / services / ssh / root-login = deny", MODEL),
    line("system / services / netconf / ssh", MODEL, sets={"netconf": True}),
    line("system / services / netconf / rfc-compliant", MODEL, sets={"netconf_rfc_compliant": True}),
    line(f"{GRPC} / ssl / port <grpc_port>", MODEL, grpc_port=whole(1, 65535)),
    line(f"{GRPC} / ssl / local-certificate <certificate>", MODEL, certificate=WORD),
    ignored(f"{GRPC} / routing-instance <_name>", "the instance by which the server is reached", _name=WORD),
    fixed(f"{GRPC} / routing-instance = {MANAGEMENT_INSTANCE}", MODEL, lambda system: system.certificate is not None),
    line("system / time-zone <time_zone>", MODEL, time_zone=WORD),
    fixed("system / management-instance", MODEL),
    each("system / name-server / <it> :", "dns", MODEL, rows=INSTANCE, it=WORD),
    each(
        "system / syslog / host <host>",
        "syslog",
        MODEL,
        Syslog,
        (
            line("any : <severity>", MODEL, severity=choice({severity: severity for severity in SEVERITIES})),
            line("port <port>", MODEL, port=whole(0, 65535)),
            *INSTANCE,
            fixed("structured-data", MODEL),
        ),
        host=WORD,
    ),
    fixed("system / syslog / file messages / any : notice", MODEL),
    fixed("system / syslog / file messages / authorization : info", MODEL),
    each(
        "system / ntp / server <it> :",
        "ntp",
        MODEL,
        rows=(
            *INSTANCE,
            ignored("prefer", "the clock that is asked first"),
            ignored("version <_number>", "the version of NTP", _number=WORD),
        ),
        it=WORD,
    ),
    part("snmp", Agent, SNMP, "snmp", MODEL),
    each("security / certificates / local / <name> / <it>", "certificates", MODEL, by="name", name=WORD, it=SECRET),
    ignored(f"routing-instances / {MANAGEMENT_INSTANCE} / description <_text>", "a name", _text=TEXT),
    fixed(f"routing-instances / {MANAGEMENT_INSTANCE} / description = management", MODEL),
    line(
        f"routing-instances / {MANAGEMENT_INSTANCE} / routing-options / rib {MANAGEMENT_INSTANCE}.inet6.0 / static / route ::/0 / next-hop <gateway>",
        "Juniper documentation, static: hierarchy levels",
        also=(
            f"routing-instances / {MANAGEMENT_INSTANCE} / routing-options / static / route ::/0 / next-hop <gateway>",
        ),
        when=lambda system: system.gateway is not None and system.gateway.family == "ipv6",
        gateway=ADDRESSES["ipv6"],
    ),
    line(
        f"routing-instances / {MANAGEMENT_INSTANCE} / routing-options / static / route 0.0.0.0/0 / next-hop <gateway>",
        MODEL,
        when=lambda system: system.gateway is not None and system.gateway.family == "ipv4",
        gateway=ADDRESSES["ipv4"],
    ),
)
SYSTEM = Tree(System, ROWS, disrupts=())
"""The statements about management, without protocols."""


@dataclass(frozen=True, slots=True)
class Edge:
    """The settings of LLDP, its management address, and the server ports with BPDU guard."""

    lldp: bool = False
    lldp_interval: int | None = None
    lldp_hold: int | None = None
    address: Address | None = None
    guarded: tuple[str, ...] = ()


NEIGHBORS = Tree(
    Edge,
    (
        fixed("protocols / lldp / port-id-subtype = interface-name", MODEL, lambda edge: edge.lldp),
        fixed("protocols / lldp / port-description-type = interface-description", MODEL, lambda edge: edge.lldp),
        line(
            "protocols / lldp / advertisement-interval <lldp_interval>",
            f"{MODEL}; Juniper documentation, Configuring LLDP",
            lldp_interval=whole(5, 32768),
        ),
        line(
            "protocols / lldp / hold-multiplier <lldp_hold>",
            f"{MODEL}; Juniper documentation, hold-multiplier (LLDP)",
            lldp_hold=whole(2, 10),
        ),
        line("protocols / lldp / management-address <address>", MODEL, address=ADDRESS),
        line("protocols / lldp / interface all", MODEL, sets={"lldp": True}),
        line("protocols / lldp / interface all / disable", "", sets={"lldp": False}),
        line("protocols / lldp / disable", "", sets={"lldp": False}),
        each("protocols / layer2-control / bpdu-block / interface <it>", "guarded", MODEL, it=WORD),
        fixed(
            "protocols / layer2-control / bpdu-block / disable-timeout = 300", MODEL, lambda edge: bool(edge.guarded)
        ),
        fixed("protocols / rstp / disable", MODEL),
    ),
    disrupts=(),
)
"""The table of statements about LLDP and about BPDU guard on server ports.

LLDP sends interface names as port ids, so that ``check`` can compare the cabling with the plan.
"""
