"""``railweave import`` of a folder of saved configurations, on every system whose text is read."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from railweave.analysis.adopt import texts
from railweave.analysis.adopt.texts import read_devices, read_lldp
from railweave.api import adopt, load
from railweave.errors import InputError
from railweave.model.device.build import device_config
from railweave.model.state.capture import read_capture
from railweave.systems import system
from tests.analysis.adopt.scramble import SYSTEMS, configs_of
from tests.cli.test_exit_codes import run
from tests.conftest import EXAMPLES
from tests.retarget import retargeted

if TYPE_CHECKING:
    from pathlib import Path

READ = [nos for nos in SYSTEMS if system(nos).reader is not None]
ONE_LEAF = "mi300x-leaf-24"


def _saved(folder: Path, nos: str, name: str = ONE_LEAF) -> Path:
    """Configurations of an example's switches, as something saved them."""
    for device, config in configs_of(retargeted(name, nos)).items():
        files, trees = system(nos).files(config), system(nos).trees(config)
        for at, file in enumerate(trees):
            suffix = "json" if file.endswith(".json") else "txt"
            path = folder / device / f"configuration{f'-{at}' if at else ''}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[file])
    return folder


@pytest.mark.parametrize("nos", READ)
def test_the_system_is_recognised(tmp_path: Path, nos: str) -> None:
    found = read_devices(read_capture(_saved(tmp_path, nos)))
    assert [(one.name, one.nos) for one in found] == [("leaf1", nos)]


@pytest.mark.parametrize("nos", READ)
def test_a_folder_becomes_a_fabric_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, nos: str
) -> None:
    saved, file = _saved(tmp_path / "saved", nos), tmp_path / "mine.yaml"
    assert run(monkeypatch, "import", saved, "-o", file, "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["lost"], said["extra"]) == (0, 0)
    network = load(file)
    assert network.name == "mine"
    assert [one.name for one in network.switches] == ["leaf1"]
    assert (tmp_path / "mine.lock").is_file()
    assert (tmp_path / "mine.inventory.csv").read_text().startswith("device,")


def test_an_imported_file_names_nothing_that_its_system_lacks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """SONiC has neither names of VLANs nor the services of other systems."""
    saved, file = _saved(tmp_path / "saved", "sonic"), tmp_path / "mine.yaml"
    assert run(monkeypatch, "import", saved, "-o", file, "--json") == 0
    capsys.readouterr()
    run(monkeypatch, "verify", file, "--running", saved, "--json")
    said = [finding["what"] for finding in json.loads(capsys.readouterr().out)["findings"]]
    assert not [what for what in said if "no statement for `management.services" in what or "`naming.vlan`" in what]


@pytest.mark.parametrize("there", ["mine.yaml", "mine.lock", "mine.inventory.csv"])
def test_what_was_corrected_is_replaced_with_force_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, there: str
) -> None:
    saved, own = _saved(tmp_path / "saved", READ[0]), tmp_path / there
    own.write_text("corrected\n")
    words = ("import", saved, "-o", tmp_path / "mine.yaml")
    assert run(monkeypatch, *words) == 2
    assert f"{own} would be overwritten" in capsys.readouterr().err
    assert own.read_text() == "corrected\n"
    assert run(monkeypatch, *words, "--force", "--json") == 0
    assert own.read_text() != "corrected\n"


@pytest.mark.parametrize("nos", READ[:1])
def test_a_model_that_is_said(tmp_path: Path, nos: str) -> None:
    model = retargeted(ONE_LEAF, nos).switches[0].model
    found = adopt(_saved(tmp_path, nos), device=[f"leaf={model}"])
    assert found.network.switches[0].model == model


def test_an_empty_folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(monkeypatch, "import", tmp_path, "-o", tmp_path / "mine.yaml") == 2
    assert "the folder contains no answers of devices" in capsys.readouterr().err
    assert not (tmp_path / "mine.yaml").exists()


def test_a_model_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not in the catalog"):
        adopt(tmp_path, device=["leaf=none"])
    with pytest.raises(InputError, match="write it like leaf="):
        adopt(tmp_path, device=["leaf=:junos"])


def test_neighbors_heard(tmp_path: Path) -> None:
    leaf, spine = sonic_pair(tmp_path)
    heard = tmp_path / leaf / "lldp.json"
    for said in ("Ethernet0", "Eth1/1/1", f"{leaf} Ethernet0"):  # its name, its alias, its description
        heard.write_text(json.dumps({"Ethernet0": {"device": f"{spine}.example.net", "port": said}}))
        capture = read_capture(tmp_path)
        assert read_lldp(capture, read_devices(capture)) == {leaf: {"Ethernet0": (spine, "Ethernet0")}}
    heard.write_text('{"p1": "two"}')
    with pytest.raises(InputError, match="a neighbor has the wrong form"):
        read_lldp(read_capture(tmp_path), read_devices(read_capture(tmp_path)))


