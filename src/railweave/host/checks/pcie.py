"""Checks of PCI Express: NIC links, payload and ordering, access control, IOMMU, and the placement of NICs and GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from . import outcome
from .outcome import failed, failed_or_ok, not_applicable, of_nic, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic


_ENCODING = {2.5: 0.8, 5.0: 0.8}
"""The fraction of the raw rate that carries data, by transfer rate in GT/s. Faster links use 128b/130b (PCIe base specification)."""


_ACS_ON = re.compile(r"\b(SrcValid|ReqRedir|CmpltRedir|UpstreamFwd)\+")


def _folder(nic: WantedNic) -> str:
    return f"/sys/class/net/{nic.netdev}/device"


def _rate(text: str | None) -> float | None:
    match = re.match(r"([\d.]+) GT/s", text or "")
    return float(match[1]) if match else None


@of_nic(
    "pcie-speed",
    rule="The NIC's PCIe link runs at the highest generation that NIC and slot support, and is fast enough for the "
    "NIC's port.",
    why="A 400G NIC needs Gen5 x16 (504 Gbit/s); Gen4 x16 has only 252 Gbit/s.",
    how="/sys/class/net/NIC/device/current_link_speed, max_link_speed",
    source="Thor2 guide, section 2.6, check 13",
)
def speed(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC's PCIe link has its maximum speed, and that the link is at least as fast as the NIC's network port."""
    now, most = (_rate(server.machine.text(f"{_folder(nic)}/{prefix}_link_speed")) for prefix in ("current", "max"))
    width = server.machine.number(f"{_folder(nic)}/max_link_width")
    if now is None or most is None:
        raise CannotTellError("the kernel shows no PCIe link speed of it")
    gbps = now * _ENCODING.get(now, 128 / 130) * (width or 0)
    remedy = "reseat the card; look for the slot's generation in the BIOS (Auto or Gen5)"
    if now < most:
        yield failed(f"{now:g} GT/s", f"{most:g} GT/s", "what the NIC can", remedy)
    elif width and gbps < nic.speed_gbps:
        yield failed(
            f"{now:g} GT/s x{width}, {gbps:.0f} Gbit/s",
            f"{nic.speed_gbps} Gbit/s",
            server.origin(f"{nic.key}.speed_gbps", "the speed of its port"),
            remedy,
        )
    else:
        yield ok(f"{now:g} GT/s")


