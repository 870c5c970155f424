"""FRRouting: one ``frr.conf`` per device, loadable by ``vtysh -b`` and validated by ``vtysh -C``.

Where the host itself is protected, ``nftables.conf`` stands beside it.

FRR is a routing suite, not a switch operating system: ports, VLANs, MTUs and QoS belong to the Linux host under it.
What has no place in ``frr.conf`` is stated by ``gaps``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import Section, flat, line, merge, parse, section
from railweave.model.findings.registry import Rule
from railweave.systems.common_gaps import extra_findings
from railweave.systems.frr.meaning.policy import fabric_policies
from railweave.systems.frr.render import control_plane
from railweave.systems.frr.render.overlay import overlay_sections, vrf_routers
from railweave.systems.frr.render.routing import on_port, router_bgp, router_isis
from railweave.systems.frr.statements.policy import POLICIES
from railweave.systems.frr.tree import to_text

if TYPE_CHECKING:
    from railweave.model.config.addresses import Addressed
    from railweave.model.device.balancing import Hash
    from railweave.model.device.model import DeviceConfig, Gateway, Interface
    from railweave.model.findings import Finding


HOST = "belongs to the Linux host under FRR"
NO_PORTS = Rule(
    "frr-no-ports",
    "info",
    "rendering",
    "frr.conf cannot express `mtu`, port breakout and speed, VLANs and bridges, or the ports that servers are on (`server_ports`, `servers_per_stripe`, `servers`, `ports`)",
    HOST,
)
NO_QOS = Rule(
    "frr-no-qos",
    "info",
    "rendering",
    "frr.conf cannot express `qos`: classifiers, queues, `buffers`, ECN, `pfc` and the headroom for a cable's `length`",
    HOST,
)
NO_MANAGEMENT = Rule(
    "frr-no-management",
    "info",
    "rendering",
    "frr.conf cannot express `management` (and `management_address`): logins, NTP, SNMP, LLDP and telemetry",
    HOST,
)
NO_LOAD_BALANCING = Rule(
    "frr-no-load-balancing",
    "info",
    "rendering",
    "frr.conf cannot express a mode of load balancing inside a next-hop group",
    "FRR hands groups to the kernel, which hashes",
)
NO_PROXY_ARP = Rule(
    "frr-no-proxy-arp", "info", "rendering", "frr.conf cannot express proxy ARP (`server_link: proxy-arp`)", HOST
)
NO_MACSEC = Rule(
    "frr-no-macsec",
    "info",
    "rendering",
    "frr.conf cannot express MACsec (`macsec`)",
    f"{HOST}: wpa_supplicant, or `ip macsec`",
)
NO_HASH = Rule(
    "frr-no-hash",
    "info",
    "rendering",
    "frr.conf cannot express seed and fields of the ECMP hash (`seed`, `layer3`, `layer4`)",
    "the kernel's own: net.ipv6.fib_multipath_hash_policy",
)
NO_TUNNELS = Rule("frr-no-tunnels", "info", "rendering", "frr.conf cannot express VRF devices and VXLAN tunnels", HOST)
NO_ANYCAST = Rule(
    "frr-no-anycast",
    "info",
    "rendering",
    "frr.conf cannot express the MAC address that gateways of layer-2 networks share (`gateway_mac`)",
    HOST,
)
NO_COLOR_ENDPOINTS = Rule(
    "frr-no-color-endpoints",
    "info",
    "rendering",
    "frr.conf cannot express a tunnel endpoint per path color",
    "FRR has one VTEP address per VNI",
)
NO_RA_ROUTES = Rule(
    "frr-no-ra-routes",
    "info",
    "rendering",
    "frr.conf cannot express route information options (`routes`, `route_lifetime`, `route_preference`)",
    "FRR's router advertisements have none",
)
NO_RA_INTERVAL = Rule(
    "frr-no-ra-interval",
    "info",
    "rendering",
    "frr.conf cannot express the shortest router-advertisement interval (`min_interval`)",
    "FRR derives it from the longest",
)
NO_AO = Rule(
    "frr-no-tcp-ao",
    "warning",
    "rendering",
    "BGP sessions have no key: FRR has no TCP-AO (`algorithm`, `key`, `key_id` of `authentication`)",
    "FRR knows TCP MD5 alone (`neighbor PEER password`)",
    "use `algorithm: md5`, or leave sessions to `ttl_security` and the protection of the control plane",
)
PEER_AS = Rule(
    "frr-peer-as",
    "info",
    "rendering",
    "FRR has no list of accepted AS numbers; each neighbor is given the one that design knows",
    "a neighbor with another AS stays down, so the effect is stricter",
)
NO_LEAKS = Rule(
    "frr-no-leaks",
    "info",
    "rendering",
    "tenants with shared services (`leaks`) do not reach them: the routes are taken, and not forwarded by",
    "FRR keeps a route of another VNI than the VRF's out of the kernel, and takes none of the leaf's own VRFs",
    "use leaves that leak between VRFs (junos, eos), or let an external router join the tenants",
)


VERSIONS = {"local-preference": "8.4", "aigp": "10.3"}


ROUTING = ("router bgp", "router isis", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""Lines that decide what ``routes`` computes."""


