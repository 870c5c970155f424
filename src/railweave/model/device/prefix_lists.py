"""Prefix lists as configurations define them, entry by entry, and the conditions of policy terms that refer to these lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.config.addresses import FAMILIES
from railweave.model.config.number_ranges import Lengths, lengths, of_list
from railweave.model.device.bgp_model import Action, EntryList, Match, PrefixEntry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from railweave.model.config.addresses import Family, Prefix
    from railweave.model.device.bgp_model import Term

_Entry = tuple[PrefixEntry, bool]
"""(entry of a prefix list, True if words such as ``ge`` or ``le`` follow its prefix in the configuration)."""


@dataclass
class PrefixLists:
    """The prefix lists of a device, by name and address family. An ``ip`` and an ``ipv6`` list of the same name are two lists.

    ``strange`` holds the (name, family) of lists with an entry that railweave does not understand.
    """

    _entries: dict[tuple[str, Family], dict[int, _Entry]] = field(
        default_factory=dict[tuple[str, "Family"], dict[int, _Entry]]
    )
    strange: set[tuple[str, Family]] = field(default_factory=set[tuple[str, "Family"]])

    def add(self, name: str, family: Family, sequence: int | None, prefix: Prefix | None, words: Sequence[str]) -> bool:
        """Add an entry to the list of this name and address family. Return False if railweave does not understand the entry.

        ``words`` are ``permit`` or ``deny``, followed by the words after the prefix. If ``sequence`` is None, the entry
        gets the next multiple of five. ``prefix`` is None if the text has no valid prefix.
        """
        entries = self._entries.setdefault((name, family), {})
        between = lengths(prefix, words[1:]) if prefix is not None and prefix.family == family and words else None
        if prefix is None or between is None or words[0] not in {"permit", "deny"}:
            self.strange.add((name, family))
            return False
        place = 5 * (max(entries, default=0) // 5 + 1) if sequence is None else sequence
        entries[place] = PrefixEntry(prefix, between, words[0] == "permit"), len(words) > 1
        return True

    def hold(self, name: str, prefixes: Iterable[Prefix]) -> None:
        """Add one entry for each prefix to a list. The entry permits exactly this prefix."""
        for prefix in prefixes:
            self.add(name, prefix.family, None, prefix, ("permit",))

    def names(self) -> tuple[str, ...]:
        """Return the names of the lists, in the order of the configuration."""
        return tuple(dict.fromkeys(name for name, _ in self._entries))

    def prefixes(self, name: str) -> tuple[Prefix, ...]:
        """Return the prefixes that the lists of this name permit, IPv4 first."""
        entries = (entry for family in FAMILIES for entry, _ in self._in_order(name, family))
        return tuple(entry.prefix for entry in entries if entry.permit)

    def match(self, name: str, family: Family | None) -> Match:
        """Return the condition of a policy term that refers to the list ``name``.

        If ``family`` is None, the condition covers the lists of both families.
        """
        shapes = [self._shape(name, each) for each in (FAMILIES if family is None else (family,))]
        distinct = {shape for shape in shapes if shape is not None}
        orlonger, between = distinct.pop() if len(distinct) == 1 else (False, None)
        return Match(prefix_list=name, orlonger=orlonger, lengths=between, family=family)

    def is_plain(self, name: str) -> bool:
        """Return True if the permitted prefixes and one rule for their lengths describe a list fully.

        The result is False if an entry denies, matches different lengths than the other entries, or is not understood.
        """
        return all(name != strange for strange, _ in self.strange) and not self.entry_lists((name,))

    def passed(self, terms: Sequence[Term]) -> tuple[Prefix, ...]:
        """Return the prefixes that the accepting terms of a route-map permit by their prefix lists.

        The result is empty if a term is not fully understood, or if a prefix list is not fully described by its permitted prefixes
        (``is_plain``).
        """
        lists = [term.match.prefix_list for term in terms if term.action.accept and term.match.prefix_list]
        if any(term.unknown for term in terms) or not all(map(self.is_plain, lists)):
            return ()
        return tuple(prefix for name in lists for prefix in self.prefixes(name))

    def connected(self, terms: Sequence[Term], prefixes: Iterable[Prefix]) -> tuple[Prefix, ...] | None:
        """Return those of the connected ``prefixes`` that the terms of a route-map accept without changing them.

        Return None if this cannot be decided: there are no terms, or a term has a community, an action other than accept or reject,
        an unknown statement, or a list that is not fully known.
        """
        lists = {term.match.prefix_list for term in terms if term.match.prefix_list}
        plain = all(
            not term.unknown and not term.match.community and term.action == Action(accept=term.action.accept)
            for term in terms
        )
        if not terms or not plain or not lists <= {*self.names()} or any(name in lists for name, _ in self.strange):
            return None
        first = (
            (prefix, next((term for term in terms if self._holds(term.match, prefix)), None)) for prefix in prefixes
        )
        return tuple(prefix for prefix, term in first if term is not None and term.action.accept)

    def _holds(self, match: Match, prefix: Prefix) -> bool:
        """Return True if a connected prefix meets the conditions of ``match`` on prefix list and address family."""
        if match.protocol == "bgp" or match.family not in {None, prefix.family}:
            return False
        if match.prefix_list is None:
            return True
        for entry, _ in self._in_order(match.prefix_list, prefix.family):
            low, high = entry.lengths
            if entry.prefix.holds(prefix.address) and low <= prefix.length <= high:
                return entry.permit
        return False

    def entry_lists(self, names: Collection[str | None]) -> tuple[EntryList, ...]:
        """Return the lists among ``names`` that must be evaluated entry by entry.

        These are lists in which an entry denies, or in which the entries match different lengths.
        """
        return tuple(
            EntryList(name, family, tuple(entry for entry, _ in entries))
            for name in self.names()
            if name in names
            for family in FAMILIES
            if (entries := self._in_order(name, family)) and self._shape(name, family) is None
        )

    def _in_order(self, name: str, family: Family) -> list[_Entry]:
        """Return the entries of the list of this name and address family, by sequence number.

        Denying entries at the end are left out, because a list denies all other prefixes anyway.
        """
        entries = [entry for _, entry in sorted(self._entries.get((name, family), {}).items())]
        while entries and not entries[-1][0].permit:
            entries.pop()
        return entries

    def _shape(self, name: str, family: Family) -> tuple[bool, Lengths | None] | None:
        """Return the rule that all entries of a list share: (True if longer prefixes match, minimum and maximum length or None for any length).

        Return None if the list of this name and address family is empty or must be evaluated entry by entry.
        """
        entries = self._in_order(name, family)
        if not entries or not all(entry.permit for entry, _ in entries):
            return None
        return of_list((entry.prefix, entry.lengths, has_words) for entry, has_words in entries)
