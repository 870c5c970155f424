"""What triage finds in outputs: each rule on a fixture that has what it looks for, and nothing on good ones."""

from __future__ import annotations

import ipaddress

import pytest

from railweave.operations.bench.triage.triage import RULES, processors, triage
from railweave.operations.bench.triage.wire import Design
from tests.operations.bench.made_logs import DEVIATIONS, WARNINGS
from tests.operations.bench.said import NAMES, text_of

FOUND = {
    # fixture: id, where, line, a part of the text, a part of the evidence
    "perftest-status-12.txt": [
        ("run-retries-exceeded", "rocep56s0f1", 25, "10.40.2.13 to 10.40.2.11, MTU 4096", "syndrom 0xa"),
    ],
    "perftest-link-local-gid.txt": [
        ("run-wrong-gid", "mlx5_2", 2, "fe80::a288:c2ff:fe12:3456 is link-local", "RDMA_Write BW Test"),
        ("run-retries-exceeded", "mlx5_2", 24, "to fc00:1:1:2::13", "retry counter exceeded"),
    ],
    "nccl-2.27-sockets.log": [
        ("run-verbs-abi", "nccl-2.27-sockets.log", 21, "kernel ABI of 6 (supports 1 to 1)", "libibverbs: Warning"),
        ("run-plugin-not-loaded", "gpu-a", 5, "libnccl-net-railweave.so is not found", "Could not find"),
        ("run-plugin-not-loaded", "gpu-b", 15, "libnccl-net-railweave.so is not found", "Could not find"),
        ("run-no-rdma-device", "gpu-a", 6, "NCCL_IB_HCA=rocep1s0", "No device found"),
        ("run-no-rdma-device", "gpu-b", 16, "NCCL_IB_HCA=rocep1s0", "No device found"),
        ("run-over-sockets", "gpu-a", 8, "Socket", "Using network Socket"),
        ("run-over-sockets", "gpu-b", 18, "Socket", "Using network Socket"),
        ("run-mixed-versions", "gpu-a", 1, "here 2.26.5+cuda12.9", "NCCL version 2.26.5"),
        ("run-mixed-versions", "gpu-b", 11, "2.26.5+cuda12.9, 2.27.5+cuda12.9", "NCCL version 2.27.5"),
        (
            "run-bootstrap-interface",
            "nccl-2.27-sockets.log",
            2,
            "eth0 on gpu-a; ens3 on gpu-b",
            "Bootstrap: Using eth0",
        ),
        ("run-affinity", "gpu-a", 10, "56-111, none of which is near its GPU (0-55)", "Affinity for GPU 0 is empty"),
        ("run-affinity", "gpu-b", 20, "56-111", "Affinity for GPU 0 is empty"),
    ],
    "nccl-2.28-status-12.log": [
        (
            "run-retries-exceeded",
            "h100-05",
            15,
            "mlx5_3 from fc00:1:4:1::5 to fc00:1:4:1::6",
            "IBV_WC_RETRY_EXC_ERR(12)",
        ),
        ("run-completion-failed", "h100-06", 19, "status 5 mlx5_3", "status=5"),
        ("run-link-event", "h100-06", 17, "GID table changed", "GID table changed"),
    ],
    "nccl-2.8-no-gpudirect-status-12.log": [
        ("run-retries-exceeded", "node01", 25, "no answer to all retries", "error 12"),
        ("run-no-gpudirect", "node01", 10, "2 of 2 connections", "via NET/IB/0"),
        ("run-no-gpudirect", "node02", 21, "2 of 2 connections", "via NET/IB/0"),
        ("run-affinity", "node01", 9, "1 processor", "to 01"),
        ("run-affinity", "node02", 20, "1 processor", "to 01"),
    ],
    "nccl-2.30-link-local-gid.log": [
        ("run-wrong-gid", "n1", 2, "fe80::1e34:daff:fe00:1 is link-local", "GID 1"),
        ("run-mixed-rails", "n1", 4, "different number of devices=1", "mergedDev"),
    ],
    "nccl-2.30-plugin-without-address.log": [
        ("run-plugin-failed", "vm", 16, "any NET plugin", "NCCL WARN"),
        ("run-plugin-failed", "vm", 14, "railweave", "Failed to initialize NET"),
        ("run-no-rdma-device", "vm", 12, "no usable RoCE v2 address", "NCCL WARN"),
    ],
    "nccl-2.30-four-ranks-plugin.log": [
        (
            "run-bootstrap-interface",
            "vm",
            4,
            "several servers look for each other over lo",
            "lo:127",
        ),
        ("run-no-gpudirect", "vm", 75, "48 of 48", "via NET/railweave/0"),
    ],
    "rccl-2.21-one-server-docker0.log": [
        ("run-bootstrap-interface", "mi300x-1", 4, "docker0", "docker0:172.17.0.1"),
        ("run-no-intranet", "rccl-2.21-one-server-docker0.log", 9, "RCCL_ENABLE_INTRANET is not set", "via P2P"),
    ],
    "nccl-tests-2.19-groups-wrong.txt": [
        ("run-wrong-data", "nccl-tests-2.19-groups-wrong.txt", 15, "6 values of 134217728 bytes", "134217728"),
        ("run-ended-early", "nccl-tests-2.19-groups-wrong.txt", 1, "NCCL_TESTS_MIN_BW", "nccl-tests version"),
    ],
    "nccl-tests-2.17-timeout-srun.txt": [
        ("run-ended-early", "h100-02", 28, "Test timeout (60s)", "Test timeout"),
        ("run-ended-early", "h100-02", 29, "CUDA failure", "unspecified launch"),
        ("run-ended-early", "h100-02", 30, "Test failure", "pid 70214"),
    ],
}
AS_A_MATTER_OF_COURSE = {"perftest-status-12-named.txt"}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    found = triage(text_of(name), name).diagnoses
    assert [(one.finding.id, one.finding.where, one.finding.line) for one in found] == [row[:3] for row in FOUND[name]]
    for one, (*_, what, evidence) in zip(found, FOUND[name], strict=True):
        assert what in one.finding.what
        assert evidence in one.evidence
        assert one.finding.fix
        assert one.finding.file == name


