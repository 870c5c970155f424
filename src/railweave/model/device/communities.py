"""Communities in the form that every switch of a fabric can read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.model import Community
    from railweave.model.network.fabric import Fabric

MOST_STANDARD_AS = 65535
PRIVATE_AS = 64512
"""Stands for an AS number that has no place in 16 bits; these communities stay in the fabric (RFC 6996)."""


def all_large(fabric: Fabric) -> bool:
    """Whether every switch of a fabric has large communities."""
    roles = (fabric.leaf, fabric.spine, *([fabric.super_spine] if fabric.super_spine else []))
    return all(catalog().systems[role.nos].large_communities for role in roles)


def in_form(communities: Iterable[Community], *, large: bool) -> tuple[Community, ...]:
    """Communities as they are, or large ones as standard ones (RFC 1997)."""
    if large:
        return tuple(communities)
    return tuple(
        replace(one, kind="standard", value=standard(one.value)) if one.kind == "large" else one for one in communities
    )


def standard(value: str) -> str:
    """A large community ``A:B:C`` of ours in 32 bits: ``A:1000*B+C``, ``A`` a private number where it has more than 16."""
    administrator, kind, number = (int(part) for part in value.split(":"))
    return f"{administrator if administrator <= MOST_STANDARD_AS else PRIVATE_AS}:{1000 * kind + number}"
