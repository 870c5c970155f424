"""What SONiC cannot express of a configuration, and what could not be verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.config.sections import flat
from railweave.findings import Finding
from railweave.render.extra import extra_findings
from railweave.render.left_out import left_out_findings
from railweave.systems.sonic.render.extra import parts
from railweave.systems.sonic.render.macsec import KEY_NAME_DIGITS
from railweave.systems.sonic.render.tables import lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.device.model import DeviceConfig, QosConfig

ROUTING = ("router bgp", "router isis", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""Lines that decide what ``routes`` computes."""


def gaps(config: DeviceConfig) -> list[Finding]:
    """What SONiC has no place for, what it does otherwise, and the operator's own statements."""
    found = [
        *left_out_findings(config),
        *_balancing(config),
        *_overlay(config),
        *_isis(config),
        *_ports(config),
        *_management(config),
        *(_qos(config, config.qos) if config.qos else ()),
    ]
    if config.gateways and config.gateways[0].advertisements:
        if config.gateways[0].advertisements.routes:
            what = "router advertisements carry no route information options"
            found.append(_gap(config, "ra-routes", what, "FRR, which sends them, has none"))
        what = "the shortest router-advertisement interval is not configured"
        found.append(_gap(config, "ra-interval", what, "FRR, which sends them, derives it from the longest"))
    if config.bgp and config.bgp.as_lists:
        what = "there is no list of accepted AS numbers; each neighbor is given the one that design knows"
        why = "a neighbor with another AS stays down, so the effect is stricter"
        found.append(_note(config, "peer-as", what, why))
    if config.extra.strip():
        own, routing = parts(config.extra)
        found += extra_findings(config.name, [*lines(own), *flat(routing)], ROUTING)
    return found


def _gap(config: DeviceConfig, key: str, what: str, why: str, fix: str = "", *, warning: bool = False) -> Finding:
    """Something that has no place: the support matrix knows it by its key."""
    return _note(config, f"no-{key}", what, why, fix, warning=warning)


def _note(config: DeviceConfig, key: str, what: str, why: str, fix: str = "", *, warning: bool = False) -> Finding:
    return Finding(f"sonic-{key}", "warning" if warning else "info", config.name, what, why, fix)


def sprayed(config: DeviceConfig) -> str:
    """Which packets are to be sprayed, in words for a finding; empty where it is all, or none."""
    opcodes = config.balancing.intent.spray_opcodes
    return f" of RDMA opcodes {', '.join(map(str, opcodes))}" if opcodes else ""


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    intent = config.balancing.intent
    if config.balancing.group_mode != "ecmp":
        yield _gap(
            config,
            "load-balancing",
            f"{config.balancing.group_mode}{sprayed(config)} has no place in config_db.json",
            "no published model of SONiC has adaptive routing; next-hop groups are shared by static hash instead",
            "use load_balancing mode ecmp (rlb: within_color ecmp), or a distribution that has it (dell_sonic)",
            warning=True,
        )
    if intent.hash.seed is not None:
        yield _gap(config, "hash", "the hash seed is not configured", "config_db.json has none: SONiC sets its own")


def _isis(config: DeviceConfig) -> Iterator[Finding]:
    if config.isis is None:
        return
    yield _note(
        config,
        "isisd",
        "IS-IS is in frr.conf alone: whether isisd runs, and gets its packets, is the image's",
        "SONiC's public routing container starts no isisd and its chip traps no IS-IS packets "
        "(sonic-net/SONiC issues 502 and 1956; sonic-buildimage pull request 13527), and config_db.json has no field for it",
        "use an image that has both, or `underlay: {protocol: bgp}`",
        warning=True,
    )


def _ports(config: DeviceConfig) -> Iterator[Finding]:
    if any(gateway.proxy_arp and gateway.port for gateway in config.gateways):
        yield _gap(
            config,
            "proxy-arp",
            "ports do not answer ARP for other addresses: servers do not reach each other",
            "SONiC's model has proxy_arp for VLANs only",
            "set net.ipv4.conf.PORT.proxy_arp=1 in Linux at every start, or use `server_link: routed`",
            warning=True,
        )
    wanted = next((port.macsec for port in config.interfaces if port.macsec), None)
    if wanted is not None:
        yield _note(
            config,
            "macsec-key",
            "the key of MACsec has to be given in SONiC's own form",
            "the model takes 66 hexadecimal digits for a key of 128 bits and 130 for one of 256: the key as SONiC encodes it",
            "give `build --secrets` the value that SONiC's `config macsec` stores",
            warning=True,
        )
        if len(wanted.key_name) < KEY_NAME_DIGITS:
            what = f"the key name of MACsec is filled up with zeros to {KEY_NAME_DIGITS} digits"
            yield _note(
                config, "macsec-name", what, "Junos does so by itself; a neighbor of another kind must be told all"
            )


def _overlay(config: DeviceConfig) -> Iterator[Finding]:
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return
    if len(overlay.endpoints) > 1:
        what = "a tunnel endpoint per path color is not configured: the first one serves all"
        yield _gap(config, "color-endpoints", what, "SONiC has one source address for its tunnels", warning=True)
    if any(":" in one.address for one in overlay.endpoints[:1]):
        what = "the tunnel's source is an IPv6 address"
        why = "the published model takes it; whether the chip's SAI does has not been tried"
        yield _note(config, "ipv6-tunnel", what, why, "try one pair of leaves before the rest", warning=True)


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    if wanted.users or wanted.root_password:
        what = "logins are not in config_db.json"
        yield _gap(config, "logins", what, "SONiC keeps local users in Linux", "make them with useradd, or by ZTP")
    if wanted.services.netconf:
        yield _gap(config, "netconf", "there is no NETCONF", "SONiC is configured by gNMI, REST or its files")
    if wanted.services.grpc_certificate is not None:
        what = "the certificate of gNMI is not in config_db.json, only where it lies"
        fix = "put certificate and key into /etc/sonic/telemetry as server.cer and server.key"
        yield _note(config, "certificate", what, "SONiC reads it from files", fix)
    if wanted.snmp and wanted.snmp.trap_targets:
        what = "targets of SNMP traps are not configured"
        yield _note(config, "traps", what, "no published model of config_db.json has them", "config snmptrap modify")


def _qos(config: DeviceConfig, qos: QosConfig) -> Iterator[Finding]:
    buffers = qos.buffers
    if buffers.egress_multicast:
        what = "multicast has no egress pool of its own: its share is in that of lossy classes"
        yield _note(config, "multicast-pool", what, "SONiC's queues of multicast follow the platform")
    dedicated = [one for one in qos.classes.values() if one.buffer_percent is not None]
    if dedicated or buffers.dedicated_ingress is not None or buffers.dedicated_egress is not None:
        what = "dedicated buffers are not configured"
        yield _note(config, "dedicated-buffer", what, "SONiC takes bytes, and how many a port has is not published")
    if any(one.priority == "strict-high" and one.transmit_percent for one in qos.classes.values()):
        what = "strict classes are not capped at their transmit_percent"
        yield _note(config, "strict-cap", what, "a cap would be bytes a second and so a scheduler for each port speed")
    if qos.watchdog and any(one.lossless and one.queue != one.pfc_priority for one in qos.classes.values()):
        what = "a lossless class's queue is not that of its PFC priority"
        why = "SONiC's watchdog looks at the queue of the priority's number"
        yield _note(config, "watchdog-queue", what, why, "give the class the queue of its priority", warning=True)
