"""Rendering of FRRouting: one ``frr.conf`` per device, which ``vtysh -b`` loads and ``vtysh -C`` validates.

If the host itself is protected by packet filters, there is also an ``nftables.conf``.

FRR is a routing suite, not a switch operating system: ports, VLANs, MTUs and QoS belong to the Linux host under it.
``gaps`` reports the parts of the design that ``frr.conf`` cannot express.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, flat, merge, parse
from railweave.systems.common_gaps import extra_findings, note, release_findings, warning
from railweave.systems.frr.meaning.bgp import routing_of
from railweave.systems.frr.meaning.general import general_of
from railweave.systems.frr.meaning.igp import igp_of
from railweave.systems.frr.meaning.policy import detection, external_policies, fabric_policies, overlay_policies
from railweave.systems.frr.meaning.ports import ports_of
from railweave.systems.frr.render import control_plane
from railweave.systems.frr.statements.bgp import ROUTERS, Routing, Vrf
from railweave.systems.frr.statements.general import GENERAL
from railweave.systems.frr.statements.igp import IGP
from railweave.systems.frr.statements.policy import POLICIES, Policies
from railweave.systems.frr.statements.ports import INTERFACES
from railweave.systems.frr.tree import BFD_PROFILE, to_text
from railweave.systems.statement_tables import tables

if TYPE_CHECKING:
    from railweave.model.device.balancing import Hash
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


HOST = "belongs to the Linux host under FRR"
NO_PORTS = note(
    "frr-no-ports",
    "frr.conf cannot express `mtu`, port breakout and speed, VLANs and bridges, or the ports that servers are on (`server_ports`, `servers_per_stripe`, `servers`, `ports`)",
    HOST,
)
NO_QOS = note(
    "frr-no-qos",
    "frr.conf cannot express `qos`: classifiers, queues, `buffers`, ECN, `pfc` and the headroom for a cable's `length`",
    HOST,
)
NO_MANAGEMENT = note(
    "frr-no-management",
    "frr.conf cannot express `management` (and `management_address`): logins, NTP, SNMP, LLDP and telemetry",
    HOST,
)
NO_LOAD_BALANCING = note(
    "frr-no-load-balancing",
    "frr.conf cannot express a mode of load balancing inside a next-hop group",
    "FRR hands groups to the kernel, which hashes",
)
NO_PROXY_ARP = note("frr-no-proxy-arp", "frr.conf cannot express proxy ARP (`server_link: proxy-arp`)", HOST)
NO_MACSEC = note(
    "frr-no-macsec", "frr.conf cannot express MACsec (`macsec`)", f"{HOST}: wpa_supplicant, or `ip macsec`"
)
NO_HASH = note(
    "frr-no-hash",
    "frr.conf cannot express seed and fields of the ECMP hash (`seed`, `layer3`, `layer4`)",
    "the kernel's own: net.ipv6.fib_multipath_hash_policy",
)
NO_TUNNELS = note("frr-no-tunnels", "frr.conf cannot express VRF devices and VXLAN tunnels", HOST)
NO_ANYCAST = note(
    "frr-no-anycast",
    "frr.conf cannot express the MAC address that gateways of layer-2 networks share (`gateway_mac`)",
    HOST,
)
NO_COLOR_ENDPOINTS = note(
    "frr-no-color-endpoints",
    "frr.conf cannot express a tunnel endpoint per path color",
    "FRR has one VTEP address per VNI",
)
NO_RA_ROUTES = note(
    "frr-no-ra-routes",
    "frr.conf cannot express route information options (`routes`, `route_lifetime`, `route_preference`)",
    "FRR's router advertisements have none",
)
NO_RA_INTERVAL = note(
    "frr-no-ra-interval",
    "frr.conf cannot express the shortest router-advertisement interval (`min_interval`)",
    "FRR derives it from the longest",
)
NO_AO = warning(
    "frr-no-tcp-ao",
    "BGP sessions have no key: FRR has no TCP-AO (`algorithm`, `key`, `key_id` of `authentication`)",
    "FRR knows TCP MD5 alone (`neighbor PEER password`)",
    "use `algorithm: md5`, or leave sessions to `ttl_security` and the protection of the control plane",
)
PEER_AS = note(
    "frr-peer-as",
    "FRR has no list of accepted AS numbers; each neighbor is given the one that design knows",
    "a neighbor with another AS stays down, so the effect is stricter",
)
NO_LEAKS = note(
    "frr-no-leaks",
    "tenants with shared services (`leaks`) do not reach them: the routes are taken, and not forwarded by",
    "FRR keeps a route of another VNI than the VRF's out of the kernel, and takes none of the leaf's own VRFs",
    "use leaves that leak between VRFs (junos, eos), or let an external router join the tenants",
)


ROUTING = ("router bgp", "router isis", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""The first words of lines that affect the routes that railweave computes (``routes``)."""


