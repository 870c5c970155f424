"""What the command line of Enterprise SONiC does not express, and what no public document confirms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.config.sections import flat
from railweave.findings import Finding
from railweave.render.extra import extra_findings
from railweave.render.left_out import left_out_findings
from railweave.systems.dell_sonic.render.qos import adaptive
from railweave.systems.dell_sonic.render.tree import parse
from railweave.systems.sonic.render.gaps import sprayed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.device.model import DeviceConfig, QosConfig

ROUTING = ("router bgp", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""Commands that decide what ``routes`` computes."""


def gaps(config: DeviceConfig) -> list[Finding]:
    """What has no place, what is done otherwise, and the operator's own commands."""
    found = [
        _note(
            config,
            "no-model",
            "no validator can check sonic.cli",
            "Dell publishes no model of this command line; the lint knows the commands used, each from a public document",
            "load one leaf and one spine before the rest",
        ),
        _note(
            config,
            "prepare",
            "prepare.cli comes first: it ends the session and may restart the switch",
            "port names take effect in the next session, lossless buffers after a restart",
            "paste it, answer its questions, log in again, then paste sonic.cli",
        ),
        *left_out_findings(config),
        *_balancing(config),
        *_ports(config),
        *_routing(config),
        *_management(config),
        *(_qos(config.qos, config) if config.qos else ()),
    ]
    if config.extra.strip():
        found += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return found


def _gap(config: DeviceConfig, key: str, what: str, why: str, fix: str = "", *, warning: bool = False) -> Finding:
    """Something that has no place: the support matrix knows it by its key."""
    return Finding(f"dell_sonic-no-{key}", "warning" if warning else "info", config.name, what, why, fix)


def _note(config: DeviceConfig, key: str, what: str, why: str, fix: str = "", *, warning: bool = False) -> Finding:
    return Finding(f"dell-{key}", "warning" if warning else "info", config.name, what, why, fix)


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    if config.balancing.group_mode == "spray":
        what = f"random packet spraying{sprayed(config)} is not configured"
        why = "next-hop groups are shared by static hash instead"
        yield _gap(config, "spray", what, why, "use load_balancing mode dlb-per-packet", warning=True)
    if adaptive(config):
        what = "set ars-object in route-maps is read from a module's documentation, not from a switch"
        fix = "try one leaf; without it next-hop groups are shared by static hash"
        yield _note(config, "ars-object", what, "no public document shows the command itself", fix, warning=True)
        what = "quality bands and reassignment of adaptive routing are left at the system's default"
        yield _note(config, "ars-bands", what, "their units are not documented")


def _ports(config: DeviceConfig) -> Iterator[Finding]:
    if any(port.macsec for port in config.interfaces):
        what = "MACsec is not configured: links between sites are in the clear"
        fix = "encrypt them outside the switch, or use a system that has it"
        yield _gap(config, "macsec", what, "no public document has the commands", fix, warning=True)
    if any(port.unit_vlan is not None for port in config.interfaces):
        what = "a tag of an external router is a sub-interface"
        why = "its command is read from a test library, and whether it may be in a VRF of a tunnel has not been tried"
        yield _note(config, "sub-interface", what, why, "try one leaf", warning=True)


def _routing(config: DeviceConfig) -> Iterator[Finding]:
    if config.isis:
        yield Finding(
            "dell_sonic-no-isis",
            "error",
            config.name,
            "IS-IS is not configured: the switch has no routes",
            "no public document of Enterprise SONiC has it",
            "set `underlay: {protocol: bgp}`",
        )
    if config.bgp and config.bgp.as_lists:
        what = "there is no list of accepted AS numbers; each neighbor is given the one that design knows"
        why = "a neighbor with another AS stays down, so the effect is stricter"
        yield _note(config, "peer-as", what, why)
    if config.gateways and config.gateways[0].advertisements and config.gateways[0].advertisements.routes:
        what = "router advertisements carry no route information options"
        yield _gap(config, "ra-routes", what, "FRR, which sends them, has none")
    overlay = config.overlay
    if overlay is None:
        return
    if len(overlay.endpoints) > 1:
        what = "a tunnel endpoint per path color is not configured: the first one serves all"
        yield _gap(config, "color-endpoints", what, "a tunnel has one source address", warning=True)
    if overlay.endpoints and ":" in overlay.endpoints[0].address:
        what = "the tunnel's source is an IPv6 address"
        yield _note(config, "ipv6-tunnel", what, "public documents show IPv4 only", "use vtep: ipv4", warning=True)
    if overlay.reflects:
        what = "attribute-unchanged next-hop is FRR's command, taken for this command line's"
        why = "spines must pass type-5 routes on with the leaf's next hop, and no public document shows how"
        yield _note(config, "next-hop-unchanged", what, why, "try one spine", warning=True)


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    unsaid: list[str] = []
    unsaid += ["the login banner"] if wanted.banner else []
    unsaid += ["the time zone"] if wanted.time_zone != "UTC" else []
    unsaid += ["SSH keys"] if any(user.ssh_keys for user in wanted.users.values()) else []
    unsaid += ["root's password"] if wanted.root_password else []
    unsaid += ["SNMPv3 users"] if wanted.snmp and wanted.snmp.users else []
    unsaid += ["the DNS domain"] if wanted.domain else []
    if unsaid:
        what = f"{', '.join(unsaid)} {'are' if len(unsaid) > 1 else 'is'} not configured"
        yield _note(
            config, "management", what, "no public document has the commands", "configure by hand, or by `extra:`"
        )
    if wanted.syslog:
        what = "syslog servers are not configured"
        yield _gap(config, "syslog", what, "no public document has the commands", "configure by hand, or by `extra:`")
    if wanted.services.netconf:
        yield _gap(
            config, "netconf", "there is no NETCONF", "the system is configured by gNMI, REST or its command line"
        )
    if wanted.services.grpc_certificate is not None:
        what = "the certificate of telemetry is named, not installed"
        fix = "install it, and make `crypto security-profile railweave` of it"
        yield _note(config, "certificate", what, "certificates are files", fix)


def _qos(qos: QosConfig, config: DeviceConfig) -> Iterator[Finding]:
    what = "buffer pools other than headroom, and egress profiles, are those of `buffer init lossless`"
    yield _gap(config, "buffer-partition", what, "the command line sets the headroom of pools, not their size")
    if any(one.priority == "strict-high" and one.transmit_percent for one in qos.classes.values()):
        what = "strict classes are not capped at their transmit_percent"
        yield _note(config, "strict-cap", what, "a cap would be a rate and so a policy for each port speed")
    if any(one.dynamic_threshold is not None or one.buffer_percent is not None for one in qos.classes.values()):
        what = "egress thresholds and dedicated buffers of classes are not configured"
        yield _note(config, "queue-buffers", what, "queues have the profiles of `buffer init lossless`")
