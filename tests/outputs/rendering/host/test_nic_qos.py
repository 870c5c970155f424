"""nic-qos.sh: executed with stand-ins for the vendors' tools and a copy of sysfs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.model.device.host_model import HostConfig
from railweave.outputs.rendering.host import nic_qos
from tests.outputs.rendering.host.stand_ins import Machine, config_of, server

# What mlnx_qos prints of a NIC that nobody has set (its own default map, eight DSCPs a priority).
FRESH = "DCBX mode: Firmware controlled\nPriority trust state: pcp\ndscp2prio mapping:\n" + "".join(
    f"\tprio:{prio} dscp:{','.join(f'{prio * 8 + i:02d}' for i in reversed(range(8)))},\n" for prio in range(8)
)


def printing(text: str) -> str:
    return f'[[ $# -gt 2 ]] || cat <<"END"\n{text}END'


def one_nic(config: HostConfig) -> HostConfig:
    return replace(config, nics=config.nics[:1])


def connectx(machine: Machine, *, mlnx_qos: str | None = FRESH, adaptive: str = "0x00000000") -> Path:
    """A machine with one ConnectX-7 and the vendor's tools; gives its ecn folder."""
    for side in ("roce_np", "roce_rp"):
        machine.attribute(f"class/net/gpu0_eth/ecn/{side}/enable/3", "0")
    machine.attribute("class/net/gpu0_eth/ecn/roce_np/cnp_dscp", "4")
    machine.attribute("class/net/gpu0_eth/ecn/roce_np/cnp_802p_prio", "6")
    machine.attribute("class/infiniband/mlx5_0/tc/1/traffic_class", "Global tclass=0")
    machine.tool("ethtool", 'printf "RX:\\t\\ton\\nTX:\\t\\ton\\n"')
    machine.tool("dcb")
    if mlnx_qos is not None:
        machine.tool("mlnx_qos", printing(mlnx_qos))
    machine.tool("mlxreg", f'printf "Field | Data\\nadaptive_routing_forced_en   | {adaptive}\\n"')
    return machine.sys / "class/net/gpu0_eth/ecn"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_designed_values_are_those_of_the_sources() -> None:
    for example, cnp_priority, share in (("h100-rlb", 6, 85), ("mi300x-leaf-24", 7, 50)):
        (qos,) = server(example).qos
        assert (qos.dscp, qos.priority, qos.lossless, qos.ecn) == (26, 3, True, True)
        assert (qos.cnp_dscp, qos.cnp_priority) == (48, cnp_priority)
        assert qos.bandwidth_percent == share
        assert qos.traffic_class == 106


def test_no_other_dscp_shares_a_priority_with_data_or_congestion_notification() -> None:
    for example in ("h100-rlb", "mi300x-leaf-24"):
        (qos,) = server(example).qos
        assert [dscp for dscp, priority in enumerate(qos.priorities) if priority == qos.priority] == [26]
        assert [dscp for dscp, priority in enumerate(qos.priorities) if priority == qos.cnp_priority] == [48]
        assert len(qos.priorities) == 64


def test_data_on_the_priority_of_congestion_notification_moves_the_latter(tmp_path: Path) -> None:
    config = config_of(tmp_path, leaf=", qos: {classes: {no-loss: {pfc_priority: 6, dscp: [26, 27]}}}")
    (qos,) = config.qos
    assert qos.priority == 6
    assert qos.cnp_priority == 7
    assert [qos.priorities[dscp] for dscp in (26, 27, 48)] == [6, 6, 7]
    seven = ", qos: {classes: {no-loss: {pfc_priority: 7}}}"
    (qos,) = config_of(tmp_path, model="mi300x-8gpu-thor2", leaf=seven).qos
    assert (qos.priority, qos.cnp_priority) == (7, 6)


