"""Rules about BGP: dynamic neighbors, timers, path colors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.junos.lint.words import Words

BGP = ("protocols", "bgp")
AUTHENTICATION = ("authentication-key", "authentication-algorithm", "authentication-key-chain")


def _groups(root: Words) -> Iterator[tuple[str, Words]]:
    yield from root.at(*BGP, "group").below.items()


@check(
    "junos-dynamic-neighbor",
    why="commit requires exactly one of them, and rejects peer-limit together with peer-auto-discovery",
    fix="keep only peer-auto-discovery, or only `allow` with its limit",
)
def dynamic_neighbor(root: Words) -> Iterator[str]:
    """A group with ``dynamic-neighbor`` finds its neighbors by ``allow`` or by ``peer-auto-discovery``, and has ``peer-limit`` only with ``allow``.

    Source: ``junos:must`` of protocols/bgp/group/dynamic-neighbor.
    """
    for group, session_group in _groups(root):
        for name, neighbor in session_group.at("dynamic-neighbor").below.items():
            allow, discovery = neighbor.has("allow"), neighbor.has("peer-auto-discovery")
            if allow == discovery:
                yield f"group {group} dynamic-neighbor {name} has {'both' if allow else 'neither'} allow and peer-auto-discovery"
            if discovery and neighbor.has("peer-limit"):
                yield f"group {group} dynamic-neighbor {name} has peer-limit with peer-auto-discovery"


@check(
    "junos-peer-auto-discovery",
    why="discovered neighbors are single-hop EBGP peers without authentication; commit rejects the rest",
    fix="remove the statement, or configure the neighbors of this group by address",
)
def peer_auto_discovery(root: Words) -> Iterator[str]:
    """A group that discovers its neighbors is external, and uses neither multihop nor authentication.

    Source: ``junos:must`` of peer-auto-discovery (authentication), and the auto-discovery page (no IBGP, no multihop).
    """
    for group, session_group in _groups(root):
        if not any(True for _ in session_group.every("dynamic-neighbor", "*", "peer-auto-discovery")):
            continue
        if session_group.value("type") == "internal":
            yield f"group {group} discovers neighbors and is internal"
        if session_group.has("multihop"):
            yield f"group {group} discovers neighbors and has multihop"
        levels = [root.at(*BGP), session_group, *session_group.at("dynamic-neighbor").below.values()]
        for word in AUTHENTICATION:
            if any(level.has(word) for level in levels):
                yield f"group {group} discovers neighbors and has {word}"


@check(
    "junos-discovery-interface",
    why="Junos discovers a neighbor by its router advertisements, on a link with IPv6",
    fix="give the unit `family inet6` and list it under `protocols router-advertisement`, in one group only",
)
def discovery_interface(root: Words) -> Iterator[str]:
    """An interface on which neighbors are discovered has IPv6, sends router advertisements and is in one group.

    Source: the auto-discovery page.
    """
    owners: dict[str, str] = {}
    for group, session_group in _groups(root):
        for (*_, interface), _ in session_group.every("dynamic-neighbor", "*", "peer-auto-discovery", "interface", "*"):
            name, _, unit = interface.rpartition(".")
            if not root.has("interfaces", name, "unit", unit, "family", "inet6"):
                yield f"group {group} discovers on {interface}, which has no family inet6"
            if not root.has("protocols", "router-advertisement", "interface", interface):
                yield f"group {group} discovers on {interface}, which sends no router advertisements"
            if owners.setdefault(interface, group) != group:
                yield f"groups {owners[interface]} and {group} both discover on {interface}"


@check(
    "junos-peer-as-list",
    why="commit rejects it: an AS list is only for neighbors that are not configured by address",
    fix="give the neighbors their peer-as",
)
def peer_as_list(root: Words) -> Iterator[str]:
    """A group has ``peer-as-list`` only with ``allow`` or ``dynamic-neighbor``.

    Source: ``junos:must`` of peer-as-list.
    """
    for group, session_group in _groups(root):
        if session_group.has("peer-as-list") and not (
            session_group.has("allow") or session_group.has("dynamic-neighbor")
        ):
            yield f"group {group} has peer-as-list without allow or dynamic-neighbor"


@check(
    "junos-graceful-restart-time",
    why="commit rejects a group's restart time while graceful restart is off",
    fix="add `routing-options graceful-restart`",
)
def graceful_restart_time(root: Words) -> Iterator[str]:
    """BGP has a restart time only with ``routing-options graceful-restart``.

    Source: ``junos:must`` of graceful-restart/restart-time.
    """
    if root.has("routing-options", "graceful-restart"):
        return
    for path, _ in root.at(*BGP).every("**", "graceful-restart", "restart-time"):
        yield f"bgp {' '.join(path)} without routing-options graceful-restart"


@check(
    "junos-bfd",
    why="commit rejects it",
    fix="remove either echo or echo-lite; use holddown-interval only on external groups",
)
def bfd(root: Words) -> Iterator[str]:
    """BFD has at most one of ``echo`` and ``echo-lite``, and has ``holddown-interval`` only in external groups.

    Source: ``junos:must`` of bfd-liveness-detection.
    """
    for group, session_group in _groups(root):
        for _, detection in session_group.every("**", "bfd-liveness-detection"):
            if detection.has("echo") and detection.has("echo-lite"):
                yield f"group {group} has BFD echo and echo-lite"
            if detection.has("holddown-interval") and session_group.value("type") == "internal":
                yield f"group {group} is internal and has a BFD holddown-interval"


@check(
    "junos-prefix-limit", why="commit rejects more than one of teardown, drop-excess and hide-excess", fix="keep one"
)
def prefix_limit(root: Words) -> Iterator[str]:
    """A prefix limit has at most one of ``teardown``, ``drop-excess`` and ``hide-excess``.

    Source: ``junos:must`` of prefix-limit.
    """
    for path, limit in root.at(*BGP).every("**", "prefix-limit"):
        actions = [word for word in ("teardown", "drop-excess", "hide-excess") if limit.has(word)]
        if len(actions) > 1:
            yield f"bgp {' '.join(path)} has {', '.join(actions)}"


@check("junos-fabric-color", why="path colors need single-hop EBGP", fix="make the group external, and remove multihop")
def fabric_color(root: Words) -> Iterator[str]:
    """A group with ``fabric-color`` is external and has no multihop.

    Source: command reference of ``fabric-color`` (Junos OS 25.4R1).
    """
    for group, session_group in _groups(root):
        if session_group.has("fabric-color"):
            if session_group.value("type") == "internal":
                yield f"group {group} has a fabric-color and is internal"
            if session_group.has("multihop"):
                yield f"group {group} has a fabric-color and multihop"


@check(
    "junos-color-policy",
    why="a policy that changes the color community overrides fabric-advertise",
    fix="remove the color community from the policy",
)
def color_policy(root: Words) -> Iterator[str]:
    """In a group with ``fabric-advertise``, no export policy changes color communities (deterministic path forwarding)."""
    if not root.has(*BGP, "fabric-advertise"):
        return
    colors = {
        name
        for name, community in root.at("policy-options", "community").below.items()
        if any(value.startswith("color:") for value in community.names("members"))
    }
    for policy in dict.fromkeys(path[-1] for path, _ in root.at(*BGP).every("**", "export", "*")):
        statement = root.at("policy-options", "policy-statement", policy)
        for (*_, action, name), _ in statement.every("**", "then", "community", "*", "*"):
            if name in colors or action == "set":
                yield f"export policy {policy} has `community {action} {name}`"
