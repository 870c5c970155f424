"""Checks of GPUs with the vendor's tool, if installed: count, driver, memory errors, clocks, power, GPU links, PCI Express."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..machine import CannotTellError, objects
from . import outcome
from .outcome import failed, failed_or_ok, not_applicable, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..machine import Machine
    from .outcome import Outcome
    from .server import Server


_FIELDS = (
    "index", "pci.bus_id", "driver_version", "persistence_mode", "ecc.errors.uncorrected.volatile.total",
    "clocks_event_reasons.active", "pcie.link.width.current", "pcie.link.width.max", "mig.mode.current",
)  # fmt: skip
LOST = re.compile(r"Unable to determine the device handle for GPU|GPU is lost")
"""The text that nvidia-smi prints, and nothing else, while a GPU is off the bus."""


def nvidia(machine: Machine) -> list[dict[str, str]]:
    """Return the fields of each GPU that nvidia-smi reports, by field name. Raises CannotTellError if the tool is missing or fails."""
    return machine.once(("nvidia-smi",), lambda: _nvidia(machine))


def _nvidia(machine: Machine) -> list[dict[str, str]]:
    asked = ",".join(_FIELDS)
    answer = machine.run("nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader")
    if answer.code and "clocks_event_reasons" in answer.out + answer.err:  # before release 535.54
        asked = asked.replace("clocks_event_reasons", "clocks_throttle_reasons")
        answer = machine.run("nvidia-smi", f"--query-gpu={asked}", "--format=csv,noheader")
    if answer.code:
        lines = (answer.err + answer.out).strip().splitlines() or [f"exit code {answer.code}"]
        lost = [line for line in lines if LOST.search(line)]
        raise CannotTellError(f"nvidia-smi: {(lost or lines)[-1]}")
    rows = [[cell.strip() for cell in line.split(",")] for line in answer.out.splitlines() if line.strip()]
    return [dict(zip(_FIELDS, row)) for row in rows if len(row) == len(_FIELDS)]


def amd(machine: Machine, *words: str) -> list[dict[str, Any]]:
    """Return the fields of each GPU that amd-smi reports for the arguments ``words``, by field name.

    Raises CannotTellError if the tool is missing, fails or prints no JSON.
    """
    rows = machine.rows("amd-smi", *words, "--json")
    if len(rows) == 1:  # newer releases wrap the list: {"gpu_data": [...]}
        rows = next((inner for inner in map(objects, rows[0].values()) if inner), rows)
    return rows


def rocm(machine: Machine) -> list[dict[str, str]] | None:
    """Return the fields of each GPU that rocm-smi reports, by field name. Return None if amd-smi is installed or rocm-smi is not.

    Raises CannotTellError if rocm-smi fails or prints no JSON.
    """
    if machine.has("amd-smi") or not machine.has("rocm-smi"):
        return None
    asked = ("--showbus", "--showcomputepartition", "--showmemorypartition", "--showperflevel", "--json")
    cards = [card for row in machine.rows("rocm-smi", *asked) for card in row.items()]
    numbered = [(int(name[4:]), objects(row)) for name, row in cards if re.fullmatch(r"card\d+", name)]
    return [
        {key: str(value) for key, value in {"gpu": number, **row}.items()}
        for number, rows in sorted(numbered, key=lambda card: card[0])
        for row in rows
    ]


def no_gpus(server: Server) -> str:
    """Return the reason why checks of GPUs do not apply: the server has no planned GPU. Return an empty string if the checks apply."""
    without = "no GPU is on the PCI bus" if server.generic else "no GPU is planned"
    return "" if server.gpus and server.gpu_vendor else without


def not_nvidia(why: str) -> Callable[[Server], str]:
    """Return a function for the field ``unless`` of a check of NVIDIA GPUs. It returns a reason not to run the check, or "".

    On servers with other GPUs, the reason is ``why``.
    """
    return lambda server: no_gpus(server) or ("" if server.gpu_vendor == "NVIDIA" else why)


def one_gpu(server: Server) -> str:
    """Return the reason why checks of links between GPUs do not apply: fewer than two GPUs. Return an empty string if the checks apply."""
    return no_gpus(server) or ("there is one GPU" if server.gpus < 2 else "")


_SLOW = {0x8: "hardware slowdown", 0x20: "software thermal", 0x40: "hardware thermal", 0x80: "power brake"}
"""The bits of nvidia-smi's clock reasons that are faults, with their names (Azure node health checks; NVML, clocks event reasons)."""


