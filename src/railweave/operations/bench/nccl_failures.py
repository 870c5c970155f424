"""Completions and calls that failed, in every spelling that NCCL, RCCL and network plugins print them in.

Sources: NVIDIA/nccl ``src/transport/net_ib`` of 2.7 to 2.30, RCCL, Mellanox/nccl-rdma-sharp-plugins ``ib_plugin.c``, aws/aws-ofi-nccl
1.0 to 1.19.
"""

from __future__ import annotations

import re

from railweave.operations.bench.errno_words import errno_of
from railweave.operations.bench.gids import address
from railweave.operations.bench.nccl_log import FailedCall, FailedCompletion

STATUSES = (
    "IBV_WC_SUCCESS",
    "IBV_WC_LOC_LEN_ERR",
    "IBV_WC_LOC_QP_OP_ERR",
    "IBV_WC_LOC_EEC_OP_ERR",
    "IBV_WC_LOC_PROT_ERR",
    "IBV_WC_WR_FLUSH_ERR",
    "IBV_WC_MW_BIND_ERR",
    "IBV_WC_BAD_RESP_ERR",
    "IBV_WC_LOC_ACCESS_ERR",
    "IBV_WC_REM_INV_REQ_ERR",
    "IBV_WC_REM_ACCESS_ERR",
    "IBV_WC_REM_OP_ERR",
    "IBV_WC_RETRY_EXC_ERR",
    "IBV_WC_RNR_RETRY_EXC_ERR",
    "IBV_WC_LOC_RDD_VIOL_ERR",
    "IBV_WC_REM_INV_RD_REQ_ERR",
    "IBV_WC_REM_ABORT_ERR",
    "IBV_WC_INV_EECN_ERR",
    "IBV_WC_INV_EEC_STATE_ERR",
    "IBV_WC_FATAL_ERR",
    "IBV_WC_RESP_TIMEOUT_ERR",
    "IBV_WC_GENERAL_ERR",
    "IBV_WC_TM_ERR",
    "IBV_WC_TM_RNDV_INCOMPLETE",
)
"""``enum ibv_wc_status`` by number (rdma-core, ``libibverbs/verbs.h``)."""

_VERBS = re.compile(r"Got completion (?:from peer (?P<peer>\S*) *)?with\b")
_STATUS = re.compile(
    r"\b(?:status ?[=:]? ?|error[ =:]{1,2})"
    r"(?:\(?(?P<name>[A-Z][A-Z0-9_]{2,40})\b\)? ?(?:\(?(?P<beside>[0-9]{1,9})\b)?|\(?(?P<number>[0-9]{1,9})\b)"
)
_VENDOR = re.compile(r"\bvendor[_ ]err(?:or)?[ =:]{1,2}(0[xX][0-9a-fA-F]{1,8}|-?[0-9]{1,10})\b")
_GIDS = re.compile(r"localGid +(\S+?)(?: +remoteGids? *(\S+?))?(?: |$)")
_HCA = re.compile(r" hca (\S+)")
_OFI = re.compile(
    r"\b(?:Request|Remote write|Operation)\b.* completed with error"
    r"(?:(?:\. RC|: err): ?-?(?P<error>[0-9]{1,9})\b)?"
    r"(?:.*?(?:Error|prov_errno): ?(?P<vendor>-?[0-9]{1,10})\b)?"
)
_OFI_TEXT = re.compile(r"(?:Error: (?:-?[0-9]+ \()?|strerror: )(.*?)\)?(?:\. Completed length|, len: |$)")
_CALL = re.compile(r"\bCall to .*\bfailed\b|\w\(\) failed\b")


def is_completion(text: str) -> bool:
    """Return whether a message of NCCL is about a completion: of verbs, or of the OFI plugin."""
    return "completed with error" in text or ("completion" in text and _VERBS.search(text) is not None)


def failed_completion(line: int, host: str, text: str) -> FailedCompletion | None:
    """Return the failed completion that a message is about; None if it succeeded, as messages of ``NCCL_DEBUG=TRACE`` say of each."""
    if "completed with error" in text:
        return _of_ofi(line, host, text)
    begin, found = _VERBS.search(text), _STATUS.search(text)
    status = _number(found) if found else None
    if status == 0:
        return None
    vendor, gids, hca = _VENDOR.search(text), _GIDS.search(text), _HCA.search(text)
    return FailedCompletion(
        line,
        host,
        (begin["peer"] or "") if begin else "",
        status,
        int(vendor[1], 0) % (1 << 32) if vendor else None,  # unsigned, and printed as signed up to NCCL 2.26
        address(gids[1]) if gids else "",
        address(gids[2]) if gids else "",
        hca[1] if hca else "",
    )


def _number(found: re.Match[str]) -> int | None:
    """Return the number; of a name without one, its place in the enumeration."""
    digits = found["beside"] or found["number"]
    if digits:
        return int(digits)
    return STATUSES.index(found["name"]) if found["name"] in STATUSES else None


def _of_ofi(line: int, host: str, text: str) -> FailedCompletion:
    found, said = _OFI.search(text), _OFI_TEXT.search(text)
    error, vendor = (found["error"], found["vendor"]) if found else (None, None)
    return FailedCompletion(
        line,
        host,
        "",
        None,
        int(vendor) if vendor else None,
        "",
        "",
        "",
        error=int(error) if error else None,
        text=said[1][:200] if said else "",
    )


def failed_call(line: int, host: str, text: str) -> FailedCall | None:
    """Return the call that a warning says has failed; None if the warning is about something else."""
    error = errno_of(text)
    if error is None and not _CALL.search(text):
        return None
    return FailedCall(line, host, error, text[:300])
