"""Gaps of EOS: parts of the design that EOS cannot express, and statements that could not be verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.config.sections import flat, parse
from railweave.model.device.balancing import Dlb
from railweave.systems.common_gaps import extra_findings, left_out_findings, note, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.findings import Finding


HASHED = "no public document shows the statements; groups are shared by static hash instead"
NO_COLOR_ENDPOINTS = warning(
    "eos-no-color-endpoints",
    "EOS cannot express a tunnel endpoint per path color",
    "VXLAN has only one source interface",
)
NO_RA_ROUTES = note(
    "eos-no-ra-routes",
    "EOS cannot express route information options (`routes`, `route_lifetime`, `route_preference`)",
    "EOS's router advertisements have no such options",
)
MACSEC_PORT = warning(
    "eos-macsec-port",
    "no public document shows that the ports of this model can encrypt (MACsec)",
    "MACsec needs suitable ports and a license; otherwise the switch rejects the lines, and traffic is not encrypted",
    "ask Arista, or encrypt in the transport network between the sites",
)
VLAN_BASED = note(
    "eos-vlan-based",
    "each layer-2 network is an EVPN instance of its own (VLAN-based service)",
    "Junos has one instance for all layer-2 networks (VLAN-aware bundle); the two services have not been "
    "tested in one network",
    "use the same operating system on all leaves of a layer-2 network",
)
NO_GATEWAY_MAC = warning(
    "eos-no-gateway-mac",
    "EOS cannot express a MAC address for each shared gateway",
    "EOS has one MAC address for all gateways",
)
NO_DLB_PER_PACKET = warning(
    "eos-no-dlb-per-packet",
    "EOS cannot express dlb-per-packet (`mode` or `within_color`) inside a next-hop group",
    HASHED,
    "use dlb-flowlet",
)
NO_SPRAY = warning(
    "eos-no-spray", "EOS cannot express spray (`mode`) inside a next-hop group", HASHED, "use dlb-flowlet"
)
NO_DLB_KNOBS = note(
    "eos-no-dlb-knobs",
    "EOS cannot express `inactivity_interval`, `sampling_rate`, `egress_quantization` and `reassignment` of DLB",
    "EOS has a statement only for the size of the flowset table; the other values are the chip's defaults",
)
NO_HASH = note(
    "eos-no-hash",
    "EOS cannot express the seed and fields of the hash (`seed`, `layer3`, `layer4`)",
    "platform profiles set these values, and no public schema has them; by default, EOS hashes addresses and ports",
)
NO_BUFFER_PARTITION = note(
    "eos-no-buffer-partition",
    "EOS cannot express the partition of the buffer (`buffers`, except headroom and thresholds)",
    "lossless and lossy classes share one pool, which thresholds and the headroom pool divide",
)
MRU_IN_TABLE = note(
    "eos-mru-in-table",
    "EOS cannot express the largest packet of PFC (`pfc.mru`), so it does not change the headroom of ports",
    "EOS sets headroom in bytes; the headroom in the platform's table is larger than packets of that size need",
)
NO_DEDICATED_BUFFER = note(
    "eos-no-dedicated-buffer",
    "EOS cannot express dedicated buffers as a share (`dedicated_ingress`, `dedicated_egress`)",
    "EOS reserves a number of bytes per queue",
)
NO_BUFFER_SIZE = note(
    "eos-no-buffer-size",
    "EOS cannot express a queue's share of dedicated buffer (`buffer_percent`)",
    "EOS reserves a number of bytes per queue",
)
NO_XON_OFFSET = note(
    "eos-no-xon-offset",
    "EOS cannot express the fill level, relative to XOFF, at which a pause ends (`xon_offset`)",
    "the unit of `ingress resume` is not public",
)
NO_SYSLOG_SEVERITY = note(
    "eos-no-syslog-severity",
    "EOS cannot express a severity for each syslog server",
    "EOS has one severity for all servers: railweave sets the one that sends most messages",
)
NO_SSH_KEYS = warning(
    "eos-no-ssh-keys", "EOS cannot express more than two SSH keys for a user", "only the first two keys are configured"
)
NO_KEY_ONLY_LOGIN = warning(
    "eos-no-key-only-login",
    "EOS cannot require an SSH key of a user without also allowing console login without a password",
    "SSH requires a key; console login needs no password",
    "give the user a password",
)
FOUND_KEY = note(
    "eos-found-key",
    "the key of BGP sessions is set on peer groups whose neighbors are discovered on the link",
    "no public document shows whether EOS uses a key for discovered neighbors",
    "test one leaf and one spine; if sessions are not authenticated, use `peering: numbered`",
)
SHARED_FATE = note(
    "eos-shared-fate",
    "if BFD goes down while a neighbor restarts gracefully, EOS uses its own default",
    (
        "no public schema has a statement for this case; Junos and FRR are configured to follow BFD, except for a "
        "restarting neighbor"
    ),
)
NO_ROOT = note(
    "eos-no-root",
    "root's password (`root_password`) is not configured on EOS",
    "root is the account of the underlying Linux: no one can log in with it (`no aaa root`); users log in by name",
)
OPEN_ADMIN = note(
    "eos-open-admin",
    "EOS keeps its account admin without a password, because `users` has no admin",
    "admin logs in at the console without a password, also if it had a password before the configuration was loaded",
    "add `admin` to `users`, or enter `no username admin` on the switch",
)
NETCONF_RFC = note(
    "eos-netconf-rfc",
    "EOS has no setting for the strict form of NETCONF (`netconf_rfc_compliant`)",
    "EOS uses its default form of NETCONF",
)
NO_TRAPS = warning(
    "eos-no-traps", "EOS cannot send traps without a community or a user", "no traps are sent", "give `community:`"
)
NO_CERTIFICATE = note(
    "eos-no-certificate",
    "EOS cannot have the certificate of gNMI inside the configuration",
    "the certificate is a file on the switch: certificate:railweave.pem and sslkey:railweave.key",
    "copy the files to the switch before loading the configuration, with `copy FILE certificate:`",
)
CONTROL_PLANE = note(
    "eos-control-plane",
    "EOS cannot express ICMP rates and types in its control-plane access lists (`control_plane`)",
    "EOS's control-plane policing limits the rates; all ICMP types are permitted, as in EOS's default list",
    "load one leaf and one spine with `configure session` and `commit timer` before the rest",
)


ROUTING = (
    "router bgp",
    "router isis",
    "route-map",
    "ip prefix-list",
    "ipv6 prefix-list",
    "ip large-community-list",
    "ip community-list",
    "peer-filter",
)
"""The first words of lines that affect the routes that railweave computes (``routes``)."""


def gaps(config: DeviceConfig) -> list[Finding]:
    """Return findings about parts of the design that EOS cannot express, and about the operator's own lines."""
    findings = [*left_out_findings(config), *_balancing(config), *_qos(config), *_management(config)]
    if config.overlay and len(config.overlay.endpoints) > 1:
        findings.append(NO_COLOR_ENDPOINTS.finding(config.name))
    if any(gateway.advertisements and gateway.advertisements.routes for gateway in config.gateways):
        findings.append(NO_RA_ROUTES.finding(config.name))
    findings += [*_encryption(config), *_bridging(config), *_sessions(config)]
    if config.extra.strip():
        findings += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return findings


