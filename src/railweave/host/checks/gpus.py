"""GPUs, by the vendor's tool where it is there: count, driver, memory errors, clocks, power."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError, objects
from .gpu_tools import LOST, amd, no_gpus, not_nvidia, nvidia
from .outcome import failed, failed_or_ok, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server

_SLOW = {0x8: "hardware slowdown", 0x20: "software thermal", 0x40: "hardware thermal", 0x80: "power brake"}
"""Reasons why clocks are held back that are faults (Azure node health checks; NVML, clocks event reasons)."""
_AZURE = "Azure node health checks"


@of_server(
    "gpu-driver",
    what="The GPU driver is loaded, in the version that the fabric file asks for.",
    why="Nothing runs without it, and collectives mix badly with another release on one server.",
    how="/proc/driver/nvidia/version; /sys/module/amdgpu/version",
    source="Thor2 guide, section 2.6, check 3; fabric file, hosts.versions.gpu_driver",
    unless=no_gpus,
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
    unless=no_gpus,
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
    unless=not_nvidia("AMD's driver has no such mode"),
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
    unless=no_gpus,
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
    remedy = "drain the server, reset the GPU (nvidia-smi -r, amd-smi reset -G); exchange it if errors come back"
    yield failed_or_ok(wrong, "none", "none", "Azure and OCI node health checks", remedy)


@of_server(
    "gpu-clocks",
    what="No GPU is held back by heat or power (NVIDIA), and none has its clock locked, or capped below the others' (AMD).",
    why="One slow GPU slows every rank of a job.",
    how="nvidia-smi --query-gpu=clocks_event_reasons.active; amd-smi metric --clock --json",
    source="Azure node health checks; NVML, clocks event reasons; AMD SMI, amd-smi metric",
    unless=no_gpus,
)
def clocks(server: Server) -> Iterator[Outcome]:
    """Look at the reasons, or at the clocks of the compute engines."""
    if server.gpu_vendor == "AMD":
        yield from _amd_clocks(server)
        return
    wrong: list[str] = []
    for row in nvidia(server.machine):
        text = row["clocks_event_reasons.active"]
        bits = int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]+", text) else 0
        reasons = [name for bit, name in _SLOW.items() if bits & bit]
        if reasons:
            wrong.append(f"GPU {row['index']}: {', '.join(reasons)}")
    remedy = "look at fans, inlet temperature and power supplies (ipmitool sdr); then at the GPU's cooler"
    yield failed_or_ok(wrong, "none held back", "none", _AZURE, remedy)


def _amd_clocks(server: Server) -> Iterator[Outcome]:
    locked: list[str] = []
    most: dict[str, int] = {}
    for row in amd(server.machine, "metric", "--clock"):
        tables = objects(row.get("clock"))
        engines = [one for clock in tables for name in clock if name.startswith("gfx_") for one in objects(clock[name])]
        if any(str(one.get("clk_locked")).upper() in {"ENABLED", "1", "TRUE"} for one in engines):
            locked.append(str(row.get("gpu")))
        tops = [most.get("value") for one in engines for most in objects(one.get("max_clk"))]
        if numbers := [one for one in tops if isinstance(one, int)]:
            most[str(row.get("gpu"))] = max(numbers)
    capped = [f"GPU {gpu}: at most {mhz} MHz" for gpu, mhz in most.items() if mhz < max(most.values())]
    remedy = "sudo amd-smi reset --clocks --gpu GPU; who set it?"
    if locked:
        yield warning(f"locked on GPU {', '.join(locked)}", "not locked", "AMD SMI, amd-smi metric", remedy)
    elif capped:
        yield warning("; ".join(capped), f"{max(most.values())} MHz", "the other GPUs", remedy)
    elif most:
        yield ok(f"up to {max(most.values())} MHz, none locked")
    else:
        raise CannotTellError("amd-smi shows no clocks of the compute engines")


@of_server(
    "gpu-power-limit",
    what="No GPU's power is capped below what its maker set (NVIDIA).",
    why="A cap holds clocks down under load, and the slowest GPU sets the pace of a job.",
    how="nvidia-smi --query-gpu=index,power.limit,power.default_limit",
    source="nvidia-smi(1), power limit",
    unless=not_nvidia("no public document shows the form of amd-smi's answer"),
)
def power_limit(server: Server) -> Iterator[Outcome]:
    """Compare the two limits; a GPU that tells none is left out."""
    capped: list[str] = []
    seen = 0
    asked = "--query-gpu=index,power.limit,power.default_limit"
    for line in server.machine.output("nvidia-smi", asked, "--format=csv,noheader,nounits").splitlines():
        cells = [one.strip() for one in line.split(",")]
        if len(cells) == 3 and all(re.fullmatch(r"[\d.]+", one) for one in cells[1:]):
            seen += 1
            if float(cells[1]) < float(cells[2]):
                capped.append(f"GPU {cells[0]}: {cells[1]} of {cells[2]} W")
    if capped:
        remedy = "sudo nvidia-smi -pl WATTS -i GPU; who set it: a power manager, or a script at boot?"
        yield warning("; ".join(capped), "the default", "nvidia-smi(1)", remedy)
    elif not seen:
        raise CannotTellError("nvidia-smi shows no power limits")
    else:
        yield ok("the default")


@of_server(
    "gpu-partition",
    what="GPUs are whole: no MIG (NVIDIA), mode SPX with memory mode NPS1 (AMD).",
    why="NCCL takes each part for a GPU, and parts share one NIC.",
    how="nvidia-smi --query-gpu=mig.mode.current; amd-smi static --partition --json",
    source="NVIDIA, Multi-Instance GPU user guide; AMD, MI300X partition modes",
    unless=no_gpus,
)
def partition(server: Server) -> Iterator[Outcome]:
    """Read the mode."""
    if server.gpu_vendor == "AMD":
        yield from _amd_partition(server)
        return
    on = [row["index"] for row in nvidia(server.machine) if row["mig.mode.current"] == "Enabled"]
    if on:
        yield failed(f"MIG is on for GPU {', '.join(on)}", "off", "host.json gpu.count", "sudo nvidia-smi -mig 0")
    else:
        yield ok("whole")


def _amd_partition(server: Server) -> Iterator[Outcome]:
    modes = {
        str(row.get("gpu")): f"{one.get('compute_partition')}/{one.get('memory_partition')}"
        for row in amd(server.machine, "static", "--partition")
        for one in objects(row.get("partition"))
    }
    wrong = [f"GPU {gpu}: {mode}" for gpu, mode in modes.items() if mode not in {"SPX/NPS1", "N/A/N/A"}]
    if not modes:
        raise CannotTellError("amd-smi shows no partition modes")
    if wrong:
        remedy = "sudo amd-smi set --memory-partition NPS1; sudo amd-smi set --compute-partition SPX"
        yield failed("; ".join(wrong), "SPX/NPS1", "host.json gpu.count", remedy)
    else:
        yield ok("whole")
