"""The underlay, path colors and router advertisements of a fabric, derived from its switches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.draft import Draft, common, given, plain
from railweave.model.intent.topology import Naming
from railweave.model.intent.underlay import Bfd, Isis, RouterAdvertisements

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.analysis.adopt.shape import Shape
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.model import Bgp, BgpGroup, Community, DeviceConfig
    from railweave.model.device.model import Isis as IsisConfig
    from railweave.model.network.devices import RoleName


@dataclass(frozen=True, slots=True)
class Colors:
    """The path colors of one leaf.

    - ``numbers``: the number of each color, by name.
    - ``of_port``: the color of each uplink, by port.
    - ``of_prefix``: the color of each prefix that the leaf originates.
    - ``form``: the mechanism that implements the colors: ``dpf`` or ``local-preference``.
    """

    numbers: dict[str, int]
    of_port: dict[str, str]
    of_prefix: dict[Prefix, str]
    form: str = ""


def colors(config: DeviceConfig) -> Colors | None:
    """Return the path colors of a leaf, or None if its uplinks have no colors."""
    bgp = config.bgp
    if bgp is None:
        return None
    values = {community.name: community for community in bgp.communities}
    by_port = {
        session.interface: name
        for group in bgp.groups
        if (name := _of_group(config, group))
        for session in group.sessions
    }
    if not by_port:
        return None
    names = dict.fromkeys(by_port.values())
    numbers = {name: _number(values.get(name), at) for at, name in enumerate(names, 1)}
    of_prefix = {advertised.prefix: advertised.color for advertised in bgp.fabric_advertise}
    for policy in bgp.policies:
        for term in policy.terms:
            tag = next((community for community in term.action.add_communities if community in names), None)
            if tag and term.match.prefix_list:
                of_prefix |= dict.fromkeys(bgp.prefix_lists.get(term.match.prefix_list, ()), tag)
    dpf = any(group.fabric_color for group in bgp.groups)
    return Colors(numbers, by_port, of_prefix, "dpf" if dpf else "local-preference")


def _of_group(config: DeviceConfig, group: BgpGroup) -> str:
    """Return the color name of a BGP group's sessions, or "" if the group has no color.

    The color is the group's ``fabric_color``, or the community whose routes its import policy prefers.
    """
    if group.fabric_color:
        return group.fabric_color
    policies = {policy.name: policy for policy in config.bgp.policies} if config.bgp else {}
    policy = policies.get(group.import_policy)
    for term in policy.terms if policy else ():
        better = term.action.local_preference is not None or (term.action.aigp is not None and term.action.aigp <= 1)
        if term.match.community and term.action.accept and better:
            return term.match.community
    return ""


def _number(community: Community | None, place: int) -> int:
    """Return the number of a path color: the last part of the color's community, minus 1000 in a standard community.

    Return ``place`` if the color has no community, or if the last part is not a number.
    """
    last = community.value.rpartition(":")[2] if community else ""
    if not last.isdecimal():
        return place
    return int(last) % 1000 if community and community.kind == "standard" else int(last)


def color_name(community: str) -> str:
    """Return a color's name: the name of its community without the prefix that railweave adds."""
    return community.removeprefix("path-")


