"""AVD: prefix lists, community lists, route maps and peer filters of the underlay."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.model.config.addresses import Family
    from railweave.model.device.model import Action, Bgp, Match


def community_kind(value: str) -> str:
    """EOS's word for a community: of three numbers (RFC 8092), or of two."""
    return "large-community" if len(value.split(":")) == 3 else "community"


def lists(bgp: Bgp) -> dict[str, Any]:
    """Prefix lists by family, and peer filters; no key where there are none."""
    found = {
        "prefix_lists": _prefix_lists(bgp, six=False),
        "ipv6_prefix_lists": _prefix_lists(bgp, six=True),
        "peer_filters": _peer_filters(bgp),
    }
    return {key: value for key, value in found.items() if value}


def route_maps(bgp: Bgp) -> list[dict[str, Any]]:
    """Route maps: terms in order, ten apart."""
    values = {one.name: one.value for one in bgp.communities}
    maps: list[dict[str, Any]] = []
    for policy in bgp.policies:
        terms: list[dict[str, Any]] = []
        for term in policy.terms:
            found: dict[str, Any] = {"sequence": 10 + 10 * len(terms)}
            found |= {"type": "permit" if term.action.accept else "deny", "description": term.name}
            found |= _asked(term.match, bgp.family_of(term.match), values) | _done(term.action, values)
            terms.append(found)
        maps.append({"name": policy.name, "sequence_numbers": terms})
    return maps


def matched_communities(bgp: Bgp) -> dict[str, str]:
    """The communities that route maps match, and their values."""
    asked = {term.match.community for policy in bgp.policies for term in policy.terms}
    found = {one.name: one.value for one in bgp.communities if one.name in asked}
    return dict(sorted(found.items()))


def _prefix_lists(bgp: Bgp, *, six: bool) -> list[dict[str, Any]]:
    longer = {term.match.prefix_list: term.match.orlonger for policy in bgp.policies for term in policy.terms}
    found: list[dict[str, Any]] = []
    for name, prefixes in sorted(bgp.prefix_lists.items()):
        own = [one for one in prefixes if (one.family == "ipv6") is six]
        if name not in longer or not own:
            continue
        upto = f" le {128 if six else 32}" if longer[name] else ""
        numbered = [
            {"sequence": at, "action": f"permit {one}{upto}"} for at, one in zip(count(5, 5), own, strict=False)
        ]
        found.append({"name": name, "sequence_numbers": numbered})
    return found


def _peer_filters(bgp: Bgp) -> list[dict[str, Any]]:
    """AS numbers that discovered neighbors may have."""
    found: list[dict[str, Any]] = []
    for name, ranges in bgp.as_lists.items():
        numbers = [str(low) if low == high else f"{low}-{high}" for low, high in ranges]
        numbered = [
            {"sequence": at, "match": f"as-range {one} result accept"}
            for at, one in zip(count(10, 10), numbers, strict=False)
        ]
        found.append({"name": name, "sequence_numbers": numbered})
    return found


def _asked(match: Match, family: Family, values: Mapping[str, str]) -> dict[str, list[str]]:
    """What a route must have."""
    found: list[str] = []
    if match.prefix_list:
        found.append(f"{'ipv6' if family == 'ipv6' else 'ip'} address prefix-list {match.prefix_list}")
    if match.community:
        found.append(f"{community_kind(values.get(match.community, ''))} {match.community}")
    return {"match": found} if found else {}


def _done(action: Action, values: Mapping[str, str]) -> dict[str, list[str]]:
    """What is done to a route."""
    found: list[str] = []
    if action.local_preference is not None:
        found.append(f"local-preference {action.local_preference}")
    added = [values[name] for name in action.add_communities if name in values]
    if added:
        found.append(
            " ".join([community_kind(added[0]), *added, *([] if action.replace_communities else ["additive"])])
        )
    if action.prepend:
        found.append(f"as-path prepend {' '.join(map(str, action.prepend))}")
    return {"set": found} if found else {}
