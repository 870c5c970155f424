"""Rendering of the EVPN overlay: BGP sessions, tenants as IP-VRFs with type-5 routes, and the communities that control routes between tiers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.render.interfaces import vlan
from railweave.systems.junos.tree import Statement, block, choices, entry, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import Bgp, DeviceConfig, ExternalPeer, OverlayConfig, Session, Vrf
    from railweave.model.device.timers import Bfd


KEY_CHAIN = "fabric"
_AO = {"ao-aes-128-cmac": "aes-128-cmac-96", "ao-hmac-sha-1": "hmac-sha-1-96"}


def liveness(bfd: Bfd | None) -> Statement | None:
    """Return the BFD statement of a BGP group, or None if ``bfd`` is None."""
    if bfd is None:
        return None
    return block(
        "bfd-liveness-detection", leaf("minimum-interval", bfd.minimum_interval), leaf("multiplier", bfd.multiplier)
    )


def keyed(bgp: Bgp) -> list[Statement | None]:
    """Return the statements for the key of a BGP group's sessions: a TCP MD5 key itself, or the name of a TCP-AO key chain.

    The result is empty if neighbors are discovered, because such sessions support no key.
    """
    key = bgp.authentication
    if key is None:
        return []
    if key.algorithm == "md5":
        return [leaf("authentication-key", f"<{key.key}>")]
    return [leaf("authentication-algorithm", "ao"), leaf("authentication-key-chain", KEY_CHAIN)]


def key_chain(config: DeviceConfig) -> Statement | None:
    """Return ``security authentication-key-chains`` with the TCP-AO key, or None if there is no such key.

    Both ends send and expect the same key number.
    """
    key = config.bgp.authentication if config.bgp else None
    if key is None or key.algorithm == "md5" or not _takes_key(config):
        return None
    return block(
        "authentication-key-chains",
        block(
            ("key-chain", KEY_CHAIN),
            block(
                ("key", key.key_id),
                leaf("secret", f"<{key.key}>"),
                leaf("start-time", "2020-1-1.00:00:00 +0000"),
                leaf("algorithm", "ao"),
                block(
                    "ao-attribute",
                    leaf("send-id", key.key_id),
                    leaf("recv-id", key.key_id),
                    leaf("cryptographic-algorithm", _AO[key.algorithm]),
                ),
            ),
        ),
    )


def _takes_key(config: DeviceConfig) -> bool:
    """Return True if the device has BGP sessions that need the key.

    Sessions of an overlay need it, and so do sessions on links unless neighbors are discovered.
    """
    return config.overlay is not None or (config.bgp is not None and not config.bgp.found_neighbors())


def neighbor(session: Session) -> Statement | None:
    """Return the statements of a neighbor with an address. The result is never None."""
    return block(
        ("neighbor", session.peer_address),
        leaf("description", session.peer),
        leaf("local-address", session.local_address),
        leaf("import", session.import_policy) if session.import_policy else None,
        leaf("export", session.export_policy) if session.export_policy else None,
        leaf("peer-as", session.peer_as),
    )


def _name(direction: str, vrf: Vrf, peer: ExternalPeer) -> str:
    return f"{direction}-{vrf.name}-{peer.router}"


def external_groups(vrf: Vrf) -> Statement | None:
    """Return ``protocols bgp`` of a VRF: a group for each external router, with a session for each link to the router.

    Return None if there are no external routers.
    """
    routers = dict.fromkeys(external.router for external in vrf.external)
    return block(
        "bgp", [_group(vrf, [external for external in vrf.external if external.router == name]) for name in routers]
    )


def _group(vrf: Vrf, peers: list[ExternalPeer]) -> Statement | None:
    first = peers[0]
    family = "inet6" if first.session.local_address.family == "ipv6" else "inet"
    return block(
        ("group", first.router),
        leaf("type", "external"),
        leaf("description", f"external router {first.router}"),
        leaf("import", _name("from", vrf, first)),
        block(("family", family), leaf("unicast")),
        leaf("export", _name("to", vrf, first)),
        block("multipath", leaf("multiple-as")),
        [neighbor(peer.session) for peer in peers],
    )


def external_policies(config: DeviceConfig) -> list[Statement | None]:
    """Return the policies for external routers. A policy accepts, or advertises, only the listed prefixes."""
    statements: dict[str, Statement | None] = {}
    for vrf in config.vrfs:
        for peer in vrf.external:
            for direction, prefixes, how in (("from", peer.accept, "exact"), ("to", peer.advertise, "orlonger")):
                name = _name(direction, vrf, peer)
                listed = block(
                    ("term", "listed"),
                    block("from", [entry("route-filter", prefix, how, key=2) for prefix in prefixes]),
                    block("then", leaf("accept")),
                )
                statements[name] = block(
                    ("policy-statement", name),
                    listed if prefixes else None,  # a term without conditions would accept everything
                    block(("term", "rest"), block("then", leaf("reject"))),
                )
    return list(statements.values())


RECOVERY_MINUTES = 9
"""The time in minutes for which a MAC address that moves too often stays blocked (Juniper validated designs, storage-leaf1)."""


def mac_vrf(config: DeviceConfig) -> Statement | None:
    """Return the MAC-VRF with its VLANs and ports, or None if there is none.

    The gateways of its VLANs are anycast, so their addresses are not advertised.
    """
    instance = config.mac_vrf
    if instance is None:
        return None
    gateways = {gateway.vlan: gateway for gateway in config.gateways if gateway.mac}
    return block(
        (instance.name,),
        leaf("instance-type", "mac-vrf"),
        block(
            "protocols",
            block(
                "evpn",
                leaf("encapsulation", "vxlan"),
                leaf("default-gateway", "do-not-advertise"),
                block("duplicate-mac-detection", leaf("auto-recovery-time", RECOVERY_MINUTES)),
                leaf("extended-vni-list", "all"),
                block(
                    "vni-options",
                    [
                        block(("vni", bridged.vni), leaf("vrf-target", bridged.route_target))
                        for bridged in instance.vlans
                    ],
                ),
            ),
        ),
        leaf("vtep-source-interface", "lo0.0"),
        leaf("service-type", "vlan-aware"),
        [entry("interface", f"{port}.0") for port in instance.ports],
        leaf("route-distinguisher", instance.route_distinguisher),
        leaf("vrf-target", instance.route_target),
        block(
            "vlans",
            [vlan(gateways[bridged.vlan], bridged.vni) for bridged in instance.vlans if bridged.vlan in gateways],
        ),
    )


GROUP = "overlay"
FROM_SPINE = "from-spine-evpn"
"""The community that spines add to EVPN routes. Leaves do not advertise routes with this community back to spines."""

TO_NEIGHBORS = "evpn-to-neighbors"
EXPORT = "tenant-prefixes"


def overlay_group(config: DeviceConfig) -> Statement | None:
    """Return the BGP group of overlay sessions between loopbacks, or None if there is no overlay.

    The next hop of a route stays the leaf that originated the route (RFC 9136).
    """
    overlay = config.overlay
    if overlay is None:
        return None
    return block(
        ("group", GROUP),
        leaf("type", "external"),
        leaf("description", "EVPN, loopback to loopback"),
        block("multihop", leaf("ttl", 1), leaf("no-nexthop-change")),
        block("family evpn", leaf("signaling")),
        leaf("export", TO_NEIGHBORS),
        block("multipath", leaf("multiple-as")),
        liveness(overlay.bfd),
        keyed(config.bgp) if config.bgp else None,
        [neighbor(session) for session in overlay.neighbors],
        leaf("vpn-apply-export"),
    )


def overlay_policies(config: DeviceConfig) -> list[Statement | None]:
    """Return the policies for overlay neighbors, and the policies that export the prefixes of VRFs as type-5 routes."""
    overlay = config.overlay
    if overlay is None:
        return []
    if overlay.reflects:
        terms = [block(("term", "forward"), block("then", entry("community", "add", FROM_SPINE), leaf("accept")))]
    else:
        terms = [
            block(
                ("term", "returned"),
                block("from", leaf("protocol", "bgp"), leaf("community", FROM_SPINE)),
                block("then", leaf("reject")),
            ),
            *_color_terms(config, overlay),
            block(("term", "own"), block("then", leaf("accept"))),
        ]
    outside = any(vrf.external for vrf in config.vrfs)
    accept = block("then", leaf("accept"))
    exports = [
        block(("term", "direct"), block("from", leaf("protocol", "direct")), accept),
        block(("term", "external"), block("from", leaf("protocol", "bgp")), accept) if outside else None,
        block(("term", "rest"), block("then", leaf("reject"))),
    ]
    return [
        block(("policy-statement", TO_NEIGHBORS), terms),
        block(("policy-statement", EXPORT), exports) if config.vrfs else None,
        *external_policies(config),
        *target_policies(config),
    ]


def _color_terms(config: DeviceConfig, overlay: OverlayConfig) -> list[Statement | None]:
    """Return a policy term for each tunnel endpoint with a path color.

    The term sets this endpoint as next hop of a tenant's prefixes. The endpoint determines the path of their packets.
    """
    colored = [endpoint for endpoint in overlay.endpoints if endpoint.color is not None]
    return [
        block(
            ("term", f"endpoint-{endpoint.color}"),
            block(
                "from",
                leaf("family", "evpn"),
                [
                    entry("route-filter", prefix, "exact", key=2)
                    for gateway in config.gateways
                    if gateway.vrf
                    for prefix in gateway.prefixes[place :: len(colored)]
                ],
            ),
            block("then", leaf("next-hop", endpoint.address), leaf("accept")),
        )
        for place, endpoint in enumerate(colored)
    ]


def overlay_communities(config: DeviceConfig) -> list[Statement | None]:
    """Return the community by which a leaf recognizes routes from a spine."""
    if config.overlay is None or config.bgp is None:
        return []
    value = config.overlay.from_spine
    return [
        block(("community", FROM_SPINE), choices("members", [f"large:{value}" if value.count(":") == 2 else value])),
        *target_communities(config),
    ]


def routing_instances(config: DeviceConfig) -> list[Statement | None]:
    """Return a routing instance for each tenant's VRF, with its gateways and type-5 routes, and the instance of bridged VLANs."""
    return [*(_vrf(config, vrf) for vrf in config.vrfs), mac_vrf(config)]


