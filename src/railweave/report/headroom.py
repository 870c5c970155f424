"""PFC headroom per device against its partition of the packet buffer: the arithmetic, laid open.

The sum is the one that design checks (``design.limits``); here each of its terms is shown.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.design.limits import headroom_bytes

if TYPE_CHECKING:
    from railweave.design.network import Fabric, Network, RoleName


@dataclass(frozen=True, slots=True)
class Term:
    """Ports of a device that need the same headroom: ``ports`` of them, ``each_bytes`` per lossless priority."""

    kind: str
    ports: int
    speed_gbps: int
    length_m: float
    mtu_bytes: int
    each_bytes: int


@dataclass(frozen=True, slots=True)
class Headroom:
    """The device of a role that needs most headroom. ``partition_bytes`` is what its buffer sets aside for it."""

    role: RoleName
    device: str
    priorities: int
    terms: tuple[Term, ...]
    need_bytes: int
    partition_bytes: int
    partition_percent: int
    shared_mb: float

    @property
    def fits(self) -> bool:
        """Whether every port can be paused without loss."""
        return self.need_bytes <= self.partition_bytes


def headroom(network: Network, fabric: Fabric, role: RoleName) -> Headroom | None:
    """The headroom of the neediest device of a role; None without such devices, a lossless class or a known model."""
    intent = fabric.role(role)
    model = catalog().switches.get(intent.model)
    priorities = sum(one.lossless for one in intent.qos.classes.values())
    devices = [switch.name for switch in network.switches if switch.fabric == fabric.name and switch.role == role]
    if model is None or not priorities or not devices:
        return None
    needs = {device: _terms(network, fabric, device) for device in devices}
    total = {
        device: priorities * sum(term.ports * term.each_bytes for term in terms) for device, terms in needs.items()
    }
    device = max(devices, key=lambda name: total[name])
    percent = intent.qos.buffers.headroom
    return Headroom(
        role=role,
        device=device,
        priorities=priorities,
        terms=needs[device],
        need_bytes=total[device],
        partition_bytes=round(model.buffer.shared_mb * 1e6 * percent / 100),
        partition_percent=percent,
        shared_mb=model.buffer.shared_mb,
    )


def _terms(network: Network, fabric: Fabric, device: str) -> tuple[Term, ...]:
    ports = Counter((cable.kind, cable.speed_gbps, cable.length_m) for cable in network.cables_of(device))
    result: list[Term] = []
    for (kind, speed, length), count in sorted(ports.items()):
        mtu = fabric.mtu.fabric if kind == "fabric" else fabric.mtu.server_port
        each = headroom_bytes(catalog(), length, speed, mtu)
        result.append(Term("leaf-spine" if kind == "fabric" else "server", count, speed, length, mtu, each))
    return tuple(result)
