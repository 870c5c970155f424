"""Apply routing policies to whole tables of routes at once."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from railweave.routes.attributes import NONE

if TYPE_CHECKING:
    from railweave.device.model import Action, Bgp, Match
    from railweave.routes.attributes import Attributes, AttributeTable, Ids, Mask, Places


class PolicyEngine:
    """Policies of all devices over one list of prefixes. Equal lists and actions are worked out once."""

    def __init__(self, prefixes: list[str], table: AttributeTable) -> None:
        self.table = table
        networks = [ipaddress.ip_network(prefix) for prefix in prefixes]
        self._size = len(networks)
        self._versions = np.array([network.version for network in networks], dtype=np.uint8)
        self._lengths = np.array([network.prefixlen for network in networks], dtype=np.int64)
        high = [int(n.network_address) << (128 - n.max_prefixlen) for n in networks]
        self._high = np.array([value >> 64 for value in high], dtype=np.uint64)
        self._low = np.array([value & (1 << 64) - 1 for value in high], dtype=np.uint64)
        self._lists: dict[tuple[tuple[str, ...], bool], Mask] = {}

    def listed(self, entries: tuple[str, ...], *, orlonger: bool) -> Mask:
        """Which prefixes a prefix list matches, exactly or as equal-or-longer."""
        found = self._lists.get((entries, orlonger))
        if found is None:
            found = np.zeros(self._size, dtype=np.bool_)
            for entry in entries:
                found |= self._matches(entry, orlonger=orlonger)
            self._lists[entries, orlonger] = found
        return found

    def _matches(self, entry: str, *, orlonger: bool) -> Mask:
        network = ipaddress.ip_network(entry)
        value = int(network.network_address) << (128 - network.max_prefixlen)
        mask = ((1 << network.prefixlen) - 1) << (128 - network.prefixlen)
        high, low = np.uint64(mask >> 64), np.uint64(mask & (1 << 64) - 1)
        inside = (self._high & high == np.uint64(value >> 64)) & (self._low & low == np.uint64(value & (1 << 64) - 1))
        same = self._lengths >= network.prefixlen if orlonger else self._lengths == network.prefixlen
        return inside & same & (self._versions == network.version)

    def apply(self, bgp: Bgp, name: str, ids: Ids, direct: Mask, places: Places) -> Ids:
        """Routes after a policy of a device; those it rejects become "no route". ``direct`` marks connected ones.

        ``ids`` may have leading axes, such as one for sessions; the last runs over the prefixes at ``places``.
        A policy that does not exist is one without terms: the system's default decides.
        """
        policy = next((one for one in bgp.policies if one.name == name), None)
        values = {community.name: community.value for community in bgp.communities}
        result = np.full(ids.shape, NONE, dtype=np.int32)
        left = ids >= 0
        for term in policy.terms if policy else ():
            hit = left & self._hits(bgp, values, term.match, ids, direct, places)
            if not hit.any():
                continue
            left &= ~hit
            if term.action.accept:
                result[hit] = self._change(values, term.action, ids[hit])
        if bgp.default_accept:
            rest = left & ~direct
            result[rest] = ids[rest]
        return result

    def _hits(self, bgp: Bgp, values: dict[str, str], match: Match, ids: Ids, direct: Mask, places: Places) -> Mask:
        hit = np.ones(len(places), dtype=np.bool_)
        if match.prefix_list is not None:
            hit &= self.listed(bgp.prefix_lists.get(match.prefix_list, ()), orlonger=match.orlonger)[places]
        if match.protocol is not None:
            hit &= direct if match.protocol == "direct" else ~direct
        if match.community is not None:
            wanted = values.get(match.community)
            return hit & self.table.having(ids, ("carries", wanted), lambda held: wanted in held)
        return hit

    def _change(self, values: dict[str, str], action: Action, ids: Ids) -> Ids:
        if not (action.local_preference is not None or action.aigp is not None or action.add_communities):
            return ids
        added = frozenset(values[name] for name in action.add_communities if name in values)

        def change(old: Attributes) -> Attributes:
            return replace(
                old,
                local_preference=old.local_preference if action.local_preference is None else action.local_preference,
                aigp=old.aigp if action.aigp is None else action.aigp,
                communities=old.communities | added,
            )

        return self.table.map(("action", action.local_preference, action.aigp, added), ids, change)
