"""Routing policies for path colors, in the form that an operating system supports, and policies of drained switches and links.

A path color is a class of paths that BGP keeps apart: a prefix is reached through the uplink of its color, and the other
uplinks are backups. There are three forms:

- ``dpf``: BGP deterministic path forwarding, with ``fabric-color`` on groups and ``fabric-advertise`` on leaves
  (docs/load-balancing.md).
- ``local-preference``: the origin leaf tags each prefix with a large community of its color. A spine or leaf that
  receives the prefix on the session of that color raises local preference.
- ``aigp``: the origin leaf tags prefixes in the same way. The receiver sets AIGP 1 on the session of that color and 100
  on others (FRR, RFC 7311).

In every form, leaves do not re-advertise learned routes. Spines add the community ``local`` to routes that they send to
leaves. If a leaf re-advertises such a route anyway, spines reject it by this community. Super-spines treat routes to
spines in the same way. A spine sends no route with that community to super-spines, so that routes from super-spines do
not return to them. Super-spines ignore colors: they forward prefixes with unchanged color community and AIGP.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.config.addresses import Prefix
from railweave.model.device.bgp_model import Community as BgpCommunity
from railweave.model.device.model import Action, Community, FabricAdvertise, Match, Policy, Term
from railweave.model.device.overlay import in_form

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from railweave.model.device.model import Bgp, BgpGroup, DeviceConfig
    from railweave.model.network.devices import Color, Fabric
    from railweave.model.network.model import Network


Form = Literal["none", "dpf", "local-preference", "aigp"]

LOCAL = "local"
PREFERRED_LOCAL_PREFERENCE = 200
PREFERRED_AIGP, OTHER_AIGP = 1, 100


@dataclass(frozen=True)
class RoutingPolicy:
    """The policy part of a device's BGP configuration.

    - ``imports`` and ``exports``: the policy name for each path color, by the color's index (None: no color).
    - ``redistribute``: the name of the policy that selects the connected routes to redistribute; None without redistribution.
    """

    imports: dict[int | None, str]
    exports: dict[int | None, str]
    policies: tuple[Policy, ...]
    prefix_lists: dict[str, tuple[Prefix, ...]]
    communities: tuple[Community, ...]
    fabric_advertise: tuple[FabricAdvertise, ...] = ()
    redistribute: str | None = None


def tag(color: Color) -> str:
    """Return the name of the large community that marks prefixes of a path color."""
    return f"path-{color.name}"


def _communities(fabric: Fabric, form: Form) -> tuple[Community, ...]:
    administrator = fabric.spine_asns[0]
    communities = [Community(LOCAL, "large", f"{administrator}:0:1")]
    for color in fabric.colors:
        if form == "dpf":
            communities.append(Community(color.name, "color", f"color:0:{color.number}"))
        elif form != "none":
            communities.append(Community(tag(color), "large", f"{administrator}:1:{color.number}"))
    return tuple(communities)


def leaf_policy(
    fabric: Fabric, form: Form, originated: Mapping[int | None, tuple[Prefix, ...]], *, redistribute: bool
) -> RoutingPolicy:
    """Return the policy of a leaf: the routes that it advertises and accepts.

    - ``form``: the BGP attributes that announce path colors (see the module).
    - ``originated``: the prefixes that the leaf originates, by the index of their path color (None: no color).
    - ``redistribute``: True if the system originates routes by redistribution instead of an export policy.
    """
    colors = {color.index: color for color in fabric.colors}
    lists = _local(fabric)
    listed = Match(prefix_list=LOCAL, orlonger=True)
    if form in {"none", "dpf"}:
        if redistribute and originated:  # the system does not tell connected routes from learned ones when it exports
            lists["own"] = tuple(prefix for prefixes in originated.values() for prefix in prefixes)
        match = Match(prefix_list="own") if redistribute else replace(listed, protocol="direct")
        export = [Term("own", match, Action(accept=True))] if originated else []
        imports = [Policy("from-spines", (Term("fabric", listed, Action(accept=True)), _reject_rest()))]
        by_color: dict[int | None, str] = dict.fromkeys(colors if form == "dpf" else (None,), "from-spines")
    else:
        export: list[Term] = []
        for index, color in colors.items():
            if (
                index not in originated
            ):  # a leaf whose routed links are not cabled yet: an empty list would match anything
                continue
            lists[f"own-{color.name}"] = originated[index]
            match = Match(protocol=None if redistribute else "direct", prefix_list=f"own-{color.name}")
            export.append(Term(f"own-{color.name}", match, Action(accept=True, add_communities=(tag(color),))))
        if None in originated:
            lists["own"] = originated[None]
            match = Match(protocol=None if redistribute else "direct", prefix_list="own")
            export.append(Term("own", match, Action(accept=True)))
        imports = [Policy(f"from-{color.name}", _prefer(color, form)) for color in colors.values()]
        by_color = {index: f"from-{color.name}" for index, color in colors.items()}
    transit = [Term("no-transit", listed, Action(accept=False)), _reject_rest()]
    return RoutingPolicy(
        imports=by_color,
        exports=dict.fromkeys(by_color, "to-spines"),
        policies=(*_connected(redistribute), Policy("to-spines", (*export, *transit)), *imports),
        prefix_lists=lists,
        communities=_communities(fabric, form),
        fabric_advertise=_advertised(colors, originated) if form == "dpf" else (),
        redistribute="connected" if redistribute else None,
    )


def spine_policy(fabric: Fabric, form: Form, *, redistribute: bool = False) -> RoutingPolicy:
    """Return the policy of a spine: the routes that it advertises and accepts.

    ``form`` names the BGP attributes that announce path colors (see the module). ``redistribute`` is True if the spine originates
    its loopback by redistribution.
    """
    listed = Match(prefix_list=LOCAL, orlonger=True)
    forward = Term("forward", listed, Action(accept=True, add_communities=(LOCAL,)))
    returned = Term("returned", Match(community=LOCAL), Action(accept=False))
    if form in {"none", "dpf"}:
        terms = (returned, Term("fabric", listed, Action(accept=True)), _reject_rest())
        imports = [Policy("from-leaves", terms)]
        indexes: list[int | None] = [color.index for color in fabric.colors] if form == "dpf" else [None]
        by_color: dict[int | None, str] = dict.fromkeys(indexes, "from-leaves")
    else:
        imports = [Policy(f"from-{color.name}", (returned, *_prefer(color, form))) for color in fabric.colors]
        by_color = {color.index: f"from-{color.name}" for color in fabric.colors}
    return RoutingPolicy(
        imports=by_color,
        exports=dict.fromkeys(by_color, "to-leaves"),
        policies=(*_connected(redistribute), Policy("to-leaves", (forward, _reject_rest())), *imports),
        prefix_lists=_local(fabric),
        communities=_communities(fabric, form),
        redistribute="connected" if redistribute else None,
    )


def with_super_spines(policy: RoutingPolicy) -> RoutingPolicy:
    """Return a spine's policy, extended by the policies ``to-super-spines`` and ``from-super-spines``."""
    listed = Match(prefix_list=LOCAL, orlonger=True)
    down = Term("no-transit", Match(community=LOCAL), Action(accept=False))
    up = Policy("to-super-spines", (down, Term("forward", listed, Action(accept=True)), _reject_rest()))
    taken = Policy("from-super-spines", (Term("fabric", listed, Action(accept=True)), _reject_rest()))
    return replace(policy, policies=(*policy.policies, up, taken))