def _encryption(config: DeviceConfig) -> Iterator[Finding]:
    ports = [port.name for port in config.interfaces if port.macsec]
    model = catalog().switches.get(config.model)
    if ports and (model is None or "macsec" not in model.platform.has):
        message = f"no public document says that {config.model} encrypts on its ports; {len(ports)} of them are to"
        yield MACSEC_PORT.finding(config.name, message)


def _sessions(config: DeviceConfig) -> Iterator[Finding]:
    bgp = config.bgp
    if bgp and bgp.authentication and bgp.found_neighbors():
        yield FOUND_KEY.finding(config.name)
    if bgp and bgp.graceful_restart and bgp.bfd:
        yield SHARED_FATE.finding(config.name)


def _bridging(config: DeviceConfig) -> Iterator[Finding]:
    if config.mac_vrf:
        yield VLAN_BASED.finding(config.name)
    if len({gateway.mac for gateway in config.gateways if gateway.mac}) > 1:
        yield NO_GATEWAY_MAC.finding(config.name)


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    mode, intent = config.balancing.group_mode, config.balancing
    if mode == "dlb-per-packet":
        yield NO_DLB_PER_PACKET.finding(config.name)
    if mode == "spray":
        opcodes = ", ".join(map(str, intent.spray_opcodes))
        of = f" of RDMA opcodes {opcodes} (`spray_opcodes`)" if opcodes else ""
        yield NO_SPRAY.finding(config.name, f"EOS cannot express spray (`mode`){of} inside a next-hop group")
    default = Dlb(flowset_table_size=intent.dlb.flowset_table_size)
    if mode == "dlb-flowlet" and intent.dlb != default:
        yield NO_DLB_KNOBS.finding(config.name)
    if intent.hash.seed is not None or not (intent.hash.layer3 and intent.hash.layer4):
        yield NO_HASH.finding(config.name)


