"""The drivers' own messages, each in its real form and behind the prefixes of dmesg and the journal.

Taken from the drivers: bnxt_en, bnxt_re, mlx5_core, mlx5_ib and amdgpu of Linux 5.15 to 6.12, the kernel's queue watchdog, NVIDIA's open kernel modules.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from railweave.host.checking import ALL
from railweave.host.machine import CommandOutput, Machine

B, M, A = "bnxt_en 0000:1d:00.0 eth1", "mlx5_core 0000:18:00.0", "amdgpu 0000:17:00.0: amdgpu"
MESSAGES = {
    "log-nic": (
        f"{B}: TX timeout detected, starting reset task!",
        "NETDEV WATCHDOG: eth1 (bnxt_en): transmit queue 4 timed out",
        f"{B}: NETDEV WATCHDOG: CPU: 12: transmit queue 3 timed out 5120 ms",
        "NETDEV WATCHDOG: gpu0_eth (mlx5_core): transmit queue 18 timed out 10240 ms",
        f"{B}: Error (timeout: 500015) msg {{0x23 0x2c8c}} len:0",
        f"{B}: Error (timeout: 10015) msg {{0x15 0x6ca}} len:32 v:0",
        f"{B}: Error (timeout: 500015) hwrm firmware cmd timeout",
        f"{B}: Abandoning msg {{0x23 0x2c8c}} len: 0 due to firmware status: 0x1020",
        f"{B}: Resp cmpl intr abandoning msg: 0x41 due to firmware status: 0x8000",
        f"{B}: hwrm req_type 0x23 seq id 0x6fca error 0x4",
        f"{B}: Detected firmware fatal condition, initiating reset",
        f"{B}: Firmware not responding, status: 0x1020",
        f"{B}: Fatal firmware reset event, data1: 0x2, data2: 0x0, min wait 4000 ms, max wait 60000 ms",
        f"{B}: Non-fatal firmware reset event, data1: 0x1, data2: 0x0, min wait 4000 ms, max wait 60000 ms",
        f"{B}: Firmware reset aborted, rc = -19",
        f"{B}: Firmware not ready",
        f"{B}: A previous firmware reset has not completed, aborting",
        f"{B}: Pause Storm detected!",
        f"{B}: One or more MMIO doorbells dropped by the device!",
        f"{B}: RX buffer error 4000024",
        f"{B}: PCI I/O error detected",
        f"{B}: nic open fail (rc: fffffff0)",
        f"{B}: Chip temperature has crossed the critical thermal threshold!",
        f"{B}: Chip temperature has gone above the warning thermal threshold!",
        f"{B}: Unqualified SFP+ module detected on port 0",
        f"{B}: SFP+ module is shutdown",
        "bnxt_en 0000:12:00.0: QPLIB: bnxt_re_is_fw_stalled: FW STALL Detected. cmdq[0xe]=0x3 waited (103641 > 100000) msec active 1",
        "bnxt_en 0000:19:00.0: QPLIB: cmdq[0x41d]=0x3 timedout (20000)msec",
        "bnxt_en 0000:19:00.0: QPLIB: cmdq[0x0]=0x3 send failed",
        "bnxt_en 0000:41:00.0: QPLIB: cmdq[0xd3a]=0x9 status 0x3",
        "infiniband bnxt_re0: Failed to modify HW QP",
        "bnxt_en 0000:12:00.0 bnxt_re0: Failed to destroy HW QP",
        "infiniband bnxt_re0: Couldn't change QP1 state to INIT: -110",
        "infiniband bnxt_re0: Couldn't open port 1",
        "infiniband bnxt_re2: Fail to setets rc:-22",
        f"{M}: poll_health:942:(pid 0): device's health compromised - reached miss count",
        f"{M}: poll_health:955:(pid 0): Fatal error 1 detected",
        f"{M}: print_health_info:476:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:",
        f"{M}: print_health_info:481:(pid 0): assert_exit_ptr 0x21492f38",
        f"{M}: print_health_info:424:(pid 0): synd 0x1: firmware internal error",
        f"{M}: mlx5_health_try_recover:335:(pid 1023): health recovery flow aborted, PCI reads still not working",
        f"{M}: mlx5_fw_fatal_reporter_err_work:676:(pid 1023): health recovery failed",
        f"{M}: wait_func_handle_exec_timeout:1120:(pid 4711): cmd[0]: CREATE_CQ(0x400) Async, timeout. Will cause a leak of a command resource",
        f"{M}: wait_func:1148:(pid 4711): QUERY_VPORT_COUNTER(0x770) timeout. Will cause a leak of a command resource",
        f"{M}: cmd_work_handler:990:(pid 77): ACCESS_REG(0x805) timed out while waiting for a slot.",
        f"{M}: mlx5_cmd_out_err:834:(pid 4711): CREATE_QP(0x500) op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x5aa9b1), err(-22)",
        f"{M} gpu0_eth: TX timeout detected",
        f"{M} gpu0_eth: TX timeout on queue: 3, SQ: 0x1a2b, CQ: 0x49c, SQ Cons: 0x9 SQ Prod: 0x2d, usecs since last trans: 15984000",
        f"{M} gpu0_eth: RX timeout on channel: 3, ICOSQ: 0x1 RQ: 0x1a2b, CQ: 0x49c",
        f"{M}: cq_err_event_notifier:472:(pid 0): CQ error on CQN 0x4a, syndrome 0x1",
        f"{M} gpu0_eth: Error cqe on cqn 0x49c, ci 0x3, qn 0x1a2b, opcode 0xd, syndrome 0x2, vendor syndrome 0x68",
        f"{M}: mlx5_function_setup:1152:(pid 902): Firmware over 120000 MS in pre-initializing state, aborting",
        f"{M}: mlx5_sync_reset_timeout_work:601:(pid 902): PCI Sync FW Update Reset Timeout.",
        f"{M}: temp_warn:181:(pid 0): High temperature on sensors with bit set 0 1",
        f"{M}: Port module event[error]: module 0, Cable error, Power budget exceeded",
        f"{M}: port_module:253:(pid 0): Port module event[error]: module 1, Cable error, High Temperature",
        f"{M}: Port module event: module 0, Cable unplugged",
        f"{M}: mlx5_pcie_event:301:(pid 1009): Detected insufficient power on the PCIe slot (27W).",
        "infiniband mlx5_0: mlx5_ib_poll_cq:604:(pid 0): Requestor error cqe on cqn 0x4a0:",
        "infiniband mlx5_0: mlx5_handle_error_cqe:345:(pid 881): WC error: 12, Message: transport retry counter exceeded",
    ),
    "log-gpu": (
        "NVRM: GPU 0000:17:00.0: GPU has fallen off the bus.",
        "NVRM: fallen off the bus and is not responding to commands.",
        "NVRM: GPU 0000:17:00.0: RmInitAdapter failed! (0x26:0x56:1463)",
        "NVRM: GPU 0000:17:00.0: rm_init_adapter failed, device minor number 3",
        "NVRM: The NVIDIA probe routine failed for 1 device(s).",
        "NVRM: API mismatch: the client 'nvidia-smi' (pid 4711)",
        "NVRM: FATAL: Failed to re-allocate BAR1.",
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        f"{A}: GPU reset begin!",
        f"{A}: GPU mode1 reset",
        f"{A}: GPU reset(2) failed",
        f"{A}: GPU reset end with ret = -110",
        f"{A}: [gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32771)",
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=81, emitted seq=83",
        f"{A}: ring sdma1.3 timeout, signaled seq=81, emitted seq=83",
        "[drm:amdgpu_ib_ring_tests [amdgpu]] *ERROR* IB test failed on sdma0 (-110).",
        "amdgpu: qcm fence wait loop timeout expired",
        "amdgpu: The cp might be in an unrecoverable state due to an unsuccessful queues preemption",
        "amdgpu: HIQ MQD's queue_doorbell_id0 is not 0, Queue preemption time out",
        "amdgpu: MES might be in unrecoverable state, issue a GPU reset",
        f"{A}: Fatal error during GPU init",
        f"{A}: socket: 0, die: 1 3 uncorrectable hardware errors detected in umc block",
        f"{A}: {{7}}socket: 0, die: 1, 1 new uncorrectable hardware errors detected in gfx block",
        f"{A}: {{7}}socket: 0, die: 1, 12 new deferred hardware errors detected in umc block",
        f"{A}: uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!",
        f"{A}: RAS controller interrupt triggered by NBIF error",
        f"{A}: RAS poison consumption, fall back to gpu reset flow: client id 27",
        f"{A}: Poison detected in VCN0, sub_block0",
        f"{A}: RAS records:257 exceed threshold:256, GPU will not be initialized. Replace this GPU or increase the threshold",
        f"{A}: Saved bad pages 256 reaches threshold value 256",
        f"{A}: XGMI PCS DataLossErr detected",
        f"{A}: WAFL PCS FCInitTimeoutErr detected",
        f"{A}: XGMI: Failed to add node 3, hive 0x8a2f3c ret: -22",
        f"{A}: XGMI: Get topology failure on device 3f2a, hive 8a2f, ret -22",
        f"{A}: SMU: I'm not done with your previous command: SMN_C2PMSG_66:0x0000000E SMN_C2PMSG_82:0x00000000",
        f"{A}: SMU: response:0xFFFFFFFF for index:14 param:0x00000005 message:TransferTableSmu2Dram?",
        f"{A}: ERROR: GPU over temperature range(SW CTF) detected!",
        f"{A}: ERROR: GPU HW Critical Temperature Fault(aka CTF) detected!",
        f"{A}: ERROR: System is going to shutdown due to GPU SW CTF!",
        f"{A}: VRAM is lost due to GPU reset!",
    ),
    "log-pcie": (
        "pcieport 0000:15:01.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)",
        "pcieport 0000:15:01.0: AER: Uncorrected (Fatal) error received: 0000:17:00.0",
        "pcieport 0000:15:01.0: AER: Uncorrectable (Non-Fatal) error message received from 0000:17:00.0",
        "pcieport 0000:15:01.0: AER: device recovery failed",
        "pcieport 0000:15:01.0: DPC: containment event, status:0x1f01 source:0x0000",
        "pcieport 0000:15:01.0: pciehp: Slot(2): Link Down",
        "pcieport 0000:15:01.0: pciehp: Slot(2): Card not present",
    ),
}
GOOD = (
    f"{B}: NIC Link is Up, 400000 Mbps (PAM4) full duplex, Flow control: none",
    f"{B}: Broadcom BCM57608 NetXtreme-E 400Gb Ethernet found at mem de610000, node addr 84:16:0c:00:00:01",
    f"{B}: Driver recovery watchdog, role: primary, firmware status: 0x8000 (healthy), resets: 0",
    f"{B}: Device requests max timeout of 100 seconds, may trigger hung task watchdog",
    f"{B}: Chip temperature has gone below the warning thermal threshold!",
    "bnxt_en 0000:1d:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
    "infiniband bnxt_re0: Device registered with IB successfully",
    f"{M}: firmware version: 28.39.1002",
    f"{M}: Port module event: module 0, Cable plugged",
    f"{M}: mlx5_pcie_event:305:(pid 1009): PCIe slot advertised sufficient power (75W).",
    f"{M} gpu0_eth: Link up",
    f"{M}: print_health_info:424:(pid 0): synd 0x0: ",
    f"{M}: mlx5e: MLX5E: StrdRq(1) RqSz(8) StrdSz(2048) RxCqeCmprss(0 enhanced)",
    f"{A}: XGMI: Add node 3, hive 0x8a2f3c.",
    f"{A}: SMU is initialized successfully!",
    f"{A}: RAS: optional ras ta ucode is not available",
    f"{A}: RAS INFO: ras initialized successfully, hardware ability[7fff] ras_mask[7fff]",
    f"{A}: socket: 0, die: 1 0 uncorrectable hardware errors detected in umc block",
    f"{A}: 3 correctable hardware errors detected in umc block, no user action is needed.",
    f"{A}: Poison is created, no user action is needed.",
    "[drm] amdgpu kernel modesetting enabled.",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build",
    "nvidia-nvswitch3: using MSI",
    "pcieport 0000:15:01.0: AER: enabled with IRQ 33",
    "pcieport 0000:15:01.0: pciehp: Slot(2): Link Up",
)
PREFIXES = (
    "",
    "[  476.320742] ",
    "[Fri Nov 27 20:33:11 2026] ",
    "Nov 27 20:33:11 gpu-03 kernel: ",
    "2026-11-27T20:33:11.320742+0000 gpu-03 kernel: ",
    "kern  :err   : [  476.320742] ",
    "<3>[  476.320742] ",
)


class Log(Machine):
    """A machine that has a kernel's log and nothing else."""

    def __init__(self, *lines: str, program: str = "journalctl") -> None:
        super().__init__()
        self.log, self.program = "\n".join(lines) + "\n", program

    def has(self, program: str) -> bool:
        return program == self.program

    def _real(self, path: str) -> str | None:
        return "/sys/devices/pci0000:15/0000:15:01.0/0000:1d:00.0" if path == "/sys/class/net/eth1/device" else None

    def _run(self, words: tuple[str, ...]) -> CommandOutput:
        return CommandOutput(self.log) if words[0] == self.program else CommandOutput("", "", 127, missing=True)


