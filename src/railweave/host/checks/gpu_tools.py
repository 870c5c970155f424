"""What the vendors' tools say of GPUs: a row for each, by nvidia-smi or amd-smi; and which servers have none of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..machine import CannotTellError, objects

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..machine import Machine
    from .server import Server

_FIELDS = (
    "index", "pci.bus_id", "driver_version", "persistence_mode", "ecc.errors.uncorrected.volatile.total",
    "clocks_event_reasons.active", "pcie.link.width.current", "pcie.link.width.max", "mig.mode.current",
)  # fmt: skip
LOST = re.compile(r"Unable to determine the device handle for GPU|GPU is lost")
"""What nvidia-smi says, and nothing else, while one GPU is off the bus."""


def nvidia(machine: Machine) -> list[dict[str, str]]:
    """What nvidia-smi says of each GPU, by field. Raises CannotTellError."""
    return machine.once(("nvidia-smi",), lambda: _nvidia(machine))


def _nvidia(machine: Machine) -> list[dict[str, str]]:
    asked = ",".join(_FIELDS)
    said = machine.run("nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader")
    if said.code and "clocks_event_reasons" in said.out + said.err:  # before release 535.54
        asked = asked.replace("clocks_event_reasons", "clocks_throttle_reasons")
        said = machine.run("nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader")
    if said.code:
        lines = (said.err + said.out).strip().splitlines() or [f"exit code {said.code}"]
        lost = [one for one in lines if LOST.search(one)]
        raise CannotTellError(f"nvidia-smi: {(lost or lines)[-1]}")
    rows = [[cell.strip() for cell in line.split(",")] for line in said.out.splitlines() if line.strip()]
    return [dict(zip(_FIELDS, row)) for row in rows if len(row) == len(_FIELDS)]


def amd(machine: Machine, *words: str) -> list[dict[str, Any]]:
    """What amd-smi says of each GPU. Raises CannotTellError."""
    rows = machine.rows("amd-smi", *words, "--json")
    if len(rows) == 1:  # newer releases wrap the list: {"gpu_data": [...]}
        rows = next((found for found in map(objects, rows[0].values()) if found), rows)
    return rows


def no_gpus(server: Server) -> str:
    """Why a check of GPUs is not applicable: none is planned."""
    return "" if server.gpus and server.gpu_vendor else "no GPU is planned"


def not_nvidia(why: str) -> Callable[[Server], str]:
    """Why a check of NVIDIA's GPUs is not applicable: none is planned, or those of another vendor."""
    return lambda server: no_gpus(server) or ("" if server.gpu_vendor == "NVIDIA" else why)


def one_gpu(server: Server) -> str:
    """Why a check of what is between GPUs is not applicable."""
    return no_gpus(server) or ("there is one GPU" if server.gpus < 2 else "")