_AZURE = "Azure node health checks"


def version(machine: Machine, vendor: str) -> str | None:
    """Return the version of the loaded GPU driver of ``vendor``; None if the driver reports none, or is not loaded."""
    if vendor == "NVIDIA":
        text = machine.text("/proc/driver/nvidia/version") or ""
        match = re.search(r"Kernel Module\s+(?:for \S+\s+)?(\d[\d.]+)", text)
    else:
        match = re.match(r"(\S+)", machine.text("/sys/module/amdgpu/version") or "")
    return match[1] if match else None


@of_server(
    "gpu-driver",
    rule="The GPU driver is loaded, and has the version that the fabric file requires.",
    why="No GPU works without the driver, and a server with a different driver version can break a collective.",
    how="/proc/driver/nvidia/version; /sys/module/amdgpu/version",
    source="Thor2 guide, section 2.6, check 3; fabric file, hosts.versions.gpu_driver",
    unless=no_gpus,
)
def driver(server: Server) -> Iterator[Outcome]:
    """Check that the GPU driver is loaded and has the planned version."""
    nvidia = server.gpu_vendor == "NVIDIA"
    seen = version(server.machine, server.gpu_vendor)
    there = seen is not None or bool(server.machine.names(f"/sys/module/{'nvidia' if nvidia else 'amdgpu'}"))
    wanted = str(server.versions.get("gpu_driver") or "")
    if not there:
        module = "nvidia" if nvidia else "amdgpu"
        yield failed(
            "not loaded",
            "loaded",
            server.origin("gpu", "the GPUs on the PCI bus"),
            f"sudo modprobe {module}; dmesg | grep -i {module}",
        )
    elif wanted and seen != wanted:
        yield failed(
            seen or "a driver that tells no version: the kernel's own",
            wanted,
            "host.json versions.gpu_driver",
            f"install {wanted}, reboot",
        )
    else:
        yield ok(seen or "loaded")


@of_server(
    "gpu-count",
    rule="The number of GPUs that answer is as planned.",
    why="A GPU that is no longer on the PCIe bus makes its rank fail and its rail idle.",
    how="nvidia-smi --query-gpu=…; amd-smi list --json, or rocm-smi --showbus --json",
    source="host.json gpu.count",
    unless=no_gpus,
)
def count(server: Server) -> Iterator[Outcome]:
    """Check that the vendor's tool shows as many GPUs as planned."""
    remedy = "dmesg | grep -iE 'xid|amdgpu|fallen off'; a power cycle brings a lost GPU back, or it must be exchanged"
    try:
        if server.gpu_vendor == "NVIDIA":
            seen = len(nvidia(server.machine))
        else:
            cards = rocm(server.machine)
            seen = len(amd(server.machine, "list") if cards is None else cards)
    except CannotTellError as error:
        if not LOST.search(str(error)):
            raise
        yield failed(error, server.gpus, server.origin("gpu.count", "the GPUs on the PCI bus"), remedy)
        return
    if seen == server.gpus:
        yield ok(seen)
    else:
        level = failed if seen < server.gpus else warning
        yield level(seen, server.gpus, server.origin("gpu.count", "the GPUs on the PCI bus"), remedy)


@of_server(
    "gpu-persistence",
    rule="The driver stays loaded between jobs (NVIDIA persistence mode).",
    why="Otherwise each job waits several seconds for every GPU, and GPU settings are lost.",
    how="nvidia-smi --query-gpu=persistence_mode",
    source="NVIDIA, driver persistence",
    unless=not_nvidia("AMD's driver has no such mode"),
)
def persistence(server: Server) -> Iterator[Outcome]:
    """Check that persistence mode is on for every GPU."""
    off = [row["index"] for row in nvidia(server.machine) if row["persistence_mode"] == "Disabled"]
    if off:
        remedy = "sudo systemctl enable --now nvidia-persistenced, or sudo nvidia-smi -pm 1"
        yield warning(f"off on GPU {', '.join(off)}", "on", "NVIDIA, driver persistence", remedy)
    else:
        yield ok("on")