def _vrf(config: DeviceConfig, vrf: Vrf) -> Statement | None:
    gateways = [gateway for gateway in config.gateways if gateway.vrf == vrf.name]
    return block(
        (vrf.name,),
        leaf("instance-type", "vrf"),
        block(
            "routing-options",
            block(("rib", f"{vrf.name}.inet6.0"), leaf("multipath")) if "ipv6" in vrf.families() else None,
            leaf("multipath") if "ipv4" in vrf.families() else None,
            leaf("auto-export") if len(vrf.import_targets) > 1 else None,
        ),
        block(
            "protocols",
            external_groups(vrf),
            block(
                "evpn",
                block(
                    "ip-prefix-routes",
                    leaf("advertise", "direct-nexthop"),
                    leaf("encapsulation", "vxlan"),
                    leaf("vni", vrf.vni),
                    leaf("export", EXPORT),
                ),
            ),
        ),
        [entry("interface", f"irb.{gateway.vlan}" if gateway.vlan else f"{gateway.port}.0") for gateway in gateways],
        [entry("interface", external.session.interface) for external in vrf.external],
        entry("interface", f"lo0.{vrf.unit}") if vrf.unit is not None else None,
        leaf("route-distinguisher", vrf.route_distinguisher),
        *_targets(vrf),
    )