def tree(config: DeviceConfig) -> list[Section]:
    """Return the configuration of a device, with the operator's own lines merged in. Lists and route-maps come before the lines that use them.

    Raises ``RenderError`` if the operator's lines cannot be read.
    """
    sections = [*GENERAL.printed(general_of(config)), *INTERFACES.printed(ports_of(config)), *routing(config)]
    if config.extra.strip():
        merge(sections, parse(config.extra))
    return sections


def routing(config: DeviceConfig) -> list[Section]:
    """Return the sections about BFD, lists, route-maps and BGP, in the default VRF and in VRFs of tenants.

    If the device has no BGP, return the sections about BFD and IS-IS.
    """
    bgp = config.bgp
    if bgp is None:
        watched = Policies(detection=detection({BFD_PROFILE: config.isis.bfd if config.isis else None}))
        return [*POLICIES.printed(watched), *IGP.printed(igp_of(config))]
    sections = POLICIES.printed(fabric_policies(config, bgp))
    for vrf in config.vrfs:
        sections += ROUTERS.printed(Routing(vrfs={vrf.name: Vrf(vrf.vni)}))
        for policies in external_policies(vrf):
            sections += POLICIES.printed(policies)
    if config.overlay is not None:
        sections += POLICIES.printed(overlay_policies(config.overlay))
    return sections + ROUTERS.printed(routing_of(config))


def files(config: DeviceConfig) -> dict[str, str]:
    """Return the texts of ``frr.conf`` and, if the host itself is protected, ``nftables.conf``, by file name."""
    filters = control_plane.nftables(config)
    more = {control_plane.FILE: control_plane.to_text(filters)} if filters else {}
    return {"frr.conf": to_text(tree(config)), **more}


def lines(config: DeviceConfig) -> list[str]:
    """Return every statement as its parent headers and the line, joined by `` / ``, and the lines of ``nftables.conf``."""
    return [*flat(tree(config)), *(line.strip() for line in control_plane.nftables(config))]


def check_extra(text: str) -> None:
    """Raise ``RenderError`` if the operator's lines cannot be read."""
    parse(text)


def gaps(config: DeviceConfig) -> list[Finding]:
    """Return findings about parts of the design that ``frr.conf`` cannot express, and about the operator's own lines."""
    wanted = config.gateways[0].advertisements if config.gateways else None
    conditions = [
        (NO_PORTS, True),
        (NO_QOS, True),
        (NO_MANAGEMENT, True),
        (NO_LOAD_BALANCING, config.balancing.group_mode != "ecmp"),
        (NO_PROXY_ARP, any(gateway.proxy_arp for gateway in config.gateways)),
        (NO_MACSEC, any(port.macsec for port in config.interfaces)),
        (NO_HASH, not _plain(config.balancing.hash)),
        (NO_TUNNELS, bool(config.vrfs)),
        (NO_ANYCAST, bool(config.mac_vrf)),
        (NO_LEAKS, any(len(vrf.import_targets) > 1 for vrf in config.vrfs)),
        (NO_COLOR_ENDPOINTS, config.overlay is not None and len(config.overlay.endpoints) > 1),
        (NO_RA_ROUTES, wanted is not None and bool(wanted.routes)),
        (NO_RA_INTERVAL, wanted is not None),
        (PEER_AS, config.bgp is not None and bool(config.bgp.as_lists)),
        (NO_AO, no_ao(config)),
    ]
    messages = {NO_LOAD_BALANCING.id: _unbalanced(config)}
    findings = [rule.finding(config.name, messages.get(rule.id)) for rule, so in conditions if so]
    if config.extra.strip():
        findings += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return [*findings, *release_findings(config, tables("frr").values(), tree)]


def no_ao(config: DeviceConfig) -> bool:
    """Return True if the design requires TCP-AO for sessions, which FRR does not support."""
    key = config.bgp.authentication if config.bgp else None
    return key is not None and key.algorithm != "md5"


def _plain(wanted: Hash) -> bool:
    """Return True if the ECMP hash ``wanted`` is that of the Linux kernel: over addresses and ports, without a configured seed."""
    return wanted.layer3 and wanted.layer4 and wanted.seed is None


def _unbalanced(config: DeviceConfig) -> str:
    opcodes = config.balancing.spray_opcodes
    only = f" of RDMA opcodes {', '.join(map(str, opcodes))} (`spray_opcodes`)" if opcodes else ""
    return f"frr.conf cannot express {config.balancing.group_mode}{only} inside a next-hop group (`mode`, `within_color`, `dlb`)"
