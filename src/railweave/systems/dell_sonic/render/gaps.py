"""Gaps of Enterprise SONiC's command line: parts of the design that it cannot express, or whose commands no public document confirms."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.config.sections import flat
from railweave.model.findings.registry import Rule
from railweave.systems.common_gaps import extra_findings, left_out_findings, note, warning
from railweave.systems.dell_sonic.meaning.balancing import adaptive
from railweave.systems.dell_sonic.tree import parse
from railweave.systems.frr import render as frr
from railweave.systems.sonic.render.gaps import sprayed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.findings import Finding


UNKNOWN_COMMANDS = "no public document has the commands"
NO_MODEL = note(
    "dell-no-model",
    "no validator can check sonic.cli",
    "Dell publishes no model of this command line; the lint knows the commands used, each from a public document",
    "load one leaf and one spine before the rest",
)
PREPARE = note(
    "dell-prepare",
    "prepare.cli comes first: its port names need a new session, and `buffer init lossless`, its last line, asks and restarts the switch",
    "commands typed before the restart has ended are lost; port names of sonic.cli are refused in the session of prepare.cli",
    "type it, answer `y`, wait for the login prompt, log in again, then type sonic.cli (no lossless class: no question and no restart)",
)
NO_SPRAY = warning(
    "dell_sonic-no-spray",
    "random packet spraying (`mode`) is not configured",
    "a static hash distributes flows over next-hop groups instead",
    "use load_balancing mode dlb-per-packet",
)
ARS_OBJECT = warning(
    "dell-ars-object",
    "set ars-object in route-maps is read from a module's documentation, not from a switch",
    "no public document shows the command itself",
    "try one leaf; without it next-hop groups are shared by static hash",
)
ARS_BANDS = note(
    "dell-ars-bands",
    "`egress_quantization.min` and `max`, and `reassignment`, are left at the default of the system's adaptive routing",
    "their units are not documented",
)
NO_MACSEC = warning(
    "dell_sonic-no-macsec",
    "MACsec (`macsec`) is not configured: links between sites are in the clear",
    UNKNOWN_COMMANDS,
    "encrypt them outside the switch, or use a system that has it",
)
SUB_INTERFACE = warning(
    "dell-sub-interface",
    "a tag of an external router is a sub-interface",
    "its command is read from a test library, and whether it may be in a VRF of a tunnel has not been tried",
    "try one leaf",
)
NO_ISIS = Rule(
    "dell_sonic-no-isis",
    "error",
    "rendering",
    "IS-IS is not configured: the switch has no routes",
    "no public document of Enterprise SONiC describes IS-IS",
    "set `underlay: {protocol: bgp}`",
)
PEER_AS = note(
    "dell-peer-as",
    "there is no list of accepted AS numbers; each neighbor is given the one that design knows",
    "a neighbor with another AS stays down, so the effect is stricter",
)
NO_RA_ROUTES = note(
    "dell_sonic-no-ra-routes",
    "router advertisements carry no route information options (`routes`, `route_lifetime`, `route_preference`)",
    "FRR, which sends them, has none",
)
NO_COLOR_ENDPOINTS = warning(
    "dell_sonic-no-color-endpoints",
    "a tunnel endpoint per path color is not configured: the first one serves all",
    "a tunnel has one source address",
)
IPV6_TUNNEL = warning(
    "dell-ipv6-tunnel", "the tunnel's source is an IPv6 address", "public documents show IPv4 only", "use vtep: ipv4"
)
NEXT_HOP_UNCHANGED = warning(
    "dell-next-hop-unchanged",
    "attribute-unchanged next-hop is FRR's command, taken for this command line's",
    "spines must pass type-5 routes on with the leaf's next hop, and no public document shows how",
    "try one spine",
)
MANAGEMENT = note(
    "dell-management",
    "parts of management, as the login banner or SSH keys, are not configured",
    UNKNOWN_COMMANDS,
    "configure by hand, or by `extra:`",
)
NO_SYSLOG = note(
    "dell_sonic-no-syslog",
    "syslog servers (`syslog`) are not configured",
    UNKNOWN_COMMANDS,
    "configure by hand, or by `extra:`",
)
NO_AO = warning(
    "dell_sonic-no-tcp-ao",
    "BGP sessions have no key: FRR, by which SONiC routes, has no TCP-AO (`algorithm`, `key`, `key_id` of `authentication`)",
    "FRR knows TCP MD5 alone",
    "use `algorithm: md5`",
)
NO_NETCONF = note(
    "dell_sonic-no-netconf",
    "there is no NETCONF (`netconf`, `netconf_rfc_compliant`)",
    "the system is configured by gNMI, REST or its command line",
)
CERTIFICATE = note(
    "dell-certificate",
    "the certificate of telemetry is named, not installed",
    "certificates are files",
    "install it, and make `crypto security-profile railweave` of it",
)
NO_BUFFER_PARTITION = note(
    "dell_sonic-no-buffer-partition",
    "`buffers`, but for headroom and threshold, are not configured: pools and egress profiles are those of buffer init lossless",
    "the command line sets the headroom of pools, not their size",
)
NO_DEDICATED_BUFFER = note(
    "dell-dedicated-buffer",
    "dedicated buffers (`dedicated_ingress`, `dedicated_egress`) are not configured",
    UNKNOWN_COMMANDS,
)
NO_XON_OFFSET = note(
    "dell-xon-offset",
    "how far below XOFF a pause is lifted (`xon_offset`) is not configured",
    "it is left at the system's own; no public document has the command's unit",
)
STRICT_CAP = note(
    "dell-strict-cap",
    "strict classes are not capped at their `transmit_percent`",
    "a cap would be a rate and so a policy for each port speed",
)
QUEUE_BUFFERS = note(
    "dell-queue-buffers",
    "egress thresholds and dedicated buffers of classes (`dynamic_threshold`, `buffer_percent`) are not configured",
    "queues have the profiles of `buffer init lossless`",
)
CONTROL_PLANE = warning(
    "dell-control-plane",
    "the list of the control plane (`control_plane`, on `line vty`) is read from a design document, not from a switch",
    "it names sources, ports and types of ICMP, not rates or hop limits; it is one list for the management port and the network, and "
    "what else it sees is not documented",
    "try one switch from its console before the rest",
)
NO_LEAKS = replace(frr.NO_LEAKS, id="dell-no-leaks", severity="warning")


ROUTING = ("router bgp", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""The first words of commands that affect the computed routes (``routes``)."""


