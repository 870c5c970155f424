"""nic-nvm.sh: executed with stand-ins that keep what is set, as the NICs' flash does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from railweave.model.device.host_model import HostConfig
from railweave.outputs.rendering.host.nic_qos import nic_nvm
from tests.outputs.rendering.host.stand_ins import Machine, config_of, server

# mlxconfig's answer, from values in a file: "query" prints them, "set A=1 B=2" stores them.
MLXCONFIG = """
flash="$(dirname "$0")/../flash"
case " $* " in
*" query "*) awk -F= '{ printf "         %-40s %s\\n", $1, $2 }' "$flash" ;;
*" set "*)
    for pair in "$@"; do
        case $pair in
        *=*) sed "s/^${pair%%=*}=.*/$pair/" "$flash" >"$flash.new" && mv "$flash.new" "$flash" ;;
        esac
    done ;;
esac
"""

# niccli's: "support_rdma = True" and the like (AMD GPU cluster networking guide, "Enable RoCE support mode").
NICCLI = """
flash="$(dirname "$0")/../flash" name= value=
while [[ $# -gt 0 ]]; do
    case $1 in
    --getoption | --setoption) name=$2 ;;
    --value) value=$2 ;;
    esac
    shift
done
if [[ -n $value ]]; then
    sed "s/^$name=.*/$name=$value/" "$flash" >"$flash.new" && mv "$flash.new" "$flash"
    echo "$name is set successfully"
else
    echo
    sed -n "s/^$name=\\(.*\\)/$name = \\1/p" "$flash"