def with_dci(policy: RoutingPolicy) -> RoutingPolicy:
    """Return a spine's policy, extended by ``to-dci`` and ``from-dci``: the policies for the routers that connect its site to other sites."""
    listed = Match(prefix_list=LOCAL, orlonger=True)
    down = Term("no-transit", Match(community=LOCAL), Action(accept=False))
    up = Policy("to-dci", (down, Term("forward", listed, Action(accept=True)), _reject_rest()))
    taken = Policy("from-dci", (Term("fabric", listed, Action(accept=True)), _reject_rest()))
    return replace(policy, policies=(*policy.policies, up, taken))


def dci_policy(fabric: Fabric, form: Form) -> RoutingPolicy:
    """Return the policy of a router that connects a site to other sites. The policy does not depend on path colors.

    The router marks the routes of its own spines with ``local`` and advertises them to other sites. It advertises routes from
    other sites only to its spines. So no site carries traffic between two other sites. ``form`` names the BGP attributes that
    announce path colors; it decides which communities are defined.
    """
    listed = Match(prefix_list=LOCAL, orlonger=True)
    forward = Term("forward", listed, Action(accept=True, add_communities=(LOCAL,)))
    returned = Term("returned", Match(community=LOCAL), Action(accept=False))
    taken = Term("fabric", listed, Action(accept=True))
    return RoutingPolicy(
        imports={None: "from-spines"},
        exports={None: "to-spines"},
        policies=(
            Policy("to-spines", (forward, _reject_rest())),
            Policy("from-spines", (returned, taken, _reject_rest())),
            Policy("to-sites", (replace(returned, name="no-transit"), forward, _reject_rest())),
            Policy("from-sites", (taken, _reject_rest())),
        ),
        prefix_lists=_local(fabric),
        communities=_communities(fabric, form),
    )


