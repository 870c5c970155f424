"""Names of stripes, spines and VLANs as patterns of the fabric file; switches that no pattern fits have their name listed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.analysis.adopt.order import common_start
from railweave.analysis.adopt.sites import site_names
from railweave.model.intent.topology import Naming

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape
    from railweave.analysis.adopt.stripes import Stripe
    from railweave.model.device.model import DeviceConfig

USUAL = Naming()
_NUMBER = re.compile(r"\d+")


def as_name(text: str) -> str:
    """A text as the fabric file takes it for a name: other letters become dashes; at most 63."""
    made = re.sub(r"[^A-Za-z0-9_.-]+", "-", text)[:63]
    return re.sub(r"^[^A-Za-z0-9]+", "", made) or "unnamed"


def name_leaves(draft: Draft, found: Shape) -> None:
    """Name the stripes, and find the pattern that leaves are called by."""
    best: tuple[int, str, list[str]] | None = None
    for pattern, stripes in _leaf_patterns(found):
        wrong = sum(
            _filled(pattern, draft.name, name, at) != leaf
            for name, stripe in zip(stripes, found.stripes, strict=True)
            for at, leaf in enumerate(stripe.leaves, 1)
        )
        if len(set(stripes)) == len(stripes) and (best is None or wrong < best[0]):
            best = (wrong, pattern, stripes)
        if best and not best[0]:
            break
    _, pattern, stripes = best or (0, USUAL.leaf, [f"stripe{one.slot}" for one in found.stripes])
    if pattern != USUAL.leaf:
        draft.at("naming")["leaf"] = pattern
    for name, stripe in zip(stripes, found.stripes, strict=True):
        stripe.name = name
        for at, leaf in enumerate(stripe.leaves, 1):
            _rename(draft, _filled(pattern, draft.name, name, at), leaf)
    slots = {stripe.name: stripe.slot for stripe in found.stripes}
    counted = [f"stripe{n}" for n in range(1, len(stripes) + 1)]
    draft.at("topology")["stripes"] = len(stripes) if stripes == counted else stripes
    draft.slots("stripes", own=True).update(slots)


def _leaf_patterns(found: Shape) -> Iterator[tuple[str, list[str]]]:
    """Patterns for leaves with the names of stripes that go with each, the likeliest first."""
    stripes = found.stripes
    for names in ([one.described for one in stripes], [f"stripe{one.slot}" for one in stripes]):
        if all(names):
            yield USUAL.leaf, names
            first = stripes[0].leaves[0]
            if names[0] in first or len(stripes) == 1:
                whole = first.replace(names[0], "{stripe}")
                for match in _NUMBER.finditer(whole):
                    if int(match[0]) == 1:
                        yield f"{whole[: match.start()]}{_width(match[0])}{whole[match.end() :]}", names
                yield whole, names
    if all(len(one.leaves) == 1 for one in stripes):
        yield "{stripe}", [one.leaves[0] for one in stripes]
    yield from _by_common_parts(stripes)


def _width(number: str) -> str:
    return "{leaf}" if len(number) == 1 else f"{{leaf:0{len(number)}d}}"


def _by_common_parts(stripes: Sequence[Stripe]) -> Iterator[tuple[str, list[str]]]:
    """The part that leaves of a stripe have in common is the stripe's name, without what all stripes have behind it."""
    heads: list[str] = []
    digits = 1
    for one in stripes:
        head = (
            common_start(one.leaves).rstrip("0123456789") if len(one.leaves) > 1 else one.leaves[0].rstrip("0123456789")
        )
        heads.append(head)
        number = _NUMBER.match(one.leaves[0], len(head))
        digits = max(digits, len(number[0]) if number else 1)
    if not all(heads):
        return
    middle = common_start([head[::-1] for head in heads])[::-1] if len(heads) > 1 else ""
    at = next((place for place, letter in enumerate(middle) if letter in "-_."), None)
    middle = "" if at is None else middle[at:]
    names = [head.removesuffix(middle).rstrip("-_.") for head in heads]
    tails = {
        leaf[len(head) :].lstrip("0123456789") for head, one in zip(heads, stripes, strict=True) for leaf in one.leaves
    }
    if len(tails) == 1 and all(names):
        between = heads[0][len(names[0]) :]
        yield f"{{stripe}}{between}{_width('1' * digits)}{tails.pop()}", names


def _filled(pattern: str, fabric: str, stripe: str, leaf: int) -> str:
    try:
        return pattern.format(fabric=fabric, stripe=stripe, leaf=leaf)
    except (ValueError, KeyError, IndexError):
        return ""


def _rename(draft: Draft, patterned: str, name: str) -> None:
    if patterned != name:
        draft.at("naming").setdefault("switches", {})[patterned] = name


def name_spines(draft: Draft, found: Shape) -> dict[str, str]:
    """Name the spines. The key of each, which those of one number share over all pods."""
    if not found.spines:
        return {}
    each = len(found.spines) // found.pods
    sites = site_names(found)
    if not found.super_spines and not found.routers:
        names = found.spines
        counted = [f"spine{n}" for n in range(1, len(names) + 1)]
        draft.at("topology")["spines"] = len(names) if names == counted else names
        keys = {name: name for name in names}
    else:
        counted = [f"spine{n}" for n in range(1, each + 1)]
        draft.at("topology")["spines"] = each
        keys = {name: counted[at % each] for at, name in enumerate(found.spines)}
        for at, name in enumerate(found.spines):
            pod = sites[at // each] if sites else f"pod{at // each + 1}"
            _rename(draft, f"{pod}-{counted[at % each]}", name)
    draft.slots("spines", own=True).update({key: at for at, key in enumerate(dict.fromkeys(keys.values()), 1)})
    for at, name in enumerate(found.super_spines):
        per_plane = max(1, len(found.super_spines) // each)
        _rename(draft, f"plane{at // per_plane + 1}-super{at % per_plane + 1}", name)
    for name in found.routers:
        at, number = found.across.borders[name] if found.across else (0, 0)
        _rename(draft, USUAL.dci.format(fabric=draft.name, site=sites[at], dci=number), name)
    return keys


def name_vlans(
    draft: Draft, configs: Mapping[str, DeviceConfig], rails: Mapping[tuple[str, int], tuple[str, int]]
) -> None:
    """``naming.vlan``, where VLANs are called by a pattern; ``rails`` has stripe and rail by leaf and VLAN."""
    seen = [
        (one.vlan_name, one.vlan, *rails.get((name, one.vlan), ("", 0)))
        for name in draft.switches
        for one in configs[name].gateways
        if one.vlan is not None and one.vlan_name
    ]
    if not seen:
        return
    patterns = dict.fromkeys([USUAL.vlan, *(pattern for one in seen[:4] for pattern in _vlan_patterns(*one))])

    def right(pattern: str) -> int:
        return sum(pattern.format(fabric=draft.name, stripe=s, rail=r, vlan=v) == name for name, v, s, r in seen)

    best = max(patterns, key=right)
    if best != USUAL.vlan:
        draft.at("naming")["vlan"] = best
    if right(best) < len(seen):
        draft.note(
            f"{len(seen) - right(best)} of {len(seen)} VLANs have names that no pattern gives: they get other names"
        )


def _vlan_patterns(name: str, vlan: int, stripe: str, rail: int) -> Iterator[str]:
    yield name.replace(str(vlan), "{vlan}")
    if stripe and stripe in name:
        yield name.replace(stripe, "{stripe}").replace(str(rail), "{rail}")
    if rail:
        yield name.replace(str(rail), "{rail}")
