"""PFC on some ports only, and ports without quality of service, read back from configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from railweave.analysis.adopt.adopt import imported
from railweave.outputs.folder.designing import design_file
from railweave.systems import system
from tests.analysis.adopt.scramble import configs_of, read_back

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.analysis.adopt.adopt import ImportedNetwork
    from railweave.model.network.model import Network

SYSTEMS = ["junos", "eos", "sonic", "dell_sonic"]
FABRIC = """
name: t
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 1, spines: 2, links_per_spine: 4}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: dlb-flowlet}
    qos:
      classes:
        no-loss: {bandwidth: 50}
        storage: {queue: 5, dscp: [18], lossless: true, pfc_priority: 4, bandwidth: 30, ecn: {}}
      pfc: {ports: PORTS}
servers:
  - {names: "A-1", model: h100-8gpu-cx7, stripe: stripe1}
  - {names: "B-1", model: h100-8gpu-cx7, stripe: stripe2}
"""


def on(nos: str, folder: Path, ports: str = "all", more: str = "") -> Network:
    file = folder / "t.yaml"
    file.write_text(FABRIC.replace("PORTS", ports) + more)
    return design_file(file, device=[f":{nos}"])[0]


def back(network: Network) -> tuple[dict[str, Any], ImportedNetwork]:
    """The fabric file that is found, and how well it gives back what was read."""
    configs = configs_of(network)
    trees = {name: system(config.nos).trees(config) for name, config in configs.items()}
    found = imported("t", {name: read_back(config) for name, config in configs.items()}, trees=trees)
    return yaml.safe_load(found.fabric), found


@pytest.mark.parametrize("nos", SYSTEMS)
@pytest.mark.parametrize("ports", ["all", "server", "fabric"])
def test_which_ports_pause_comes_back(ports: str, nos: str, tmp_path: Path) -> None:
    document, found = back(on(nos, tmp_path, ports))
    assert found.differences() == []
    assert found.notes == ()
    assert document["fabrics"]["backend"]["qos"].get("pfc", {}).get("ports", "all") == ports
    assert "overrides" not in document
    if ports == "fabric" or nos == "junos":
        assert "qos" not in document["fabrics"]["backend"].get("spine", {}), "spines have what the fabric has"


@pytest.mark.parametrize("nos", SYSTEMS)
def test_single_ports_come_back(nos: str, tmp_path: Path) -> None:
    """A cable between switches, and a server's port, that do not pause."""
    whole = on(nos, tmp_path)
    cables = [cable for cable in whole.cables_of("stripe1-leaf1") if cable.kind == "server"]
    between = next(one for one in whole.cables_of("spine2") if "stripe2-leaf1" in {one.a.device, one.b.device})
    wanted = {
        "stripe1-leaf1": {"ports": {cables[0].b.port: {"pfc": False}, cables[3].b.port: {"pfc": False}}},
        **{end.device: {"ports": {end.port: {"pfc": False}}} for end in (between.a, between.b)},
    }
    document, found = back(on(nos, tmp_path, more=yaml.safe_dump({"overrides": {"devices": wanted}})))
    assert found.differences() == []
    assert document["overrides"]["devices"] == wanted


@pytest.mark.parametrize("nos", SYSTEMS)
def test_ports_without_quality_of_service_come_back(nos: str, tmp_path: Path) -> None:
    cable = next(one for one in on(nos, tmp_path).cables_of("stripe1-leaf1") if one.kind == "server")
    wanted = {"stripe1-leaf1": {"ports": {cable.b.port: {"qos": False}}}}
    document, found = back(on(nos, tmp_path, more=yaml.safe_dump({"overrides": {"devices": wanted}})))
    assert document["overrides"]["devices"] == wanted
    assert found.differences() == []


def test_the_classes_of_dell_have_the_names_of_their_policies(tmp_path: Path) -> None:
    document, _ = back(on("dell_sonic", tmp_path))
    assert document["fabrics"]["backend"]["qos"]["classes"]["storage"]["pfc_priority"] == 4