@pytest.mark.parametrize("name", sorted(set(NAMES) - FOUND.keys() - AS_A_MATTER_OF_COURSE))
def test_nothing_is_found_in_good_outputs(name: str) -> None:
    assert triage(text_of(name), name).diagnoses == ()


SAID = {
    "bnxt_re: disagrees about version of symbol ib_umem_release": "run-driver-symbols",
    "bnxt_re: Unknown symbol ib_modify_qp_is_ok (err -22)": "run-driver-symbols",
    "infiniband bnxt_re2: Fail to setets rc:-22": "run-qos-not-set",
    "Couldn't allocate MR": "run-memory-locked",
    "n1:1:2 [0] init.cc:1 NCCL WARN Mismatched NCCL version detected : rank 0 version 22304 rank 1 version 22707": "run-mixed-versions",
    "n1:1:2 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error No such device": "run-call-failed",
    "n1:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error": "run-link-event",
    "Couldn't connect to 10.1.2.3:18515": "run-ended-early",
    "n1:1:2 [0] init.cc:1 NCCL WARN Detected mixed local Net device counts across ranks (min 7, max 8).": "run-mixed-rails",
}


REMEDIES = {
    "Call to ibv_modify_qp failed with error Network is unreachable": "source routes",
    "Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_0:1, curr state INIT": "source routes",
    "Call to ibv_modify_qp failed with error Invalid argument errno 22": "GID index",
    "socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host) errno 115(Operation now in progress)": "firewall",
    "ncclSocketProgressOpt: Call to recv from 10.0.0.4<56849> failed : Connection reset by peer": "the other rank ended first",
    "NET/OFI Couldn't enable endpoint. RC: -22, ERROR: Invalid argument": "look up the call",
}


@pytest.mark.parametrize("text", REMEDIES)
def test_what_to_do_about_a_call_follows_from_its_error_number(text: str) -> None:
    [found] = triage(f"n1:1:2 [0] misc/x.cc:1 NCCL WARN {text}\n", "x").diagnoses
    assert (found.finding.id, found.finding.where) == ("run-call-failed", "n1")
    assert REMEDIES[text] in found.finding.fix


def test_memory_that_cannot_be_registered_is_one_finding() -> None:
    text = "n1:1:2 [0] misc/ibvwrap.cc:1 NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory errno 12\n"
    assert [one.finding.id for one in triage(text, "x").diagnoses] == ["run-memory-locked"]


@pytest.mark.parametrize("text", SAID)
def test_a_message_alone(text: str) -> None:
    [found] = triage(f"{text}\n", "x").diagnoses
    assert (found.finding.id, found.finding.line, found.evidence) == (SAID[text], 1, text)


def test_every_rule_is_shown_here() -> None:
    shown = {row[0] for rows in FOUND.values() for row in rows} | set(SAID.values())
    shown |= {id_ for id_, _ in (*WARNINGS, *DEVIATIONS)}
    shown |= {"run-ring-order", "run-port-down", "run-rank-missing"}  # test_triage_jobs.py
    shown |= {"run-communicator-slow", "run-nccl-diagnostics", "run-report-not-understood"}  # test_instruments.py
    assert shown == {rule.id for rule in RULES}