@of_server(
    "gpu-memory-errors",
    rule="No GPU has uncorrected memory errors, or memory rows or pages that the next reset will retire.",
    why="The job fails when it reads the faulty memory, possibly after hours.",
    how="nvidia-smi --query-gpu=ecc…, --query-remapped-rows=…; amd-smi bad-pages --json",
    source="Azure and OCI node health checks",
    unless=no_gpus,
)
def memory_errors(server: Server) -> Iterator[Outcome]:
    """Check each GPU for uncorrected memory errors, and for faulty memory that the GPU retires only at the next reset or cannot retire."""
    wrong: list[str] = []
    if server.gpu_vendor == "NVIDIA":
        for row in nvidia(server.machine):
            errors = row["ecc.errors.uncorrected.volatile.total"]
            if errors.isdigit() and int(errors):
                wrong.append(f"GPU {row['index']}: {errors} uncorrected")
        answer = server.machine.run(
            "nvidia-smi", "--query-remapped-rows=remapped_rows.pending,remapped_rows.failure", "--format=csv,noheader"
        )
        for index, line in enumerate(answer.out.splitlines() if not answer.code else []):
            for label, cell in zip(("rows to be remapped", "remapping failed"), line.split(",")):
                if cell.strip().lower() in {"yes", "1"}:
                    wrong.append(f"GPU {index}: {label}")
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
    rule="No GPU is slowed down by heat or power (NVIDIA), or has a clock that is locked or capped below that of "
    "other GPUs (AMD).",
    why="One slow GPU slows every rank of a job.",
    how="nvidia-smi --query-gpu=clocks_event_reasons.active; amd-smi metric --clock --json",
    source="Azure node health checks; NVML, clocks event reasons; AMD SMI, amd-smi metric",
    unless=no_gpus,
)
def clocks(server: Server) -> Iterator[Outcome]:
    """Check that no GPU's clocks are reduced, by the reported reasons (NVIDIA) or the clocks of the compute engines (AMD)."""
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
    cards = rocm(server.machine)
    if cards is not None:
        levels = {card["gpu"]: card.get("Performance Level", "") for card in cards}
        held = [f"GPU {gpu}: {level}" for gpu, level in levels.items() if level not in {"auto", "high"}]
        if not all(levels.values()):
            raise CannotTellError("rocm-smi shows no performance level")
        if held:
            remedy = "sudo rocm-smi --setperflevel auto; who set it?"
            yield warning("; ".join(held), "auto", "ROCm SMI, --showperflevel", remedy)
        else:
            yield ok("performance level auto")
        return
    for row in amd(server.machine, "metric", "--clock"):
        tables = objects(row.get("clock"))
        engines = [
            engine for clock in tables for name in clock if name.startswith("gfx_") for engine in objects(clock[name])
        ]
        if any(str(engine.get("clk_locked")).upper() in {"ENABLED", "1", "TRUE"} for engine in engines):
            locked.append(str(row.get("gpu")))
        tops = [most.get("value") for engine in engines for most in objects(engine.get("max_clk"))]
        if numbers := [top for top in tops if isinstance(top, int)]:
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
    rule="No GPU has a power limit below the manufacturer's default (NVIDIA).",
    why="A lower limit reduces clocks under load, and the slowest GPU sets the pace of a job.",
    how="nvidia-smi --query-gpu=index,power.limit,power.default_limit",
    source="nvidia-smi(1), power limit",
    unless=not_nvidia("no public document shows the form of amd-smi's answer"),
)
def power_limit(server: Server) -> Iterator[Outcome]:
    """Check that no GPU's power limit is below its default. GPUs that report no limits are ignored."""
    capped: list[str] = []
    seen = 0
    asked = "--query-gpu=index,power.limit,power.default_limit"
    for line in server.machine.output("nvidia-smi", asked, "--format=csv,noheader,nounits").splitlines():
        cells = [word.strip() for word in line.split(",")]
        if len(cells) == 3 and all(re.fullmatch(r"[\d.]+", cell) for cell in cells[1:]):
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
    rule="GPUs are not partitioned: no MIG (NVIDIA), mode SPX with memory mode NPS1 (AMD).",
    why="NCCL treats each partition as a GPU, and all partitions of a GPU share one NIC.",
    how="nvidia-smi --query-gpu=mig.mode.current; amd-smi static --partition --json",
    source="NVIDIA, Multi-Instance GPU user guide; AMD, MI300X partition modes",
    unless=no_gpus,
)
def partition(server: Server) -> Iterator[Outcome]:
    """Check that no GPU is divided into partitions (MIG or AMD's partition modes)."""
    if server.gpu_vendor == "AMD":
        yield from _amd_partition(server)
        return
    rows = nvidia(server.machine)
    on = [row["index"] for row in rows if row["mig.mode.current"] == "Enabled"]
    if on and server.generic and len(on) == len(rows):
        yield ok("MIG is on for every GPU")
    elif on:
        yield failed(
            f"MIG is on for GPU {', '.join(on)}",
            "off",
            server.origin("gpu.count", "the other GPUs here"),
            "sudo nvidia-smi -mig 0",
        )
    else:
        yield ok("whole")


