"""Cables that break and are whole again: one interface goes down, and the far end loses its carrier."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.live.lab.kernel.namespace import ip_batch
from railweave.live.lab.names import namespace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.live.lab.running import Running


def set_links(lab: Running, links: Iterable[str], state: str) -> None:
    """Set links ``up`` or ``down``, at the end that is not a server: addresses from advertisements go with a NIC that is set down."""
    by_space: dict[str, list[str]] = {}
    for link in links:
        device = lab.plan.network.cable(link).b.device
        interface = lab.plan.interface(device, link)
        by_space.setdefault(lab.plan.space(device, interface), []).append(f"link set {interface} {state}")
    for space, lines in by_space.items():
        ip_batch(lines, inside=namespace(lab.place.lab, space))


def links_of(lab: Running, device: str) -> list[str]:
    """Every link of a switch or server."""
    return [cable.name for cable in lab.plan.network.cables_of(device)]
