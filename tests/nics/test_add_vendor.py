"""The how-to for a new NIC vendor, followed to the letter: one folder, and a network with its NICs is built and simulated."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from railweave import api
from railweave.cli import main
from railweave.model.catalog.definitions import vendor_files
from railweave.model.device.host import host_config
from railweave.nics import vendor
from railweave.outputs.rendering.host import files
from railweave.prediction.simulation.model.fabric import packet_fabric
from tests.outputs.rendering.host.stand_ins import Machine
from tests.prediction.simulation.beds import plane_of

SHELLCHECK = Path(sys.executable).with_name("shellcheck")

ACMECLI = """
flash="$(dirname "$0")/../flash"
case $2 in
get) sed -n "s/^$3=//p" "$flash" ;;
set) sed "s/^$3=.*/$3=$4/" "$flash" >"$flash.new" && mv "$flash.new" "$flash" ;;
esac
"""


def test_a_network_with_its_nics_is_built(acme: Path, fabric_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = fabric_file.parent / "out"
    monkeypatch.setattr("sys.argv", ["railweave", "build", str(fabric_file), "-o", str(out), "--quiet"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    server = out / "hosts" / "H100-01"
    qos = (server / "nic-qos.sh").read_text()
    assert "    'gpu7_eth acme_7 1 Acme backend 10'\n" in qos
    assert "\napply_acme() {\n" in qos
    assert "\nCNP_DSCP=48 " in qos.replace(" " * 8, "")
    assert "\n    'cnp_dscp 48 device congestion notification" in (server / "nic-nvm.sh").read_text()
    assert "- [ ] Acme's RDMA driver is loaded" in (server / "bios.md").read_text()
    assert "Careful: acme_0 and the like" in (server / "60-rdma-persistent-naming.rules").read_text()
    for script in (server / "nic-qos.sh", server / "nic-nvm.sh"):
        text = script.read_text()
        assert not [word for word in ("nvidia", "mlx5", "broadcom", "bnxt") if word in text]
        done = subprocess.run([SHELLCHECK, script], capture_output=True, text=True, check=False, timeout=120)
        assert (done.returncode, done.stdout) == (0, "")
    network = api.load(out)
    assert [one for one in api.verify(network) if one.severity == "error"] == []


def test_its_scripts_set_the_design(acme: Path, fabric_file: Path, tmp_path: Path) -> None:
    config = host_config(api.load(fabric_file), "H100-01")
    (tmp_path / "machine").mkdir()
    machine = Machine(tmp_path / "machine")
    machine.nics(config)
    for tool in ("ethtool", "dcb"):
        machine.tool(tool)
    machine.tool("acmecli", ACMECLI)
    (machine.folder / "flash").write_text("cnp_dscp=0\ntemperature_limit=90\n")
    given = [machine.attribute(f"class/net/{nic.netdev}/acme/cnp_dscp", "0") for nic in config.nics]
    made = machine.write(files(config))
    done = machine.run(made / "nic-qos.sh")
    assert (done.returncode, done.stderr) == (0, "")
    assert {file.read_text() for file in given} == {"48\n"}
    assert "dcb pfc set dev gpu7_eth prio-pfc all:off 3:on" in machine.calls()
    assert "  cnp_dscp: 48" in machine.run(made / "nic-qos.sh", "show").stdout
    done = machine.run(made / "nic-nvm.sh")
    assert "Reboot the server" in done.stdout
    assert (machine.folder / "flash").read_text() == "cnp_dscp=48\ntemperature_limit=90\n"
    assert "Nothing to change." in machine.run(made / "nic-nvm.sh").stdout


def test_it_is_simulated_as_it_says(acme: Path, fabric_file: Path) -> None:
    network = api.load(fabric_file)
    plane = plane_of(network)
    fabric = packet_fabric(network, plane.configs, plane.routes())
    assert fabric.parameters["host.ack-every"] == "4"
    assert "acme-400: DCQCN as ConnectX has it is assumed; 4 packets an ACK" in fabric.notes


def test_a_model_that_another_vendor_has_is_refused(acme: Path, fabric_file: Path) -> None:
    rows = acme / "nics.yaml"
    rows.write_text(rows.read_text().replace("acme-400:", "thor2:"))
    with pytest.raises(ValueError, match="thor2: the catalog already has a model of this name"):
        api.load(fabric_file)


def test_it_is_gone_afterwards() -> None:
    assert "acme" not in vendor_files()
    with pytest.raises(KeyError):
        vendor("Acme")
