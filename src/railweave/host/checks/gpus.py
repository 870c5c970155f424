"""GPUs, by the vendor's tool where it is there: count, driver, memory errors, links between them, clocks, direct access of NICs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError, objects
from . import reading
from .gpu_tools import LOST, amd, nvidia
from .outcome import failed, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .outcome import Outcome
    from .server import Server

_SLOW = {0x8: "hardware slowdown", 0x20: "software thermal", 0x40: "hardware thermal", 0x80: "power brake"}
"""Reasons why clocks are held back that are faults (Azure node health checks; NVML, clocks event reasons)."""
_AZURE = "Azure node health checks"


def _no_gpus(server: Server) -> str:
    return "" if server.gpus and server.gpu_vendor else "no GPU is planned"


def _not_nvidia(why: str) -> Callable[[Server], str]:
    return lambda server: _no_gpus(server) or ("" if server.gpu_vendor == "NVIDIA" else why)


def _one_gpu(server: Server) -> str:
    return _no_gpus(server) or ("there is one GPU" if server.gpus < 2 else "")


@of_server(
    "gpu-driver",
    what="The GPU driver is loaded, in the version that the fabric file asks for.",
    why="Nothing runs without it, and collectives mix badly with another release on one server.",
    how="/proc/driver/nvidia/version; /sys/module/amdgpu/version",
    source="Thor2 guide, section 2.6, check 3; fabric file, hosts.versions.gpu_driver",
    unless=_no_gpus,
)
def driver(server: Server) -> Iterator[Outcome]:
    """Read its version."""
    nvidia = server.gpu_vendor == "NVIDIA"
    text = server.machine.text("/proc/driver/nvidia/version" if nvidia else "/sys/module/amdgpu/version") or ""
    found = re.search(r"Kernel Module\s+(?:for \S+\s+)?(\d[\d.]+)", text) if nvidia else re.match(r"(\S+)", text)
    there = bool(text) or bool(server.machine.names(f"/sys/module/{'nvidia' if nvidia else 'amdgpu'}"))
    wanted = str(server.versions.get("gpu_driver") or "")
    if not there:
        module = "nvidia" if nvidia else "amdgpu"
        yield failed("not loaded", "loaded", "host.json gpu", f"sudo modprobe {module}; dmesg | grep -i {module}")
    elif wanted and (not found or found[1] != wanted):
        seen = found[1] if found else "a driver that tells no version: the kernel's own"
        yield failed(seen, wanted, "host.json versions.gpu_driver", f"install {wanted}, reboot")
    else:
        yield ok(found[1] if found else "loaded")


@of_server(
    "gpu-count",
    what="As many GPUs answer as are planned.",
    why="A GPU that fell off the bus takes its rank and its rail along.",
    how="nvidia-smi --query-gpu=…; amd-smi list --json",
    source="host.json gpu.count",
    unless=_no_gpus,
)
def count(server: Server) -> Iterator[Outcome]:
    """Count them."""
    remedy = "dmesg | grep -iE 'xid|amdgpu|fallen off'; a power cycle brings a lost GPU back, or it must be exchanged"
    try:
        seen = len(nvidia(server.machine) if server.gpu_vendor == "NVIDIA" else amd(server.machine, "list"))
    except CannotTellError as error:
        if not LOST.search(str(error)):
            raise
        yield failed(error, server.gpus, "host.json gpu.count", remedy)
        return
    if seen == server.gpus:
        yield ok(seen)
    else:
        level = failed if seen < server.gpus else warning
        yield level(seen, server.gpus, "host.json gpu.count", remedy)


@of_server(
    "gpu-persistence",
    what="The driver stays loaded between jobs (NVIDIA).",
    why="Otherwise each job waits seconds for every GPU, and settings are lost.",
    how="nvidia-smi --query-gpu=persistence_mode",
    source="NVIDIA, driver persistence",
    unless=_not_nvidia("AMD's driver has no such mode"),
)
def persistence(server: Server) -> Iterator[Outcome]:
    """Read the mode of each."""
    off = [row["index"] for row in nvidia(server.machine) if row["persistence_mode"] == "Disabled"]
    if off:
        remedy = "sudo systemctl enable --now nvidia-persistenced, or sudo nvidia-smi -pm 1"
        yield warning(f"off on GPU {', '.join(off)}", "on", "NVIDIA, driver persistence", remedy)
    else:
        yield ok("on")


@of_server(
    "gpu-memory-errors",
    what="No GPU has uncorrected memory errors, or rows or pages to be taken out at the next reset.",
    why="The job ends on the next read, hours in.",
    how="nvidia-smi --query-gpu=ecc…, --query-remapped-rows=…; amd-smi bad-pages --json",
    source="Azure and OCI node health checks",
    unless=_no_gpus,
)
def memory_errors(server: Server) -> Iterator[Outcome]:
    """Look at each GPU."""
    wrong: list[str] = []
    if server.gpu_vendor == "NVIDIA":
        for row in nvidia(server.machine):
            errors = row["ecc.errors.uncorrected.volatile.total"]
            if errors.isdigit() and int(errors):
                wrong.append(f"GPU {row['index']}: {errors} uncorrected")
        said = server.machine.run(
            "nvidia-smi", "--query-remapped-rows=remapped_rows.pending,remapped_rows.failure", "--format=csv,noheader"
        )
        for index, line in enumerate(said.out.splitlines() if not said.code else []):
            for what, cell in zip(("rows to be remapped", "remapping failed"), line.split(",")):
                if cell.strip().lower() in {"yes", "1"}:
                    wrong.append(f"GPU {index}: {what}")
    else:
        for index, row in enumerate(amd(server.machine, "bad-pages")):
            for kind in ("retired", "pending", "un_res"):
                pages = row.get(kind)
                if objects(pages):
                    wrong.append(f"GPU {row.get('gpu', index)}: {len(objects(pages))} pages {kind}")
    if wrong:
        remedy = "drain the server, reset the GPU (nvidia-smi -r, amd-smi reset -G); exchange it if errors come back"
        yield failed("; ".join(wrong), "none", "Azure and OCI node health checks", remedy)
    else:
        yield ok("none")


_LINKS = {"A100": 12, "A800": 12, "H100": 18, "H200": 18, "B200": 18, "B300": 18, "GB200": 18}
"""NVLinks of a GPU in a server with NVSwitch (OCI node health checks)."""


@of_server(
    "gpu-links",
    what="All links between the GPUs are up: NVLink, or xGMI.",
    why="Collectives inside the server, and PXN to another rail's NIC, go by them.",
    how="nvidia-smi nvlink -s; amd-smi xgmi --json",
    source="OCI and Azure node health checks",
    unless=_one_gpu,
)
def links(server: Server) -> Iterator[Outcome]:
    """Count links that are not up."""
    if server.gpu_vendor != "NVIDIA":
        rows = amd(server.machine, "xgmi")
        states = re.findall(r"'(?:link_)?status': '(\w+)'", str(rows)) + re.findall(r"'([UDX])'", str(rows))
        down = sum(one in {"D", "DOWN", "DISABLED"} for one in states)
        if not states:
            raise CannotTellError("amd-smi xgmi shows no state of links")
        if down:
            yield failed(
                f"{down} of {len(states)} down",
                "all up",
                _AZURE,
                "amd-smi xgmi; a power cycle, then exchange the board",
            )
        else:
            yield ok(f"{len(states)} up")
        return
    text = server.machine.output("nvidia-smi", "nvlink", "-s")
    wrong: list[str] = []
    total = 0
    for block in re.split(r"^(?=GPU \d+:)", text, flags=re.MULTILINE)[1:]:
        index = block.split(":", 1)[0]
        name = re.match(r"GPU \d+: NVIDIA (\S+)", block)
        up = len(re.findall(r"Link \d+: [\d.]+ GB/s", block))
        down = len(re.findall(r"Link \d+: <inactive>", block))
        wanted = _LINKS.get(name[1].split("-")[0] if name else "", up + down)
        total += up
        if down or up < wanted:
            wrong.append(f"{index}: {up} of {wanted}")
    if not total and not wrong:
        raise CannotTellError("nvidia-smi shows no NVLink")
    if wrong:
        remedy = "is nvidia-fabricmanager running? sudo systemctl restart it; then reset the GPUs, exchange the board"
        yield failed("; ".join(wrong), "all up", "OCI node health checks", remedy)
    else:
        yield ok(f"{total} up")


@of_server(
    "gpu-clocks",
    what="No GPU is held back by heat or power.",
    why="One slow GPU slows every rank of a job.",
    how="nvidia-smi --query-gpu=clocks_event_reasons.active",
    source="Azure node health checks; NVML, clocks event reasons",
    unless=_not_nvidia("no public document shows the form of amd-smi's answer"),
)
def clocks(server: Server) -> Iterator[Outcome]:
    """Look at the reasons."""
    wrong: list[str] = []
    for row in nvidia(server.machine):
        text = row["clocks_event_reasons.active"]
        bits = int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]+", text) else 0
        reasons = [name for bit, name in _SLOW.items() if bits & bit]
        if reasons:
            wrong.append(f"GPU {row['index']}: {', '.join(reasons)}")
    if wrong:
        remedy = "look at fans, inlet temperature and power supplies (ipmitool sdr); then at the GPU's cooler"
        yield failed("; ".join(wrong), "none", _AZURE, remedy)
    else:
        yield ok("none held back")


@of_server(
    "gpu-pcie-width",
    what="Each GPU's PCIe link has all its lanes.",
    why="Half the lanes are half the rate to NICs and CPU.",
    how="nvidia-smi --query-gpu=pcie.link.width…; /sys/bus/pci/devices/*/current_link_width",
    source="OCI node health checks (width 16)",
    unless=_no_gpus,
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
    if wrong:
        yield failed("; ".join(wrong), "x16", "OCI node health checks", "power cycle; then reseat the GPU's board")
    else:
        yield ok(f"{len(addresses)} at full width")


@of_server(
    "gpu-partition",
    what="GPUs are whole: no MIG, no partition.",
    why="NCCL takes each part for a GPU, and parts share one NIC.",
    how="nvidia-smi --query-gpu=mig.mode.current",
    source="NVIDIA, Multi-Instance GPU user guide",
    unless=_not_nvidia("no public document shows the form of amd-smi's answer"),
)
def partition(server: Server) -> Iterator[Outcome]:
    """Read the mode."""
    on = [row["index"] for row in nvidia(server.machine) if row["mig.mode.current"] == "Enabled"]
    if on:
        yield failed(f"MIG is on for GPU {', '.join(on)}", "off", "host.json gpu.count", "sudo nvidia-smi -mig 0")
    else:
        yield ok("whole")


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
    unless=_no_gpus,
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
