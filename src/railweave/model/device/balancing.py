"""Load balancing of a device over the members of its next-hop groups.

docs/fabric-file.md (``load_balancing``) explains each parameter, with its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from railweave.model.config.addresses import Family


@dataclass(frozen=True, slots=True)
class EgressQuantization:
    """Quality bands of dynamic load balancing (DLB). A port's load and queue length determine its band.

    - ``min`` and ``max``: the load, in percent of line rate, of the best and the worst band.
    - ``rate_weightage``: the weight, in percent, of the port's recent rate; the queue length has the rest.
    """

    min: int = 20
    max: int = 50
    rate_weightage: int = 50


@dataclass(frozen=True, slots=True)
class Reassignment:
    """Reactive path rebalancing: a flowlet moves with probability ``prob_threshold``/256 if a port is ``quality_delta`` bands better."""

    prob_threshold: int = 3
    quality_delta: int = 6


@dataclass(frozen=True, slots=True)
class Dlb:
    """Parameters of dynamic load balancing (DLB).

    ``inactivity_interval`` is in microseconds. ``sampling_rate`` is in samples per second.
    """

    inactivity_interval: int = 256
    flowset_table_size: int = 256
    sampling_rate: int = 62_500
    egress_quantization: EgressQuantization = EgressQuantization()
    reassignment: Reassignment | None = None


@dataclass(frozen=True, slots=True)
class Hash:
    """Fields of the static hash, and its seed. If ``seed`` is None, each switch uses its own default seed."""

    layer3: bool = True
    layer4: bool = True
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class BalancingConfig:
    """Load balancing of a device.

    - ``ether_types``: the address families in use, to which dynamic load balancing (DLB) applies.
    - ``fast_reroute``: True if the hardware repairs a next-hop group after a link failure.
    - ``spray_opcodes``: the RDMA opcodes whose packets the design wants sprayed; empty means every packet.
    - ``random``: True if the switch sprays packets at random; False if its platform cannot do so, or if the design does not want it.
    - ``opcodes``: the same as ``spray_opcodes`` if ``random`` is True, otherwise empty.
    - ``filtered_ports``: the ports on which the switch checks incoming packets for ``opcodes``.
    - ``selective``: the RDMA opcodes whose packets DLB balances; empty means that DLB balances every packet.
    - ``global_role``: the device's role in global load balancing; empty if it has none.
    """

    group_mode: Literal["ecmp", "dlb-flowlet", "dlb-per-packet", "spray"]
    ether_types: tuple[Family, ...]
    dlb: Dlb = Dlb()
    hash: Hash = Hash()
    fast_reroute: bool = True
    spray_opcodes: tuple[int, ...] = ()
    random: bool = False
    opcodes: tuple[int, ...] = ()
    filtered_ports: tuple[str, ...] = ()
    selective: tuple[int, ...] = ()
    global_role: Literal["", "helper-only", "load-balancer-only"] = ""

    @property
    def sprays_by_opcode(self) -> bool:
        """True if only packets of some RDMA opcodes are sprayed at random."""
        return self.random and bool(self.opcodes)
