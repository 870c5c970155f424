"""Links between GPUs: NVLink or xGMI, the fabric manager, access to each other's memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..machine import CannotTellError
from .gpu_tools import amd, not_nvidia, one_gpu
from .outcome import failed, failed_or_ok, not_applicable, of_server, ok

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .outcome import Outcome
    from .server import Server


_LINKS = {"A100": 12, "A800": 12, "H100": 18, "H200": 18, "B200": 18, "B300": 18, "GB200": 18}
"""NVLinks of a GPU in a server with NVSwitch (OCI node health checks)."""


@of_server(
    "gpu-links",
    what="All links between the GPUs are up: NVLink, or xGMI.",
    why="Collectives inside the server, and PXN to another rail's NIC, go by them.",
    how="nvidia-smi nvlink -s; amd-smi xgmi --json",
    source="OCI and Azure node health checks",
    unless=one_gpu,
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
                "Azure node health checks",
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
    remedy = "is nvidia-fabricmanager running? sudo systemctl restart it; then reset the GPUs, exchange the board"
    yield failed_or_ok(wrong, f"{total} up", "all up", "OCI node health checks", remedy)


@of_server(
    "gpu-fabric",
    what="The fabric manager has joined each GPU to the NVSwitches (NVIDIA).",
    why="Without it NVLinks are up, and still no GPU reaches another: CUDA fails to start (error 802).",
    how="nvidia-smi --query-gpu=index,fabric.state,fabric.status",
    source="NVIDIA, fabric manager user guide; OCI node health checks",
    unless=not_nvidia("AMD's GPUs have no fabric manager"),
)
def fabric(server: Server) -> Iterator[Outcome]:
    """Read state and status; a GPU without an NVSwitch has none."""
    wrong: list[str] = []
    joined = 0
    asked = "--query-gpu=index,fabric.state,fabric.status"
    for line in server.machine.output("nvidia-smi", asked, "--format=csv,noheader").splitlines():
        index, state, status = ([one.strip() for one in line.split(",")] + ["", "", ""])[:3]
        if state == "Completed" and status == "Success":
            joined += 1
        elif state.strip("[]") not in {"", "N/A", "Not Supported"}:
            wrong.append(f"GPU {index}: {state}, {status}")
    if wrong:
        remedy = "sudo systemctl restart nvidia-fabricmanager (of the driver's own version); journalctl -u nvidia-fabricmanager"
        yield failed("; ".join(wrong), "Completed, Success", "NVIDIA, fabric manager user guide", remedy)
    elif not joined:
        yield not_applicable("no GPU here is joined by an NVSwitch")
    else:
        yield ok(f"{joined} joined")


@of_server(
    "gpu-peer-access",
    what="Each GPU may read every other GPU's memory (NVIDIA).",
    why="Where the driver or the chipset refuses, collectives inside the server go through host memory.",
    how="nvidia-smi topo -p2p r",
    source="nvidia-smi(1), topo -p2p",
    unless=lambda server: one_gpu(server) or not_nvidia("xGMI is seen by gpu-links")(server),
)
def peer_access(server: Server) -> Iterator[Outcome]:
    """Read the matrix; its legend follows below."""
    text = server.machine.output("nvidia-smi", "topo", "-p2p", "r")
    rows = re.findall(r"^\s*(GPU\d+)((?:\s+(?:X|OK|CNS|GNS|TNS|NS|U))+)\s*$", text, re.MULTILINE)
    if not rows:
        raise CannotTellError("nvidia-smi shows no matrix of peer access")
    refused = [f"{gpu}: {cell}" for gpu, cells in rows for cell in sorted(set(cells.split()) - {"X", "OK"})]
    if refused:
        remedy = "is ACS or the IOMMU on (pcie-acs, iommu-mode)? TNS, GNS: this driver or GPU has none"
        yield failed(", ".join(refused), "OK", "nvidia-smi(1)", remedy)
    else:
        yield ok(f"{len(rows)} GPUs, each with every other")