def underlay(draft: Draft, configs: Mapping[str, DeviceConfig]) -> None:
    """Write the section ``underlay`` (BGP or IS-IS, with timers and BFD) of the reconstructed fabric file.

    The section gets the settings that most switches have.
    """
    made: list[dict[str, Any]] = []
    for name in draft.switches:
        bgp, isis = configs[name].bgp, configs[name].isis
        if bgp is not None and not bgp.groups and isis is not None:  # the overlay's AS number beside IS-IS
            bgp = None
        if bgp is None and isis is None:
            continue
        part = _of_bgp(bgp) if bgp is not None else _of_isis(isis) if isis is not None else {}
        bfd = bgp.bfd if bgp is not None else isis.bfd if isis is not None else None
        timers = {"enabled": False} if bfd is None else given(bfd, Bfd())
        if timers:
            part["bfd"] = timers
        made.append(part)
    if not made:
        return
    groups = [group for name in draft.switches if (bgp := configs[name].bgp) for group in bgp.groups]
    if any(group.bfd for group in groups):
        draft.note(
            "some BGP groups have different BFD settings than the rest of their switch; they get the switch's settings",
            "bgp",
        )
    most, others = common(made)
    if most:
        draft.fabric["underlay"] = most
    if others:
        draft.note(
            f"{others} switches have different BFD settings, keys or timers in the underlay; they get the most common settings",
            "bgp",
        )


def _of_bgp(bgp: Bgp) -> dict[str, Any]:
    part: dict[str, Any] = {}
    if bgp.groups and not bgp.found_neighbors():
        part["peering"] = "numbered"
    part |= {key: True for key in ("graceful_restart", "ttl_security") if getattr(bgp, key)}
    if bgp.authentication:
        part["authentication"] = plain(bgp.authentication)
    return part


def _of_isis(isis: IsisConfig) -> dict[str, Any]:
    part: dict[str, Any] = {"protocol": "isis", "peering": "numbered"}
    area, usual = isis.net.rsplit(".", 4)[0], Isis()
    knobs = {"area": area, "metric": next((port.metric for port in isis.ports), usual.metric), "key": isis.key}
    knobs = {key: value for key, value in knobs.items() if value != getattr(usual, key)}
    return part | ({"isis": knobs} if knobs else {})


def path_colors(
    draft: Draft, shape: Shape, configs: Mapping[str, DeviceConfig], spine_keys: Mapping[str, str]
) -> dict[str, Colors]:
    """Write the path colors and the color of each uplink into the reconstructed fabric file. Return the colors of each leaf.

    The result is empty if the fabric has no path colors. ``spine_keys`` gives each spine's name in the file.
    """
    leaf_colors = {leaf: candidate for leaf in shape.leaves if (candidate := colors(configs[leaf]))}
    if not leaf_colors:
        return {}
    first = next(iter(leaf_colors.values()))
    order = sorted(first.numbers, key=lambda name: first.numbers[name])
    slots = draft.slots("uplinks", per_fabric=True)
    votes: dict[str, list[str]] = {}
    for leaf, own_colors in leaf_colors.items():
        parallel: dict[str, int] = {}
        ends = sorted(
            shape.wiring.between([leaf], spine_keys),
            key=lambda pair: shape.places[leaf, pair[0].port].key,
        )
        for end, there in ends:
            key = spine_keys[there.device]
            parallel[key] = parallel.get(key, 0) + 1
            if end.port in own_colors.of_port:
                votes.setdefault(f"{key}#{parallel[key]}", []).append(own_colors.of_port[end.port])
    taken: dict[str, str] = {uplink: common(list(names))[0] for uplink, names in votes.items()}
    if sum(common(list(names))[1] for names in votes.values()):
        draft.note("leaves give the same uplink different path colors; the file has the most common ones")
    many = len(taken) != len(order)
    used: dict[str, int] = {}
    for uplink, name in taken.items():
        turn = used[name] = used.get(name, 0) + 1
        slots[uplink] = (turn - 1) * len(order) + order.index(name) + 1
    if many:
        draft.fabric["paths_per_nic"] = len(order)
    names = [color_name(color) for color in order]
    numbers = [first.numbers[color] for color in order]
    usual = names == [f"color{at}" for at in range(1, len(order) + 1)]
    if not usual or numbers != list(range(1, len(order) + 1)):
        draft.fabric["colors"] = [
            {"name": name} | ({"number": number} if number != at else {})
            for at, (name, number) in enumerate(zip(names, numbers, strict=True), 1)
        ]
        draft.slots("colors", per_fabric=True).update({name: at for at, name in enumerate(names, 1)})
    return leaf_colors


