"""Management plane (system, SNMP, chassis, LLDP) and MACsec."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.names import MANAGEMENT_INSTANCE
from railweave.systems.junos.render.access import VIEW, login_limits, login_servers, readers, remote_user, snmp_clients
from railweave.systems.junos.render.interfaces import field_profile
from railweave.systems.junos.render.overlay import key_chain
from railweave.systems.junos.tree import Statement, block, entry, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig


ASSOCIATION = "interconnect"


def macsec(config: DeviceConfig) -> Statement | None:
    """``macsec``: one association with the pre-shared key, bound to every link between sites; None without."""
    ports = [one for one in config.interfaces if one.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return None
    return block(
        "macsec",
        block(
            ("connectivity-association", ASSOCIATION),
            leaf("cipher-suite", wanted.cipher_suite),
            leaf("security-mode", "static-cak"),
            block("pre-shared-key", leaf("ckn", wanted.key_name), leaf("cak", f"<{wanted.key}>")),
        ),
        block("interfaces", [block((one.name,), leaf("connectivity-association", ASSOCIATION)) for one in ports]),
    )


GRPC_CERTIFICATE = "railweave-grpc"


def secret(reference: str) -> str:
    """How a secret stands in a file until ``build --secrets`` puts its value in: ``<secret:NAME>``."""
    return f"<{reference}>"


def system(config: DeviceConfig) -> Statement | None:
    """``system``: identity, logins, services, time, syslog."""
    wanted = config.management
    in_instance = ("routing-instance", MANAGEMENT_INSTANCE)
    return block(
        "system",
        leaf("host-name", config.name),
        leaf("domain-name", wanted.domain) if wanted.domain else None,
        block(
            "root-authentication",
            leaf("encrypted-password", secret(wanted.root_password)) if wanted.root_password else None,
        ),
        block(
            "login",
            leaf("message", wanted.banner) if wanted.banner else None,
            login_limits(wanted),
            [
                block(
                    ("user", name),
                    leaf("class", user.role),
                    block(
                        "authentication",
                        leaf("encrypted-password", secret(user.password)) if user.password else None,
                        [entry(key.partition(" ")[0], key) for key in user.ssh_keys],
                    ),
                )
                for name, user in wanted.users.items()
            ],
            remote_user(wanted),
        ),
        login_servers(wanted),
        block(
            "services",
            block("ssh", leaf("root-login", "deny")),
            block("netconf", leaf("ssh"), leaf("rfc-compliant") if wanted.services.netconf_rfc_compliant else None)
            if wanted.services.netconf
            else None,
            _grpc(config) if wanted.services.grpc_certificate else None,
        ),
        leaf("time-zone", wanted.time_zone),
        leaf("management-instance"),
        block("name-server", [entry(server, *in_instance, key=1) for server in wanted.dns]),
        block(
            "syslog",
            [
                block(
                    ("host", server.host),
                    entry("any", server.severity, key=1),
                    leaf("port", server.port),
                    leaf("routing-instance", MANAGEMENT_INSTANCE),
                    leaf("structured-data"),
                )
                for server in wanted.syslog
            ],
            block("file messages", entry("any", "notice", key=1), entry("authorization", "info", key=1)),
        ),
        block("ntp", [entry("server", server, *in_instance, key=2) for server in wanted.ntp]),
        field_profile(config),
    )


def _grpc(config: DeviceConfig) -> Statement | None:
    transport = block(
        "ssl", leaf("port", config.management.services.grpc_port), leaf("local-certificate", GRPC_CERTIFICATE)
    )
    return block(
        "extension-service",
        block("request-response", block("grpc", transport, leaf("routing-instance", MANAGEMENT_INSTANCE))),
    )


def security(config: DeviceConfig) -> Statement | None:
    """``security``: the certificate that gRPC uses, keys of BGP sessions, and MACsec."""
    reference = config.management.services.grpc_certificate
    certificate = block((GRPC_CERTIFICATE,), entry(secret(reference))) if reference else None
    return block("security", block("certificates", block("local", certificate)), key_chain(config), macsec(config))


def snmp(config: DeviceConfig) -> Statement | None:
    """``snmp``: read-only community, v3 users, traps, all in the management instance."""
    wanted = config.management.snmp
    if wanted is None:
        return None
    return block(
        "snmp",
        leaf("location", wanted.location) if wanted.location else None,
        leaf("contact", wanted.contact) if wanted.contact else None,
        block(
            ("community", secret(wanted.community)),
            leaf("authorization", "read-only"),
            snmp_clients(wanted),
            block(("routing-instance", MANAGEMENT_INSTANCE), snmp_clients(wanted), keep=True),
        )
        if wanted.community
        else None,
        block(
            "v3",
            block(
                "usm local-engine",
                [
                    block(
                        ("user", name),
                        block("authentication-sha256", leaf("authentication-key", secret(user.auth))),
                        block("privacy-aes128", leaf("privacy-key", secret(user.privacy))),
                    )
                    for name, user in wanted.users.items()
                ],
            ),
            readers(wanted),
        ),
        block(("view", VIEW), entry("oid", ".1", "include", key=2)) if wanted.users else None,
        leaf("routing-instance-access"),
        block(
            "trap-group railweave",
            leaf("version", "v2"),
            leaf("routing-instance", MANAGEMENT_INSTANCE),
            block("targets", [entry(target) for target in wanted.trap_targets]),
        )
        if wanted.trap_targets
        else None,
    )


def chassis(config: DeviceConfig) -> Statement | None:
    """``chassis``: width of next-hop groups, buffer monitoring."""
    monitor = config.qos is not None and config.qos.buffer_monitor
    return block(
        "chassis",
        leaf("maximum-ecmp", config.maximum_ecmp()) if config.bgp or config.isis else None,
        block("fpc 0", block("traffic-manager", leaf("buffer-monitor-enable") if monitor else None)),
    )


def lldp(config: DeviceConfig) -> Statement | None:
    """``protocols lldp``: interface names as port ids, so that cabling can be checked against the plan."""
    if not config.management.lldp:
        return None
    return block(
        "lldp",
        leaf("port-id-subtype", "interface-name"),
        leaf("port-description-type", "interface-description"),
        leaf("management-address", config.management_address.address),
        block("interface all", keep=True),
    )


def management_instance(config: DeviceConfig) -> Statement | None:
    """``routing-instances mgmt_junos``: the default route of the management port.

    Static routes of IPv6 stand in the instance's own table (Junos documentation, static: hierarchy levels).
    """
    six = config.management_address.family == "ipv6"
    route = block(
        "static", block(f"route {'::/0' if six else '0.0.0.0/0'}", leaf("next-hop", config.management_gateway))
    )
    return block(
        (MANAGEMENT_INSTANCE,),
        leaf("description", "management"),
        block("routing-options", block(f"rib {MANAGEMENT_INSTANCE}.inet6.0", route) if six else route),
    )