def _amd_partition(server: Server) -> Iterator[Outcome]:
    cards = rocm(server.machine)
    modes = {
        card["gpu"]: f"{card.get('Compute Partition', 'N/A')}/{card.get('Memory Partition', 'N/A')}"
        for card in cards or ()
    }
    modes = modes or {
        str(row.get("gpu")): f"{partition.get('compute_partition')}/{partition.get('memory_partition')}"
        for row in amd(server.machine, "static", "--partition")
        for partition in objects(row.get("partition"))
    }
    wrong = [f"GPU {gpu}: {mode}" for gpu, mode in modes.items() if mode not in {"SPX/NPS1", "N/A/N/A"}]
    if not modes:
        raise CannotTellError("amd-smi shows no partition modes")
    if wrong and server.generic and len(set(modes.values())) == 1:
        yield ok(f"{next(iter(modes.values()))} on every GPU")
    elif wrong:
        remedy = "sudo amd-smi set --memory-partition NPS1; sudo amd-smi set --compute-partition SPX"
        yield failed("; ".join(wrong), "SPX/NPS1", server.origin("gpu.count", "the GPUs on the PCI bus"), remedy)
    else:
        yield ok("whole")


_LINKS = {"A100": 12, "A800": 12, "H100": 18, "H200": 18, "B200": 18, "B300": 18, "GB200": 18, "GB300": 18}
"""The number of NVLinks per GPU in a server with NVSwitch, by GPU model (OCI node health checks)."""


@of_server(
    "gpu-links",
    rule="All links between the GPUs are up: NVLink, or xGMI.",
    why="Collectives inside the server use these links, and so does traffic to the NIC of a different rail (PXN).",
    how="nvidia-smi nvlink -s; amd-smi xgmi --json",
    source="OCI and Azure node health checks",
    unless=one_gpu,
)
def links(server: Server) -> Iterator[Outcome]:
    """Check that all links between GPUs are up."""
    if server.gpu_vendor != "NVIDIA":
        rows = amd(server.machine, "xgmi")
        states = re.findall(r"'(?:link_)?status': '(\w+)'", str(rows)) + re.findall(r"'([UDX])'", str(rows))
        down = sum(state in {"D", "DOWN", "DISABLED"} for state in states)
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
    rule="The fabric manager has connected each GPU to the NVSwitches (NVIDIA).",
    why="Otherwise NVLinks are up, but GPUs cannot reach each other: CUDA fails to start (error 802).",
    how="nvidia-smi --query-gpu=index,fabric.state,fabric.status",
    source="NVIDIA, fabric manager user guide; OCI node health checks",
    unless=not_nvidia("AMD's GPUs have no fabric manager"),
)
def fabric(server: Server) -> Iterator[Outcome]:
    """Check that the fabric manager has connected each GPU to the NVSwitches. GPUs that report no state are ignored."""
    wrong: list[str] = []
    joined = 0
    asked = "--query-gpu=index,fabric.state,fabric.status"
    for line in server.machine.output("nvidia-smi", asked, "--format=csv,noheader").splitlines():
        index, state, status = ([word.strip() for word in line.split(",")] + ["", "", ""])[:3]
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


def no_domain(server: Server) -> str:
    """Return the reason why checks of an NVLink domain of several servers do not apply. Return an empty string if the checks apply."""
    return no_gpus(server) or ("" if server.domain_gpus else "NVLink ends at the server")


_FABRIC = re.compile(r"^        (State|Status|CliqueId|ClusterUUID)\s+: (.*?)\s*$", re.MULTILINE)
_NO_CLUSTER = "00000000-0000-0000-0000-000000000000"