def _targets(vrf: Vrf) -> list[Statement | None]:
    """Return the statements for a VRF's route targets.

    ``vrf-target`` allows only one route target for each direction. If a direction has several, policies set them.
    """
    if vrf.import_targets == vrf.export_targets and len(vrf.export_targets) == 1:
        return [leaf("vrf-target", vrf.export_targets[0])]
    if len(vrf.import_targets) <= 1 and len(vrf.export_targets) <= 1:
        return [
            block(
                "vrf-target",
                [entry("import", target) for target in vrf.import_targets],
                [entry("export", target) for target in vrf.export_targets],
            )
        ]
    return [choices("vrf-import", [f"import-{vrf.name}"]), choices("vrf-export", [f"export-{vrf.name}"])]


def _by_policy(config: DeviceConfig) -> list[Vrf]:
    """Return the VRFs whose route targets need policies."""
    return [vrf for vrf in config.vrfs if max(len(vrf.import_targets), len(vrf.export_targets)) > 1]


def _target_name(target: str) -> str:
    return target.replace(":", "-")


def target_policies(config: DeviceConfig) -> list[Statement | None]:
    """Return the import and export policies of VRFs that have several route targets."""
    statements: list[Statement | None] = []
    for vrf in _by_policy(config):
        taken = choices("community", [_target_name(target) for target in vrf.import_targets])
        given = [entry("community", "add", _target_name(target)) for target in vrf.export_targets]
        statements += [
            block(
                ("policy-statement", f"import-{vrf.name}"),
                block(("term", "targets"), block("from", taken), block("then", leaf("accept"))),
                block(("term", "rest"), block("then", leaf("reject"))),
            ),
            block(
                ("policy-statement", f"export-{vrf.name}"), block(("term", "own"), block("then", given, leaf("accept")))
            ),
        ]
    return statements


def target_communities(config: DeviceConfig) -> list[Statement | None]:
    """Return the communities to which the policies of ``target_policies`` refer."""
    named = dict.fromkeys(target for vrf in _by_policy(config) for target in (*vrf.import_targets, *vrf.export_targets))
    return [block(("community", _target_name(target)), choices("members", [target])) for target in named]


def tunnel_source(config: DeviceConfig) -> Statement | None:
    """Return ``switch-options`` with the source address of tunnels over IPv6.

    Return None for tunnels over IPv4, because Juniper's validated configuration has no such source.
    """
    overlay = config.overlay
    if overlay is None or not overlay.endpoints or overlay.loopback.family == "ipv4":
        return None
    return block("switch-options", entry("vtep-source-interface", "lo0.0", "inet6", key=1))


def composite_next_hop(config: DeviceConfig) -> Statement | None:
    """Return the statement that lets type-5 next hops of one leaf share their common data, or None if there are no VRFs.

    Source: Juniper validated design, leaf1.
    """
    if not config.vrfs:
        return None
    return block("chained-composite-next-hop", block("ingress", leaf("evpn")))