@pytest.mark.parametrize(
    "text",
    [
        "garbage [{",
        "[" * 100_000,
        '{"a":' * 900 + "1" + "}" * 900,
        "9" * 10_000,
        '{"lldp": {"interface": 5}}',
        '{"lldp": {"interface": [{"Ethernet0": {"chassis": [[]], "port": {"id": 7}}}]}}',
        '{"lldp": ' + "[" * 900 + "]" * 900 + "}",
        '{"p1": null}',
        '{"p1": {"device": [], "port": {}}}',
        "null",
    ],
)
@pytest.mark.parametrize("file", ["lldp.json", "lldp-neighbors.json"])
def test_neighbors_of_any_form_are_read_or_refused(tmp_path: Path, file: str, text: str) -> None:
    leaf, _ = sonic_pair(tmp_path)
    (tmp_path / leaf / file).write_text(text)
    capture = read_capture(tmp_path)
    with suppress(InputError):
        read_lldp(capture, read_devices(capture))


def test_neighbors_that_cannot_be_read_are_refused_with_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lldp(_: object) -> None:
        raise RecursionError

    leaf, _ = sonic_pair(tmp_path)
    (tmp_path / leaf / "lldp.json").write_text('{"lldp": {}}')
    monkeypatch.setattr(texts, "lldp", lldp)
    with pytest.raises(InputError, match=r"lldp\.json: the output of lldpd cannot be read: RecursionError"):
        read_lldp(read_capture(tmp_path), read_devices(read_capture(tmp_path)))


@pytest.mark.parametrize("file", ["lldp.json", "lldp-neighbors.json"])
def test_neighbors_as_lldpd_prints_them(tmp_path: Path, file: str) -> None:
    leaf, spine = sonic_pair(tmp_path)
    rows = [
        {"Ethernet0": neighbor(spine, "local", "Eth1/1/1", f"{leaf} Ethernet0")},
        {"Ethernet88": neighbor("H100-01", "mac", "02:00:5e:00:00:07", "gpu0_eth")},
    ]
    (tmp_path / leaf / file).write_text(json.dumps({"lldp": {"interface": rows}}))
    capture = read_capture(tmp_path)
    assert read_lldp(capture, read_devices(capture)) == {
        leaf: {"Ethernet0": (spine, "Ethernet0"), "Ethernet88": ("H100-01", "gpu0_eth")}
    }


def neighbor(system: str, kind: str, port: str, description: str) -> dict[str, Any]:
    chassis = {system: {"id": {"type": "mac", "value": "02:00:5e:00:00:01"}}}
    return {"chassis": chassis, "port": {"id": {"type": kind, "value": port}, "descr": description}}


def sonic_pair(folder: Path) -> tuple[str, str]:
    """Saved configurations of a leaf and a spine under SONiC, which are joined by Ethernet0 of each."""
    network = retargeted("evpn-functional", "sonic")
    cable = next(one for one in network.cables if one.kind == "fabric")
    for name in (cable.a.device, cable.b.device):
        config = device_config(network, name)
        (folder / name).mkdir()
        for file in system(config.nos).configurations(config):
            (folder / name / file).write_text(system(config.nos).files(config)[file])
    return cable.a.device, cable.b.device


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("config_db.json", '{"PORT": {"Ethernet0":\n', "config_db.json:2: it cannot be read: Expecting"),
        ("configuration.txt", "", "configuration.txt:1: it is empty"),
        ("configuration.txt", "system {\n host-name a;\n interfaces {\n", "configuration.txt:3: it cannot be read"),
    ],
)
def test_a_text_that_cannot_be_read_is_named_with_its_line(tmp_path: Path, file: str, text: str, said: str) -> None:
    (tmp_path / "leaf1").mkdir()
    (tmp_path / "leaf1" / file).write_text(text)
    with pytest.raises(InputError) as caught:
        adopt(tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize("verb", ["verify", "drift"])
def test_nothing_that_could_be_compared_is_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: str
) -> None:
    """A capture whose folders are called otherwise than the switches would else pass as one without a difference."""
    saved = _saved(tmp_path / "saved", READ[0])
    (saved / "leaf1").rename(saved / "sw1")
    running = ("--running", saved) if verb == "verify" else (saved,)
    assert run(monkeypatch, verb, EXAMPLES / f"{ONE_LEAF}.yaml", *running) == 2
    assert "no configuration of a switch of the design is here, only of sw1" in capsys.readouterr().err