def with_sites(policy: RoutingPolicy) -> RoutingPolicy:
    """Return a leaf's policy for a fabric in which leaves of different sites are linked directly.

    Leaves treat other sites like spines. So only the policies' names change, for example from ``to-spines`` to ``to-sites``.
    """
    names = {"to-spines": "to-sites", "from-spines": "from-sites"}
    policies = tuple(replace(member, name=names.get(member.name, member.name)) for member in policy.policies)
    return replace(policy, policies=policies)


def super_spine_policy(fabric: Fabric, form: Form, *, redistribute: bool = False) -> RoutingPolicy:
    """Return the policy of a super-spine: the routes that it advertises and accepts. The policy does not depend on colors.

    ``form`` names the BGP attributes that announce path colors (see the module); it decides which communities are defined.
    ``redistribute`` is True if the super-spine originates its loopback by redistribution.
    """
    listed = Match(prefix_list=LOCAL, orlonger=True)
    forward = Term("forward", listed, Action(accept=True, add_communities=(LOCAL,)))
    returned = Term("returned", Match(community=LOCAL), Action(accept=False))
    terms = (returned, Term("fabric", listed, Action(accept=True)), _reject_rest())
    return RoutingPolicy(
        imports={None: "from-spines"},
        exports={None: "to-spines"},
        policies=(
            *_connected(redistribute),
            Policy("to-spines", (forward, _reject_rest())),
            Policy("from-spines", terms),
        ),
        prefix_lists=_local(fabric),
        communities=_communities(fabric, form),
        redistribute="connected" if redistribute else None,
    )


def _prefer(color: Color, form: Form) -> tuple[Term, ...]:
    """Return the policy terms for routes that arrive on links of a path color.

    They prefer prefixes with the color's tag, accept the fabric's other prefixes, and reject all other routes. ``form`` decides
    whether they prefer by AIGP or by local preference.
    """
    listed = Match(prefix_list=LOCAL, orlonger=True)
    if form == "aigp":
        preferred, other = Action(accept=True, aigp=PREFERRED_AIGP), Action(accept=True, aigp=OTHER_AIGP)
    else:
        preferred = Action(accept=True, local_preference=PREFERRED_LOCAL_PREFERENCE)
        other = Action(accept=True)
    return (
        Term("preferred", replace(listed, community=tag(color)), preferred),
        Term("other", listed, other),
        _reject_rest(),
    )


def _connected(redistribute: bool) -> tuple[Policy, ...]:
    """Return the policy that limits redistribution to connected prefixes in the fabric's prefix list. Return () if ``redistribute`` is False."""
    local_term = Term("own", Match(prefix_list=LOCAL, orlonger=True), Action(accept=True))
    return (Policy("connected", (local_term, _reject_rest())),) if redistribute else ()


def _reject_rest() -> Term:
    return Term("rest", Match(), Action(accept=False))


def _advertised(
    colors: dict[int, Color], originated: Mapping[int | None, tuple[Prefix, ...]]
) -> tuple[FabricAdvertise, ...]:
    return tuple(
        FabricAdvertise(prefix, color.name, tuple(other.name for other in colors.values() if other is not color))
        for index, color in colors.items()
        for prefix in originated.get(index, ())
    )


def _local(fabric: Fabric) -> dict[str, tuple[Prefix, ...]]:
    """Return the fabric's prefix list as a dict with one entry: the list's name, and all prefixes of the fabric."""
    return {LOCAL: tuple(map(Prefix, fabric.local_prefixes))}