fi
"""

CONNECTX = {
    "LINK_TYPE_P1": "ETH(2)",
    "ROCE_CC_PRIO_MASK_P1": "255",
    "CNP_DSCP_P1": "4",
    "CNP_802P_PRIO_P1": "6",
    "LLDP_NB_DCBX_P1": "True(1)",
    "LLDP_NB_RX_MODE_P1": "ALL(2)",
    "LLDP_NB_TX_MODE_P1": "OFF(0)",
    "PCI_WR_ORDERING": "per_mkey(0)",
}
THOR2 = {
    "support_rdma": "False",
    "performance_profile": "Default",
    "pcie_relaxed_ordering": "Enabled",
    "dcbx_mode": "Disabled",
    "lldp_nearest_bridge": "Enabled",
    "lldp_nearest_non_tpmr_bridge": "Disabled",
}


def flash(machine: Machine, values: dict[str, str]) -> None:
    (machine.folder / "flash").write_text("".join(f"{name}={value}\n" for name, value in values.items()))


def one_nic(config: HostConfig) -> HostConfig:
    return replace(config, nics=config.nics[:1])


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize("tool", ["mlxconfig", "mstconfig"])
def test_connectx_gets_what_differs_once(machine: Machine, tool: str) -> None:
    config = one_nic(server("h100-rlb"))
    (pci,) = machine.nics(config)
    machine.tool(tool, MLXCONFIG)
    flash(machine, CONNECTX)
    script = machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh"
    dry = machine.run(script, "--dry-run")
    assert f"would run: {tool} -d {pci} --yes set" in dry.stdout
    assert machine.calls() == [f"{tool} -d {pci} query"]
    first = machine.run(script)
    assert (first.returncode, first.stderr) == (0, "")
    assert machine.calls() == [
        f"{tool} -d {pci} query",
        f"{tool} -d {pci} --yes set CNP_DSCP_P1=48 LLDP_NB_DCBX_P1=0 LLDP_NB_RX_MODE_P1=0",
    ]
    assert "Reboot" in first.stdout
    second = machine.run(script)
    assert machine.calls() == [f"{tool} -d {pci} query"]
    assert "Nothing to change." in second.stdout
    assert "Reboot" not in second.stdout


def test_thor2_gets_what_differs_once(machine: Machine) -> None:
    config = one_nic(server("mi300x-leaf-24"))
    (pci,) = machine.nics(config)
    machine.tool("niccli", NICCLI)
    flash(machine, THOR2)
    script = machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh"
    first = machine.run(script)
    assert (first.returncode, first.stderr) == (0, "")
    assert [call for call in machine.calls() if "--setoption" in call] == [
        f"niccli --dev {pci} nvm --setoption support_rdma --scope 0 --value 1",
        f"niccli --dev {pci} nvm --setoption performance_profile --value 1",
        f"niccli --dev {pci} nvm --setoption lldp_nearest_bridge --scope 0 --value 0",
    ]
    assert "Reboot" in first.stdout
    assert "Nothing to change." in machine.run(script).stdout
    assert not [call for call in machine.calls() if "--setoption" in call]


@pytest.mark.parametrize(
    ("example", "tool", "body", "values"),
    [("h100-rlb", "mlxconfig", MLXCONFIG, CONNECTX), ("mi300x-leaf-24", "niccli", NICCLI, THOR2)],
)
def test_a_tool_that_reads_gets_nothing(
    machine: Machine, example: str, tool: str, body: str, values: dict[str, str]
) -> None:
    """Neither what is typed, nor the rest of the list of options, which would then not be looked at."""
    config = one_nic(server(example))
    machine.nics(config)
    machine.tool(tool, f'cat >>"{machine.folder}/read"\n{body}')
    flash(machine, values)
    script = machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh"
    done = machine.run(script, said="y\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert (machine.folder / "read").read_text() == ""
    assert "Nothing to change." in machine.run(script).stdout


SUPPORT = {"1": ["1", "1 - Enabled", "1 (True)", "0x1", "Enabled (1)", "Enabled", "TRUE"], "0": ["0", "0 - Disabled", "0x0", "off"]}  # fmt: skip


@pytest.mark.parametrize(("number", "printed"), [(number, one) for number, all_ in SUPPORT.items() for one in all_])
def test_what_niccli_may_print(machine: Machine, number: str, printed: str) -> None:
    config = one_nic(server("mi300x-leaf-24"))
    machine.nics(config)
    machine.tool("niccli", NICCLI)
    wanted = {one.name: one.value for one in config.nics[0].firmware}
    flash(machine, wanted | {"support_rdma": printed})
    done = machine.run(machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert sum("--setoption" in call for call in machine.calls()) == (number == "0")


@pytest.mark.parametrize("printed", ["2.0", "Enabled for PF", "RoCE disabled", "<none>", "10.1"])
def test_what_is_not_understood_is_not_written_over(machine: Machine, printed: str) -> None:
    config = one_nic(server("mi300x-leaf-24"))
    machine.nics(config)
    machine.tool("niccli", NICCLI)
    wanted = {one.name: one.value for one in config.nics[0].firmware}
    flash(machine, wanted | {"support_rdma": printed})
    done = machine.run(machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh")
    assert done.returncode == 1
    assert f'eth1: niccli says "{printed}" of support_rdma, which is not understood: left as it is' in done.stderr
    assert not [call for call in machine.calls() if "--setoption" in call]


def test_what_mlxconfig_says_and_nobody_understands(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    machine.tool("mlxconfig", MLXCONFIG)
    flash(machine, CONNECTX | {"CNP_DSCP_P1": "N/A", "LLDP_NB_DCBX_P1": "False(0)", "LLDP_NB_RX_MODE_P1": "OFF(0)"})
    done = machine.run(machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh")
    assert done.returncode == 1
    assert 'gpu0_eth: mlxconfig says "N/A" of CNP_DSCP_P1, which is not understood' in done.stderr
    assert not [call for call in machine.calls() if " set " in call]


def test_options_of_the_guide() -> None:
    # Thor2 guide, sections 2.2.4.1 to 2.2.4.4.
    options = {one.name: (one.value, one.per_function) for one in server("mi300x-leaf-24").nics[0].firmware}
    assert options == {
        "support_rdma": ("1", True),
        "performance_profile": ("1", False),
        "pcie_relaxed_ordering": ("1", False),
        "dcbx_mode": ("0", True),
        "lldp_nearest_bridge": ("0", True),
        "lldp_nearest_non_tpmr_bridge": ("0", True),
    }


def test_connectx_takes_the_designed_congestion_notification(tmp_path: Path) -> None:
    config = config_of(tmp_path, leaf=", qos: {classes: {cnp: {dscp: [46]}}}")
    options = {one.name: one.value for one in config.nics[0].firmware}
    assert options["CNP_DSCP_P1"] == "46"
    assert options["CNP_802P_PRIO_P1"] == "6"
    assert "ROCE_ADAPTIVE_ROUTING_EN" not in options


def test_adaptive_routing_is_enabled_where_the_fabric_sprays(tmp_path: Path) -> None:
    config = config_of(tmp_path, more="    load_balancing: {mode: spray}")
    assert {one.name: one.value for one in config.nics[0].firmware}["ROCE_ADAPTIVE_ROUTING_EN"] == "1"


def test_show_says_why_and_changes_nothing(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    machine.tool("mlxconfig", MLXCONFIG)
    flash(machine, CONNECTX)
    before = (machine.folder / "flash").read_text()
    done = machine.run(machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh", "show")
    assert done.returncode == 0
    assert "CNP_DSCP_P1: 4, wanted 48: " in done.stdout
    assert "PCI_WR_ORDERING: per_mkey(0), left as it is" in done.stdout
    assert (machine.folder / "flash").read_text() == before


def test_what_is_missing_is_said(machine: Machine) -> None:
    config = server("h100-rlb")
    machine.nics(one_nic(config))
    script = machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh"
    done = machine.run(script)
    assert done.returncode == 1
    assert "neither mlxconfig nor mstconfig" in done.stderr
    assert "there is no interface gpu7_eth" in done.stderr
    machine.tool("mlxconfig", "echo '-E- Failed to open the device'; exit 1")
    assert "Failed to open the device" in machine.run(script).stderr


def test_a_setting_that_the_firmware_lacks_is_passed_over(machine: Machine) -> None:
    config = one_nic(server("h100-rlb"))
    machine.nics(config)
    machine.tool("mlxconfig", MLXCONFIG)
    flash(machine, {name: value for name, value in CONNECTX.items() if name != "CNP_DSCP_P1"})
    done = machine.run(machine.write({"nic-nvm.sh": nic_nvm(config)}) / "nic-nvm.sh")
    assert done.returncode == 0
    assert "CNP_DSCP_P1: not in this firmware" in done.stdout
