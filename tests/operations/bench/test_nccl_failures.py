"""Statuses, error numbers and vendor codes read back as themselves, in every spelling of NCCL 2.7 to 2.30, RCCL and plugins."""

from __future__ import annotations

import errno

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railweave.operations.bench.messages import NUMBERS, WORDS, errno_of
from railweave.operations.bench.nccl_log import FailedCompletion, NcclLog
from railweave.operations.bench.nccl_log_text import STATUSES
from railweave.operations.bench.read import read

ENDS = " localGid ::ffff:10.2.2.5{remote} ::ffff:10.2.2.6"
VERBS = {
    "2.3 to 2.7": "NET/IB : Got completion with error {status}, opcode 0, len 0, vendor err {signed}",
    "2.9 to 2.17": "NET/IB : Got completion from peer 10.0.0.6<41512> with error {status}, opcode 0, len 32651, vendor err {signed}",
    "2.18": "NET/IB : Got completion from peer 10.0.0.6<41512> with error {status}, opcode 0, len 0, vendor err {signed} (Recv)"
    " localGid ::ffff:10.2.2.5 remoteGid ::ffff:10.2.2.6",
    "2.20": "NET/IB : Got completion from peer 10.0.0.6<41512> with status={status} opcode=0 len=0 vendor err {signed} (Send)"
    " localGid ::ffff:10.2.2.5 remoteGids::ffff:10.2.2.6",
    "2.21 to 2.27": "NET/IB: Got completion from peer 10.0.0.6<41512> with status={status} opcode=32616 len=32659 vendor err {code} (Recv)"
    " localGid ::ffff:10.2.2.5 remoteGids::ffff:10.2.2.6 hca mlx5_3",
    "2.27 and the SHARP plugin": "NET/IB: Got completion from peer 10.0.0.6<41512> with status={name}({status}) opcode=IBV_WC_SEND(0) reqSize=0"
    " vendor_err={code} req_type=Send localGid ::ffff:10.2.2.5 remoteGids::ffff:10.2.2.6 hca mlx5_3",
    "2.28 to 2.30": "NET/IB: Got completion from peer 10.0.0.6<41512> with status={name}({status}) opcode=IBV_WC_RDMA_WRITE(1)"
    " vendor_err={code}  localGid ::ffff:10.2.2.5 remoteGids::ffff:10.2.2.6 hca mlx5_3",
    "GIN of 2.28": "NET/IB/GIN: Got completion from peer 10.0.0.6<41512> with status={status} opcode=0 len=0 vendor err {code} (Gin) hca mlx5_3",
    "a peer without an address": "NET/IB: Got completion from peer  with status={name}({status}) opcode=IBV_WC_SEND(0) vendor_err={code}  hca mlx5_3",
    "resiliency of 2.29": "NET/IB: ncclIbResiliencyHandleCompletionError: Got completion with error (devIndex=0, wc->status=({name}){status},"
    " wc->opcode=(IBV_WC_SEND)0, wc->wr_id=12, wc->qp_num=26257, wc->byte_len=0)",
    "another plugin": "NET/FuseLink : Got completion from peer 10.0.0.6<41512> with error {status}, wr_id 7, dev 2, comm 0x7f12, opcode 0, len 0,"
    " vendor err {code} (Send)",
}
NAMES_ALONE = "NET/IB: Got completion from peer 10.0.0.6<41512> with status={name} opcode=IBV_WC_SEND vendor_err={code}"
OFI = {
    "1.0": "NET/OFI Request 0x7f456c222f60 completed with error. RC: {error}. Error: Inappropriate ioctl for device. Completed length: 0, Request: {{ dev: 0 }}",
    "1.3 to 1.13": "NET/OFI Request 0x7f456c222f60 completed with error. RC: {error}. Error: {code} (Unresponsive receiver). Completed length: 0, Request: {{ dev: 0 }}",
    "1.8": "NET/OFI Request 0x7f456c222f60 seq 12 completed with error. RC: {error}. Error: {code} (unknown). Completed length: 0, Request: x",
    "1.14": "NET/OFI Request 0x7f456c222f60 completed with error. RC: {error}. Flags: 1032. Error: {code} (Unresponsive receiver (reachable)). Completed length: 0",
    "remote write": "NET/OFI Remote write completed with error. RC: {error}. Flags: 8. Error: {code} (x). Completed length: 0",
    "1.19": "NET/OFI Request 0x7f4 (send) completed with error: err: {error}, flags: 1032, prov_errno: {code}, strerror: Unresponsive receiver, len: 0",
}
CALLS = {
    "verbs": "Call to ibv_modify_qp failed with error {words} errno {error}",
    "verbs up to 2.18": "Call to ibv_modify_qp failed with error {words}",
    "verbs from 2.24": "Call to ibv_modify_qp failed with {error} {words}, on dev mlx5_0:1, curr state INIT, next state RTR, local GID index 3, local GID ::, remote GID ::",
    "posted": "ibv_post_send() failed with error {words}, Bad WR 0x7f12, First WR 0x7f12",
    "system calls": "Call to setsockopt failed : {words}",
    "system calls from 2.24": "Call to bind failed: {words}",
    "connect up to 2.12": "Net : Connect to 10.0.0.1<40001> failed : {words}",
    "connect": "ncclOsSocketStartConnect: connect to 10.0.0.1<40001> failed : {words}",
    "connect by poll": "socketPollConnect to 10.0.0.1<40001> failed with error {words}",
    "connect of 2.21": "socketPollConnect: Connect to 10.0.0.4<56849> returned {error}({words}) errno 115(Operation now in progress)",
    "tries": "socketTryAccept: exceeded error retry count after 34 attempts, {words}",
    "recv": "ncclSocketProgressOpt: Call to recv from 10.0.0.1<40001> failed : {words}",
    "recv with a number": "ncclOsSocketProgressOpt: Call to recv 10.0.0.1<40001> failed : {error} ({words})",
    "reset": "ncclOsSocketResetFd: socket() failed with error {error}: {words}",
    "shared memory": "Error: failed to extend /dev/shm/nccl-x to 9637892 bytes, error: {words} ({error})",
    "sockets of Unix": "UDS: Sending data over socket /tmp/nccl failed : {words} ({error})",
    "sockets of Unix up to 2.23": "UDS: Sending data over socket /tmp/nccl failed : {error}",
    "poll": "[Proxy Service] Poll failed with error {error}",
    "libfabric": "NET/OFI Couldn't enable endpoint. RC: -{error}, ERROR: {words}",
}