@of_server(
    "gpu-nvlink-domain",
    rule="All GPUs of a tray are in the same NVLink domain and clique as the rest of their rack (NVIDIA).",
    why="NCCL joins only GPUs of one clique by NVLink. A GPU outside it sends over NICs, at a small part of the rate.",
    how="nvidia-smi -q: Fabric, with State, Status, CliqueId and ClusterUUID",
    source="NVIDIA, MNNVL user guide; Azure health checks of NVLink fabrics (azhpc-images, pull request 506)",
    unless=no_domain,
)
def nvlink_domain(server: Server) -> Iterator[Outcome]:
    """Check that all GPUs of the server have joined the same NVLink domain. Other servers are not compared here."""
    text = server.machine.output("nvidia-smi", "-q")
    blocks = re.findall(r"^    Fabric\s*\n((?:        .*\n?)*)", text, re.MULTILINE)
    fabrics = [dict(_FABRIC.findall(block)) for block in blocks]
    if not fabrics or not any("CliqueId" in fabric for fabric in fabrics):
        raise CannotTellError("nvidia-smi shows no NVLink domain (CliqueId)")
    wrong: list[str] = []
    cliques: dict[str, list[str]] = {}
    for index, fabric in enumerate(fabrics):
        state, status = fabric.get("State", ""), fabric.get("Status", "")
        clique, cluster = fabric.get("CliqueId", "N/A"), fabric.get("ClusterUUID", "N/A")
        if (state, status) != ("Completed", "Success") or cluster in {_NO_CLUSTER, "N/A"}:
            wrong.append(f"GPU {index}: {state}, {status}, cluster {cluster}")
        else:
            cliques.setdefault(f"{cluster}.{clique}", []).append(str(index))
    if len(cliques) > 1:
        wrong += [f"GPU {', '.join(numbers)}: clique {clique}" for clique, numbers in cliques.items()]
    remedy = "look at the rack's NVLink switches and at nvidia-smi -q (Fabric, Health); reset the GPU, or power cycle the tray"
    yield failed_or_ok(wrong, f"clique {next(iter(cliques), '')}", "one clique", "NVIDIA, MNNVL user guide", remedy)


@of_server(
    "gpu-imex",
    rule="The IMEX service of the tray is ready (NVIDIA).",
    why="Without it GPUs of two trays cannot map each other's memory, so NCCL uses NICs between them or fails.",
    how="nvidia-imex-ctl -q",
    source="NVIDIA, IMEX user guide",
    unless=no_domain,
)
def imex(server: Server) -> Iterator[Outcome]:
    """Check that the IMEX daemon (NVIDIA's service for memory sharing over NVLink) is ready.

    In Kubernetes, the daemon may run only in a container, where this check does not see it.
    """
    state = server.machine.output("nvidia-imex-ctl", "-q").strip()
    if not state:
        raise CannotTellError("nvidia-imex-ctl shows no state")
    if state == "READY":
        yield ok(state)
    else:
        remedy = "sudo systemctl restart nvidia-imex; /etc/nvidia-imex/nodes_config.cfg has all trays of the domain; journalctl -u nvidia-imex"
        yield failed(state, "READY", "NVIDIA, IMEX user guide", remedy)


@of_server(
    "gpu-peer-access",
    rule="Each GPU can read every other GPU's memory (NVIDIA).",
    why="If the driver or chipset forbids it, collectives inside the server copy data through host memory.",
    how="nvidia-smi topo -p2p r",
    source="nvidia-smi(1), topo -p2p",
    unless=lambda server: one_gpu(server) or not_nvidia("xGMI is seen by gpu-links")(server),
)
def peer_access(server: Server) -> Iterator[Outcome]:
    """Check that nvidia-smi's peer access matrix shows access between all GPUs."""
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


_WINDOW = 32 << 30
"""The smallest accepted PCI memory region of a GPU, in bytes. All data center GPUs with 40 GiB or more have a larger region."""


