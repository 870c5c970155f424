"""Rules about planes: the parallel networks to which the ports of a multi-port NIC connect."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

from railweave.analysis.routing.paths import nic_number
from railweave.counting import counted
from railweave.model.findings.registry import FindingPlace, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.subject import Subject


@check(
    "no-common-plane",
    "error",
    applies="network",
    why="no link joins two planes, so these NICs cannot send to each other, and a job on both servers fails",
    fix="bring up a port that is listed under `status:`, or list one of the two servers there too",
)
def no_common_plane(subject: Subject) -> Iterator[FindingPlace]:
    """In a fabric with planes, any two NICs of one tenant on different servers have a common plane in which neither is absent by `status:`."""
    if not subject.network.absent:
        return
    for by_planes in _nics_by_planes(subject).values():
        for (planes, nics), (others, far) in combinations(by_planes.items(), 2):
            first = next(((a, b) for a in nics for b in far if a[0] != b[0]), None)
            if first is None or not planes.isdisjoint(others):
                continue
            (here, near), (there, end) = first
            near_counts, theirs = (Counter(server for server, _ in side) for side in (nics, far))
            more = len(nics) * len(far) - sum(near_counts[server] * theirs[server] for server in near_counts) - 1
            yield FindingPlace(
                f"{here}:{near}",
                f"it has ports only in {_words(planes)}, and {there}:{end} only in {_words(others)}: no plane is alive at both"
                + (f"; the same holds for {counted(more, 'more pair')} of NICs" if more else ""),
            )


def _nics_by_planes(subject: Subject) -> dict[tuple[str, str], dict[frozenset[str], list[tuple[str, str]]]]:
    """Return the multi-port NICs in service, by (fabric, tenant) and then by the set of planes to which a NIC's ports in service connect.

    Each NIC is given as (server, name of its first port).
    """
    network = subject.present
    planes: dict[tuple[str, str, str, int], set[str]] = {}
    first: dict[tuple[str, str, str, int], str] = {}
    for server in network.servers:
        for nic in server.nics:
            if network.fabric(nic.fabric).adapters:
                key = (server.name, nic.tenant, *nic_number(network, nic))
                planes.setdefault(key, set()).add(network.plane_of(nic))
                first.setdefault(key, nic.name)
    groups: dict[tuple[str, str], dict[frozenset[str], list[tuple[str, str]]]] = {}
    for (server, tenant, fabric, number), nic_planes in planes.items():
        group = groups.setdefault((fabric, tenant), {})
        group.setdefault(frozenset(nic_planes), []).append((server, first[server, tenant, fabric, number]))
    return groups


def _words(planes: frozenset[str]) -> str:
    return " and ".join(sorted(planes))
