"""What the configuration of one server follows from.

``host_config`` sees this and nothing else of a network, so servers whose scope is unchanged have the same configuration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from railweave.model.device.long_haul import LongHaul, long_haul
from railweave.model.device.port_names import switch_port_names

if TYPE_CHECKING:
    from railweave.model.catalog.hardware import ServerModel
    from railweave.model.config.addresses import Family
    from railweave.model.network.devices import Nic, Segment, Server
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Hosts, Network


@dataclass(frozen=True, slots=True)
class HostScope:
    """A server, its model, and what concerns it: its fabrics by name, and by name of its NICs the segment and how many NICs share it.

    ``families`` are the address families of jobs, by fabric and tenant of its NICs.
    ``long_haul`` is what long links ask of jobs, of those fabrics that have such links.
    ``port_names`` are the other names of leaf ports, and ``cable_m`` the lengths of cables, by the NIC at the other end.
    """

    network: str
    hosts: Hosts
    server: Server
    model: ServerModel
    fabrics: dict[str, Fabric]
    segments: dict[str, Segment]
    sharing: dict[str, int]
    long_haul: dict[str, LongHaul]
    families: dict[tuple[str, str], Family | None]
    port_names: dict[str, tuple[str, ...]]
    cable_m: dict[str, int]

    @property
    def name(self) -> str:
        """The server's name."""
        return self.server.name

    @property
    def gpus(self) -> int:
        """GPUs of the server."""
        return self.model.gpus

    @property
    def gpu_vendor(self) -> str:
        """NVIDIA or AMD; empty without GPUs."""
        return self.model.gpu_vendor

    @property
    def library(self) -> Literal["NCCL", "RCCL"]:
        """The library of its collectives."""
        return "RCCL" if self.model.gpu_vendor == "AMD" else "NCCL"

    @property
    def job_fabric(self) -> str:
        """The fabric of the NICs beside its GPUs, over which jobs of several servers run; empty where it has none."""
        groups = self.model.nics
        return next((name for name, one in self.fabrics.items() if groups[one.nics].per_gpu), "")


def host_scope(network: Network, name: str) -> HostScope:
    """The scope of one server. Raises ``KeyError`` where there is no such server."""
    server = network.server(name)
    fabrics = {one: network.fabric(one) for one in dict.fromkeys(nic.fabric for nic in server.nics)}
    far = {one: long_haul(network, fabric) for one, fabric in fabrics.items()}
    return HostScope(
        network=network.name,
        hosts=network.hosts,
        server=server,
        model=network.catalog.servers[server.model],
        fabrics=fabrics,
        segments={nic.name: network.segment_of(name, nic) for nic in server.nics},
        sharing={nic.name: _sharing(network, fabrics[nic.fabric], nic) for nic in server.nics},
        long_haul={one: found for one, found in far.items() if found is not None},
        families={(nic.fabric, nic.tenant): network.job_family(nic.fabric, nic.tenant) for nic in server.nics},
        port_names={
            cable.a.port: tuple(filter(None, switch_port_names(network, cable.b, cable.a)[1:]))
            for cable in network.cables_of(name)
        },
        cable_m={cable.a.port: math.ceil(cable.length_m) for cable in network.cables_of(name)},
    )


def _sharing(network: Network, fabric: Fabric, nic: Nic) -> int:
    """NICs that are met directly in the subnets of a NIC, itself among them; on a routed link the switch is, instead."""
    if fabric.server_link == "proxy-arp":  # every NIC of the fabric is in the subnet
        return sum(size for (one, _, _), size in network.rail_sizes.items() if one == nic.fabric)
    if nic.network:
        return network.network_sizes[nic.fabric, nic.network]
    return 1 if fabric.link_of(nic.vlan) == "routed" else network.rail_sizes[nic.fabric, nic.stripe, nic.rail]
