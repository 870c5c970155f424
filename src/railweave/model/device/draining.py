"""What a drained switch or link tells its neighbors: routes that none of them prefers, whatever path colors say.

A switch that is drained, and both ends of a link that is, send what they would send with their own AS number ``TIMES`` times in front, and
without the community of its path color. A neighbor prefers the color on the session of that color by local preference, or by AIGP, which it
sets itself where it sees the community; without it the route is one among others, and of those the AS path decides. Both go on with the
route: switches further away turn from it too. Nothing is withdrawn: where there is no other way, the drained one is still one.

With deterministic path forwarding AIGP comes with the route, and a color's own copy has the best: there the neighbors of what is drained take its
routes at local preference 0, which is looked at before AIGP. A leaf whose links of a color are drained advertises that color's prefixes by
another color first.

Where a system names no session by its port, a policy is a group's. So there each end of a drained link also takes its routes last, as far as
it can: often one end has a group for that link alone, as a leaf has for each path color, and that is enough.

RFC 8326's community is not used: it needs a rule at every receiver, systems differ in whether they have that by themselves, and local
preference, which the rule lowers, is not passed on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from railweave.model.device.bgp_model import Community
from railweave.model.device.communities import in_form
from railweave.model.device.policy import tag

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig, FabricAdvertise, Policy, Term
    from railweave.model.device.policy import Form
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network

TIMES = 4
"""More than the detours of a fabric are longer than its straight paths: up to a super-spine and down again is two."""
BESIDE = "-drained"
"""What is added to the name of a policy that some sessions have in place of their group's."""
MARK = "drained"
"""The community that stands in place of a color's where nothing else is said of a route."""
PASSES_ON = "forward"
"""How the terms begin by which spines, super-spines and routers of an interconnect pass routes on (``policy``)."""
_TAGGED = frozenset(("local-preference", "aigp"))
"""The forms in which a community tells the path color of a prefix."""


def drained_links(network: Network, device: str) -> frozenset[str]:
    """The links over which a device tells its neighbors that it is drained: all of a drained device, those drained of any other."""
    if not network.drained:
        return frozenset()
    links = [one.name for one in network.cables_of(device) if one.kind == "fabric"]
    return frozenset(links if device in network.drained else (one for one in links if one in network.drained))


def drained(
    network: Network, fabric: Fabric, config: DeviceConfig, form: Form, *, by_port: bool, large: bool
) -> DeviceConfig:
    """The configuration of a device with the policies of what is drained of it; the same where nothing is.

    ``large``: its fabric has large communities. ``by_port``: its system gives a policy to a session that is named by its port; others do so by the neighbor's address alone.
    A session that cannot be told from the others of its group stays as it is, and the routes show that.
    """
    if not network.drained or config.bgp is None:
        return config
    told = drained_links(network, config.name)
    bgp, asn, groups = config.bgp, config.bgp.asn, config.bgp.groups

    def named(links: frozenset[str]) -> frozenset[str]:
        return frozenset(
            one.link
            for group in groups
            for one in group.sessions
            if one.link in links
            and (by_port or one.peer_address or all(every.link in links for every in group.sessions))
        )

    if told:
        tags = {tag(one) for one in fabric.colors}
        bgp = _changed(bgp, named(told), "export_policy", lambda one: _told(one, asn, tags, strip=form in _TAGGED))
        if any(MARK in term.action.add_communities for one in bgp.policies for term in one.terms):
            mark = Community(MARK, "large", f"{fabric.spine_asns[0]}:0:2")
            bgp = replace(bgp, communities=(*bgp.communities, *in_form((mark,), large=large)))
    if config.name in network.drained:
        return replace(config, bgp=bgp)
    last = (
        told | _of_drained_neighbors(network, config.name) if form == "dpf" else frozenset[str]() if by_port else told
    )
    if last:
        bgp = _changed(bgp, named(last), "import_policy", _taken_last)
    if form == "dpf":
        bgp = replace(bgp, fabric_advertise=_by_other_colors(bgp, _wholly(network, fabric, config.name, told)))
    return replace(config, bgp=bgp)


