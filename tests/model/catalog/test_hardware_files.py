"""Hardware that users describe: it is read with file and line, travels with the design, and ends with it."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from railweave import api
from railweave.errors import InputError, SpecError
from railweave.model.catalog import catalog, packaged
from railweave.model.catalog.hardware_files import hardware_schema, own_hardware
from railweave.model.device.build import device_config
from railweave.model.intent.reading.document import read_document
from railweave.model.network.model import Network
from railweave.outputs.report.bom import bill
from railweave.systems import system
from tests.conftest import EXAMPLES

FOLDER = EXAMPLES / "hardware"

FABRIC = """\
name: own
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1, spines: 4, links_per_spine: 2}
    leaf: {device: acme-32x800, nos: sonic}
servers: [{names: "gpu-[1-2]", model: acme-4gpu}]
"""

BAD_SPLIT = """
switches:
  x:
    extends: qfx5240-64od
    ports:
      - {first: 0, count: 2, cage: OSFP, speed_gbps: 800, lanes: 8, source: x, breakouts: [{channels: 3, speed_gbps: 200, source: x}]}
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a user's own files are looked for: a folder of the test."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "railweave" / "hardware"


def file(folder: Path, text: str, name: str = "own.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(dedent(text))
    return folder


def wrong(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as error:
        own_hardware(file(folder / "hardware", text))
    return str(error.value).replace(f"{folder}/hardware/", "")


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    (tmp_path / "fabric.yaml").write_text(FABRIC)
    return tmp_path / "fabric.yaml"


def test_a_fabric_of_hardware_files_is_built_and_its_folder_needs_them_no_more(fabric: Path, tmp_path: Path) -> None:
    built = api.build(fabric, tmp_path / "out", hardware=FOLDER)
    assert [one for one in built.findings if one.severity == "error"] == []
    assert "hardware-outside" in {one.id for one in built.findings}
    design = json.loads((tmp_path / "out" / "design.json").read_text())["hardware"]
    assert {section: list(models) for section, models in design.items()} == {
        "switches": ["acme-32x800"],
        "nics": ["connectx-7-acme"],
        "servers": ["acme-4gpu"],
        "optics": [],
    }
    loaded = api.load(tmp_path / "out")
    assert loaded.hardware == built.network.hardware
    assert Network.from_json(loaded.to_json()) == loaded
    found = api.verify(tmp_path / "out")
    assert found.good
    assert "Acme-32x800" in (tmp_path / "out" / "devices" / "spine1" / "config_db.json").read_text()
    assert {item.name for item in bill(loaded) if item.kind == "switch"} == {"acme-32x800"}
    assert api.simulate(tmp_path / "out", "all-reduce", "1M", watch=False).complete


def test_the_same_hardware_in_the_fabric_file_gives_the_same_network(fabric: Path) -> None:
    beside = api.load(fabric, hardware=FOLDER)
    own = yaml.safe_load((FOLDER / "acme.yaml").read_text())
    fabric.write_text(FABRIC + yaml.safe_dump({"hardware": own}))
    inside = api.load(fabric)
    assert (inside.switches, inside.cables, inside.servers) == (beside.switches, beside.cables, beside.servers)
    assert inside.hardware == beside.hardware
    assert "hardware-outside" not in {one.id for one in inside.findings}


def test_hardware_of_one_fabric_is_unknown_to_the_next(fabric: Path, tmp_path: Path) -> None:
    api.load(fabric, hardware=FOLDER)
    assert catalog() is packaged()
    assert "acme-32x800" not in packaged().switches
    with pytest.raises(InputError, match="'acme-32x800' is not in the catalog"):
        api.load(fabric)


def test_two_networks_with_models_of_one_name_stay_apart(fabric: Path) -> None:
    """The ports of the second are named by its own lanes and its own first port."""
    one = api.load(fabric, hardware=FOLDER)
    own = yaml.safe_load((FOLDER / "acme.yaml").read_text())
    own["switches"]["acme-32x800"]["ports"][0]["first"] = 1
    fabric.write_text(FABRIC + yaml.safe_dump({"hardware": own}))
    two = api.load(fabric)
    for _ in range(2):
        for network, first in ((one, 0), (two, 1)):
            config = device_config(network, "spine1")
            assert min(split.physical for split in config.splits) == first
    assert not api.diff(one, two).equal


def test_the_fabric_file_is_over_the_folder_and_that_over_the_user_s_own(tmp_path: Path, home: Path) -> None:
    def units(units: int) -> str:
        return f"switches: {{qfx5240-64od: {{extends: qfx5240-64od, rack_units: {units}}}}}\n"

    assert own_hardware().hardware.empty
    file(home, units(3))
    assert own_hardware().hardware.switches["qfx5240-64od"].rack_units == 3
    folder = file(tmp_path / "hardware", units(4))
    assert own_hardware(folder).hardware.switches["qfx5240-64od"].rack_units == 4
    file(tmp_path, f"name: x\nhardware:\n  {units(5)}", "fabric.yaml")
    found = own_hardware(folder, read_document(tmp_path / "fabric.yaml"))
    assert found.hardware.switches["qfx5240-64od"].rack_units == 5
    assert str(found.places["switches", "qfx5240-64od"]) == f"{tmp_path}/fabric.yaml:3"
    assert found.hardware.switches["qfx5240-64od"].buffer == packaged().switches["qfx5240-64od"].buffer


def test_a_model_extends_one_of_another_file_of_the_folder(tmp_path: Path) -> None:
    folder = file(tmp_path / "hw", "servers: {b: {extends: a, rack_units: 3}}", "1.yaml")
    file(folder, "servers: {a: {extends: dgx-h100, gpus: 4}}", "2.yaml")
    found = own_hardware(folder).hardware.servers
    assert (found["b"].gpus, found["b"].rack_units, found["a"].rack_units) == (4, 3, 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("switches:\n  x: {extends: qfx5240-64o}", "own.yaml:2: there is no model 'qfx5240-64o' in switches"),
        ("switch: {}", "own.yaml:1: unknown key 'switch'\n    did you mean 'switches'?"),
        ("switches:\n  x:\n    extends: qfx5240-64od\n    rack_unit: 2", "own.yaml:4: unknown key 'rack_unit'"),
        ("switches:\n  x:\n    extends: qfx5240-64od\n    rack_units: two", "own.yaml:4: rack_units: 'two' is not a whole"),
        ("nics:\n  x: {vendor: Acme}", "own.yaml:2: 'description' is missing"),
        ("nics:\n  x:\n    extends: thor2\n    vendor: Acme", "own.yaml:4: railweave does not know the vendor 'Acme'"),
        ("switches:\n  x:\n    extends: qfx5240-64od\n    systems: [junos, nxos]", "own.yaml:4: there is no operating"),
        ('switches:\n  x:\n    extends: qfx5240-64od\n    first_releases:\n      sonic: {release: "202511", source: x}', "own.yaml:5: first_releases names 'sonic', but the switch does not run 'sonic'"),
        ("servers:\n  a: {extends: b}\n  b: {extends: a}", "extends itself"),
        ("servers:\n  a: {extends: [dgx-h100]}", "own.yaml:2: extends: not a name"),
        ("servers:\n  a: 4", "own.yaml:2: a: not a map"),
        (
            "servers:\n  a:\n    extends: dgx-h100\n    nics:\n      gpu: {nic: cx9, names: [e0], rdma: [], source: x}",
            "own.yaml:5: there is no NIC model 'cx9'",
        ),
        (
            BAD_SPLIT,
            "own.yaml:6: a port cannot be split into 3",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in wrong(tmp_path, text)


def test_a_folder_that_is_none_is_refused(fabric: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--hardware: .*none is not a folder"):
        api.load(fabric, hardware=tmp_path / "none")


def test_the_schema_takes_the_example_and_refuses_what_is_refused() -> None:
    validator: Any = Draft202012Validator(hardware_schema())
    assert list(validator.iter_errors(yaml.safe_load((FOLDER / "acme.yaml").read_text()))) == []
    assert list(validator.iter_errors({"switches": {"x": {"vendor": "Acme"}}}))
    assert list(validator.iter_errors({"switches": {"x": {"extends": "qfx5240-64od", "rack_unit": 2}}}))


def test_files_are_rendered_again_when_hardware_changes(fabric: Path, tmp_path: Path) -> None:
    own = yaml.safe_load((FOLDER / "acme.yaml").read_text())
    fabric.write_text(FABRIC + yaml.safe_dump({"hardware": own}))
    api.build(fabric, tmp_path / "out")
    own["switches"]["acme-32x800"]["sonic"]["hwsku"] = "Acme-32x800-B"
    fabric.write_text(FABRIC + yaml.safe_dump({"hardware": own}))
    changed = api.build(fabric, tmp_path / "out").changed
    assert "devices/spine1/config_db.json" in changed


def test_a_config_of_a_system_is_written_with_the_network_s_hardware(fabric: Path) -> None:
    from railweave.model.catalog import in_force

    network = api.load(fabric, hardware=FOLDER)
    with in_force(network.catalog):
        assert system("sonic").files(device_config(network, "spine1"))
    assert catalog() is packaged()


@pytest.mark.slow
def test_every_step_takes_the_folder(fabric: Path, tmp_path: Path) -> None:
    """Saved configurations of such switches are imported, compared and asked about as those of the catalog's are."""
    network = api.build(fabric, tmp_path / "out", hardware=FOLDER).network
    saved, file = tmp_path / "saved", tmp_path / "mine.yaml"
    for one in network.switches:
        (saved / one.name).mkdir(parents=True)
        for name, kept in (("config_db.json", "configuration.json"), ("frr.conf", "configuration-1.txt")):
            shutil.copy(tmp_path / "out" / "devices" / one.name / name, saved / one.name / kept)
    found = api.adopt(saved, device=["acme-32x800"], hardware=FOLDER)
    assert {one.model for one in found.network.switches} == {"acme-32x800"}
    found.write(file)
    assert api.load(file, hardware=FOLDER).hardware.switches.keys() == {"acme-32x800"}
    assert api.drift(fabric, saved, hardware=FOLDER).equal
    configs = api.running(fabric, saved, hardware=FOLDER)
    assert api.questions_of(fabric, hardware=FOLDER).keys() == configs.keys()
    assert api.states(fabric, saved, hardware=FOLDER).keys() == configs.keys()
    pair = ("gpu-1:net0", "gpu-2:net0")
    assert [one.pinned_to for one in api.paths(fabric, *pair, hardware=FOLDER)]
    assert api.routes(fabric, hardware=FOLDER, device=["spine=qfx5240-64od:junos"]) is not None
    assert api.simulate(fabric, "all-reduce", "1M", hardware=FOLDER, watch=False).complete


@pytest.mark.skipif(os.geteuid() != 0, reason="the owner of a folder can always open it")
def test_a_folder_that_may_not_be_read_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with TemporaryDirectory() as closed:
        monkeypatch.setenv("XDG_CONFIG_HOME", closed)
        os.seteuid(65534)
        try:
            with pytest.raises(SpecError, match="hardware files cannot be read: Permission denied"):
                own_hardware()
        finally:
            os.seteuid(0)
