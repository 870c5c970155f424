"""Checks of the kernel log since boot for messages about NICs, PCIe, GPUs, memory and CPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..machine import CannotTellError
from .outcome import failed, of_nic, of_server, ok, pci_of, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .outcome import Outcome
    from .server import Server, WantedNic


class _Class(NamedTuple):
    level: Callable[..., Outcome]
    patterns: tuple[str, ...]
    what: str
    why: str
    remedy: str
    source: str


_CLASSES = {
    "log-nic": _Class(
        failed,
        (
            # bnxt_en: the transmit path, the firmware and its commands, PCIe, temperature, modules
            r"bnxt_en .*(?:TX timeout detected|Error \(timeout: ?\d+\)|[Aa]bandoning msg)",
            r"bnxt_(?:en|re)\b.*(?:firmware|hwrm).*(?:timeout|timed ?out|error|hung)",
            r"bnxt_(?:en|re)\b.*(?:timeout|timed ?out|error|hung).*(?:firmware|hwrm)",
            r"bnxt_en .*(?:firmware reset event|firmware fatal condition|Firmware not re(?:sponding|ady)|Firmware reset aborted|previous firmware reset has not completed)",
            r"bnxt_en .*(?:Pause Storm detected|RX buffer error|RX ring reset failed|doorbells? dropped|PCI I/O error detected|failed to open NIC|nic open fail)",
            r"bnxt_en .*Chip temperature has (?:crossed|gone above)",
            r"bnxt_en .*(?:Unqualified SFP\+ module|SFP\+ module is shutdown)",
            # bnxt_re and its command queue
            r"bnxt_\w+ .*(?:FW STALL Detected|cmdq\[\S*\]=\S+ (?:timed ?out|send failed|status))",
            r"bnxt_re.*Fail to (?:setets|initialize Flow control)",
            r"(?:bnxt_re\d*|infiniband \S+): (?:Failed to \w+ HW \w+|Couldn't (?:open|start) port|Couldn't change QP\d* state)",
            # mlx5_core: health, firmware commands, queues, temperature, modules, power
            r"mlx5_core .*(?:health compromised|FW assert|assert_exit_ptr|Health issue observed|Fatal error \d+ detected|health recovery f(?:ailed|low aborted))",
            r"mlx5_core .*synd 0x0*[1-9a-f][0-9a-f]*: ",
            r"mlx5_core .*(?:cmd.*time(?:d ?)?out|timeout\. Will cause a leak|timed out while waiting for a slot|out of queue timeout|waiting for command semaphore)",
            r"mlx5_core .*(?:TX timeout (?:detected|on queue)|RX timeout on channel|CQ error on CQN|Error cqe on cqn)",
            r"mlx5_core .*(?:Firmware over \d+ MS in|Firmware is not responsive|FW requests reset|[Rr]eset [Tt]imeout|NIC IFC still|Got Device Reset)",
            r"mlx5_core .*High temperature on sensors",
            r"(?:Port module event(?:\[error\])?: )module \d+, Cable (?:error|unplugged|disabled)",
            r"Detected insufficient power on the PCIe slot",
            r"mlx5_cmd_out_err",
            r"(?:mlx5_\d+|infiniband mlx5_\S+|mlx5_ib)\b.*(?:error cqe|WC error: \d+)",
            # the kernel's own watchdog of every driver
            r"NETDEV WATCHDOG: .*timed out",
        ),
        "The kernel's log has no error of a NIC.",
        "A NIC whose firmware hangs, whose queues stand still, or that is too hot or short of power fails under load.",
        "update the NIC's firmware, power cycle; Fail to setets: firmware DCBX is on (nic-flash); temperature: look at the air flow; Cable error: reseat or exchange the module",
        "Thor2 guide, section 2.6, check 16, and section 5.1, question 5; ROCm cvs; Linux: bnxt_en, bnxt_re, mlx5_core, mlx5_ib, net/sched/sch_generic.c",
    ),
    "log-modules": _Class(
        failed,
        (r"disagrees about version of symbol (?:ib|rdma|mlx5)_?\w+", r"Unknown symbol (?:ib|rdma|mlx5)_?\w+"),
        "The kernel's log has no module that does not fit another.",
        "Modules of two builds are mixed: the RDMA half of a driver is missing.",
        "see driver-origin: keep one of the two stacks",
        "Thor2 guide, section 5.1, question 7",
    ),
    "log-pcie": _Class(
        failed,
        (
            r"PCIe Bus Error: severity=Uncorrect\w+",
            r"AER: .*Uncorrect\w+ .*error",
            r"AER: .*recovery failed",
            r"pcieport .*(?:Slot\(.*\): (?:Link Down|Card not present)|DPC: containment event)",
            r"IO_PAGE_FAULT",
            r"DMAR:.*fault",
        ),
        "The kernel's log has no uncorrected PCIe error, and no fault of the IOMMU.",
        "A lane, a riser or a slot fails; transfers between GPU and NIC end.",
        "reseat the card that the line names; then exchange riser or card",
        "ROCm cvs",
    ),
    "log-gpu": _Class(
        failed,
        (
            r"NVRM: (?:GPU .* has )?fallen off the bus",
            r"nvidia-nvswitch.*SXid",
            r"NVRM: .*(?:RmInitAdapter failed|rm_init_adapter failed|probe routine failed|API mismatch|requiring os reboot|crash dump has been created)",
            r"NVRM: (?:FATAL|Fatal Error)",
            # resets, hangs and faults
            r"amdgpu.*(?:page fault|GPU reset begin|GPU reset\(\d+\)|GPU reset end with ret = -|GPU (?:smu |psp )?mode\d reset|GPU hang|VRAM is lost)",
            r"amdgpu.*ring \S+ timeout",
            r"amdgpu.*(?:IB test (?:failed|timed out)|fence wait loop timeout|unrecoverable state|preemption (?:failed|time ?out)|PCIe error recovery failed)",
            r"amdgpu.*Fatal error during GPU init",
            # memory and RAS
            r"amdgpu.*\b[1-9]\d* (?:new )?(?:uncorrectable|deferred) hardware errors detected",
            r"amdgpu.*(?:uncorrectable hardware error\(|RAS controller interrupt|RAS poison consumption|Poison detected in|RAS Intr triggered)",
            r"amdgpu.*(?:RAS records: ?\d+ exceed|[Bb]ad pages \d+ reache?s? threshold|RAS [Tt]able incorrect checksum)",
            # XGMI, SMU, temperature
            r"amdgpu.*(?:XGMI|WAFL)\S* PCS .*detected",
            r"amdgpu.*XGMI: (?:Failed|failed|Get topology|Set topology|node .*can not match)",
            r"amdgpu.*(?:SMU: (?:I'm (?:not done|very busy)|[Nn]o response|response:)|No response from (?:smu|SMU)|SMU still servicing)",
            r"amdgpu.*(?:over temperature range|Critical Temperature Fault|going to shutdown due to GPU)",
        ),
        "The kernel's log has no error of a GPU driver.",
        "The GPU is lost, or its memory or its links fail.",
        "drain the server, reset the GPU, power cycle; exchange it if it comes back",
        "ROCm cvs; AMD node scraper; Linux: amdgpu; NVIDIA, open-gpu-kernel-modules",
    ),
    "log-addresses": _Class(
        failed,
        (
            r"IPv6 duplicate address \S+ .*detected",
            r"\S+ (?:uses my IP|is using my IP address)",
        ),
        "The kernel's log has no address of this server that another server has.",
        "The one that came last has no address, and the packets of both go to one of them.",
        "find the other owner by its MAC address in the log and the switches' tables; give one of them its own address",
        "RFC 4862 (duplicate address detection); Linux: net/ipv6/addrconf.c",
    ),
    "log-memory": _Class(
        warning,
        (
            r"mce: \[Hardware Error\]",
            r"EDAC .* UE ",
            r"soft lockup",
            r"Out of memory: Killed",
            r"blocked for more than \d+ seconds",
        ),
        "The kernel's log has no machine check, no hung task, and nothing killed for memory.",
        "Bad memory and hung tasks end a job hours in.",
        "look at the server's own log (ipmitool sel list); exchange the module that is named",
        "ROCm cvs",
    ),
}


def _lines(server: Server) -> list[str]:
    """Return the lines of the kernel log since boot. Raises CannotTellError if the log cannot be read."""
    machine = server.machine

    def lines() -> list[str]:
        if machine.has("journalctl"):
            answer = machine.run("journalctl", "-k", "-b", "-o", "cat", "--no-pager")
            if not answer.code and answer.out.strip() and "No journal files" not in answer.err:
                return answer.out.splitlines()
        return machine.output("dmesg").splitlines()

    return machine.once(("kernel log",), lines)


def _rule(name: str, category: _Class) -> None:
    patterns = re.compile("|".join(category.patterns))

    def look(server: Server) -> Iterator[Outcome]:
        lines = [line for line in _lines(server) if patterns.search(line)]
        if lines:
            seen = f"{len(lines)} lines, the last: {lines[-1].strip()[:160]}"
            yield category.level(seen, "none since boot", category.source, category.remedy)
        else:
            yield ok("none")

    of_server(
        name,
        rule=category.what,
        why=category.why,
        how="journalctl -k -b -o cat; dmesg",
        source=category.source,
        root=True,
    )(look)


for _name, _one in _CLASSES.items():
    _rule(_name, _one)


_XID = {
    **dict.fromkeys(
        (
            46,
            48,
            56,
            57,
            58,
            62,
            64,
            74,
            79,
            80,
            81,
            95,
            109,
            110,
            119,
            120,
            136,
            140,
            143,
            155,
            156,
            157,
            158,
            161,
            167,
        ),
        "failed",
    ),
    **dict.fromkeys((169, 171, 172, 173), "failed"),
    **dict.fromkeys((43, 63, 92, 162, 163), "informs"),
}
"""The severity of each Xid (an error number of NVIDIA's driver) for the next job. An Xid that is not listed is a warning.

Xids of the GPU or its links fail the check. Five Xids are ignored, because they only inform. Other Xids come from
programs or are new. Source: NVIDIA Xid catalog by way of OCI's table; Azure's list agrees except for 63, 65 and 92.
The severities of Xids from 157 on follow from their names in nverror.h of NVIDIA's open-gpu-kernel-modules: failed
retirement, fatal timeouts, uncorrectable memory errors, errors of links between chips.
"""
_XID_LINE = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)(?: [^)]*)?\): (\d+)|NVRM: (?:GPU \S+ )?Xid (\d+)\b")
"""A pattern of log lines with an Xid. With GPU instances (MIG), the instance numbers follow the PCI address."""


@of_server(
    "log-xid",
    rule="No GPU has reported an Xid error that requires a reset or a replacement (NVIDIA).",
    why="Xid 79 means that the GPU left the bus, 74 an NVLink error, 48 and 95 memory errors: the next job on "
    "this GPU would fail.",
    how="journalctl -k -b -o cat; dmesg",
    source="NVIDIA, Xid catalog; OCI and Azure node health checks",
    root=True,
)
def xid(server: Server) -> Iterator[Outcome]:
    """Check the kernel log for Xids (error numbers of NVIDIA's driver), and report each by its severity."""
    seen: dict[str, dict[str, int]] = {"failed": {}, "warning": {}}
    for line in _lines(server):
        match = _XID_LINE.search(line)
        level = _XID.get(int(match[2] or match[3]), "warning") if match else "informs"
        if match and level != "informs":
            name = f"{match[2]} at {match[1]}" if match[1] else match[3]
            seen[level][name] = seen[level].get(name, 0) + 1
    remedy = "drain the server; reset the GPU (nvidia-smi -r) or restart; 79 and 74: exchange it if it comes back"
    for level, kind in ((failed, seen["failed"]), (warning, seen["warning"])):
        if kind:
            text = ", ".join(f"{name} ({count} times)" for name, count in sorted(kind.items()))
            yield level(f"Xid {text}", "none since boot", "NVIDIA, Xid catalog", remedy)
            return
    yield ok("none")


_LINK = re.compile(r"(?<!PCI )\bLink (?:is )?(up|down)\b", re.IGNORECASE)
_FLAPS = 3
"""The number of link-down events from which a link counts as flapping."""


@of_nic(
    "log-link",
    rule="The kernel's log has no message that the link of a planned NIC is down or unstable.",
    why="Each time a link goes down, the transfers on its rail end; the log has the times, to compare with the "
    "switch's log.",
    how="journalctl -k -b -o cat; dmesg",
    source="Linux: bnxt_en, mlx5_core",
    root=True,
)
def link(server: Server, nic: WantedNic) -> Iterator[Outcome]:
    """Check that, in the kernel log, the link has seldom gone down, and that it is up after the last event."""
    try:
        names = (pci_of(server.machine, nic.netdev), f" {nic.netdev}:")
    except CannotTellError:
        names = (f" {nic.netdev}:",)
    events = [
        (match[1].lower(), line)
        for line in _lines(server)
        if any(name in line for name in names) and (match := _LINK.search(line))
    ]
    downs = sum(event == "down" for event, _ in events)
    remedy = f"reseat or exchange cable and modules towards {nic.leaf} {nic.leaf_port}; look for its flaps there"
    if events and events[-1][0] == "down":
        yield warning(f"went down, last of all: {events[-1][1].strip()[:160]}", "up", "Linux kernel log", remedy)
    elif downs >= _FLAPS:
        yield warning(f"went down {downs} times", f"fewer than {_FLAPS} times", "Linux kernel log", remedy)
    else:
        yield ok(f"went down {downs} times")