def logged(text: str, level: str = "WARN") -> NcclLog:
    """The log of one message."""
    found = read(f"n1:3468:3905 [4] transport/net_ib.cc:1295 NCCL {level} {text}\n", "x").log
    assert found is not None
    return found


@pytest.mark.parametrize("level", ["WARN", "INFO"])
@pytest.mark.parametrize("spelling", VERBS)
@settings(max_examples=25, deadline=None)
@given(status=st.integers(1, 99), code=st.integers(0, 2**32 - 1))
def test_a_status_and_a_vendor_code_read_back_as_themselves(spelling: str, level: str, status: int, code: int) -> None:
    signed = code - 2**32 if code >= 2**31 else code
    name = STATUSES[status] if status < len(STATUSES) else "UNKNOWN_STATUS"
    text = VERBS[spelling].format(status=status, code=code, signed=signed, name=name)
    [found] = logged(text, level).failed
    assert found.status == status
    assert found.vendor_error == (None if "vendor" not in text else code)
    assert found.peer in ({"10.0.0.6<41512>"} if "10.0.0.6" in text else {""})
    assert (found.local_gid, found.remote_gid) == (("10.2.2.5", "10.2.2.6") if "Gid" in text else ("", ""))
    assert found.device == ("mlx5_3" if " hca " in text else "")


@pytest.mark.parametrize("status", range(1, len(STATUSES)))
def test_a_name_without_its_number_is_its_number(status: int) -> None:
    [found] = logged(NAMES_ALONE.format(name=STATUSES[status], code=129)).failed
    assert (found.status, found.vendor_error) == (status, 129)


@pytest.mark.parametrize(
    "text", ["status=", "status=UNKNOWN_STATUS opcode=0", "status=123456789012 opcode=0", "error , opcode 0"]
)
def test_a_status_that_cannot_be_read_is_a_failure_all_the_same(text: str) -> None:
    found = read(f"n1:1:2 [4] NCCL WARN NET/IB : Got completion from peer 10.2.1.6<5> with {text}\n", "x")
    assert found.log is not None
    assert found.log.failed == (FailedCompletion(1, "n1", "10.2.1.6<5>", None, None, "", "", ""),)
    assert [one.what for one in found.notes] == ["a failed completion without a status that can be read"]


def test_completions_that_succeeded_are_none() -> None:
    for text in (
        "Got completion from peer 10.2.1.6<5> with status=0 opcode=1 len=8 wr_id=1 r=0x7f type=1 events={1,0,0,0}, devIndex=0",
        "NET/IB: ncclIbTest: Got completion for a send request (req=0x7f, comm=0x7f, id=1, devIndex=0, qp_num=5)",
    ):
        assert logged(text, "TRACE").failed == ()


@pytest.mark.parametrize("spelling", OFI)
@settings(max_examples=25, deadline=None)
@given(error=st.integers(1, 270), code=st.integers(-4200, 2**31 - 1))
def test_codes_of_libfabric_read_back_as_themselves(spelling: str, error: int, code: int) -> None:
    text = OFI[spelling].format(error=error, code=code)
    [found] = logged(text).failed
    assert (found.status, found.error) == (None, error)
    assert found.vendor_error == (code if "{code}" in OFI[spelling] else None)
    assert found.text in text


@pytest.mark.parametrize("spelling", CALLS)
def test_every_error_number_reads_back_as_itself(spelling: str) -> None:
    for error, words in WORDS.items():
        [found] = logged(CALLS[spelling].format(error=error, words=words)).calls
        assert (found.host, found.error) == ("n1", error), words


def test_the_numbers_are_those_of_linux() -> None:
    """``errno`` of Python has those of the system that runs the tests."""
    assert {name: NUMBERS[words] for name, words in SOME.items()} == {name: getattr(errno, name) for name in SOME}
    assert len(NUMBERS) == len(WORDS) == 131


SOME = {
    "ENODEV": "No such device",
    "ENOMEM": "Cannot allocate memory",
    "EINVAL": "Invalid argument",
    "ENETUNREACH": "Network is unreachable",
    "EHOSTUNREACH": "No route to host",
    "ETIMEDOUT": "Connection timed out",
    "ECONNREFUSED": "Connection refused",
    "ECONNRESET": "Connection reset by peer",
    "EOVERFLOW": "Value too large for defined data type",
    "EKEYREJECTED": "Key was rejected by service",
}


@pytest.mark.parametrize(
    "text",
    [
        "cudaIpcGetMemHandle failed : invalid argument",
        "NET/IB : Using [0]mlx5_0:1/RoCE",
        "Retrieve cuMemMap failed with 12",
    ],
)
def test_other_messages_have_no_error_number(text: str) -> None:
    assert errno_of(text) is None


def test_an_error_number_without_words() -> None:
    assert errno_of("Call to ibv_modify_qp failed with 200 Unknown error 200, on dev mlx5_0:1") == 200