def path_color_form(fabric: Fabric, systems: Iterable[tuple[str, str]]) -> Form:
    """Return the form of path colors (see the module) that all ``systems`` support: pairs of operating system and release.

    The first of these rules that applies decides:

    - ``none``, if the fabric has no path colors.
    - ``local-preference``, if the fabric connects several sites.
    - ``dpf``, if the fabric file asks for ``dpf`` and every system supports it in any release, or if the file does not ask for
      ``local-preference`` and every system supports ``dpf`` in its release.
    - ``aigp``, if every system supports it and the fabric file asks for it.
    - Otherwise ``local-preference``, which needs only large communities.

    A fabric has one form, because spines must be able to read the tags that leaves set.
    """
    if not fabric.colors:
        return "none"
    if fabric.interconnect:  # its routers pass on one copy of a prefix: the color must be the prefix's, not the copy's
        return "local-preference"
    releases = [(catalog().systems[nos], release) for nos, release in systems]
    wanted = fabric.underlay.path_color
    by_hand = wanted == "dpf"  # who asks for it knows: documents differ on its first release (docs/decisions.md)
    if wanted != "local-preference" and all(s.has("path-color-dpf", None if by_hand else r) for s, r in releases):
        return "dpf"
    if fabric.emulation == "aigp" and all(s.has("path-color-aigp", r) for s, r in releases):
        return "aigp"
    return "local-preference"


TIMES = 4
"""The number of times that a drained device prepends its AS number.

The number exceeds the extra AS path length of any detour. A detour up to a super-spine and down again adds two AS
numbers.
"""
BESIDE = "-drained"
"""The suffix in the name of a policy's changed copy. Only sessions on drained links use the copy."""
MARK = "drained"
"""The name of the community that a drained device adds to learned routes, in place of the community for a path color.

The device adds it only if the policy term adds no other community.
"""
PASSES_ON = "forward"
"""The beginning of the names of policy terms by which spines, super-spines and interconnect routers forward learned routes."""
_TAGGED = frozenset(("local-preference", "aigp"))
"""The ways of announcing path colors (forms, see the module) in which a community carries the path color of a prefix."""


def drained_links(network: Network, device: str) -> frozenset[str]:
    """Return the links on which a device must advertise its routes in such a way that neighbors use them only as a last resort.

    If the device is drained, these are all its fabric links. Otherwise these are its drained links.
    """
    if not network.drained:
        return frozenset()
    links = [cable.name for cable in network.cables_of(device) if cable.kind == "fabric"]
    return frozenset(links if device in network.drained else (link for link in links if link in network.drained))


def drained(
    network: Network, fabric: Fabric, config: DeviceConfig, form: Form, *, by_port: bool, large: bool
) -> DeviceConfig:
    """Return ``config`` with policies that keep traffic away from drained devices and links. If nothing is drained, return it unchanged.

    - ``form``: the BGP attributes that announce path colors.
    - ``by_port``: True if the system can assign a policy to a session by port name. Other systems need the neighbor's
      address.
    - ``large``: True if every switch of the fabric supports large communities.

    A session that cannot be separated from its group stays unchanged. The computed routes then show that it is not
    drained.
    """
    if not network.drained or config.bgp is None:
        return config
    drained_here = drained_links(network, config.name)
    bgp, asn, groups = config.bgp, config.bgp.asn, config.bgp.groups

    def named(links: frozenset[str]) -> frozenset[str]:
        return frozenset(
            session.link
            for group in groups
            for session in group.sessions
            if session.link in links
            and (by_port or session.peer_address or all(every.link in links for every in group.sessions))
        )

    if drained_here:
        tags = {tag(color) for color in fabric.colors}
        bgp = _changed(
            bgp,
            named(drained_here),
            "export_policy",
            lambda exported: _as_last_resort(exported, asn, tags, strip=form in _TAGGED),
        )
        if any(MARK in term.action.add_communities for policy in bgp.policies for term in policy.terms):
            mark = BgpCommunity(MARK, "large", f"{fabric.spine_asns[0]}:0:2")
            bgp = replace(bgp, communities=(*bgp.communities, *in_form((mark,), large=large)))
    if config.name in network.drained:
        return replace(config, bgp=bgp)
    last = (
        drained_here | _of_drained_neighbors(network, config.name)
        if form == "dpf"
        else frozenset[str]()
        if by_port
        else drained_here
    )
    if last:
        bgp = _changed(bgp, named(last), "import_policy", _taken_last)
    if form == "dpf":
        bgp = replace(bgp, fabric_advertise=_by_other_colors(bgp, _wholly(network, fabric, config.name, drained_here)))
    return replace(config, bgp=bgp)


def _wholly(network: Network, fabric: Fabric, device: str, links: frozenset[str]) -> frozenset[str]:
    """Return the names of the path colors for which all links of a device are in ``links``."""
    by_color: dict[int, set[str]] = {}
    for cable in network.cables_of(device):
        if cable.kind == "fabric" and cable.color is not None:
            by_color.setdefault(cable.color, set()).add(cable.name)
    return frozenset(fabric.color_name(color) for color, color_links in by_color.items() if color_links <= links)


