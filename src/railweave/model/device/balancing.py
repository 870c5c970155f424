"""Load balancing of a device: how its next-hop groups are shared.

What each knob means, with its source, is in docs/fabric-file.md (``load_balancing``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from railweave.model.config.addresses import Family


@dataclass(frozen=True, slots=True)
class EgressQuantization:
    """The load, percent of line rate, of DLB's best and worst quality band, and the weight of recent rate against queues."""

    min: int = 20
    max: int = 50
    rate_weightage: int = 50


@dataclass(frozen=True, slots=True)
class Reassignment:
    """Reactive path rebalancing: a flowlet moves with ``prob_threshold``/256 where a port is ``quality_delta`` bands better."""

    prob_threshold: int = 3
    quality_delta: int = 6


@dataclass(frozen=True, slots=True)
class Dlb:
    """Knobs of dynamic load balancing; ``inactivity_interval`` is microseconds, ``sampling_rate`` samples a second."""

    inactivity_interval: int = 256
    flowset_table_size: int = 256
    sampling_rate: int = 62_500
    egress_quantization: EgressQuantization = EgressQuantization()
    reassignment: Reassignment | None = None


@dataclass(frozen=True, slots=True)
class Hash:
    """Fields of the static hash, and its seed; None: each switch's own."""

    layer3: bool = True
    layer4: bool = True
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class BalancingConfig:
    """Load balancing of a device; ``ether_types`` are the address families in use, which DLB acts on.

    ``spray_opcodes`` are the RDMA opcodes that alone are wanted sprayed; empty: every packet. ``random``: the platform sprays
    packets at random; of ``opcodes`` alone, where there are any, which it looks for in packets that come in by
    ``filtered_ports``. ``selective`` are the RDMA opcodes that DLB is for; empty: every packet. ``global_role`` is its part
    in global load balancing; empty: none. ``fast_reroute`` repairs a next-hop group in hardware.
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