def color_order(leaf_colors: Mapping[str, Colors]) -> dict[str, int]:
    """Return the index of each color by name, from 1, in the order of the color numbers of the first leaf."""
    first = next(iter(leaf_colors.values()), None)
    names = sorted(first.numbers, key=lambda name: first.numbers[name]) if first else []
    return {name: at for at, name in enumerate(names, 1)}


_ADDRESS = re.compile(r"[0-9.]+|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*")


def group_names(
    draft: Draft,
    leaf_colors: Mapping[str, Colors],
    configs: Mapping[str, DeviceConfig],
    tiers: Mapping[RoleName, list[str]],
) -> None:
    """Write ``naming.bgp_group`` of the reconstructed fabric file, if the names of BGP groups follow a pattern of role and color.

    ``leaf_colors`` holds the path colors of each leaf, and ``tiers`` the switches by role.
    """
    role_of = {name: role for role, names in tiers.items() for name in names}
    seen: list[tuple[str, str, str]] = []
    for name in draft.switches:
        bgp = configs[name].bgp
        for group in bgp.groups if bgp else ():
            far = {role_of[session.peer] for session in group.sessions if session.peer in role_of}
            far = far or {"spine" if role_of[name] == "leaf" else "leaf"}
            if len(far) == 1 and not _ADDRESS.fullmatch(
                group.name
            ):  # without groups, sessions are called by their peers
                tag = _color_of(group.name, leaf_colors)
                seen.append((group.name, far.pop(), tag or "underlay"))
    if not seen:
        return
    usual = Naming().bgp_group
    patterns = dict.fromkeys([usual, *(_pattern(*seen_group) for seen_group in seen[:4])])
    best = max(
        patterns,
        key=lambda pattern: sum(pattern.format(role=role, color=color) == group for group, role, color in seen),
    )
    if best != usual:
        draft.at("naming")["bgp_group"] = best


def _color_of(group: str, leaf_colors: Mapping[str, Colors]) -> str:
    names = [color_name(number) for colors in leaf_colors.values() for number in colors.numbers]
    return next((name for name in dict.fromkeys(names) if group.endswith(name)), "")


def _pattern(group: str, role: str, color: str) -> str:
    return group.replace(color, "{color}").replace(role, "{role}")


def advertisements(draft: Draft, configs: Mapping[str, DeviceConfig]) -> bool:
    """Write ``router_advertisements`` of the reconstructed fabric file, with the settings that most gateways have.

    Return True if gateways send router advertisements for IPv6 prefixes, so that servers use SLAAC.
    """
    advertised = [
        gateway.advertisements
        for name in draft.switches
        for gateway in configs[name].gateways
        if gateway.advertisements and any(prefix.family == "ipv6" for prefix in gateway.prefixes)
    ]
    if not advertised:
        return False
    most, others = common([given(settings, RouterAdvertisements()) for settings in advertised])
    if most:
        draft.fabric["router_advertisements"] = most
    if others:
        draft.note(f"{others} gateways have different router advertisements; they get the most common settings")
    return True


def local_prefixes(draft: Draft, configs: Mapping[str, DeviceConfig]) -> list[str]:
    """Return the prefixes that most switches of the fabric accept.

    They are the contents of the prefix list to which most policy terms refer.
    """
    votes: list[tuple[Prefix, ...]] = []
    for name in draft.switches:
        bgp = configs[name].bgp
        asked = [
            term.match.prefix_list
            for policy in (bgp.policies if bgp else ())
            for term in policy.terms
            if term.match.prefix_list and term.match.orlonger
        ]
        if bgp and asked:
            votes.append(bgp.prefix_lists.get(max(dict.fromkeys(asked), key=asked.count), ()))
    if not votes:
        return []
    return [str(prefix) for prefix in common(list(votes))[0]]