def tree(config: DeviceConfig) -> list[Section]:
    """The configuration of a device, the operator's own lines merged in. Lists and route-maps stand before their users.

    Raises ``RenderError`` where the operator's lines cannot be read.
    """
    sections = [
        *general(config),
        section("interface lo", [f"{_family(one)} address {one}" for one in config.loopbacks()], on_port(config, "lo")),
        *(
            section(
                f"interface lo{vrf.unit} vrf {vrf.name}", [f"{_family(one)} address {one}" for one in vrf.loopbacks]
            )
            for vrf in config.vrfs
            if vrf.unit is not None
        ),
        *(_fabric_port(config, one) for one in config.fabric_interfaces()),
        *(_external_port(part) for one in config.interfaces if one.kind == "external" for part in one.parts()),
        *(_gateway(config, one) for one in config.gateways),
        *routing(config),
    ]
    if config.extra.strip():
        merge(sections, parse(config.extra))
    return sections


def general(config: DeviceConfig) -> list[Section]:
    """What stands at the top: name, logging, forwarding."""
    return [
        line("frr defaults datacenter"),
        line(f"hostname {config.name}"),
        line("log syslog informational"),
        line("service integrated-vtysh-config"),
        line("ipv6 forwarding"),
        # With shared next-hop objects the kernel keeps no route where uplinks go down together (FRR issue 14481).
        line("no zebra nexthop kernel enable"),
        *([line("ip forwarding")] if "ipv4" in config.balancing.ether_types else []),
    ]


def routing(config: DeviceConfig) -> list[Section]:
    """BFD, lists, route-maps and BGP, in the default VRF and in those of tenants; or IS-IS."""
    bgp = config.bgp
    if bgp is None:
        return router_isis(config)
    sections = [*POLICIES.printed(fabric_policies(config, bgp)), *overlay_sections(config)]
    return [*sections, router_bgp(config, bgp), *vrf_routers(config, bgp.asn)]


def _external_port(port: Interface) -> Section:
    name = port.name if port.unit_vlan is None else f"{port.name}.{port.unit_vlan}"
    family = [f"{_family(address)} address {address}" for address in port.addresses]
    return section(f"interface {name} vrf {port.vrf}", f"description {port.description}", _shut(port), family)


def _shut(port: Interface) -> list[str]:
    return [] if port.enabled else ["shutdown"]


def _family(address: Addressed) -> str:
    return "ipv6" if address.family == "ipv6" else "ip"


def discovery(port: Interface) -> list[str]:
    """Router advertisements on a link without addresses, by which BGP finds its neighbor."""
    return [] if port.addresses else ["no ipv6 nd suppress-ra", "ipv6 nd ra-interval 10"]


