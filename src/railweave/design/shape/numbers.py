"""Numbers of leaves and of VLANs, which stay the same if planes of NIC ports are added or removed.

A formula computes these numbers from the position of a leaf or rail, and from the number of planes. If the lock was
written with a different number of planes, the earlier numbers are written into two pools of the lock (``backend/leaves``,
``backend/vlans``). New leaves and rails then get the next free numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.design.context import Context
    from railweave.model.intent.lock import Lock
    from railweave.model.intent.topology import Topology


def keep_numbers(context: Context, name: str, topology: Topology, rails: int, leaves_of_plane: int) -> None:
    """Write the earlier numbers of leaves and VLANs into the lock, if the lock and the fabric file differ in the number of planes.

    ``rails`` and ``leaves_of_plane`` are the numbers of NIC ports and leaves of one plane in a stripe. Call this before
    the spines are numbered, because the pool of spines shows the earlier number of planes.
    """
    lock = context.lock
    before = _planes(lock, name)
    if topology.port_planes == 1 or lock.compacting or before in {0, topology.port_planes}:
        return
    slots = [slot for pool in ("stripes", "tenants") for slot in lock.pools.get(f"{name}/{pool}", {}).values()]
    if f"{name}/leaves" not in lock.pools:
        each = before * leaves_of_plane
        lock.pools[f"{name}/leaves"] = {
            f"{stripe}#{position}": (slot - 1) * each + position
            for stripe, slot in lock.pools.get(f"{name}/stripes", {}).items()
            for position in range(1, each + 1)
        }
    if f"{name}/vlans" not in lock.pools:
        each = before * rails
        lock.pools[f"{name}/vlans"] = {
            f"{group}#{rail}": (group - 1) * each + rail
            for group in range(1, max(slots, default=0) + 1)
            for rail in range(1, each + 1)
        }


def leaf_numbers(
    context: Context, name: str, stripes: Mapping[str, int], per_stripe: int
) -> dict[tuple[str, int], int]:
    """Return the number of each leaf by (stripe, position in the stripe from 1).

    ``stripes`` has the number of each stripe in the lock. ``per_stripe`` is the number of leaves in a stripe.
    """
    places = [
        (stripe, slot, position)
        for stripe, slot in sorted(stripes.items(), key=lambda item: item[1])
        for position in range(1, per_stripe + 1)
    ]
    if f"{name}/leaves" not in context.lock.pools or context.lock.compacting:
        return {(stripe, position): (slot - 1) * per_stripe + position for stripe, slot, position in places}
    numbers = context.lock.allot(f"{name}/leaves", [f"{stripe}#{position}" for stripe, _, position in places])
    return {(stripe, position): numbers[f"{stripe}#{position}"] for stripe, _, position in places}


def vlan_number(context: Context, name: str, group: int, rail: int, rails: int) -> int:
    """Return the number, from 1, of a rail's VLAN. ``rails`` is the number of rails.

    ``group`` is the number of the stripe or tenant that the VLAN belongs to.
    """
    if f"{name}/vlans" not in context.lock.pools or context.lock.compacting:
        return (group - 1) * rails + rail
    key = f"{group}#{rail}"
    return context.lock.allot(f"{name}/vlans", [key], shared=True)[key]


def _planes(lock: Lock, name: str) -> int:
    """Return the number of planes of NIC ports with which the lock was written, or 0 if the lock does not show it."""
    spines = lock.pools.get(f"{name}/spines of blocks", {})
    return len({spine.partition("-")[0] for spine in spines if spine.startswith("plane")})