def _qos(config: DeviceConfig) -> Iterator[Finding]:
    qos = config.qos
    if qos is None:
        return
    yield NO_BUFFER_PARTITION.finding(config.name)
    if qos.buffers.dedicated_ingress is not None or qos.buffers.dedicated_egress is not None:
        yield NO_DEDICATED_BUFFER.finding(config.name)
    if any(traffic_class.buffer_percent is not None for traffic_class in qos.classes.values()):
        yield NO_BUFFER_SIZE.finding(config.name)
    if _mru_in_table(config, qos):
        yield MRU_IN_TABLE.finding(config.name)
    if qos.xon_offset_cells is not None:
        yield NO_XON_OFFSET.finding(config.name)


def _mru_in_table(config: DeviceConfig, qos: QosConfig) -> bool:
    """Return True if the headroom is wrong because the platform's table gives it, although the MRU of the port differs from the port's MTU.

    Only a port with the largest headroom is checked.
    """
    model = catalog().switches.get(config.model)
    ports = {port.name: port for port in config.interfaces}
    most = max(qos.profiles, key=lambda pfc_profile: pfc_profile.headroom_bytes, default=None)
    port = next((ports[name] for name in most.ports if name in ports), None) if most is not None else None
    if model is None or most is None or port is None:
        return False
    room = port_headroom(catalog(), model, most.cable_length_m, port.speed_gbps, most.mru_bytes)
    return most.mru_bytes != port.mtu and room.limit_bytes == room.table_bytes


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    if len({syslog.severity for syslog in wanted.syslog}) > 1:
        yield NO_SYSLOG_SEVERITY.finding(config.name)
    if any(len(user.ssh_keys) > 2 for user in wanted.users.values()):
        yield NO_SSH_KEYS.finding(config.name)
    open_users = [name for name, user in wanted.users.items() if not user.password]
    if open_users:
        rule = NO_KEY_ONLY_LOGIN
        yield rule.finding(config.name, f"{rule.fault}: {', '.join(open_users)}")
    if wanted.users and "admin" not in wanted.users:
        yield OPEN_ADMIN.finding(config.name)
    if wanted.root_password:
        yield NO_ROOT.finding(config.name)
    if wanted.services.netconf_rfc_compliant and wanted.services.netconf:
        yield NETCONF_RFC.finding(config.name)
    snmp = wanted.snmp
    if snmp and snmp.trap_targets and not (snmp.community or snmp.users):
        yield NO_TRAPS.finding(config.name)
    if wanted.services.grpc_certificate:
        yield NO_CERTIFICATE.finding(config.name)
    if config.protection:
        yield CONTROL_PLANE.finding(config.name)
