"""Path colors, from what leaves prefer on which uplink: by color community, or by local preference and AIGP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.model import BgpGroup, Community, DeviceConfig


@dataclass(frozen=True, slots=True)
class Colors:
    """The path colors of one leaf: names and numbers, the color of each uplink, and that of each prefix it originates."""

    numbers: dict[str, int]
    of_port: dict[str, str]
    of_prefix: dict[Prefix, str]
    form: str = ""


def colors(config: DeviceConfig) -> Colors | None:
    """The path colors of a leaf; None where its uplinks are all alike."""
    bgp = config.bgp
    if bgp is None:
        return None
    values = {one.name: one for one in bgp.communities}
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
    of_prefix = {one.prefix: one.color for one in bgp.fabric_advertise}
    for policy in bgp.policies:
        for term in policy.terms:
            tag = next((one for one in term.action.add_communities if one in names), None)
            if tag and term.match.prefix_list:
                of_prefix |= dict.fromkeys(bgp.prefix_lists.get(term.match.prefix_list, ()), tag)
    dpf = any(group.fabric_color for group in bgp.groups)
    return Colors(numbers, by_port, of_prefix, "dpf" if dpf else "local-preference")


def _of_group(config: DeviceConfig, group: BgpGroup) -> str:
    """The color of a group's sessions: its own, or the community that its import policy prefers."""
    if group.fabric_color:
        return group.fabric_color
    policies = {one.name: one for one in config.bgp.policies} if config.bgp else {}
    policy = policies.get(group.import_policy)
    for term in policy.terms if policy else ():
        better = term.action.local_preference is not None or (term.action.aigp is not None and term.action.aigp <= 1)
        if term.match.community and term.action.accept and better:
            return term.match.community
    return ""


def _number(community: Community | None, place: int) -> int:
    """The number of a color: the last of its community's value; in 32 bits that is 1000 for a path color, and its number."""
    last = community.value.rpartition(":")[2] if community else ""
    if not last.isdecimal():
        return place
    return int(last) % 1000 if community and community.kind == "standard" else int(last)


def color_name(community: str) -> str:
    """A color's name: its community's, without what our own forms put before it."""
    return community.removeprefix("path-")