@of_nic(
    "pcie-width",
    rule="The NIC's PCIe link uses all its lanes.",
    why="With half the lanes, the NIC has half its rate, without an error message.",
    how="/sys/class/net/NIC/device/current_link_width, max_link_width",
    source="Thor2 guide, section 2.6, check 13",
)
def width(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC's PCIe link has its maximum width."""
    now, most = (server.machine.number(f"{_folder(nic)}/{prefix}_link_width") for prefix in ("current", "max"))
    if not now or not most:
        raise CannotTellError("the kernel shows no PCIe link width of it")
    if now < most:
        yield failed(f"x{now}", f"x{most}", "what the NIC can", "reseat the card or its riser; try another slot")
    else:
        yield ok(f"x{now}")


@of_nic(
    "pcie-read-request",
    rule="The NIC may request 4,096 bytes in one PCIe read (NVIDIA NICs).",
    why="Small read requests slow down the sender of RDMA writes.",
    how="lspci -D -vvv, DevCtl",
    source="NVIDIA Network Operator, NIC configuration details (maxReadRequest)",
    root=True,
    unless=lambda _, nic: "" if nic.mlx5 else "no source gives a value for this family",
)
def read_request(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC's maximum read request size (MaxReadReq) is at least 4,096 bytes."""
    bytes_ = _control_number(server, nic, "MaxReadReq")
    if bytes_ < 4096:
        remedy = "raise it at boot: setpci -s PCI CAP_EXP+8.w=5000:7000"
        yield warning(f"{bytes_} bytes", "4096 bytes", "NVIDIA Network Operator", remedy)
    else:
        yield ok(f"{bytes_} bytes")


@of_nic(
    "pcie-payload",
    rule="PCIe packets to and from the NIC carry at least 256 bytes of payload.",
    why="With 128 bytes, packet headers take a fifth of a PCIe link, all of which a 400G NIC needs.",
    how="lspci -D -vvv, DevCtl",
    source="PCI Express base specification, Max_Payload_Size; lspci(8)",
    root=True,
)
def payload(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC's maximum payload size (MaxPayload) is at least 256 bytes."""
    bytes_ = _control_number(server, nic, "MaxPayload")
    if bytes_ < 256:
        remedy = "set Max Payload Size to Auto or 256 in the BIOS; kernel command line pci=pcie_bus_perf"
        yield warning(f"{bytes_} bytes", "256 bytes or more", "PCI Express base specification", remedy)
    else:
        yield ok(f"{bytes_} bytes")


@of_nic(
    "pcie-relaxed-ordering",
    rule="The NIC may reorder PCIe writes (relaxed ordering).",
    why="In strict order, transfers to peer memory are slower than the link, especially on AMD CPUs.",
    how="lspci -D -vvv, DevCtl",
    source="Thor2 guide, section 2.2.4.3",
    root=True,
)
def relaxed_ordering(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that relaxed ordering (RlxdOrd) is on for the NIC."""
    control = _control(server, nic)
    if "RlxdOrd+" in control:
        yield ok("on")
    elif "RlxdOrd-" in control:
        remedy = "sudo ./nic-nvm.sh apply (pcie_relaxed_ordering), the BIOS item of that name, then reboot"
        yield warning("off", "on", "Thor2 guide, section 2.2.4.3", remedy)
    else:
        raise CannotTellError("lspci shows no RlxdOrd of it")


def _control(server: Server, nic: WantedNic) -> str:
    block = outcome.lspci(server.machine).get(outcome.pci_of(server.machine, nic.netdev), "")
    control = outcome.capability(block, "DevCtl")
    if not control:
        raise CannotTellError("lspci shows no DevCtl of it" + ("" if server.machine.root_user else ": root is needed"))
    return control


def _control_number(server: Server, nic: WantedNic, name: str) -> int:
    match = re.search(rf"\b{name} (\d+) bytes", _control(server, nic))
    if not match:
        raise CannotTellError(f"lspci shows no {name} of it")
    return int(match[1])


@of_server(
    "pcie-acs",
    rule="Access control services (ACS) are off on every bridge between a planned NIC or GPU and the CPU.",
    why="ACS sends traffic between GPU and NIC up to the CPU and back: it is slow, or fails.",
    how="lspci -D -vvv, ACSCtl",
    source="Thor2 guide, section 2.6, check 4, and appendix C",
    root=True,
)
def acs(server: Server) -> Iterator[Outcome]:
    """Check that ACS is off on each bridge above a NIC or a GPU."""
    machine = server.machine
    chains = [outcome.pci_chain(machine, f"/sys/class/net/{nic.netdev}/device") for nic in server.nics]
    chains += [
        outcome.pci_chain(machine, f"/sys/bus/pci/devices/{gpu_address}")
        for gpu_address in outcome.gpu_addresses(machine, server.gpu_vendor)
    ]
    bridges = sorted({bridge for chain in chains for bridge in chain[:-1]})
    if not bridges:
        yield not_applicable("no planned NIC or GPU stands behind a bridge here")
        return
    blocks = outcome.lspci(machine)
    if any("<access denied>" in blocks.get(bridge, "") for bridge in bridges):
        raise CannotTellError("lspci shows capabilities to root only")
    on = [bridge for bridge in bridges if _ACS_ON.search(outcome.capability(blocks.get(bridge, ""), "ACSCtl"))]
    if on:
        remedy = "sudo ./acs-off.sh, and install acs-off.service: the setting is lost at every boot"
        yield failed(f"on at {', '.join(on)}", "off on all", "Thor2 guide, appendix C", remedy)
    else:
        yield ok(f"off on {len(bridges)} bridges")


@of_server(
    "iommu-mode",
    rule="The IOMMU is off, or in passthrough mode.",
    why="Translating every address costs bandwidth, and breaks transfers between GPU and NIC.",
    how="/sys/kernel/iommu_groups/N/type",
    source="Thor2 guide, section 2.6, check 5",
)
def iommu(server: Server) -> Iterator[Outcome]:
    """Check that the IOMMU is off or that all its groups have the type ``identity``."""
    groups = server.machine.names("/sys/kernel/iommu_groups")
    types = [server.machine.text(f"/sys/kernel/iommu_groups/{group}/type") for group in groups]
    other = sorted({kind for kind in types if kind and kind != "identity"})
    if not groups:
        yield ok("off")
    elif other:
        remedy = "add iommu=pt to the kernel command line (grub-railweave.cfg), update-grub, reboot"
        count = sum(kind in other for kind in types)
        yield failed(
            f"{', '.join(other)} in {count} of {len(groups)} groups", "identity", "Thor2 guide, section 2.3.2", remedy
        )
    elif None in types:
        raise CannotTellError("the kernel does not show the groups' types")
    else:
        yield ok(f"pass-through, {len(groups)} group{'' if len(groups) == 1 else 's'}")


@of_nic(
    "pcie-errors",
    rule="The NIC's PCIe link has had no uncorrected error since boot.",
    why="A faulty PCIe lane repeats packets and stalls; the NIC may leave the bus under load.",
    how="/sys/class/net/NIC/device/aer_dev_fatal, aer_dev_nonfatal, aer_dev_correctable",
    source="Linux, Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats",
)
def errors(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the kernel has counted no uncorrectable PCIe errors of the NIC, and at most 1,000 correctable errors."""
    totals: dict[str, int] = {}
    for kind in ("fatal", "nonfatal", "correctable"):
        text = server.machine.text(f"{_folder(nic)}/aer_dev_{kind}")
        match = re.search(r"TOTAL_ERR_\w+ (\d+)", text or "")
        if match:
            totals[kind] = int(match[1])
    if not totals:
        raise CannotTellError("the kernel counts no PCIe errors of it")
    bad = {kind: count for kind, count in totals.items() if count and kind != "correctable"}
    seen = ", ".join(f"{count} {kind}" for kind, count in totals.items())
    if bad:
        yield failed(seen, "none", "Linux, AER statistics", "reseat the card; if they come back, exchange it")
    elif totals.get("correctable", 0) > 1000:
        yield warning(seen, "few", "Linux, AER statistics", "reseat the card; watch whether the count grows")
    else:
        yield ok(seen)


def _gpus(server: Server) -> list[str]:
    return outcome.gpu_addresses(server.machine, server.gpu_vendor)


def _no_pairs(server: Server) -> str:
    beside = server.gpus and any(nic.plan.gpu is not None for nic in server.nics)
    return (
        ""
        if beside
        else "no NIC here shares a PCIe switch with a GPU"
        if server.generic
        else "the plan puts no NIC beside a GPU"
    )


@of_server(
    "gpu-nic-pairs",
    rule="Each NIC is behind the same PCIe switch as the GPU that the plan assigns to it.",
    why="Otherwise data crosses the CPU, and NCCL may choose a different rail than the design.",
    how="/sys/bus/pci/devices/*/{vendor,class} and where their links lead",
    source="Thor2 guide, section 1.3; host.json nics[].gpu",
    unless=_no_pairs,
)
def pairs(server: Server) -> Iterator[Outcome]:
    """Check that each NIC is behind the same PCIe bridge as its GPU. If the NICs are in a wrong order, the remedy shows the correct order."""
    machine, gpus = server.machine, _gpus(server)
    if server.generic:
        yield _as_many_beside(server)
        return
    wanted = [nic for nic in server.nics if nic.plan.gpu is not None]
    if len(gpus) < server.gpus:
        raise CannotTellError(f"{len(gpus)} of {server.gpus} GPUs are on the PCI bus")
    chain_of = {gpu: outcome.pci_chain(machine, f"/sys/bus/pci/devices/{gpu}") for gpu in gpus}
    right: dict[str, list[int]] = {}
    wrong: list[WantedNic] = []
    for nic in wanted:
        chain = outcome.pci_chain(machine, f"/sys/class/net/{nic.netdev}/device")
        if not chain:
            continue  # nic-present says so
        shared = [outcome.shared_bridges(chain, chain_of[gpu]) for gpu in gpus]
        best = max(shared)
        right[nic.netdev] = [i for i, count in enumerate(shared) if count == best and best > 1]
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


def _as_many_beside(server: Server) -> Outcome:
    """Check that each GPU shares a PCIe switch with the same number of NICs. Used for a server without a design.

    If a GPU has fewer NICs than most GPUs, a NIC is missing or is in a slot of a different switch.
    """
    machine = server.machine
    chains = [outcome.pci_chain(machine, f"/sys/class/net/{nic.netdev}/device") for nic in server.nics]
    beside: dict[str, int] = {}
    for gpu in _gpus(server):
        gpu_chain = outcome.pci_chain(machine, f"/sys/bus/pci/devices/{gpu}")
        shared = [outcome.shared_bridges(chain, gpu_chain) for chain in chains]
        beside[gpu] = sum(count > 1 for count in shared)
    counts = list(beside.values())
    most = max(sorted(set(counts), reverse=True), key=counts.count)
    fewer = [f"GPU {index} ({gpu}): {count}" for index, (gpu, count) in enumerate(beside.items()) if count < most]
    remedy = "is a NIC off the bus, or in another slot? lspci -D -nn | grep -i ether; dmesg | grep -i pcieport"
    wanted = f"{most}, as for {counts.count(most)} of {len(counts)} GPUs"
    return failed_or_ok(fewer, f"{most} NICs for each GPU", wanted, "the other GPUs on this server", remedy)


def _mapping(server: Server, right: dict[str, list[int]]) -> str:
    """Return the remedy for NICs in a wrong order: their interfaces and RDMA devices in rail order, as a hardware file lists them.

    ``right`` has, for each interface, the numbers of the GPUs that are behind the same PCIe bridge.
    """
    by_gpu: dict[int, WantedNic] = {}
    free = [nic for nic in server.nics if right.get(nic.netdev)]
    for nic in sorted(
        free, key=lambda candidate: (len(right[candidate.netdev]), candidate.plan.gpu not in right[candidate.netdev])
    ):
        near = right[nic.netdev]
        choices = [gpu for gpu in near if gpu == nic.plan.gpu] or near
        slot = next((gpu for gpu in choices if gpu not in by_gpu), None)
        if slot is not None:
            by_gpu[slot] = nic
    order = [by_gpu[gpu] for gpu in sorted(by_gpu)]
    names, devices = ", ".join(nic.netdev for nic in order), ", ".join(nic.rdma for nic in order)
    return (
        f"in rail order the NICs are names: [{names}], rdma: [{devices}]: "
        "write them so into the server's hardware file, and build again"
    )


@of_nic(
    "nic-numa",
    rule="The firmware reports the NUMA node of the NIC, and it is the node of the NIC's GPU.",
    why="Ranks and interrupts are bound to this node; without it, threads run on the other CPU socket.",
    how="/sys/class/net/NIC/device/numa_node",
    source="Thor2 guide, section 2.7; NCCL, topology detection by sysfs",
)
def numa(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that the NIC and its GPU are on the same NUMA node."""
    node = server.machine.number(f"/sys/class/net/{nic.netdev}/device/numa_node")
    gpus = _gpus(server)
    gpu = nic.plan.gpu
    if node is None:
        raise CannotTellError("the kernel shows no NUMA node of it")
    if node < 0:
        nodes = [name for name in server.machine.names("/sys/devices/system/node") if re.fullmatch(r"node\d+", name)]
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
            f"node {node}, GPU {gpu} on node {near}",
            "the same",
            server.origin(f"{nic.key}.gpu", "the GPU behind the same PCIe switch"),
            "see gpu-nic-pairs",
        )
    else:
        yield ok(f"node {node}")