def _by_other_colors(bgp: Bgp, off: frozenset[str]) -> tuple[FabricAdvertise, ...]:
    """Return the ``FabricAdvertise`` entries of a device, changed so that no prefix has a drained color as its primary color.

    The first backup color that is not drained becomes the primary color, so remote devices use it. ``off`` holds the names of the
    drained colors, which move to the end of the lists of backups.
    """

    def reorder(old: FabricAdvertise) -> FabricAdvertise:
        on = [color for color in old.backup_colors if color not in off]
        if old.color not in off or not on:
            return old
        last = (color for color in old.backup_colors if color in off)
        return replace(old, color=on[0], backup_colors=(*on[1:], *last, old.color))

    return tuple(map(reorder, bgp.fabric_advertise))


def _of_drained_neighbors(network: Network, device: str) -> frozenset[str]:
    """Return the links of a device to drained switches."""
    cables = network.cables_of(device)
    return frozenset(cable.name for cable in cables if {cable.a.device, cable.b.device} - {device} <= network.drained)


def _changed(
    bgp: Bgp, links: Collection[str], which: Literal["import_policy", "export_policy"], how: Callable[[Policy], Policy]
) -> Bgp:
    """Return ``bgp`` with the import or export policy (``which``) of the sessions on ``links`` changed by the function ``how``.

    A policy that no other session uses is changed in place. For other policies, a changed copy is added.
    """
    sessions = [(group, session) for group in bgp.groups for session in group.sessions]
    there = {getattr(group, which) for group, member in sessions if member.link in links}
    stay = {getattr(group, which) for group, member in sessions if member.link not in links}
    stay |= {bgp.redistribute_connected}
    policies: list[Policy] = []
    beside: dict[str, str] = {}
    for policy in bgp.policies:
        if policy.name in there and policy.name in stay:
            beside[policy.name] = f"{policy.name}{BESIDE}"
            policies += [policy, replace(how(policy), name=beside[policy.name])]
        else:
            policies.append(how(policy) if policy.name in there else policy)
    return replace(
        bgp, policies=tuple(policies), groups=tuple(_group(group, links, which, beside) for group in bgp.groups)
    )


def _group(
    group: BgpGroup, links: Collection[str], which: Literal["import_policy", "export_policy"], beside: Mapping[str, str]
) -> BgpGroup:
    """Return ``group``, changed so that its sessions on ``links`` use the changed copy of their policy.

    ``which`` selects the import or export policy. ``beside`` holds the name of the copy, by the name of the policy.
    """
    name = beside.get(getattr(group, which))
    if name is None or not any(session.link in links for session in group.sessions):
        return group
    if all(session.link in links for session in group.sessions):
        return replace(group, **{which: name})
    return replace(
        group,
        sessions=tuple(
            replace(session, **{which: name}) if session.link in links else session for session in group.sessions
        ),
    )


def _as_last_resort(policy: Policy, asn: int, tags: Collection[str], *, strip: bool) -> Policy:
    """Return the policy, changed so that neighbors use the advertised routes only as a last resort.

    - ``asn``: the AS number to prepend.
    - ``tags``: the communities for path colors. They are no longer added.
    - ``strip``: True if learned routes must also lose the color communities that they already have.
    """
    return replace(policy, terms=tuple(_term(term, asn, tags, strip=strip) for term in policy.terms))


def _term(term: Term, asn: int, tags: Collection[str], *, strip: bool) -> Term:
    """Return the term, changed to advertise its routes with a longer AS path and without communities for path colors.

    - ``asn``: the AS number to prepend.
    - ``tags``: the communities for path colors.
    - ``strip``: True if learned routes must also lose the color communities that they already have.
    """
    action = term.action
    if not action.accept:
        return term
    kept = tuple(community for community in action.add_communities if community not in tags)
    passes_on = strip and term.name.startswith(PASSES_ON)
    marks = kept or ((MARK,) if passes_on else ())
    return replace(
        term, action=replace(action, add_communities=marks, prepend=(asn,) * TIMES, replace_communities=passes_on)
    )


def _taken_last(policy: Policy) -> Policy:
    """Return the policy, changed to give accepted routes the lowest local preference."""
    terms = (replace(term, action=replace(term.action, local_preference=0)) for term in policy.terms)
    return replace(
        policy,
        terms=tuple(
            changed if changed.action.accept else was for changed, was in zip(terms, policy.terms, strict=True)
        ),
    )
