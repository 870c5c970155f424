"""Messages of libraries and kernels that end up in the output of a run: the guide's FAQ (chapter 5.1)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Found, check
from railweave.operations.bench.triage.case import once, times
from railweave.operations.bench.triage.wire import of_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.operations.bench.triage.case import Case

MEMORY = r"ibv_(?:reg_mr|create_cq|create_qp)\w* failed with error Cannot allocate memory|Couldn't allocate MR|memlock\b.*limit"


def _said(case: Case, pattern: str) -> Iterator[Found]:
    compiled = re.compile(pattern)
    for what, line, often in once(
        (found[0][:200], one.number) for one in case.lines if (found := compiled.search(one.text))
    ):
        yield case.found(line, what + times(often))


@check(
    "run-verbs-abi",
    "error",
    applies="run",
    why="the user library of the NIC is older than its kernel driver: the inbox libbnxt_re, libmlx5 is picked, and the device is not there",
    fix="`strace -e openat ibv_devinfo 2>&1 | grep -v ENOENT` shows which library is loaded: remove it, or install the one of the driver's bundle",
)
def abi(case: Case) -> Iterator[Found]:
    """The user library of the NIC knows the kernel driver's interface."""
    yield from _said(case, r"Driver \S+ does not support the kernel ABI of \d+ \(supports \d+ to \d+\)")


@check(
    "run-driver-symbols",
    "error",
    applies="run",
    why="the driver was built against other RDMA core modules than run: a vendor's OFED took the place of the kernel's",
    fix="uninstall the OFED (/usr/sbin/ofed_uninstall.sh), rebuild the driver, reboot",
)
def symbols(case: Case) -> Iterator[Found]:
    """Driver modules fit the RDMA core that runs."""
    yield from _said(case, r"\b\w{1,64}: (?:disagrees about version of symbol|Unknown symbol) ib_\w+")


@check(
    "run-qos-not-set",
    "error",
    applies="run",
    why="the NIC's firmware keeps priorities to itself (DCBX or LLDP agent): the driver cannot make the class lossless, and packets are dropped under load",
    fix="NVM options dcbx_mode, lldp_nearest_bridge and lldp_nearest_non_tpmr_bridge to 0, then reboot",
)
def qos(case: Case) -> Iterator[Found]:
    """The driver sets priorities of the NIC."""
    yield from _said(case, r"(?:bnxt_re\d+: )?(?:Fail to setets rc:-\d+|Fail to initialize Flow control)")


@check(
    "run-memory-locked",
    "error",
    applies="run",
    why="RDMA memory is locked: with the usual limit of 64 KB to 8 MB registration fails, or NCCL falls back to sockets",
    fix="`ulimit -l unlimited` for the job: limits.conf for logins, LimitMEMLOCK=infinity for slurmd and containers",
)
def memlock(case: Case) -> Iterator[Found]:
    """A job may lock as much memory as it wants."""
    yield from _said(case, MEMORY)
    refused = [
        one for one in (case.log.calls if case.log else ()) if of_memory(one) and not re.search(MEMORY, one.text)
    ]
    for key, line, often in once((f"{one.host}\n{one.text}", one.line) for one in refused):
        host, _, text = key.partition("\n")
        yield case.found(line, text[:200] + times(often), host)
