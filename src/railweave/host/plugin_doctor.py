"""``plugin doctor``: what would keep the net plugin from doing well in a job on this server, before the job starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import files, gids

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .host_file import HostFile
    from .machine import Machine

_PEER_MEMORY = (
    "/sys/kernel/mm/memory_peers/nv_mem/version",
    "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
    "/sys/module/nvidia_peermem/version",
    "/sys/kernel/mm/memory_peers/amdkfd/version",
)
_NVIDIA_OPEN = "/sys/module/nvidia/version"
_TUNER_FILE = "/etc/railweave/tuner.json"
_RETRY_UNIT_MS = 4.096e-3
_WITHOUT_BFD_MS, _AFTER_BFD_MS = 1500, 500


@dataclass(frozen=True)
class Verdict:
    """One thing looked at. ``level``: ``good``, ``warning`` or ``error``."""

    level: str
    what: str
    text: str


def examine(plan: HostFile, raw: Mapping[str, Any], machine: Machine, variables: Mapping[str, str]) -> list[Verdict]:
    """All findings. ``raw`` is ``host.json`` as read, ``variables`` the environment that the job will have."""
    found = [*speeds(raw, machine), *_mtus(plan, machine), *_addresses(plan, machine), _gpu_memory(machine)]
    return [*found, *timeout(raw, variables), *variables_of_nccl(variables), *tuner(variables)]


def speeds(raw: Mapping[str, Any], machine: Machine) -> list[Verdict]:
    """Ports slower than the design says."""
    found: list[Verdict] = []
    for nic in raw.get("nics", []):
        rdma, wanted = nic.get("rdma", ""), nic.get("speed_gbps")
        rate = machine.readable(f"{gids.DEVICES}/{rdma}/ports/{nic.get('rdma_port', 1)}/rate")
        there = float(rate.split()[0]) if rate and rate.split()[0].replace(".", "").isdigit() else None
        if there is None:
            found.append(Verdict("error", "speed", f"{rdma}: no such RDMA device, or its driver tells no rate"))
        elif wanted and there < wanted:
            found.append(Verdict("error", "speed", f"{rdma} runs at {there:g} Gbit/s, the design says {wanted:g}"))
        else:
            found.append(Verdict("good", "speed", f"{rdma}: {there:g} Gbit/s"))
    return found


def _mtus(plan: HostFile, machine: Machine) -> list[Verdict]:
    found: list[Verdict] = []
    for nic in plan.nics:
        mtu = machine.readable(f"/sys/class/net/{nic.netdev}/mtu")
        if mtu and int(mtu) < nic.mtu:
            found.append(
                Verdict("error", "MTU", f"{nic.netdev} has {mtu}, the design says {nic.mtu}: RoCE falls back to less")
            )
        elif mtu:
            found.append(Verdict("good", "MTU", f"{nic.netdev}: {mtu}"))
    return found


def _addresses(plan: HostFile, machine: Machine) -> list[Verdict]:
    missing = gids.missing(plan, gids.read(machine, plan))
    found = [
        Verdict(
            "error",
            "paths",
            f"{nic.rdma}: no RoCE v2 GID in {path.prefix} in this network namespace ({path.table_name})",
        )
        for nic, path in missing
    ]
    return found or [Verdict("good", "paths", "every NIC has an address on every path")]


def _gpu_memory(machine: Machine) -> Verdict:
    if any(machine.real(one) for one in _PEER_MEMORY):
        return Verdict("good", "GPU memory", "a peer memory module is loaded: GPUDirect RDMA")
    if machine.real(_NVIDIA_OPEN):
        text = "no peer memory module: GPUDirect RDMA needs DMA-BUF (open kernel modules, Linux 5.12); NCCL's log says GPU Direct RDMA Enabled"
        return Verdict("warning", "GPU memory", text)
    return Verdict(
        "warning", "GPU memory", "no GPU driver with RDMA found: data goes through host memory, at about half the rate"
    )


def timeout(raw: Mapping[str, Any], variables: Mapping[str, str]) -> list[Verdict]:
    """The NIC's retries against the time that the fabric needs to reroute."""
    given = variables.get("NCCL_IB_TIMEOUT", "")
    if not given.isdigit():
        return []
    retries = variables.get("NCCL_IB_RETRY_CNT", "")
    lasts_ms = _RETRY_UNIT_MS * 2 ** min(int(given), 31) * (int(retries) + 1 if retries.isdigit() else 8)
    bfd = [one.get("bfd_detection_ms") for one in raw.get("fabrics", {}).values()]
    detected = max((one for one in bfd if one is not None), default=None)
    reroute_ms = int(
        variables.get("RAILWEAVE_NET_REROUTE_MS") or (_WITHOUT_BFD_MS if detected is None else detected + _AFTER_BFD_MS)
    )
    if lasts_ms < reroute_ms:
        text = f"NCCL_IB_TIMEOUT={given}: the NIC gives up after {lasts_ms:.0f} ms, before the fabric had its {reroute_ms} ms to reroute"
        return [Verdict("error", "timeout", text)]
    return [
        Verdict(
            "warning",
            "timeout",
            f"NCCL_IB_TIMEOUT={given} is not needed: a path is dead after {reroute_ms} ms all the same",
        )
    ]


def variables_of_nccl(variables: Mapping[str, str]) -> list[Verdict]:
    """Variables that harm, or that are missing."""
    found: list[Verdict] = []
    if variables.get("NCCL_IB_GID_INDEX"):
        found.append(Verdict("error", "variables", "NCCL_IB_GID_INDEX leaves one path per NIC: unset it"))
    if variables.get("NCCL_NET_PLUGIN") not in {"railweave", "libnccl-net-railweave.so", "librccl-net-railweave.so"}:
        found.append(
            Verdict("warning", "variables", "NCCL_NET_PLUGIN does not name railweave: NCCL takes its own transport")
        )
    if variables.get("NCCL_NET_PLUGIN") == "railweave" and variables.get("NCCL_NET") != "railweave":
        found.append(
            Verdict(
                "warning",
                "variables",
                "without NCCL_NET=railweave NCCL goes on in silence where the plugin cannot start",
            )
        )
    return found


def tuner(variables: Mapping[str, str]) -> list[Verdict]:
    """The table that NCCL is to choose by: without it this rank would choose otherwise than the rest."""
    if variables.get("RAILWEAVE_NET_TUNER", "0") == "0":
        return []
    table = Path(variables.get("RAILWEAVE_NET_TUNER_FILE") or _TUNER_FILE)
    try:
        rows = len(files.parsed(files.content(table))["rows"])
    except (OSError, ValueError, KeyError, TypeError):
        text = f"RAILWEAVE_NET_TUNER is set, and {table} cannot be read: install hosts/tuner.json of the build on all servers"
        return [Verdict("error", "tuner", text)]
    return [Verdict("good", "tuner", f"{table}: {rows} rows; it must be the same on all servers")]


def load_raw(file: Path) -> dict[str, Any]:
    """``host.json`` as it is; it has been checked before."""
    return files.parsed(files.content(file))


def lines(found: list[Verdict]) -> str:
    """For people."""
    return "\n".join(f"{one.level:<8} {one.what:<11} {one.text}" for one in found)