def test_gids_are_compared_with_the_design() -> None:
    text = text_of("nccl-2.23-four-servers.log")
    good = Design(frozenset({ipaddress.ip_network("10.10.2.0/24")}))
    assert triage(text, "x", good).diagnoses == ()
    found = triage(
        text, "x", Design(frozenset({ipaddress.ip_network("10.99.0.0/16"), ipaddress.ip_network("fc00::/64")}))
    )
    assert [one.finding.where for one in found.diagnoses] == [f"H100-0{n}" for n in range(1, 5)]
    assert found.diagnoses[0].finding.what == "the GID 10.10.2.1 is in no network of the design's GPU NICs"


def test_ends_of_two_families_and_an_unused_index() -> None:
    text = text_of("perftest-write-bw-4.5-mb.txt")
    other = text.replace("GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:20:01:12", "GID: 252" + ":00" * 14 + ":02")
    empty = text.replace("00:00:255:255:10:20:01:12", "00:00:00:00:00:00:00:00")
    for changed, what in ((other, "different families: 10.20.1.11 and fc00::2"), (empty, "the GID :: is empty")):
        assert what in " ".join(one.finding.what for one in triage(changed, "x").diagnoses)


def test_a_device_that_was_asked_for_is_not_in_use() -> None:
    text = text_of("nccl-2.23-four-servers.log").replace("[1]mlx5_1:1/RoCE ", "")
    found = triage(text, "x").diagnoses
    assert [(one.finding.id, one.finding.where) for one in found] == [
        ("run-no-rdma-device", f"H100-0{number}") for number in range(1, 5)
    ]
    assert "NCCL_IB_HCA names mlx5_1, which is not among the devices in use: mlx5_0" in found[0].finding.what


@pytest.mark.parametrize(
    ("text", "mask", "count"),
    [
        ("0-3,8", False, 5),
        ("7", False, 1),
        ("ff,ffffffff", True, 40),
        ("01", True, 1),
        ("11", True, 2),
        ("x", False, 0),
    ],
)
def test_processors(text: str, *, mask: bool, count: int) -> None:
    assert processors(text, mask=mask) == count


@pytest.mark.parametrize(
    "call",
    [
        "ibv_reg_mr",
        "ibv_reg_mr_iova2",
        "ibv_reg_dmabuf_mr",
        "ibv_create_cq",
        "ibv_create_qp",
        "ibv_create_comp_channel",
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "{} failed with error Cannot allocate memory",
        "{} failed: Cannot allocate memory (errno 12)",
        "{} failed with 12 Cannot allocate memory, on dev mlx5_0:1",
    ],
)
def test_each_call_without_memory_is_one_finding(call: str, form: str) -> None:
    [found] = triage(f"n1:1:2 [0] misc/x.cc:1 NCCL WARN Call to {form.format(call)}\n", "x").diagnoses
    assert found.finding.id == ("run-call-failed" if "channel" in call else "run-memory-locked")


def test_a_peer_has_the_name_of_its_host() -> None:
    """A completion names its peer by the address of the bootstrap, and the log says whose address it is."""
    text = (
        "n1:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.11<0>\n"
        "n2:3:4 [0] NCCL INFO Bootstrap : Using eth0:10.1.0.12<0>\n"
        "n1:1:9 [0] transport/net_ib.cc:1920 NCCL WARN NET/IB: Got completion from peer 10.1.0.12<417> with status=12 opcode=129 len=0 "
        "vendor err 129 (Send) localGid ::ffff:10.6.3.2 remoteGids::ffff:10.6.3.3\n"
    )
    found = triage(text, "job.log").diagnoses[0].finding
    assert (found.where, found.what) == ("n1", "no answer to all retries from 10.6.3.2 to 10.6.3.3 (n2)")


def test_a_socket_that_times_out_has_a_remedy() -> None:
    """Some releases print no error number: the words say enough."""
    text = "n2:1:2 [0] include/socket.h:403 NCCL WARN Net : Connect to 10.1.0.11<51234> failed : Socket/connection timed out\n"
    finding = triage(text, "job.log").diagnoses[0].finding
    assert finding.id == "run-call-failed"
    assert "open the firewall" in finding.fix
    assert "look for its first failure" in finding.fix


def test_a_result_without_a_call_asks_for_a_log() -> None:
    """PyTorch prints only the result of NCCL, if NCCL printed nothing: no failure is above it."""
    error = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, unhandled system error (run with NCCL_DEBUG=INFO for details)"
    alone = triage(f"[rank3]: {error}\n", "job.log").diagnoses[0].finding
    assert alone.id == "run-ended-early"
    assert "a call of the kernel, of a network library or of a driver failed" in alone.fix
    assert "NCCL_DEBUG=INFO" in alone.fix
    log = "n1:1:2 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
    assert "first failure above" in triage(f"{log}[rank3]: {error}\n", "job.log").diagnoses[-1].finding.fix