def verdicts(check: str, machine: Machine, *more: object) -> list[tuple[str, str]]:
    """What a check says of a log."""
    found = ALL[check].look(SimpleNamespace(machine=machine), *more)
    return [(one.verdict, one.seen) for one in found]


@pytest.mark.parametrize("check", MESSAGES)
def test_every_message_is_found(check: str) -> None:
    for message in MESSAGES[check]:
        for prefix in PREFIXES:
            [(verdict, seen)] = verdicts(check, Log(GOOD[0], prefix + message, GOOD[-1]))
            assert (verdict, seen[:8]) == ("failed", "1 lines,"), prefix + message


@pytest.mark.parametrize("check", ["log-nic", "log-gpu", "log-pcie", "log-modules", "log-memory", "log-xid"])
def test_what_drivers_say_of_good_devices_is_not_found(check: str) -> None:
    for prefix in PREFIXES:
        for message in GOOD:
            assert verdicts(check, Log(prefix + message)) == [("ok", "none")], prefix + message


def test_the_log_of_dmesg_counts_where_there_is_no_journal() -> None:
    [(verdict, _)] = verdicts("log-nic", Log(PREFIXES[1] + MESSAGES["log-nic"][0], program="dmesg"))
    assert verdict == "failed"


XIDS = {
    "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": (
        "failed",
        "79 at 0000:17:00",
    ),
    "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No": (
        "warning",
        "94 at 0000:01:00",
    ),
    "NVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:01): 95, pid=7062, Uncontained: LTC TAG (0x2, 0x1).": (
        "failed",
        "95 at 0000:01:00",
    ),
    "NVRM: Xid (0000:03:00): 48, DBE (double bit error) in bank 3": ("failed", "48 at 0000:03:00"),
    "NVRM: Xid (PCI:0000:4e:00): 119, pid=7216, name=python, Timeout after 45s of waiting for RPC response from GPU4 GSP!": (
        "failed",
        "119",
    ),
    "NVRM: Xid (PCI:0000:4e:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 13": (
        "failed",
        "74",
    ),
    "NVRM: Xid (PCI:0000:4e:00): 149, NETIR_LINK_EVT  Fatal   XC1 i0 Link 17 (0x004505c6)": ("warning", "149"),
    "NVRM: Xid (PCI:0000:4e:00): 173, C2C fatal link failure": ("failed", "173"),
    "NVRM: Xid (PCI:0000:4e:00): 31, pid=77, name=python, Ch 00000008, intr 00000000. MMU Fault": ("warning", "31"),
    "NVRM: Xid (PCI:0000:4e:00): 137, pid=77, name=python, NVLink PRIV error": ("warning", "137"),
    "NVRM: Xid (PCI:0000:4e:00): 999, of a driver that nobody knows yet": ("warning", "999"),
    "NVRM: Xid 62: PMU Halt": ("failed", "62"),
    "NVRM: Xid (PCI:0000:4e:00): 63, pid=77, Row Remapper: New row marked for remapping": ("ok", "none"),
    "NVRM: Xid (PCI:0000:4e:00): 43, pid=77, name=python, Ch 00000008": ("ok", "none"),
}