def _wholly(network: Network, fabric: Fabric, device: str, links: frozenset[str]) -> frozenset[str]:
    """The path colors all of whose links of a device are among some."""
    by_color: dict[int, set[str]] = {}
    for cable in network.cables_of(device):
        if cable.kind == "fabric" and cable.color is not None:
            by_color.setdefault(cable.color, set()).add(cable.name)
    return frozenset(fabric.color_name(color) for color, own in by_color.items() if own <= links)


def _by_other_colors(bgp: Bgp, off: frozenset[str]) -> tuple[FabricAdvertise, ...]:
    """What is advertised by color, with another color first where a prefix's own is drained: whoever is further away goes by that."""

    def one(old: FabricAdvertise) -> FabricAdvertise:
        on = [color for color in old.backup_colors if color not in off]
        if old.color not in off or not on:
            return old
        last = (color for color in old.backup_colors if color in off)
        return replace(old, color=on[0], backup_colors=(*on[1:], *last, old.color))

    return tuple(map(one, bgp.fabric_advertise))


def _of_drained_neighbors(network: Network, device: str) -> frozenset[str]:
    """The links of a device to switches that are drained."""
    own = network.cables_of(device)
    return frozenset(one.name for one in own if {one.a.device, one.b.device} - {device} <= network.drained)


def _changed(
    bgp: Bgp, links: Collection[str], which: Literal["import_policy", "export_policy"], how: Callable[[Policy], Policy]
) -> Bgp:
    """BGP with other policies for the sessions on some links: in place where no other session has them, else beside them."""
    sessions = [(group, one) for group in bgp.groups for one in group.sessions]
    there = {getattr(group, which) for group, one in sessions if one.link in links}
    stay = {getattr(group, which) for group, one in sessions if one.link not in links}
    stay |= {bgp.redistribute_connected}
    policies: list[Policy] = []
    beside: dict[str, str] = {}
    for one in bgp.policies:
        if one.name in there and one.name in stay:
            beside[one.name] = f"{one.name}{BESIDE}"
            policies += [one, replace(how(one), name=beside[one.name])]
        else:
            policies.append(how(one) if one.name in there else one)
    return replace(bgp, policies=tuple(policies), groups=tuple(_group(one, links, which, beside) for one in bgp.groups))


def _group(
    group: BgpGroup, links: Collection[str], which: Literal["import_policy", "export_policy"], beside: Mapping[str, str]
) -> BgpGroup:
    """A group, or those of its sessions that are on some links, with the policy that stands beside its own."""
    name = beside.get(getattr(group, which))
    if name is None or not any(one.link in links for one in group.sessions):
        return group
    if all(one.link in links for one in group.sessions):
        return replace(group, **{which: name})
    return replace(
        group,
        sessions=tuple(replace(one, **{which: name}) if one.link in links else one for one in group.sessions),
    )


def _told(policy: Policy, asn: int, tags: Collection[str], *, strip: bool) -> Policy:
    """A policy as it is where what it lets out is not to be preferred."""
    return replace(policy, terms=tuple(_term(one, asn, tags, strip=strip) for one in policy.terms))


def _term(term: Term, asn: int, tags: Collection[str], *, strip: bool) -> Term:
    """A term whose routes are not to be preferred. One that passes on what others sent has the mark in place of their color's community."""
    action = term.action
    if not action.accept:
        return term
    kept = tuple(one for one in action.add_communities if one not in tags)
    passes_on = strip and term.name.startswith(PASSES_ON)
    marks = kept or ((MARK,) if passes_on else ())
    return replace(
        term, action=replace(action, add_communities=marks, prepend=(asn,) * TIMES, replace_communities=passes_on)
    )


def _taken_last(policy: Policy) -> Policy:
    """A policy as it is where what it lets in is the last to be used."""
    terms = (replace(one, action=replace(one.action, local_preference=0)) for one in policy.terms)
    return replace(
        policy, terms=tuple(one if one.action.accept else was for one, was in zip(terms, policy.terms, strict=True))
    )