def unsaid(config: DeviceConfig) -> list[Finding]:
    """Return findings about parts of the design without a command or with a different one, and about the operator's own commands."""
    findings = [
        NO_MODEL.finding(config.name),
        PREPARE.finding(config.name),
        *left_out_findings(config),
        *_balancing(config),
        *_ports(config),
        *_routing(config),
        *_management(config),
        *(_qos(config, config.qos) if config.qos else ()),
    ]
    if config.extra.strip():
        findings += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return findings


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    if config.balancing.group_mode == "spray":
        yield NO_SPRAY.finding(config.name, f"random packet spraying (`mode`){sprayed(config)} is not configured")
    if adaptive(config):
        yield ARS_OBJECT.finding(config.name)
        yield ARS_BANDS.finding(config.name)


def _ports(config: DeviceConfig) -> Iterator[Finding]:
    if any(port.macsec for port in config.interfaces):
        yield NO_MACSEC.finding(config.name)
    if any(port.unit_vlan is not None for port in config.interfaces):
        yield SUB_INTERFACE.finding(config.name)


def _routing(config: DeviceConfig) -> Iterator[Finding]:
    if frr.no_ao(config):
        yield NO_AO.finding(config.name)
    if config.isis:
        yield NO_ISIS.finding(config.name)
    if config.bgp and config.bgp.as_lists:
        yield PEER_AS.finding(config.name)
    if config.gateways and config.gateways[0].advertisements and config.gateways[0].advertisements.routes:
        yield NO_RA_ROUTES.finding(config.name)
    overlay = config.overlay
    if overlay is None:
        return
    if any(len(vrf.import_targets) > 1 for vrf in config.vrfs):
        yield NO_LEAKS.finding(config.name)
    if len(overlay.endpoints) > 1:
        yield NO_COLOR_ENDPOINTS.finding(config.name)
    if overlay.endpoints and overlay.endpoints[0].address.family == "ipv6":
        yield IPV6_TUNNEL.finding(config.name)
    if overlay.reflects:
        yield NEXT_HOP_UNCHANGED.finding(config.name)


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    unsaid: list[str] = []
    unsaid += ["the login banner (`banner`)"] if wanted.banner else []
    unsaid += ["the time zone (`time_zone`)"] if wanted.time_zone != "UTC" else []
    unsaid += ["SSH keys (`ssh_keys`)"] if any(user.ssh_keys for user in wanted.users.values()) else []
    snmp = wanted.snmp
    unsaid += ["users without a password"] if any(not user.password for user in wanted.users.values()) else []
    unsaid += ["root's password (`root_password`)"] if wanted.root_password else []
    unsaid += ["SNMPv3 users (`snmp.users`)"] if snmp and snmp.users else []
    unsaid += (
        ["SNMP traps without a community (`trap_targets`)"] if snmp and snmp.trap_targets and not snmp.community else []
    )
    unsaid += ["the DNS domain (`domain`)"] if wanted.domain else []
    unsaid += ["who may ask by SNMP (`clients`)"] if snmp and snmp.community and snmp.clients else []
    servers = wanted.aaa()
    unsaid += ["what users may do whom only a server knows (`role`)"] if servers else []
    unsaid += ["RADIUS after TACACS+ (`radius`)"] if servers and len(servers.groups()) > 1 else []
    if unsaid:
        message = f"{', '.join(unsaid)} {'are' if len(unsaid) > 1 else 'is'} not configured"
        yield MANAGEMENT.finding(config.name, message)
    if wanted.syslog:
        yield NO_SYSLOG.finding(config.name)
    if wanted.services.netconf:
        yield NO_NETCONF.finding(config.name)
    if wanted.services.grpc_certificate is not None:
        yield CERTIFICATE.finding(config.name)
    if config.protection:
        yield CONTROL_PLANE.finding(config.name)


def _qos(config: DeviceConfig, qos: QosConfig) -> Iterator[Finding]:
    yield NO_BUFFER_PARTITION.finding(config.name)
    if qos.buffers.dedicated_ingress is not None or qos.buffers.dedicated_egress is not None:
        yield NO_DEDICATED_BUFFER.finding(config.name)
    if qos.xon_offset_cells is not None:
        yield NO_XON_OFFSET.finding(config.name)
    if any(
        traffic_class.priority == "strict-high" and traffic_class.transmit_percent
        for traffic_class in qos.classes.values()
    ):
        yield STRICT_CAP.finding(config.name)
    if any(
        traffic_class.dynamic_threshold is not None or traffic_class.buffer_percent is not None
        for traffic_class in qos.classes.values()
    ):
        yield QUEUE_BUFFERS.finding(config.name)
