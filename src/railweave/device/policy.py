"""Path colors as routing policy, in the form that an operating system has.

Three forms, all of which prefer the uplink of a prefix's color and keep the others as backup:

``dpf``
    BGP deterministic path forwarding: ``fabric-color`` on groups, ``fabric-advertise`` on leaves (docs/path-colors.md).
``local-preference``
    The origin leaf tags each prefix with a large community of its color; whoever hears it on the session of that
    color, spine or leaf, raises local preference.
``aigp``
    The same tag; the receiver sets AIGP 1 on the session of that color and 100 on others (FRR, RFC 7311).

In every form the community ``local`` marks a route that the advertising leaf itself originates. Spines take nothing
else from a leaf and remove the mark before they pass the route on, so that a leaf that re-advertises what it learned
is not believed; leaves do not re-advertise in the first place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.device.model import Action, Community, FabricAdvertise, Match, Policy, Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.network import Color, Fabric, Segment

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
    prefix_lists: dict[str, tuple[str, ...]]
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


def leaf_policy(fabric: Fabric, form: Form, segments: Sequence[Segment], *, redistribute: bool) -> RoutingPolicy:
    """What a leaf advertises and accepts. ``redistribute``: the system originates by redistribution, not by export."""
    colors = {color.index: color for color in fabric.colors}
    own: dict[int | None, tuple[str, ...]] = {}
    for segment in segments:
        for subnet in segment.subnets:
            own[subnet.color] = (*own.get(subnet.color, ()), subnet.prefix)
    lists: dict[str, tuple[str, ...]] = {LOCAL: fabric.local_prefixes}
    origin = Match(protocol="direct", prefix_list=LOCAL, orlonger=True)
    mark: tuple[str, ...] = (LOCAL,)
    policies: list[Policy] = []
    source = None
    if redistribute:
        source = "connected"
        policies.append(
            Policy(source, (Term("own", origin, Action(accept=True, add_communities=(LOCAL,))), _reject_rest()))
        )
        origin, mark = Match(communities=(LOCAL,)), ()
    transit = Term("no-transit", Match(prefix_list=LOCAL, orlonger=True), Action(accept=False))
    if form in {"none", "dpf"}:
        export = [Term("own", origin, Action(accept=True, add_communities=mark)), transit, _reject_rest()]
        policies.append(Policy("to-spines", tuple(export)))
        policies.append(
            Policy(
                "from-spines",
                (Term("fabric", Match(prefix_list=LOCAL, orlonger=True), Action(accept=True)), _reject_rest()),
            )
        )
        indexes: list[int | None] = list(colors) if form == "dpf" else [None]
        return RoutingPolicy(
            imports=dict.fromkeys(indexes, "from-spines"),
            exports=dict.fromkeys(indexes, "to-spines"),
            policies=tuple(policies),
            prefix_lists=lists,
            communities=_communities(fabric, form),
            fabric_advertise=_advertised(colors, own) if form == "dpf" else (),
            redistribute=source,
        )
    export: list[Term] = []
    for index, color in colors.items():
        lists[f"own-{color.name}"] = own.get(index, ())
        match = Match(protocol=origin.protocol, prefix_list=f"own-{color.name}", communities=origin.communities)
        export.append(Term(f"own-{color.name}", match, Action(accept=True, add_communities=(*mark, tag(color)))))
    policies.append(Policy("to-spines", (*export, transit, _reject_rest())))
    policies += [_import(color, form, ()) for color in colors.values()]
    return RoutingPolicy(
        imports={index: f"from-{color.name}" for index, color in colors.items()},
        exports=dict.fromkeys(colors, "to-spines"),
        policies=tuple(policies),
        prefix_lists=lists,
        communities=_communities(fabric, form),
        redistribute=source,
    )


def spine_policy(fabric: Fabric, form: Form) -> RoutingPolicy:
    """What a spine advertises and accepts."""
    lists = {LOCAL: fabric.local_prefixes}
    forward = Term("forward", Match(prefix_list=LOCAL, orlonger=True), Action(accept=True, delete_communities=(LOCAL,)))
    policies = [Policy("to-leaves", (forward, _reject_rest()))]
    indexes: list[int | None] = [color.index for color in fabric.colors] if form != "none" else [None]
    if form in {"none", "dpf"}:
        originated = Term(
            "originated", Match(prefix_list=LOCAL, orlonger=True, communities=(LOCAL,)), Action(accept=True)
        )
        policies.append(Policy("from-leaves", (originated, _reject_rest())))
        imports: dict[int | None, str] = dict.fromkeys(indexes, "from-leaves")
    else:
        policies += [_import(color, form, (LOCAL,)) for color in fabric.colors]
        imports = {color.index: f"from-{color.name}" for color in fabric.colors}
    return RoutingPolicy(
        imports=imports,
        exports=dict.fromkeys(indexes, "to-leaves"),
        policies=tuple(policies),
        prefix_lists=lists,
        communities=_communities(fabric, form),
    )


def _import(color: Color, form: Form, required: tuple[str, ...]) -> Policy:
    """Prefer, on the session of a color, the prefixes tagged with it."""
    aigp = form == "aigp"
    preferred = Action(
        accept=True,
        local_preference=None if aigp else PREFERRED_LOCAL_PREFERENCE,
        aigp=PREFERRED_AIGP if aigp else None,
    )
    other = Action(accept=True, aigp=OTHER_AIGP if aigp else None)
    base = {"prefix_list": LOCAL, "orlonger": True}
    return Policy(
        f"from-{color.name}",
        (
            Term("preferred", Match(**base, communities=(*required, tag(color))), preferred),  # type: ignore[arg-type]
            Term("other", Match(**base, communities=required), other),  # type: ignore[arg-type]
            _reject_rest(),
        ),
    )


def _reject_rest() -> Term:
    return Term("rest", Match(), Action(accept=False))


def _advertised(colors: dict[int, Color], own: dict[int | None, tuple[str, ...]]) -> tuple[FabricAdvertise, ...]:
    return tuple(
        FabricAdvertise(prefix, color.name, tuple(other.name for other in colors.values() if other is not color))
        for index, color in colors.items()
        for prefix in own.get(index, ())
    )
