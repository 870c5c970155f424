"""The kernel's log since boot: what NICs, PCIe, GPUs, memory and CPUs complained about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .outcome import failed, of_server, ok, warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .outcome import Outcome
    from .server import Server


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
            r"bnxt_(?:en|re).*(?:firmware|hwrm).*(?:timeout|error|hung)",
            r"bnxt_re.*Fail to (?:setets|initialize Flow control)",
            r"mlx5_core .*(?:health compromised|FW assert|cmd.* timed? ?out)",
            r"mlx5_cmd_out_err",
            r"Port module event: module \d+, Cable (?:error|unplugged)",
            r"Detected insufficient power on the PCIe slot",
        ),
        "The kernel's log has no error of a NIC.",
        "A NIC whose firmware hangs or complains of power fails under load.",
        "update the NIC's firmware, power cycle; Fail to setets: firmware DCBX is on (nic-flash)",
        "Thor2 guide, section 2.6, check 16, and section 5.1, question 5; ROCm cvs",
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
            r"pcieport .*Slot\(.*\): Link Down",
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
            r"NVRM: RmInitAdapter failed",
            r"amdgpu.*(?:page fault|GPU reset begin|GPU hang)",
            r"amdgpu.*\b[1-9]\d* uncorrectable hardware errors detected",
            r"amdgpu.*Fatal error during GPU init",
            r"amdgpu.*ring \w+ timeout",
        ),
        "The kernel's log has no error of a GPU driver.",
        "The GPU is lost, or its memory or its links fail.",
        "drain the server, reset the GPU, power cycle; exchange it if it comes back",
        "ROCm cvs; AMD node scraper; NVIDIA driver",
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
    """The kernel's log since boot. Raises CannotTellError."""
    machine = server.machine

    def lines() -> list[str]:
        if machine.has("journalctl"):
            said = machine.run("journalctl", "-k", "-b", "-o", "cat", "--no-pager")
            if not said.code and said.out.strip() and "No journal files" not in said.err:
                return said.out.splitlines()
        return machine.output("dmesg").splitlines()

    return machine.once(("kernel log",), lines)


def _rule(name: str, one: _Class) -> None:
    patterns = re.compile("|".join(one.patterns))

    def look(server: Server) -> Iterator[Outcome]:
        found = [line for line in _lines(server) if patterns.search(line)]
        if found:
            seen = f"{len(found)} lines, the last: {found[-1].strip()[:160]}"
            yield one.level(seen, "none since boot", one.source, one.remedy)
        else:
            yield ok("none")

    of_server(name, what=one.what, why=one.why, how="journalctl -k -b -o cat; dmesg", source=one.source, root=True)(
        look
    )


for _name, _one in _CLASSES.items():
    _rule(_name, _one)


_XID = {
    **dict.fromkeys(
        (46, 48, 56, 57, 58, 62, 64, 74, 79, 80, 81, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158), "failed"
    ),
    **dict.fromkeys((13, 31, 45, 68, 69, 94, 144, 145, 146, 147, 148, 149, 150, 154), "warning"),
}
"""What an Xid means for the next job: those of the GPU or its links fail it, those of a program are a warning; 63 and 92 inform.

(NVIDIA Xid catalog by way of OCI's table; Azure's list agrees but for 63, 65 and 92.)
"""


@of_server(
    "log-xid",
    what="No GPU has reported an Xid that calls for a reset or an exchange (NVIDIA).",
    why="79 is a GPU off the bus, 74 an NVLink, 48 and 95 memory: the next job would end there.",
    how="journalctl -k -b -o cat; dmesg",
    source="NVIDIA, Xid catalog; OCI and Azure node health checks",
    root=True,
)
def xid(server: Server) -> Iterator[Outcome]:
    """Sort the Xids by what they call for."""
    seen: dict[str, dict[str, int]] = {"failed": {}, "warning": {}}
    for line in _lines(server):
        found = re.search(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)", line)
        if found and int(found[2]) in _XID:
            kind = seen[_XID[int(found[2])]]
            name = f"{found[2]} at {found[1]}"
            kind[name] = kind.get(name, 0) + 1
    remedy = "drain the server; reset the GPU (nvidia-smi -r) or restart; 79 and 74: exchange it if it comes back"
    for level, kind in ((failed, seen["failed"]), (warning, seen["warning"])):
        if kind:
            text = ", ".join(f"{name} ({count} times)" for name, count in sorted(kind.items()))
            yield level(f"Xid {text}", "none since boot", "NVIDIA, Xid catalog", remedy)
            return
    yield ok("none")
