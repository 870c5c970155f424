"""Path colors as routing policy, in the form that an operating system has.

Three forms, all of which prefer the uplink of a prefix's color and keep the others as backup:

``dpf``
    BGP deterministic path forwarding: ``fabric-color`` on groups, ``fabric-advertise`` on leaves (docs/path-colors.md).
``local-preference``
    The origin leaf tags each prefix with a large community of its color; whoever receives it on the session of that
    color, spine or leaf, raises local preference.
``aigp``
    The same tag; the receiver sets AIGP 1 on the session of that color and 100 on others (FRR, RFC 7311).

In every form leaves do not re-advertise what they learned, and spines mark what they send to leaves with the community
``local`` and take nothing back that carries it: a leaf that re-advertises all the same is not accepted. Super-spines
mark what they send to spines in the same way, and a spine passes nothing up that carries the mark: what has come down
stays down. They know no colors: a prefix keeps its color's community, and AIGP, on the way through them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.config.addresses import Prefix
from railweave.model.device.model import Action, Community, FabricAdvertise, Match, Policy, Term

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.network.fabric import Color, Fabric

Form = Literal["none", "dpf", "local-preference", "aigp"]

LOCAL = "local"
PREFERRED_LOCAL_PREFERENCE = 200
PREFERRED_AIGP, OTHER_AIGP = 1, 100


@dataclass(frozen=True)
class RoutingPolicy:
    """The policy part of a device's BGP configuration. Imports and exports are by color index (None: not colored)."""

    imports: dict[int | None, str]
    exports: dict[int | None, str]
    policies: tuple[Policy, ...]
    prefix_lists: dict[str, tuple[Prefix, ...]]
    communities: tuple[Community, ...]
    fabric_advertise: tuple[FabricAdvertise, ...] = ()
    redistribute: str | None = None


def tag(color: Color) -> str:
    """The name of the large community that tags prefixes of a color."""
    return f"path-{color.name}"


def _communities(fabric: Fabric, form: Form) -> tuple[Community, ...]:
    administrator = fabric.spine_asns[0]
    found = [Community(LOCAL, "large", f"{administrator}:0:1")]
    for color in fabric.colors:
        if form == "dpf":
            found.append(Community(color.name, "color", f"color:0:{color.number}"))
        elif form != "none":
            found.append(Community(tag(color), "large", f"{administrator}:1:{color.number}"))
    return tuple(found)


def leaf_policy(
    fabric: Fabric, form: Form, own: Mapping[int | None, tuple[Prefix, ...]], *, redistribute: bool
) -> RoutingPolicy:
    """What a leaf advertises and accepts. ``own`` are the prefixes it originates, by the index of their path color.

    ``redistribute``: the system originates by redistribution, not by export.
    """
    colors = {color.index: color for color in fabric.colors}
    lists = _local(fabric)
    listed = Match(prefix_list=LOCAL, orlonger=True)
    if form in {"none", "dpf"}:
        if redistribute and own:  # the system does not tell connected routes from learned ones when it exports
            lists["own"] = tuple(prefix for prefixes in own.values() for prefix in prefixes)
        match = Match(prefix_list="own") if redistribute else replace(listed, protocol="direct")
        export = [Term("own", match, Action(accept=True))] if own else []
        imports = [Policy("from-spines", (Term("fabric", listed, Action(accept=True)), _reject_rest()))]
        by_color: dict[int | None, str] = dict.fromkeys(colors if form == "dpf" else (None,), "from-spines")
    else:
        export: list[Term] = []
        for index, color in colors.items():
            if index not in own:  # a leaf whose routed links are not cabled yet: an empty list would match anything
                continue
            lists[f"own-{color.name}"] = own[index]
            match = Match(protocol=None if redistribute else "direct", prefix_list=f"own-{color.name}")
            export.append(Term(f"own-{color.name}", match, Action(accept=True, add_communities=(tag(color),))))
        if None in own:
            lists["own"] = own[None]
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
        fabric_advertise=_advertised(colors, own) if form == "dpf" else (),
        redistribute="connected" if redistribute else None,
    )


def spine_policy(fabric: Fabric, form: Form, *, redistribute: bool = False) -> RoutingPolicy:
    """What a spine advertises and accepts. ``redistribute``: it has a loopback to originate, and does so that way."""
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
    """A spine's policy with what it tells super-spines, and takes from them: ``to-super-spines``, ``from-super-spines``."""
    listed = Match(prefix_list=LOCAL, orlonger=True)
    down = Term("no-transit", Match(community=LOCAL), Action(accept=False))
    up = Policy("to-super-spines", (down, Term("forward", listed, Action(accept=True)), _reject_rest()))
    taken = Policy("from-super-spines", (Term("fabric", listed, Action(accept=True)), _reject_rest()))
    return replace(policy, policies=(*policy.policies, up, taken))


def with_dci(policy: RoutingPolicy) -> RoutingPolicy:
    """A spine's policy with what it tells the routers of its site's interconnect, and takes from them."""
    listed = Match(prefix_list=LOCAL, orlonger=True)
    down = Term("no-transit", Match(community=LOCAL), Action(accept=False))
    up = Policy("to-dci", (down, Term("forward", listed, Action(accept=True)), _reject_rest()))
    taken = Policy("from-dci", (Term("fabric", listed, Action(accept=True)), _reject_rest()))
    return replace(policy, policies=(*policy.policies, up, taken))


def dci_policy(fabric: Fabric, form: Form) -> RoutingPolicy:
    """What a router of the interconnect advertises and accepts. It does not look at colors.

    To other sites it passes on what its own spines advertised to it, marked ``local``: what came from another site goes down only,
    so that no site carries traffic between two others, and no router of a site goes by another site to the next one.
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
    """A leaf's policy where leaves are joined between sites: towards them it does as towards spines."""
    names = {"to-spines": "to-sites", "from-spines": "from-sites"}
    policies = tuple(replace(one, name=names.get(one.name, one.name)) for one in policy.policies)
    return replace(policy, policies=policies)


def super_spine_policy(fabric: Fabric, form: Form, *, redistribute: bool = False) -> RoutingPolicy:
    """What a super-spine advertises and accepts. It does not look at colors. ``redistribute``: as of a spine."""
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
    """Prefer, on the session of a color, the prefixes tagged with it; take the rest of the fabric's as they are."""
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
    """What a system that originates by redistribution takes of its own prefixes: those in the fabric's list."""
    own = Term("own", Match(prefix_list=LOCAL, orlonger=True), Action(accept=True))
    return (Policy("connected", (own, _reject_rest())),) if redistribute else ()


def _reject_rest() -> Term:
    return Term("rest", Match(), Action(accept=False))


def _advertised(colors: dict[int, Color], own: Mapping[int | None, tuple[Prefix, ...]]) -> tuple[FabricAdvertise, ...]:
    return tuple(
        FabricAdvertise(prefix, color.name, tuple(other.name for other in colors.values() if other is not color))
        for index, color in colors.items()
        for prefix in own.get(index, ())
    )


def _local(fabric: Fabric) -> dict[str, tuple[Prefix, ...]]:
    """The list of what the fabric's own prefixes are in."""
    return {LOCAL: tuple(map(Prefix, fabric.local_prefixes))}
