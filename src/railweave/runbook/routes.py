"""Which routes a person looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.expect.model import Route


def by_family(examples: Iterable[Route]) -> list[Route]:
    """The first of each address family: a command shows one prefix, and its words name the family."""
    found: dict[str, Route] = {}
    for one in examples:
        found.setdefault(one.prefix.family, one)
    return list(found.values())


def first_of_each(examples: Iterable[Route]) -> tuple[str, ...]:
    """``show ip route`` and ``show ipv6 route`` of these."""
    return tuple(
        f"show {'ipv6' if one.prefix.family == 'ipv6' else 'ip'} route {one.prefix}" for one in by_family(examples)
    )
