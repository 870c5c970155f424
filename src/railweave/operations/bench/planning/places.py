"""The NICs of a network as ends of perftest: who may talk to whom, and which GPU is beside each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.model.catalog import catalog
from railweave.operations.bench.plan import End

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.catalog.hardware import ServerModel
    from railweave.model.network.devices import Nic, Server
    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Memory

MEMORY: dict[str, Memory] = {"NVIDIA": "cuda", "AMD": "rocm"}
"""Where buffers lie, by the maker of a server's GPUs."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A NIC. ``gpu``: the GPU beside it; None where it serves none. ``vendor``: of that GPU, or empty.

    ``model``: of the NIC; ``messages_per_us``: what that takes in each direction, None where nobody knows. ``plane``: that
    of its leaf; empty where there are no planes.
    """

    server: Server
    nic: Nic
    gpu: int | None
    vendor: str
    model: str
    messages_per_us: float | None
    plane: str = ""

    @property
    def name(self) -> str:
        """``SERVER:NIC``."""
        return f"{self.server.name}:{self.nic.name}"

    def end(self, address: int, memory: Memory) -> End:
        """The NIC as an end, by the place of one of its addresses."""
        gpu = self.gpu if memory != "host" else None
        return End(self.server.name, self.nic.name, self.nic.addresses[address].address, gpu=gpu)

    def place_of(self, color: int | None) -> int | None:
        """The place of its address of a path color; None where it has none."""
        return next((place for place, one in enumerate(self.nic.addresses) if one.color == color), None)


def memory_of(one: Place, other: Place, asked: Memory | None) -> Memory:
    """Where the buffers of a pair lie: in GPUs where both NICs have one of the same maker, unless something else is asked for."""
    if asked is not None:
        return asked
    return MEMORY.get(one.vendor, "host") if one.vendor == other.vendor else "host"


def places(network: Network, hosts: Sequence[str]) -> list[Place]:
    """The NICs with an address of these servers, in the order of the network."""
    wanted = set(hosts)
    return [
        _place(network, server, nic, catalog().servers.get(server.model))
        for server in network.servers
        if server.name in wanted
        for nic in server.nics
        if nic.addresses
    ]


def check_memory(asked: Memory | None, found: Sequence[Place]) -> None:
    """Raise ``InputError`` where buffers are asked for in GPUs that some server does not have."""
    for one in found if asked not in {None, "host"} else ():
        if MEMORY.get(one.vendor) != asked:
            has = f"GPUs of {one.vendor}" if one.vendor else "no GPU of its own"
            what = f"{asked}: {one.name} has {has}"
            raise InputError([Problem(Option("--memory"), what, "leave --memory out, or give host")])


def parts(found: Sequence[Place]) -> list[list[list[Place]]]:
    """NICs that prove each other's paths, by leaf: those of one fabric, plane, tenant, layer-2 network and rail.

    Where each rail of a tenant has a leaf to itself, all rails are one: else nothing would cross the spines.
    """
    whole: dict[tuple[str, str, str, str], dict[int, dict[str, list[Place]]]] = {}
    for one in found:
        rails = whole.setdefault((one.nic.fabric, one.plane, one.nic.tenant, one.nic.network), {})
        rails.setdefault(one.nic.rail, {}).setdefault(one.nic.leaf, []).append(one)
    result: list[list[list[Place]]] = []
    for rails in whole.values():
        by_leaf: dict[str, list[Place]] = {}
        for leaves in rails.values():
            for leaf, there in leaves.items():
                by_leaf.setdefault(leaf, []).extend(there)
        leaves_of_rails = {tuple(leaves) for leaves in rails.values()}
        if all(len(leaves) == 1 for leaves in leaves_of_rails) or len(leaves_of_rails) == 1:
            result.append(list(by_leaf.values()))
        else:
            result += [list(leaves.values()) for leaves in rails.values()]
    return result


def _place(network: Network, server: Server, nic: Nic, model: ServerModel | None) -> Place:
    group = model.nics.get(network.fabric(nic.fabric).nics) if model is not None else None
    if model is None or group is None:
        return Place(server, nic, None, "", "", None, network.plane_of(nic))
    own = group.per_gpu and model.gpus > 0
    gpu = group.gpu_of(nic.rail, model.gpus) if own else None
    known = catalog().nics[group.nic]
    return Place(
        server,
        nic,
        gpu,
        (model.gpu_vendor or "") if own else "",
        group.nic,
        known.messages_per_us,
        network.plane_of(nic),
    )