def _fabric_port(config: DeviceConfig, port: Interface) -> Section:
    family = [f"{_family(address)} address {address}" for address in port.addresses]
    return section(
        f"interface {port.name}",
        f"description {port.description}",
        _shut(port),
        family,
        discovery(port),
        on_port(config, port.name),
    )


def _gateway(config: DeviceConfig, gateway: Gateway) -> Section:
    return section(
        f"interface {gateway.name}" + (f" vrf {gateway.vrf}" if gateway.vrf else ""),
        f"description {gateway.description}",
        [f"{_family(address)} address {address}" for address in gateway.addresses],
        advertisements(gateway),
        on_port(config, gateway.name),
    )


def advertisements(gateway: Gateway) -> list[str]:
    """What a gateway tells servers in router advertisements; nothing where it sends none."""
    timers = gateway.advertisements
    if timers is None:
        return []
    flags = ("" if timers.on_link else " off-link") + ("" if timers.autonomous else " no-autoconfig")
    body = [
        "no ipv6 nd suppress-ra",
        f"ipv6 nd ra-interval {timers.max_interval}",
        f"ipv6 nd ra-lifetime {timers.router_lifetime}",
        f"ipv6 nd ra-hop-limit {timers.hop_limit}",
    ]
    body += [f"ipv6 nd reachable-time {timers.reachable_time}"] if timers.reachable_time else []
    body += [f"ipv6 nd ra-retrans-interval {timers.retransmit_timer}"] if timers.retransmit_timer else []
    body += [f"ipv6 nd mtu {gateway.mtu}"] if timers.link_mtu else []
    body += ["ipv6 nd managed-config-flag"] if timers.managed else []
    body += ["ipv6 nd other-config-flag"] if timers.other else []
    lifetimes = f"{timers.prefix_valid_lifetime} {timers.prefix_preferred_lifetime}"
    return body + [f"ipv6 nd prefix {prefix} {lifetimes}{flags}" for prefix in gateway.advertised]


def files(config: DeviceConfig) -> dict[str, str]:
    """``frr.conf``; ``nftables.conf`` where the host itself is protected."""
    filters = control_plane.nftables(config)
    more = {control_plane.FILE: control_plane.to_text(filters)} if filters else {}
    return {"frr.conf": to_text(tree(config)), **more}


def lines(config: DeviceConfig) -> list[str]:
    """Every line with the headers above it."""
    return [*flat(tree(config)), *(line.strip() for line in control_plane.nftables(config))]


def check_extra(text: str) -> None:
    """Raise ``RenderError`` where the operator's lines cannot be read."""
    parse(text)


def gaps(config: DeviceConfig) -> list[Finding]:
    """What has no place in ``frr.conf``, and the operator's own lines."""
    wanted = config.gateways[0].advertisements if config.gateways else None
    said = [
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
    found = [rule.finding(config.name, _what(rule, config)) for rule, so in said if so]
    if config.extra.strip():
        found += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return found


def no_ao(config: DeviceConfig) -> bool:
    """Whether sessions are to have TCP-AO, which FRR lacks."""
    key = config.bgp.authentication if config.bgp else None
    return key is not None and key.algorithm != "md5"


def _plain(wanted: Hash) -> bool:
    """Whether the hash is as the kernel is told to have it: of addresses and ports, with a seed of its own."""
    return wanted.layer3 and wanted.layer4 and wanted.seed is None


def _what(rule: Rule, config: DeviceConfig) -> str | None:
    """The sentence where it names what was asked for."""
    if rule is not NO_LOAD_BALANCING:
        return None
    opcodes = config.balancing.spray_opcodes
    only = f" of RDMA opcodes {', '.join(map(str, opcodes))} (`spray_opcodes`)" if opcodes else ""
    return f"frr.conf cannot express {config.balancing.group_mode}{only} inside a next-hop group (`mode`, `within_color`, `dlb`)"
