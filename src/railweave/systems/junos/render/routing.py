"""Rendering of BGP, IS-IS, policies, routing options, and load balancing over next-hop groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.names import FAMILIES
from railweave.systems.junos.render import overlay
from railweave.systems.junos.render.interfaces import STORM_PROFILE
from railweave.systems.junos.render.spraying import exported, policies
from railweave.systems.junos.tree import Statement, block, choices, entry, leaf

if TYPE_CHECKING:
    from railweave.model.device import model


_UNUSED = {"ipv4": "no-ipv4-routing", "ipv6": "no-ipv6-routing"}


def isis(config: model.DeviceConfig) -> Statement | None:
    """Return ``protocols isis``, or None if the device does not run IS-IS."""
    process = config.isis
    if process is None:
        return None
    return block(
        "isis",
        [_port(process, port) for port in process.ports],
        [block(("interface", f"{name}.0" if "." not in name else name), leaf("passive")) for name in process.passive],
        block("interface lo0.0", leaf("passive")),
        block("level 1", leaf("disable")),
        block("level 2", leaf("wide-metrics-only"), *([_key("authentication", process.key)] if process.key else [])),
        [leaf(statement) for family, statement in _UNUSED.items() if family not in process.families],
    )


def _key(statement: str, reference: str) -> list[Statement | None]:
    return [leaf(f"{statement}-key", f"<{reference}>"), leaf(f"{statement}-type", "md5")]


def _port(process: model.Isis, port: model.IsisPort) -> Statement | None:
    watched = overlay.liveness(process.bfd)
    return block(
        ("interface", f"{port.interface}.0"),
        block("level 1", leaf("disable")),
        block(
            "level 2",
            leaf("metric", port.metric),
            *([_key("hello-authentication", process.key)] if process.key else []),
        ),
        leaf("point-to-point"),
        [block(("family", FAMILIES[family]), watched) for family in process.families] if watched else None,
    )


LOAD_BALANCE_POLICY = "load-balance"


def bgp(config: model.DeviceConfig) -> Statement | None:
    """Return ``protocols bgp`` with a group for each path color, or None if BGP does not run.

    On leaves, it also has the prefixes to advertise with each color.
    """
    if config.bgp is None:
        return None
    underlay = config.bgp
    return block(
        "bgp",
        [_group(underlay, group) for group in underlay.groups],
        overlay.overlay_group(config),
        block("global-load-balancing", leaf(config.balancing.global_role)) if config.balancing.global_role else None,
        block("fabric-advertise", [_fabric_advertise(route) for route in underlay.fabric_advertise]),
        block("graceful-restart", leaf("dont-help-shared-fate-bfd-down")) if underlay.graceful_restart else None,
        leaf("log-updown"),
    )


def _fabric_advertise(route: model.FabricAdvertise) -> Statement | None:
    return block(
        ("route", route.prefix),
        leaf("color", route.color),
        choices("backup-color", route.backup_colors) if route.backup_colors else None,
    )


def _group(underlay: model.Bgp, group: model.BgpGroup) -> Statement | None:
    addresses = [session.peer_address for session in group.sessions if session.peer_address]
    numbered = [session for session in group.sessions if session.peer_address]
    discovered = [session for session in group.sessions if not session.peer_address]
    link_local = not addresses or addresses[0].family == "ipv6"
    return block(
        ("group", group.name),
        leaf("type", "external"),
        leaf("description", group.description),
        leaf("import", group.import_policy),
        [
            block(
                ("family", FAMILIES[family]),
                block(
                    "unicast",
                    leaf("aigp") if group.aigp else None,
                    leaf("extended-nexthop") if family == "ipv4" and link_local else None,
                    keep=True,
                ),
            )
            for family in underlay.families
        ],
        leaf("export", group.export_policy),
        leaf("local-as", group.local_as),
        leaf("fabric-color", group.fabric_color) if group.fabric_color else None,
        block("multipath", leaf("multiple-as")),
        overlay.liveness(underlay.bfd),
        leaf("ttl", 255) if underlay.ttl_security else None,
        overlay.keyed(underlay) if not discovered else None,
        _discovery(group, discovered),
        leaf("peer-as-list", group.peer_as_list) if group.peer_as_list else None,
        [overlay.neighbor(session) for session in numbered],
    )


def _discovery(group: model.BgpGroup, sessions: list[model.Session]) -> Statement | None:
    if not sessions:
        return None
    return block(
        ("dynamic-neighbor", group.name),
        block(
            "peer-auto-discovery",
            block("family inet6", leaf("ipv6-nd")),
            [entry("interface", f"{session.interface}.0") for session in sessions],
        ),
    )


def policy_options(config: model.DeviceConfig) -> Statement | None:
    """Return the block ``policy-options``: prefix lists, policies, communities and AS lists. None if it would be empty."""
    underlay = config.bgp
    balancing = policies(config, LOAD_BALANCE_POLICY)
    if underlay is None:
        return block("policy-options", balancing) if config.isis else None
    values = {community.name: _members(community.kind, community.value) for community in underlay.communities}
    return block(
        "policy-options",
        [
            block(("prefix-list", name), [entry(prefix) for prefix in prefixes])
            for name, prefixes in underlay.prefix_lists.items()
        ],
        balancing,
        [
            block(("policy-statement", policy.name), [_term(term) for term in policy.terms])
            for policy in underlay.policies
        ],
        overlay.overlay_policies(config),
        [block(("community", name), choices("members", [value])) for name, value in values.items()],
        overlay.overlay_communities(config),
        [
            block(
                ("as-list", name),
                choices("members", [f"{low}-{high}" if low != high else str(low) for low, high in ranges]),
            )
            for name, ranges in underlay.as_lists.items()
        ],
    )


def _members(kind: str, value: str) -> str:
    return f"large:{value}" if kind == "large" else value


def _term(term: model.Term) -> Statement | None:
    action = term.action
    then = [
        leaf("local-preference", action.local_preference) if action.local_preference is not None else None,
        *(
            entry("community", "set" if action.replace_communities and not at else "add", name)
            for at, name in enumerate(action.add_communities)
        ),
        leaf("as-path-prepend", " ".join(map(str, action.prepend))) if action.prepend else None,
        leaf("accept") if action.accept else leaf("reject"),
    ]
    return block(("term", term.name), block("from", _from(term.match)), block("then", then))


def _from(match: model.Match) -> list[Statement | None]:
    if match.prefix_list and match.orlonger:
        listed = entry("prefix-list-filter", match.prefix_list, "orlonger", key=2)
    else:
        listed = entry("prefix-list", match.prefix_list) if match.prefix_list else None
    return [
        leaf("protocol", match.protocol) if match.protocol else None,
        listed,
        leaf("community", match.community) if match.community else None,
    ]


def routing_options(config: model.DeviceConfig) -> Statement | None:
    """Return the block ``routing-options``: the router id, the AS number, and several next hops in the forwarding table.

    Return None if no routing protocol runs.
    """
    running = config.bgp or config.isis
    if running is None:
        return None
    return block(
        "routing-options",
        leaf("router-id", running.router_id),
        leaf("autonomous-system", config.bgp.asn) if config.bgp else None,
        block("graceful-restart", keep=True) if config.bgp and config.bgp.graceful_restart else None,
        block(
            "forwarding-table",
            leaf("export", exported(config, LOAD_BALANCE_POLICY)),
            leaf("ecmp-fast-reroute") if config.balancing.fast_reroute else None,
            overlay.composite_next_hop(config),
        ),
    )


def forwarding_options(config: model.DeviceConfig) -> Statement | None:
    """Return the block ``forwarding-options``, or None if it would be empty.

    The block sets dynamic load balancing and hash fields, and the DSCPs of tunnels if the switch model needs them.
    """
    intent = config.balancing
    fields = [leaf("layer-3") if intent.hash.layer3 else None, leaf("layer-4") if intent.hash.layer4 else None]
    return block(
        "forwarding-options",
        block(
            "enhanced-hash-key",
            leaf("hash-seed", intent.hash.seed) if intent.hash.seed is not None else None,
            _ecmp_dlb(config),
        ),
        _storm_profile(config),
        block("hash-key", [block(("family", FAMILIES[family]), fields) for family in config.balancing.ether_types]),
        leaf("vxlan-tos-copy-filter") if config.overlay and config.overlay.tunnel_dscp else None,
    )


def _ecmp_dlb(config: model.DeviceConfig) -> Statement | None:
    mode, knobs = config.balancing.group_mode, config.balancing.dlb
    if mode not in {"dlb-flowlet", "dlb-per-packet"}:
        return None
    ether_types = [leaf(family) for family in config.balancing.ether_types]
    flowlet = block(
        "flowlet",
        leaf("inactivity-interval", knobs.inactivity_interval),
        leaf("flowset-table-size", knobs.flowset_table_size),
        block(
            "reassignment",
            leaf("prob-threshold", knobs.reassignment.prob_threshold),
            leaf("quality-delta", knobs.reassignment.quality_delta),
        )
        if knobs.reassignment
        else None,
    )
    return block(
        "ecmp-dlb",
        flowlet if mode == "dlb-flowlet" else leaf("per-packet"),
        block("ether-type", [leaf("none")] if config.balancing.selective else ether_types),
        leaf("sampling-rate", knobs.sampling_rate),
        block(
            "egress-quantization",
            leaf("min", knobs.egress_quantization.min),
            leaf("max", knobs.egress_quantization.max),
            leaf("rate-weightage", knobs.egress_quantization.rate_weightage),
        ),
    )


def _storm_profile(config: model.DeviceConfig) -> Statement | None:
    """Return the storm-control profile: the share of a server port's bandwidth that broadcast and unknown unicast may use.

    Return None if there is no limit.
    """
    percent = config.storm_control()
    if percent is None:
        return None
    return block(("storm-control-profiles", STORM_PROFILE), block("all", leaf("bandwidth-percentage", percent)))
