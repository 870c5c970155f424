"""FRRouting: one ``frr.conf`` per device, loadable by ``vtysh -b`` and judged by ``vtysh -C``.

FRR is a routing suite, not a switch operating system: ports, VLANs, MTUs and QoS belong to the Linux host under it.
What has no place in ``frr.conf`` is stated by ``gaps``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings import Finding
from railweave.render.extra import extra_findings
from railweave.render.frr.overlay import overlay_sections, vrf_routers
from railweave.render.frr.routing import bfd, lists, route_maps, router_bgp
from railweave.render.frr.tree import flat, line, merge, parse, section, to_text

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig, Gateway, Interface
    from railweave.render.frr.tree import Section

VERSIONS = {"local-preference": "8.4", "aigp": "10.3"}


ROUTING = ("router bgp", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""Lines that decide what ``routes`` computes."""


def tree(config: DeviceConfig) -> list[Section]:
    """The configuration of a device, the operator's own lines merged in. Lists and route-maps stand before their users.

    Raises ``RenderError`` where the operator's lines cannot be read.
    """
    bgp = config.bgp
    sections = [
        line("frr defaults datacenter"),
        line(f"hostname {config.name}"),
        line("log syslog informational"),
        line("service integrated-vtysh-config"),
        line("ipv6 forwarding"),
        # With shared next-hop objects the kernel keeps no route where uplinks go down together (FRR issue 14481).
        line("no zebra nexthop kernel enable"),
        *([line("ip forwarding")] if "ipv4" in config.balancing.ether_types else []),
        section("interface lo", [f"{'ipv6' if ':' in one else 'ip'} address {one}" for one in config.loopbacks()]),
        *(_fabric_port(one) for one in config.fabric_interfaces()),
        *(_external_port(one) for one in config.interfaces if one.kind == "external"),
        *(_gateway(one) for one in config.gateways),
    ]
    if bgp is not None:
        found = bfd(config, bgp)
        sections += [*([found] if found else []), *lists(bgp), *route_maps(bgp), *overlay_sections(config)]
        sections += [router_bgp(config, bgp), *vrf_routers(config, bgp.asn)]
    if config.extra.strip():
        merge(sections, parse(config.extra))
    return sections


def _fabric_port(port: Interface) -> Section:
    family = [f"{'ipv6' if ':' in address else 'ip'} address {address}" for address in port.addresses]
    discovery = [] if port.addresses else ["no ipv6 nd suppress-ra", "ipv6 nd ra-interval 10"]
    return section(f"interface {port.name}", f"description {port.description}", family, discovery)


def _external_port(port: Interface) -> Section:
    name = port.name if port.unit_vlan is None else f"{port.name}.{port.unit_vlan}"
    family = [f"{'ipv6' if ':' in address else 'ip'} address {address}" for address in port.addresses]
    return section(f"interface {name} vrf {port.vrf}", f"description {port.description}", family)


def _gateway(gateway: Gateway) -> Section:
    body = [f"description {gateway.description}"]
    body += [f"{'ipv6' if ':' in address else 'ip'} address {address}" for address in gateway.addresses]
    timers = gateway.advertisements
    if timers is not None:
        flags = ("" if timers.on_link else " off-link") + ("" if timers.autonomous else " no-autoconfig")
        body += [
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
        body += [f"ipv6 nd prefix {prefix} {lifetimes}{flags}" for prefix in gateway.prefixes]
    name = f"irb.{gateway.vlan}" if gateway.vlan else gateway.port
    return section(f"interface {name}" + (f" vrf {gateway.vrf}" if gateway.vrf else ""), body)


def files(config: DeviceConfig) -> dict[str, str]:
    """``frr.conf``."""
    return {"frr.conf": to_text(tree(config))}


def gaps(config: DeviceConfig) -> list[Finding]:
    """What has no place in ``frr.conf``, and the operator's own lines."""
    host = "belongs to the Linux host under FRR"
    missing = [
        ("ports", "port breakout, speed and MTU, VLANs and bridges", host),
        ("qos", "classifiers, queues, buffers, ECN and PFC", host),
        ("management", "logins, NTP, SNMP, LLDP and telemetry", host),
    ]
    if config.balancing.group_mode != "ecmp":
        missing.append(
            (
                "load-balancing",
                f"{config.balancing.group_mode} inside a next-hop group",
                "FRR hands groups to the kernel, which hashes",
            )
        )
    if config.vrfs:
        missing.append(("tunnels", "VRF devices and VXLAN tunnels", host))
    if config.mac_vrf:
        missing.append(("anycast", "the MAC address that gateways of layer-2 networks share", host))
    if config.overlay and len(config.overlay.endpoints) > 1:
        missing.append(("color-endpoints", "a tunnel endpoint per path color", "FRR has one VTEP address per VNI"))
    if config.gateways and config.gateways[0].advertisements:
        if config.gateways[0].advertisements.routes:
            missing.append(("ra-routes", "route information options", "FRR's router advertisements have none"))
        missing.append(("ra-interval", "the shortest router-advertisement interval", "FRR derives it from the longest"))
    found = [
        Finding(f"frr-no-{key}", "info", config.name, f"frr.conf cannot express {what}", why, "")
        for key, what, why in missing
    ]
    if config.bgp and config.bgp.as_lists:
        found.append(
            Finding(
                "frr-peer-as",
                "info",
                config.name,
                "FRR has no list of accepted AS numbers; each neighbor is given the one that design knows",
                "a neighbor with another AS stays down, so the effect is stricter",
            )
        )
    if config.extra.strip():
        found += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return found
