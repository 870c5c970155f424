"""The PFC headroom that each switch needs, compared with the headroom partition of its packet buffer, by group of ports.

The checks in ``design.limits.headroom`` compute the needed headroom in the same way.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.design.limits.headroom import THIN_HEADROOM
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import PortHeadroom, port_headroom

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import SwitchModel
    from railweave.model.intent.buffers import Buffers
    from railweave.model.network.devices import Fabric, RoleName
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class Term:
    """A group of ports of a switch that need the same headroom.

    ``kind`` is the kind of the cables at these ports, and ``ports`` the number of ports. ``port`` is the headroom that one of the
    ports needs for each lossless priority.
    """

    kind: str
    ports: int
    port: PortHeadroom


@dataclass(frozen=True, slots=True)
class Headroom:
    """The headroom that a switch needs, and the headroom that the switch has.

    - ``priorities``: the number of lossless priorities.
    - ``terms``: the need of each group of ports.
    - ``partition_bytes`` and ``partition_percent``: the headroom partition of the switch's buffer, according to ``buffers``.
    - ``shared_mb``: the buffer in MB that the partitions divide.
    - ``published_bytes``: the headroom partition after dedicated buffers are subtracted, by published figures; None if
      no figures are published.
    - ``taken_first``: a description of the buffer that the system reserves before it partitions the rest.
    """

    role: RoleName
    device: str
    priorities: int
    terms: tuple[Term, ...]
    partition_bytes: int
    partition_percent: int
    shared_mb: float
    buffers: Buffers
    published_bytes: int | None = None
    taken_first: str = ""

    @property
    def need_bytes(self) -> int:
        """The headroom that all ports need together for all lossless classes, in bytes."""
        return self.priorities * sum(term.ports * term.port.need_bytes for term in self.terms)

    @property
    def fits(self) -> bool:
        """True if the headroom partition suffices to pause all ports at the same time without loss."""
        return self.need_bytes <= self.partition_bytes

    @property
    def used(self) -> float:
        """The needed headroom divided by the headroom partition."""
        return self.need_bytes / max(1, self.partition_bytes)

    @property
    def is_thin(self) -> bool:
        """True if the headroom may be too small once the dedicated buffers are subtracted.

        With published figures, this is calculated. Without them, it is True if the used share exceeds
        ``THIN_HEADROOM``.
        """
        if self.published_bytes is not None:
            return self.need_bytes > self.published_bytes
        return self.used > THIN_HEADROOM

    @property
    def shared_needed_mb(self) -> float:
        """The size in MB of a shared buffer whose headroom partition would be just large enough for all ports."""
        return self.need_bytes / 1e4 / max(1, self.partition_percent)

    def longest_m(self, kind: str, have_bytes: int) -> float | None:
        """Return the greatest length in metres that all cables of ``kind`` may have if the switch has ``have_bytes`` of headroom.

        Cables of other kinds keep their lengths. Return None if the switch has no cable of this kind.
        """
        mine = [term for term in self.terms if term.kind == kind]
        if not mine:
            return None
        slope = self.priorities * sum(term.ports * term.port.per_metre for term in mine)
        fixed = self.need_bytes - self.priorities * sum(
            term.ports * term.port.length_m * term.port.per_metre for term in mine
        )
        return max(0.0, (have_bytes - fixed) / slope)


def headrooms(network: Network, fabric: Fabric, role: RoleName) -> list[Headroom]:
    """Return the headroom of every switch of a role.

    The list is empty if there is no lossless class or the switch model is unknown.
    """
    switch_headrooms: list[Headroom] = []
    for switch in network.switches:
        if switch.fabric != fabric.name or switch.role != role:
            continue
        qos = fabric.intent(switch).qos
        model = catalog().switches.get(switch.model)
        priorities = sum(traffic_class.lossless for traffic_class in qos.classes.values())
        if model is not None and priorities:
            switch_headrooms.append(
                Headroom(
                    role=role,
                    device=switch.name,
                    priorities=priorities,
                    terms=_terms(network, fabric, switch.name, model),
                    partition_bytes=round(model.buffer.shared_mb * 1e6 * qos.buffers.headroom / 100),
                    partition_percent=qos.buffers.headroom,
                    shared_mb=model.buffer.shared_mb,
                    buffers=qos.buffers,
                    published_bytes=_published(model, qos.buffers, switch.nos),
                    taken_first=catalog().systems[switch.nos].notes.dedicated,
                )
            )
    return switch_headrooms


def _published(model: SwitchModel, buffers: Buffers, nos: str) -> int | None:
    if model.dedicated is None or not catalog().systems[nos].dedicated_first:
        return None
    shared = model.dedicated.shared_bytes(buffers.dedicated_ingress, buffers.dedicated_egress)
    return round(shared * buffers.headroom / 100)


def headroom(network: Network, fabric: Fabric, role: RoleName) -> Headroom | None:
    """Return the headroom of one switch of a role: the switch that uses the greatest share of its headroom partition.

    The result is None if no switch of the role needs headroom.
    """
    candidates = headrooms(network, fabric, role)
    return max(candidates, key=lambda candidate: candidate.used, default=None)


def _terms(network: Network, fabric: Fabric, device: str, model: SwitchModel) -> tuple[Term, ...]:
    unpaused = fabric.interconnect is not None and not fabric.interconnect.pfc
    pauses = fabric.intent(network.switch(device)).qos.pfc.pauses
    paused = [
        cable
        for cable in network.cables_of(device)
        if not (unpaused and network.between_sites(cable)) and pauses(cable.kind)
    ]
    ports = Counter((cable.kind, cable.speed_gbps, cable.length_m) for cable in paused)
    result: list[Term] = []
    for (kind, speed, length), count in sorted(ports.items()):
        mtu = fabric.mtu.fabric if kind == "fabric" else fabric.mtu.server_port
        each = port_headroom(catalog(), model, length, speed, mtu)
        result.append(Term("leaf-spine" if kind == "fabric" else "server", count, each))
    return tuple(result)
