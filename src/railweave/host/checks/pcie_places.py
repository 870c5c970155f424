"""Where NICs and GPUs stand on the PCI bus: which GPU is beside which NIC, and on which NUMA node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from . import reading
from .outcome import failed, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic


def _gpus(server: Server) -> list[str]:
    return reading.gpu_addresses(server.machine, server.gpu_vendor)


def _no_pairs(server: Server) -> str:
    beside = server.gpus and any(nic.plan.gpu is not None for nic in server.nics)
    return "" if beside else "the plan puts no NIC beside a GPU"


@of_server(
    "gpu-nic-pairs",
    what="Each NIC stands behind the same PCIe switch as the GPU that the plan puts beside it.",
    why="Otherwise data crosses the CPU, and NCCL may choose another rail than the design.",
    how="/sys/bus/pci/devices/*/{vendor,class} and where their links lead",
    source="Thor2 guide, section 1.3; host.json nics[].gpu",
    unless=_no_pairs,
)
def pairs(server: Server) -> Iterator[Outcome]:
    """Compare the chains of bridges; a wrong order is shown as the right one."""
    machine, gpus = server.machine, _gpus(server)
    wanted = [nic for nic in server.nics if nic.plan.gpu is not None]
    if len(gpus) < server.gpus:
        raise CannotTellError(f"{len(gpus)} of {server.gpus} GPUs are on the PCI bus")
    chain_of = {one: reading.pci_chain(machine, f"/sys/bus/pci/devices/{one}") for one in gpus}
    right: dict[str, list[int]] = {}
    wrong: list[WantedNic] = []
    for nic in wanted:
        chain = reading.pci_chain(machine, f"/sys/class/net/{nic.netdev}/device")
        if not chain:
            continue  # nic-present says so
        shared = [_shared(chain, chain_of[one]) for one in gpus]
        best = max(shared)
        right[nic.netdev] = [i for i, one in enumerate(shared) if one == best and best > 1]
        if best <= 1:
            yield warning(
                "behind no switch with a GPU",
                f"beside GPU {nic.plan.gpu}",
                f"host.json {nic.key}.gpu",
                "see the server's manual for its slots",
                nic.netdev,
            )
        elif nic.plan.gpu not in right[nic.netdev]:
            wrong.append(nic)
        else:
            yield ok(f"beside GPU {nic.plan.gpu}", nic.netdev)
    for nic in wrong:
        near = ", ".join(map(str, right[nic.netdev]))
        yield failed(
            f"beside GPU {near}", f"GPU {nic.plan.gpu}", f"host.json {nic.key}.gpu", _mapping(server, right), nic.netdev
        )


def _shared(one: list[str], other: list[str]) -> int:
    """How many bridges two devices have in common, from the CPU down."""
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def _mapping(server: Server, right: dict[str, list[int]]) -> str:
    """The rail order that the machine really has, as a hardware file writes it."""
    by_gpu: dict[int, WantedNic] = {}
    free = [nic for nic in server.nics if right.get(nic.netdev)]
    for nic in sorted(free, key=lambda one: (len(right[one.netdev]), one.plan.gpu not in right[one.netdev])):
        near = right[nic.netdev]
        own = [one for one in near if one == nic.plan.gpu] or near
        slot = next((one for one in own if one not in by_gpu), None)
        if slot is not None:
            by_gpu[slot] = nic
    order = [by_gpu[one] for one in sorted(by_gpu)]
    names, devices = ", ".join(one.netdev for one in order), ", ".join(one.rdma for one in order)
    return (
        f"in rail order the NICs are names: [{names}], rdma: [{devices}]: "
        "write them so into the server's hardware file, and build again"
    )


@of_nic(
    "nic-numa",
    what="The firmware says to which NUMA node the NIC belongs, and it is that of its GPU.",
    why="Ranks and interrupts are bound by it; without, threads run on the far socket.",
    how="/sys/class/net/NIC/device/numa_node",
    source="Thor2 guide, section 2.7; NCCL, topology detection by sysfs",
)
def numa(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Compare the two nodes."""
    node = server.machine.number(f"/sys/class/net/{nic.netdev}/device/numa_node")
    gpus = _gpus(server)
    gpu = nic.plan.gpu
    if node is None:
        raise CannotTellError("the kernel shows no NUMA node of it")
    if node < 0:
        nodes = [one for one in server.machine.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", one)]
        if len(nodes) < 2:
            yield ok("one NUMA node")
        else:
            yield warning("none", "a node", "NCCL, topology detection", "update the BIOS: its ACPI tables do not say")
        return
    near = (
        server.machine.number(f"/sys/bus/pci/devices/{gpus[gpu]}/numa_node")
        if gpu is not None and gpu < len(gpus)
        else None
    )
    if near is not None and near >= 0 and near != node:
        yield warning(
            f"node {node}, GPU {gpu} on node {near}", "the same", f"host.json {nic.key}.gpu", "see gpu-nic-pairs"
        )
    else:
        yield ok(f"node {node}")
