"""GPUs on the PCI bus: lanes, the window to their memory, and how NICs reach it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from . import reading
from .gpu_tools import no_gpus
from .outcome import failed, failed_or_ok, of_server, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server

_WINDOW = 32 << 30
"""Bytes: all data center GPUs of 40 GiB and more have a larger one."""


@of_server(
    "gpu-pcie-width",
    what="Each GPU's PCIe link has all its lanes.",
    why="Half the lanes are half the rate to NICs and CPU.",
    how="nvidia-smi --query-gpu=pcie.link.width…; /sys/bus/pci/devices/*/current_link_width",
    source="OCI node health checks (width 16)",
    unless=no_gpus,
)
def pcie_width(server: Server) -> Iterator[Outcome]:
    """Compare with the most that it can: sysfs shows it for both vendors."""
    addresses = reading.gpu_addresses(server.machine, server.gpu_vendor)
    if not addresses:
        raise CannotTellError("no GPU is on the PCI bus")
    wrong: list[str] = []
    for index, address in enumerate(addresses):
        now, most = (
            server.machine.number(f"/sys/bus/pci/devices/{address}/{one}_link_width") for one in ("current", "max")
        )
        if now and most and now < most:
            wrong.append(f"GPU {index} ({address}): x{now}")
    yield failed_or_ok(
        wrong,
        f"{len(addresses)} at full width",
        "x16",
        "OCI node health checks",
        "power cycle; then reseat the GPU's board",
    )


@of_server(
    "gpu-memory-window",
    what="Each GPU shows its memory to the PCI bus in one window of 32 GiB or more.",
    why="NICs reach GPU memory by it; a small one (Above 4G Decoding or Resizable BAR off) ends GPUDirect RDMA.",
    how="/sys/bus/pci/devices/*/resource",
    source="AMD, MI300X system optimization (Above 4G decoding); lspci(8), regions",
    unless=no_gpus,
)
def memory_window(server: Server) -> Iterator[Outcome]:
    """Look for the largest region of each."""
    addresses = reading.gpu_addresses(server.machine, server.gpu_vendor)
    small: list[str] = []
    known = 0
    for index, address in enumerate(addresses):
        text = server.machine.text(f"/sys/bus/pci/devices/{address}/resource") or ""
        ends = re.findall(r"^0x([0-9a-f]+) 0x([0-9a-f]+) 0x[0-9a-f]+$", text, re.MULTILINE)
        largest = max((int(last, 16) - int(first, 16) + 1 for first, last in ends if int(last, 16)), default=0)
        known += bool(largest)
        if 0 < largest < _WINDOW:
            small.append(f"GPU {index} ({address}): {largest >> 20} MiB")
    if small:
        remedy = "turn Above 4G Decoding and Resizable BAR on in the BIOS (bios.md); kernel command line pci=realloc"
        yield failed("; ".join(small), "32 GiB or more", "AMD, MI300X system optimization", remedy)
    elif not known:
        raise CannotTellError("the kernel shows no memory regions of GPUs")
    else:
        yield ok(f"{known} of 32 GiB or more")


_PEER = {
    "NVIDIA": ("/sys/module/nvidia_peermem/version", "/sys/kernel/mm/memory_peers/nv_mem/version", "/sys/kernel/mm/memory_peers/nv_mem_nc/version"),
    "AMD": ("/sys/kernel/mm/memory_peers/amdkfd/version", "/sys/kernel/memory_peers/amdkfd/version", "/sys/memory_peers/amdkfd/version"),
}  # fmt: skip
"""Where the library looks for peer memory (NCCL and RCCL, the gdr check of their verbs transports)."""


@of_server(
    "gpu-direct",
    what="NICs can reach GPU memory: by a peer memory module, or by dma-buf.",
    why="Otherwise data goes through host memory at about half the rate, and nothing fails.",
    how="/sys/module/nvidia_peermem; /sys/kernel/mm/memory_peers; modinfo -F license nvidia; /boot/config-*",
    source="Thor2 guide, section 2.2; NCCL and RCCL, check for GPU Direct RDMA",
    unless=no_gpus,
)
def direct(server: Server) -> Iterator[Outcome]:
    """Look at every place that the libraries look at."""
    machine = server.machine
    modules = {"NVIDIA": "nvidia_peermem", "AMD": "ib_peer_mem"}
    found = [one for one in _PEER[server.gpu_vendor] if machine.text(one) is not None]
    module = modules[server.gpu_vendor]
    if machine.names(f"/sys/module/{module}"):
        found.append(f"/sys/module/{module}")
    off = str(server.environment.get("NCCL_DMABUF_ENABLE", "")) == "0"
    if found:
        yield ok(f"peer memory: {found[0]}")
    elif not off and _dma_buf(server):
        yield ok(f"dma-buf: {_dma_buf(server)}")
    else:
        remedy = (
            "sudo modprobe nvidia_peermem (after the RDMA modules), or install the open kernel modules"
            if server.gpu_vendor == "NVIDIA"
            else "install the NIC vendor's peer memory package, or a kernel with CONFIG_PCI_P2PDMA and CONFIG_DMABUF_MOVE_NOTIFY"
        )
        yield failed("neither peer memory nor dma-buf", "one of them", "NCCL and RCCL, GPU Direct RDMA", remedy)


def _dma_buf(server: Server) -> str:
    machine = server.machine
    if server.gpu_vendor == "NVIDIA":
        said = machine.run("modinfo", "-F", "license", "nvidia")
        return "open kernel modules" if "GPL" in said.out else ""
    release = machine.text("/proc/sys/kernel/osrelease") or ""
    config = machine.text(f"/boot/config-{release}") or ""
    wanted = ("CONFIG_PCI_P2PDMA=y", "CONFIG_DMABUF_MOVE_NOTIFY=y")
    return "the kernel has both options" if all(one in config for one in wanted) else ""