def test_connectx_by_mlnx_qos(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    ecn = connectx(machine)
    script = machine.write(nic_qos.files(config)) / "nic-qos.sh"
    done = machine.run(script)
    assert (done.returncode, done.stderr) == (0, "")
    calls = machine.calls()
    assert not [call for call in calls if call.startswith("dcb")]
    assert "ethtool -A gpu0_eth rx off tx off" in calls
    set_ = [call.removeprefix("mlnx_qos -i gpu0_eth ") for call in calls if call.startswith("mlnx_qos")][1:]
    assert set_[:2] == ["--dcbx os", "--trust dscp"]
    # 26 and 48 already go to 3 and 6; the others of their eight leave these priorities.
    moved = {*range(24, 32), *range(48, 56)} - {26, 48}
    assert set_.pop(-3) == "--cable_len 10"
    assert set(set_[2:-2]) == {f"--dscp2prio set,{dscp},0" for dscp in moved}
    assert set_[-2:] == [
        "--prio_tc 0,0,0,1,0,0,2,0 --tcbw 15,85,0,0,0,0,0,0 --tsa ets,ets,strict,strict,strict,strict,strict,strict",
        "--pfc 0,0,0,1,0,0,0,0",
    ]
    assert (ecn / "roce_np/enable/3").read_text() == "1\n"
    assert (ecn / "roce_rp/enable/3").read_text() == "1\n"
    assert (ecn / "roce_np/cnp_dscp").read_text() == "48\n"
    assert (ecn / "roce_np/cnp_802p_prio").read_text() == "6\n"
    assert (machine.sys / "class/infiniband/mlx5_0/tc/1/traffic_class").read_text() == "106\n"
    manager = machine.sys / "config/rdma_cm/mlx5_0/ports/1"
    assert (manager / "default_roce_mode").read_text() == "RoCE v2\n"
    assert (manager / "default_roce_tos").read_text() == "106\n"
    # The map is as wanted now: a second run sets none of it, and writes no attribute.
    groups = {p: [d for d, q in enumerate(config.qos[0].priorities) if q == p] for p in range(8)}
    after = "DCBX mode: OS controlled\nPriority trust state: dscp\ndscp2prio mapping:\n"
    after += "".join(f"\tprio:{p} dscp:{','.join(f'{d:02d}' for d in ds)},\n" for p, ds in groups.items())
    after += "Cable len: 10\n"
    machine.tool("mlnx_qos", printing(after))
    machine.tool("ethtool", 'printf "RX:\\t\\toff\\nTX:\\t\\toff\\n"')
    again = machine.run(script, "--dry-run").stdout
    assert "would write" not in again
    assert "dscp2prio" not in again
    assert "--trust" not in again
    assert "--dcbx" not in again
    assert "--cable_len" not in again
    assert "ethtool" not in again


def test_connectx_without_the_vendors_packages(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    (pci,) = machine.nics(config)
    machine.tool("ethtool")
    machine.tool("dcb")
    for name, value in (("np_cnp_dscp", "4"), ("np_cnp_prio", "0")):
        machine.attribute(f"debug/mlx5/{pci}/cc_params/{name}", value)
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert (done.returncode, done.stderr) == (0, "")
    calls = [call for call in machine.calls("dcb") if " show " not in call]
    assert calls[0] == "dcb dcbx set dev gpu0_eth host ieee"
    assert calls.pop(1) == "dcb pfc set dev gpu0_eth delay 10"
    assert calls[1].startswith("dcb app replace dev gpu0_eth dscp-prio 0:0 1:0 ")
    assert {"24:0", "26:3", "48:6", "49:0"} < set(calls[1].split())
    assert calls[2:] == [
        "dcb ets set dev gpu0_eth tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:15 1:85 prio-tc all:0 3:1 6:2",
        "dcb pfc set dev gpu0_eth prio-pfc all:off 3:on",
    ]
    parameters = machine.sys / "debug/mlx5" / pci / "cc_params"
    assert (parameters / "np_cnp_dscp").read_text() == "48\n"
    assert (parameters / "np_cnp_prio").read_text() == "6\n"
    assert "adaptive routing not looked at" in done.stdout


TALKATIVE = 'for ((i = 0; i < 30000; i++)); do echo "TX:  on"; done'
"""More than a pipe holds: a reader that leaves early makes its writer fail."""


def test_a_tool_that_says_much_is_heard_out(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    connectx(machine, mlnx_qos=None)
    machine.tool("ethtool", f'[[ $1 == -A ]] || {{ echo "RX:  on"; {TALKATIVE}; }}')
    machine.tool("dcb", f'[[ $2 != show ]] || {{ echo "host ieee"; {TALKATIVE}; }}')
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert (done.returncode, done.stderr) == (0, "")
    calls = machine.calls()
    assert "ethtool -A gpu0_eth rx off tx off" in calls
    assert not [call for call in calls if "dcbx set" in call], "the host is in charge already"


@pytest.mark.parametrize(
    ("cable_m", "now", "told"),
    [
        (3, "7", None),
        (7, "7", None),
        (30, "7", "30"),
        (30, "30", None),
        (3, "30", "7"),
        (None, "7", None),
        (30, None, "30"),
    ],
)
@pytest.mark.parametrize("tool", ["mlnx_qos", "dcb"])
def test_the_driver_is_told_the_length_of_a_cable(
    machine: Machine, tool: str, cable_m: int | None, now: str | None, told: str | None
) -> None:
    """By default mlx5 sizes the buffer of a lossless class for 7 m (en/port_buffer.h)."""
    config = server("h100-rlb")
    config = replace(config, nics=(replace(config.nics[0], cable_m=cable_m),))
    machine.nics(config)
    connectx(machine, mlnx_qos=FRESH + (f"Cable len: {now}\n" if now else "") if tool == "mlnx_qos" else None)
    machine.tool("dcb", f'[[ "$*" != "pfc show"* ]] || echo "pfc-cap 8 macsec-bypass off delay {now or 0}"')
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert (done.returncode, done.stderr) == (0, "")
    words = "--cable_len " if tool == "mlnx_qos" else " delay "
    found = [one.rsplit(" ", 1)[1] for one in machine.calls(tool) if words in one]
    assert found == ([told] if told else [])


def test_a_cable_longer_than_the_driver_takes_is_a_problem(machine: Machine) -> None:
    config = server("h100-rlb")
    config = replace(config, nics=(replace(config.nics[0], cable_m=2000),))
    machine.nics(config)
    connectx(machine)
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert done.returncode == 1
    assert "its cable is 2000 m long" in done.stderr
    assert "mlnx_qos -i gpu0_eth --cable_len 999" in machine.calls()


def test_no_tool_reads_what_is_typed(machine: Machine) -> None:
    config = one_nic(server("mi300x-leaf-24"))
    machine.nics(config)
    thor2(machine)
    machine.tool("dcb", f'cat >>"{machine.folder}/read"')
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh", said="y\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert (machine.folder / "read").read_text() == ""


def test_tools_that_fail_do_not_end_the_script(machine: Machine) -> None:
    """An ethtool without pause parameters for this driver, an mlxreg that cannot open the device."""
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    connectx(machine)
    for tool in ("ethtool", "mlxreg"):
        machine.tool(tool, "exit 1")
    script = machine.write(nic_qos.files(config)) / "nic-qos.sh"
    assert machine.run(script).returncode == 0
    assert (machine.sys / "config/rdma_cm/mlx5_0/ports/1/default_roce_tos").read_text() == "106\n"
    shown = machine.run(script, "show")
    assert shown.returncode == 0
    assert "default_roce_tos: 106" in shown.stdout


def test_dry_run_changes_nothing_and_says_what_it_would(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    ecn = connectx(machine)
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh", "--dry-run")
    assert done.returncode == 0
    assert "would run: mlnx_qos -i gpu0_eth --pfc 0,0,0,1,0,0,0,0" in done.stdout
    assert f"would write: 48 > {ecn}/roce_np/cnp_dscp" in done.stdout
    assert (ecn / "roce_np/cnp_dscp").read_text() == "4\n"
    assert all(len(call.split()) == 3 for call in machine.calls("mlnx_qos"))


@pytest.mark.parametrize(
    ("mode", "before", "expected"),
    [
        ("spray", "0x00000000", "0x1"),
        ("dlb-per-packet", "0x00000000", "0x1"),
        ("spray", "0x00000001", None),
        ("ecmp", "0x00000001", "0x0"),
        ("dlb-flowlet", "0x00000000", None),
    ],
)
def test_adaptive_routing_is_on_exactly_where_the_fabric_sprays(
    machine: Machine, tmp_path: Path, mode: str, before: str, expected: str | None
) -> None:
    config = one_nic(config_of(tmp_path, more=f"    load_balancing: {{mode: {mode}}}"))
    assert config.qos[0].adaptive_routing is (mode in {"spray", "dlb-per-packet"})
    (pci,) = machine.nics(config)
    connectx(machine, adaptive=before)
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert done.returncode == 0
    changes = [call for call in machine.calls("mlxreg") if "--set" in call]
    wanted = f"mlxreg -d {pci} --reg_name ROCE_ACCL --set adaptive_routing_forced_en={expected} --yes"
    assert changes == ([wanted] if expected else [])


def test_spraying_without_the_tool_is_a_problem(machine: Machine, tmp_path: Path) -> None:
    config = one_nic(config_of(tmp_path, more="    load_balancing: {mode: spray}"))
    machine.nics(config)
    connectx(machine)
    (machine.bin / "mlxreg").unlink()
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert done.returncode == 1
    assert "neither mlxreg nor mstreg" in done.stderr


def test_lossy_data_has_no_pfc(machine: Machine, tmp_path: Path) -> None:
    config = one_nic(config_of(tmp_path, leaf=", qos: {classes: {no-loss: null}}"))
    machine.nics(config)
    connectx(machine, mlnx_qos=None)
    machine.attribute("class/net/gpu0_eth/ecn/roce_np/enable/0", "1")
    machine.attribute("class/net/gpu0_eth/ecn/roce_rp/enable/0", "1")
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert (done.returncode, done.stderr) == (0, "")
    calls = machine.calls("dcb")
    assert "dcb pfc set dev gpu0_eth prio-pfc all:off" in calls
    assert "dcb ets set dev gpu0_eth tc-tsa all:strict 0:ets tc-bw all:0 0:100 prio-tc all:0 6:2" in calls


def thor2(
    machine: Machine, shown: str = "3:1 4:0 5:0 6:0 7:2", pfc: str = "3", service_type: str | None = None
) -> None:
    """A Thor2's tools. ``service_type``: what the driver shows of congestion notification's, instead of 1; empty: nothing."""
    if service_type is not None:
        (info,) = (machine.sys / "debug/bnxt_re").glob("*/info")
        info.write_text(f"fw_service_prof_type_sup = {service_type}\n" if service_type else "")
    machine.tool("ethtool", 'printf "RX:\\t\\toff\\nTX:\\t\\toff\\n"')
    machine.tool("dcb")
    machine.tool(
        "niccli",
        f'printf "IEEE 8021QAZ ETS Configuration TLV:\\n  PRIO_MAP: 0:0 1:0 2:0 {shown}\\n  TC Bandwidth: 50%% 50%% 0%%\\n'
        f'IEEE 8021QAZ PFC TLV:\\n  PFC enabled: {pfc}\\n"',
    )


def test_thor2(machine: Machine) -> None:
    config = one_nic(server("mi300x-leaf-24"))
    (pci,) = machine.nics(config)
    thor2(machine)
    script = machine.write(nic_qos.files(config)) / "nic-qos.sh"
    done = machine.run(script)
    assert (done.returncode, done.stderr) == (0, "")
    calls = machine.calls()
    assert [call for call in calls if call.startswith("dcb") and " show " not in call] == [
        "dcb app replace dev eth1 dscp-prio 26:3 48:7",
        "dcb ets set dev eth1 tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:50 1:50 prio-tc all:0 3:1 7:2",
        "dcb pfc set dev eth1 prio-pfc all:off 3:on",
        "dcb app replace dev eth1 dgram-port-prio 4791:3",
    ]
    assert f"niccli --dev {pci} qos --ets --show" in calls
    installed = machine.folder / "etc/bnxt_re/bnxt_re.conf"
    assert installed.read_text() == nic_qos.files(config)["bnxt_re.conf"]
    assert "reboot" in done.stdout
    assert "reboot" not in machine.run(script).stdout


def test_thor2_forgets_what_is_designed_no_longer(machine: Machine) -> None:
    """A stand-in that keeps the table: DSCP 18 was of a paused class, and 26 is shown by its number."""
    config = one_nic(server("mi300x-leaf-24"))
    machine.nics(config)
    thor2(machine)
    table = machine.folder / "table"
    table.write_text("dscp-prio 18:3 26:3 48:7\n")
    machine.tool("dcb", f'[[ "$*" != *"-N app show"* ]] || cat "{table}"')
    script = machine.write(nic_qos.files(config)) / "nic-qos.sh"
    assert machine.run(script).returncode == 0
    assert [one for one in machine.calls("dcb") if " app del " in one] == ["dcb app del dev eth1 dscp-prio 18:3"]
    table.write_text("dscp-prio 26:3 48:7\n")
    assert "app del" not in machine.run(script, "--dry-run").stdout


def test_thor2_that_firmware_dcbx_rules_is_a_problem(machine: Machine) -> None:
    # The output that the guide shows of it (section 5.1, question 5).
    config = one_nic(server("mi300x-leaf-24"))
    machine.nics(config)
    thor2(machine, "3:0 4:0 5:0 6:0 7:0", "none")
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert done.returncode == 1
    assert "firmware DCBX or LLDP" in done.stderr
    assert "PFC is on for none, not 3" in done.stderr


@pytest.mark.parametrize(("service_type", "problem"), [("0", False), ("", True)])
def test_thor2_without_a_service_type_for_congestion_notification(
    machine: Machine, service_type: str, problem: bool
) -> None:
    """bnxt_setupcc.sh leaves it in class 0 then. What cannot be read is no good news."""
    config = one_nic(server("mi300x-leaf-24"))
    machine.nics(config)
    thor2(machine, "3:1 4:0 5:0 6:0 7:0", service_type=service_type)
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert done.returncode == int(problem)
    assert ("does not show fw_service_prof_type_sup" in done.stderr) is problem
    assert ("firmware has no service type" in done.stdout) is not problem
    (set_,) = [call for call in machine.calls("dcb") if call.startswith("dcb ets set")]
    assert set_.endswith(" tc-bw all:0 0:50 1:50 prio-tc all:0 3:1 7:0")


def test_thor2_without_congestion_control_needs_no_service_type(machine: Machine, tmp_path: Path) -> None:
    config = one_nic(config_of(tmp_path, model="mi300x-8gpu-thor2", leaf=", qos: {classes: {no-loss: {ecn: null}}}"))
    machine.nics(config)
    thor2(machine, "3:1 4:0 5:0 6:0 7:0", service_type="")
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert (done.returncode, done.stderr) == (0, "")


def test_bnxt_re_conf_key_by_key() -> None:
    # Thor2 guide, section 2.2.1.3.
    text = nic_qos.files(server("mi300x-leaf-24"))["bnxt_re.conf"]
    assert dict(line.split("=") for line in text.splitlines()) == {
        "ENABLE_FC": "1",
        "FC_MODE": "3",
        "ROCE_PRI": "3",
        "ROCE_DSCP": "26",
        "CNP_PRI": "7",
        "CNP_DSCP": "48",
        "ROCE_BW": "50",
        "UTILITY": "4",
    }
    assert "bnxt_re.conf" not in nic_qos.files(server("h100-rlb"))


def test_a_second_fabric_with_other_values_is_a_problem(machine: Machine) -> None:
    config = server("mi300x-leaf-24")
    second = replace(config.qos[0], fabric="storage", dscp=24)
    nics = (config.nics[0], replace(config.nics[1], fabric="storage"))
    for qos, problems in ((second, ["eth2"]), (replace(second, dscp=config.qos[0].dscp), [])):
        both = replace(config, nics=nics, qos=(*config.qos, qos))
        if problems:
            machine.nics(both)
            thor2(machine)
        done = machine.run(machine.write(nic_qos.files(both)) / "nic-qos.sh")
        lines = [line for line in done.stderr.splitlines() if "holds the QoS of another fabric" in line]
        assert [line.split(": ")[1] for line in lines] == problems
        assert done.returncode == len(problems)
        assert "ROCE_DSCP=26\n" in (machine.folder / "etc/bnxt_re/bnxt_re.conf").read_text()


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("{no-loss: {ecn: null}}", {"ENABLE_FC": "1", "FC_MODE": "1"}),
        ("{no-loss: null}", {"ENABLE_FC": "0"}),
        (
            "{no-loss: {dscp: [24], pfc_priority: 5}, cnp: {dscp: [40]}}",
            {"ROCE_PRI": "5", "ROCE_DSCP": "24", "CNP_DSCP": "40"},
        ),
    ],
)
def test_bnxt_re_conf_follows_the_design(tmp_path: Path, classes: str, expected: dict[str, str]) -> None:
    config = config_of(tmp_path, model="mi300x-8gpu-thor2", leaf=f", qos: {{classes: {classes}}}")
    text = nic_qos.files(config)["bnxt_re.conf"]
    assert expected.items() <= dict(line.split("=") for line in text.splitlines()).items()


def test_what_is_missing_is_said(machine: Machine) -> None:
    config = server("mi300x-leaf-24")
    machine.nics(one_nic(config))
    script = machine.write({"nic-qos.sh": nic_qos.nic_qos(config)}) / "nic-qos.sh"
    done = machine.run(script)
    assert done.returncode == 1
    for text in ("dcb is missing", "ethtool is missing", "bnxt_re.conf is missing", "there is no interface eth8"):
        assert text in done.stderr
    assert machine.run(script, "nonsense").returncode == 2


@pytest.mark.parametrize("by", ["interface", "PCI address"])
def test_one_nic_alone(machine: Machine, by: str) -> None:
    """What udev has done when a device comes back: to set QoS again would disturb the traffic of the others."""
    config = replace(server("h100-rlb"), nics=server("h100-rlb").nics[:2])
    addresses = machine.nics(config)
    connectx(machine)
    script = machine.write(nic_qos.files(config)) / "nic-qos.sh"
    done = machine.run(script, "apply", "--nic=gpu0_eth" if by == "interface" else f"--nic={addresses[0]}")
    assert (done.returncode, done.stderr) == (0, "")
    assert "gpu1_eth" not in done.stdout
    assert any("gpu0_eth" in call for call in machine.calls("mlnx_qos"))


def test_a_nic_of_no_fabric(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    connectx(machine)
    script = machine.write(nic_qos.files(config)) / "nic-qos.sh"
    other = machine.run(script, "--nic=0000:99:00.0")
    assert (other.returncode, other.stderr) == (0, "")
    assert "nothing to do" in other.stdout
    wrong = machine.run(script, "--nic=gpu9_eth")
    assert (wrong.returncode, wrong.stderr) == (1, "problem: gpu9_eth is none of the NICs that this script is for\n")
    assert not machine.calls()


def test_a_card_that_comes_back_under_another_name_is_a_problem(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    (pci,) = machine.nics(config)
    (machine.sys / "class/net/gpu0_eth").rename(machine.sys / "class/net/ens1np0")
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh", f"--nic={pci}")
    assert done.returncode == 1
    assert "there is no interface gpu0_eth" in done.stderr


def test_the_connection_managers_module_is_loaded_first(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    connectx(machine)
    there, away = machine.sys / "config/rdma_cm", machine.sys / "rdma_cm"
    there.rename(away)
    machine.tool("modprobe", f'mv "{away}" "{there}"')
    script = machine.write(nic_qos.files(config)) / "nic-qos.sh"
    tried = machine.run(script, "--dry-run")
    assert (tried.returncode, tried.stdout.splitlines()[0]) == (0, "would run: modprobe rdma_cm")
    machine.calls()
    done = machine.run(script)
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.calls()[0] == "modprobe rdma_cm"
    assert (there / "mlx5_0/ports/1/default_roce_tos").read_text() == "106\n"


def test_show_changes_nothing(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    ecn = connectx(machine)
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh", "show")
    assert done.returncode == 0
    assert "gpu0_eth/ecn/roce_np/cnp_dscp: 4" in done.stdout
    assert "default_roce_tos" in done.stdout
    assert (ecn / "roce_np/cnp_dscp").read_text() == "4\n"
    assert not [call for call in machine.calls() if " set " in call or "--set" in call or "--pfc" in call]


def test_another_name_of_the_rdma_device_is_followed(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(replace(config, nics=(replace(config.nics[0], rdma="rocep27s0"),)))
    connectx(machine)
    done = machine.run(machine.write(nic_qos.files(config)) / "nic-qos.sh")
    assert "its RDMA device is rocep27s0, the design says mlx5_0" in done.stdout
    assert (machine.sys / "config/rdma_cm/rocep27s0/ports/1/default_roce_tos").read_text() == "106\n"
