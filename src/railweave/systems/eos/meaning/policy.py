"""Conversion between the routing policy of a device and its statements (``statements.policy``).

A prefix list is a section whose header has the name of the list. In FRR, each line of a list has the name instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from railweave.model.device.model import Community
from railweave.systems.eos.statements.policy import POLICIES, ListEntry, PeerFilter, Policies, PrefixList
from railweave.systems.frr.meaning import policy as frr
from railweave.systems.frr.statements.policy import Policies as Entries
from railweave.systems.frr.statements.policy import PrefixEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from railweave.model.config.addresses import Family
    from railweave.model.config.sections import SectionReader
    from railweave.model.device.model import Bgp, DeviceConfig, Policy

FAMILIES: tuple[Family, ...] = ("ipv4", "ipv6")


def policies_of(config: DeviceConfig) -> Iterator[Policies]:
    """Yield the routing policies of a device: those for the fabric, those for each external router of a tenant, and those for the overlay."""
    if config.bgp is not None:
        yield _listed(frr.fabric_policies(config, config.bgp), _filters(config.bgp))
    for vrf in config.vrfs:
        yield from map(_listed, frr.external_policies(vrf))
    if config.overlay is not None:
        yield _listed(frr.overlay_policies(config.overlay))


def _filters(bgp: Bgp) -> dict[str, PeerFilter]:
    return {
        name: PeerFilter({10 * place: numbers for place, numbers in enumerate(ranges, 1)})
        for name, ranges in bgp.as_lists.items()
    }


def _listed(policies: Entries, filters: dict[str, PeerFilter] | None = None) -> Policies:
    """Return the policies ``policies`` as EOS has them: one section per prefix list, not one line per entry. IPv4 lists come first.

    ``filters`` are the peer filters, by name.
    """
    lists: dict[tuple[Family, str], list[ListEntry]] = {}
    for entry in sorted(policies.prefixes, key=lambda entry: FAMILIES.index(entry.family)):
        entries = lists.setdefault((entry.family, entry.name), [])
        entries.append(ListEntry(entry.prefix, 5 * len(entries) + 5, entry.permits, entry.ge, entry.le))
    sections = (PrefixList(name, family, tuple(entries)) for (family, name), entries in lists.items())
    return Policies(tuple(sections), policies.communities, policies.maps, filters or {})


@dataclass(frozen=True, slots=True)
class Lists(frr.Lists):
    """The lists and route maps of a configuration, by name.

    ``as_lists`` are the peer filters, each a tuple of ranges (first, last) of AS numbers.
    """

    as_lists: dict[str, tuple[tuple[int, int], ...]]

    def of_maps(self, maps: Collection[str]) -> set[str]:
        """Return the names of the prefix lists and community lists to which the route maps ``maps`` refer."""
        entries = chain.from_iterable(map(self.entries, maps))
        names = ((entry.prefix_list, entry.community or entry.large_community) for entry in entries)
        return {name for name in chain.from_iterable(names) if name}

    def listed(self, policies: Sequence[Policy], unused: Collection[str]) -> tuple[Community, ...]:
        """Return the communities of all community lists except the lists in ``unused``.

        A community to which ``policies`` refer is included even if its list is in ``unused``.
        """
        named = self.named(policies)
        names = {community.name for community in named}
        kept = {name: value for name, value in self.communities.items() if name in names or name not in unused}
        others = sorted((community for community in named if community.name not in kept), key=lambda each: each.name)
        return (*(Community(name, frr.kind(value), value) for name, value in kept.items()), *others)


def read_policies(reader: SectionReader) -> Lists:
    """Return the prefix lists, community lists, peer filters and route maps of a configuration.

    ``reader`` has the lines of the configuration.
    """
    stated = POLICIES.read(reader.sections, reader)
    prefixes = tuple(
        PrefixEntry(
            listed.name,
            entry.prefix,
            listed.family,
            entry.sequence,
            entry.permits,
            entry.eq or entry.ge,
            entry.eq or entry.le,
            entry.section,
        )
        for listed in stated.lists
        for entry in listed.entries
    )
    read = frr.lists(Entries((), prefixes, stated.communities, stated.maps), reader, "eos", numbered=True)
    as_lists = {
        name: tuple(numbers for _, numbers in sorted(each.ranges.items())) for name, each in stated.filters.items()
    }
    return Lists(read.prefixes, read.communities, read.strange, read.maps, read.unknown, read.numbered, as_lists)
