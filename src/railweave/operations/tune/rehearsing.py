"""The servers that a step is rehearsed on: those of the fabric that it changes, and of one tenant."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from railweave.model.network.model import Network

MOST_GPUS = 64
"""GPUs of a rehearsal, at most, if no number of servers is given: packet by packet each costs time."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The servers of a rehearsal, out of ``of`` alike ones of a fabric. ``tenant`` is empty if the fabric has no tenants."""

    fabric: str
    tenant: str
    servers: tuple[str, ...]
    of: int

    def to_text(self) -> str:
        """Return the servers for people."""
        whose = f" of {self.tenant}" if self.tenant else ""
        return f"the first {len(self.servers)} of {self.of} servers{whose}"


def rehearsal(network: Network, fabric: str, tenant: str | None = None, servers: int | None = None) -> Rehearsal:
    """Choose the servers of a fabric to rehearse on.

    A collective takes servers that are alike, and tenants do not reach each other. So the group with the most NICs is taken,
    of ``tenant`` or of any, among groups of two servers or more. Raises ``InputError`` for an unknown tenant, and if there is
    no such group.
    """
    known = [one.name for one in network.fabric(fabric).tenants]
    if tenant is not None and tenant not in known:
        fix = f"tenants are {', '.join(known)}" if known else f"leave it out: {fabric} has no tenants"
        raise InputError([Problem(Option("--tenant"), f"there is no tenant {tenant!r}", fix)])
    groups: dict[tuple[str, str, int], list[str]] = {}
    for server in network.servers:
        of_fabric = (nic.tenant for nic in server.nics if nic.fabric == fabric)
        for whose, nics in Counter(one for one in of_fabric if one or not known).items():
            if tenant in {None, whose}:
                groups.setdefault((whose, server.model, nics), []).append(server.name)
    group = max(groups, key=lambda one: (len(groups[one]) > 1, one[2] * len(groups[one])), default=None)
    if group is None or len(groups[group]) < 2:
        whose = f"tenant {tenant}" if tenant else f"fabric {fabric}"
        what = f"{whose} has no two servers that are alike, so there is no collective to rehearse the step with"
        raise InputError([Problem(Option("--rehearse"), what, "--no-rehearse proposes the step without a rehearsal")])
    whose, _, nics = group
    most = servers or max(2, MOST_GPUS // nics)  # as many GPUs as there are NICs, or fewer
    return Rehearsal(fabric, whose, tuple(groups[group][:most]), len(groups[group]))