@of_server(
    "gpu-pcie-width",
    rule="Each GPU's PCIe link uses all its lanes.",
    why="With half the lanes, the GPU exchanges data with NICs and the CPU at half the rate.",
    how="nvidia-smi --query-gpu=pcie.link.width…; /sys/bus/pci/devices/*/current_link_width",
    source="OCI node health checks (width 16)",
    unless=no_gpus,
)
def pcie_width(server: Server) -> Iterator[Outcome]:
    """Check that each GPU's PCIe link has its maximum width, as sysfs shows it for both vendors."""
    addresses = outcome.gpu_addresses(server.machine, server.gpu_vendor)
    if not addresses:
        raise CannotTellError("no GPU is on the PCI bus")
    wrong: list[str] = []
    for index, address in enumerate(addresses):
        now, most = (
            server.machine.number(f"/sys/bus/pci/devices/{address}/{prefix}_link_width")
            for prefix in ("current", "max")
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
    rule="Each GPU offers its memory on the PCI bus in one window of 32 GiB or more.",
    why="NICs reach GPU memory through this window; with a smaller one (Above 4G Decoding or Resizable BAR off), "
    "GPUDirect RDMA does not work.",
    how="/sys/bus/pci/devices/*/resource",
    source="AMD, MI300X system optimization (Above 4G decoding); lspci(8), regions",
    unless=no_gpus,
)
def memory_window(server: Server) -> Iterator[Outcome]:
    """Check that the largest PCI memory region of each GPU is large enough."""
    addresses = outcome.gpu_addresses(server.machine, server.gpu_vendor)
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
"""The files that show that NICs can access GPU memory (peer memory), by GPU vendor. NCCL and RCCL look for the same files.

Source: the gdr check of their verbs transports.
"""


@of_server(
    "gpu-direct",
    rule="NICs can reach GPU memory, through a peer memory module or dma-buf.",
    why="Otherwise data goes through host memory at about half the rate, without an error message.",
    how="/sys/module/nvidia_peermem; /sys/kernel/mm/memory_peers; modinfo -F license nvidia; /boot/config-*",
    source="Thor2 guide, section 2.2; NCCL and RCCL, check for GPU Direct RDMA",
    unless=no_gpus,
)
def direct(server: Server) -> Iterator[Outcome]:
    """Check that GPUDirect RDMA is available, by peer memory or dma-buf. NCCL and RCCL look for both."""
    machine = server.machine
    modules = {"NVIDIA": "nvidia_peermem", "AMD": "ib_peer_mem"}
    loaded = [path for path in _PEER[server.gpu_vendor] if machine.text(path) is not None]
    module = modules[server.gpu_vendor]
    if machine.names(f"/sys/module/{module}"):
        loaded.append(f"/sys/module/{module}")
    off = str(server.environment.get("NCCL_DMABUF_ENABLE", "")) == "0"
    if loaded:
        yield ok(f"peer memory: {loaded[0]}")
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
        answer = machine.run("modinfo", "-F", "license", "nvidia")
        return "open kernel modules" if "GPL" in answer.out else ""
    release = machine.text("/proc/sys/kernel/osrelease") or ""
    config = machine.text(f"/boot/config-{release}") or ""
    wanted = ("CONFIG_PCI_P2PDMA=y", "CONFIG_DMABUF_MOVE_NOTIFY=y")
    return "the kernel has both options" if all(option in config for option in wanted) else ""


@of_server(
    "gpu-vbios",
    rule="All GPUs have the same VBIOS.",
    why="A GPU that was exchanged with older firmware has other clocks, limits and faults than the rest.",
    how="nvidia-smi --query-gpu=index,vbios_version; amd-smi static --vbios --json",
    source="Azure node health checks (azure_gpu_vbios); facebookresearch/gcm, check-nvidia-smi",
    unless=one_gpu,
)
def vbios(server: Server) -> Iterator[Outcome]:
    """Check that all GPUs report the same VBIOS version."""
    versions: dict[str, str] = {}
    if server.gpu_vendor == "NVIDIA":
        text = server.machine.output("nvidia-smi", "--query-gpu=index,vbios_version", "--format=csv,noheader")
        for line in text.splitlines():
            index, _, version_text = line.partition(",")
            versions[index.strip()] = version_text.strip()
    elif rocm(server.machine) is not None:
        raise CannotTellError("amd-smi is not installed, and rocm-smi is not asked for it")
    else:
        for row in amd(server.machine, "static", "--vbios"):
            for part in objects(row.get("vbios")):
                versions[str(row.get("gpu"))] = str(part.get("part_number"))
    if not versions or not all(versions.values()):
        raise CannotTellError("no VBIOS is shown")
    kinds = list(versions.values())
    most = max(sorted(set(kinds)), key=kinds.count)
    odd = [f"GPU {index}: {kind}" for index, kind in versions.items() if kind != most]
    if odd:
        remedy = "update it with the server maker's tool; then power cycle"
        yield warning("; ".join(odd), f"{most}, as on {kinds.count(most)} GPUs", "the other GPUs here", remedy)
    else:
        yield ok(most)