@pytest.mark.parametrize("message", XIDS)
def test_xids(message: str) -> None:
    for prefix in PREFIXES:
        [(verdict, seen)] = verdicts("log-xid", Log(prefix + message))
        assert verdict == XIDS[message][0]
        assert XIDS[message][1] in seen


LINKS = {
    "bnxt_en 0000:1d:00.0 eth1: NIC Link is {}": ("Down", "Up, 400000 Mbps (PAM4) full duplex, Flow control: none"),
    "mlx5_core 0000:1d:00.0 eth1: Link {}": ("down", "up"),
}


@pytest.mark.parametrize("form", LINKS)
def test_a_link_that_is_down_or_flaps(form: str) -> None:
    nic = SimpleNamespace(netdev="eth1", leaf="leaf-1", leaf_port="Ethernet8")
    down, up = (form.format(one) for one in LINKS[form])
    before = (form.replace("eth1", "eth0").format(LINKS[form][0]),)  # before it was renamed
    other = form.replace("1d:00.0", "9a:00.0").replace("eth1", "eth7").format(LINKS[form][0])
    for prefix in PREFIXES:
        for events, verdict in (
            ((up,), "ok"),
            ((up, down, up), "ok"),
            ((up, down), "warning"),
            (before, "warning"),
            ((up, *(down, up) * 3), "warning"),
        ):
            [(found, seen)] = verdicts("log-link", Log(*(prefix + one for one in (*events, other))), nic)
            assert found == verdict, seen
