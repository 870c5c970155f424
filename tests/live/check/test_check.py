"""``railweave check``: a fabric file and a capture, to findings with lines, a punch list, JUnit and a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from railweave import api
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.live.check.check import HANDS, check
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.model.state.capture import read_capture
from railweave.systems import system
from tests.conftest import EXAMPLES
from tests.live.check.captures import Heard, end, heard, write_capture
from tests.model.state.samples import frr
from tests.outputs.folder.fabrics import fabric

FRR = ["--device", ":frr", "-q"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return fabric(tmp_path / "in")


@pytest.fixture
def network(file: Path) -> Network:
    return api.load(file, device=[":frr"])


def run(*words: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def read_xml(path: Path) -> ET.Element:
    return ET.fromstring(path.read_text())  # noqa: S314 - our own output


def swapped(network: Network) -> tuple[Heard, str, str, str]:
    """What is heard where a leaf's cables to two spines are exchanged; the leaf and its ports."""
    ports = heard(network)
    leaf = next(one.name for one in network.switches if one.role == "leaf")
    spines = {one.name for one in network.switches if one.role == "spine"}
    mine = {end: said for end, said in ports.items() if end[0] == leaf and said[0] in spines}
    first = next(iter(mine))
    second = next(end for end in mine if mine[end][0] != mine[first][0])
    ports |= {first: mine[second], second: mine[first]}
    ports |= {mine[first][:2]: (*second, "ifname"), mine[second][:2]: (*first, "ifname")}
    return ports, leaf, first[1], second[1]


def test_a_network_that_is_as_designed(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network, heard(network))
    assert run("check", file, folder, *FRR) == (
        0,
        "4 of 4 devices answered, 490 of 490 expected states seen, 4 servers not asked (`--servers`): 0 errors, 0 warnings, 0 notes\n",
    )
    code, out = run("check", file, folder, *FRR, "--json", "--html", tmp_path / "x.html", "--junit", tmp_path / "x.xml")
    found = json.loads(out)
    assert (code, found["good"], found["findings"], found["punch_list"]) == (0, True, [], [])
    assert "as designed" in (tmp_path / "x.html").read_text()
    assert read_xml(tmp_path / "x.xml").get("failures") == "0"


def test_swapped_cables_are_one_finding_everywhere(file: Path, network: Network, tmp_path: Path) -> None:
    ports, leaf, first, second = swapped(network)
    folder = write_capture(tmp_path / "now", network, ports)
    page, document = tmp_path / "page.html", tmp_path / "junit.xml"
    code, out = run("check", file, folder, *FRR, "--html", page, "--junit", document)
    assert code == 1
    assert f"error [cables-swapped] {leaf} {first} and {second}: " in out
    assert "(pod1.yaml fabrics.backend.topology.links_per_spine: default 1 of fabric-file.md)" in out
    do = f"at {leaf}, swap the cables in {first} and {second}"
    assert re.search(rf"^  \[ \]   {leaf}  {first} and {second}  {do}  the cables in", out, re.MULTILINE)
    assert out.endswith(
        "490 of 490 expected states seen, 4 servers not asked (`--servers`): 1 error, 0 warnings, 0 notes\n"
    )
    root = read_xml(document)
    [failed] = [one for one in root.iter("testcase") if one.find("failure") is not None]
    assert (failed.get("classname"), failed.get("name")) == (leaf, "cables-swapped")
    assert int(root.get("tests", "0")) == len(list(root.iter("testcase")))
    html = page.read_text()
    assert f'<td class="mono" data-title="Where">{leaf} {first} and {second}</td>' in html
    cells = rf"☐</td><td[^>]*>{leaf}</td><td[^>]*>{re.escape(f'{first} and {second}')}</td><td[^>]*>{do}</td>"
    assert re.search(cells, html)
    places = [n for n, one in enumerate(network.cables) if {(leaf, first), (leaf, second)} & {end(one.a), end(one.b)}]
    assert len(places) == 2
    for place in places:
        assert f'.rw [data-link="{place}"] .line{{stroke:var(--error)' in html
        assert f'data-link="{place}"' in html.partition("<body>")[2]
    assert f'svg.rw [data-device="{leaf}"] .box{{stroke:var(--error)' in html
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)


def test_swapped_cables_are_one_finding_where_routers_have_names_of_their_own_for_ports(
    file: Path, tmp_path: Path
) -> None:
    """As in a lab: Linux cannot call a port et-0/0/0:0, so lldpd sends its name there, and the design's as a description."""
    network = api.load(file)
    configs = {one.name: device_config(network, one.name, "frr") for one in network.switches}
    names = {
        (name, port.link): port.name for name, config in configs.items() for port in config.interfaces if port.link
    }
    ports, *_ = swapped(network)
    ends = {end(one): cable.name for cable in network.cables for one in (cable.a, cable.b)}
    for device in configs:
        rows = [
            {
                names[device, ends[device, port]]: {
                    "chassis": {there: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}},
                    "port": {
                        "id": {"type": "ifname", "value": names.get((there, ends[there, far]), far)},
                        "descr": far,
                    },
                }
            }
            for (here, port), (there, far, _) in ports.items()
            if here == device
        ]
        (tmp_path / "capture" / device).mkdir(parents=True)
        (tmp_path / "capture" / device / "lldp-neighbors.json").write_text(json.dumps({"lldp": {"interface": rows}}))
    found = check(network, read_capture(tmp_path / "capture"), configs=configs, progress=lambda _: None)
    assert [one.id for one in found.findings if one.id.startswith("cable")] == ["cables-swapped"]


def test_a_device_that_did_not_answer_says_why(file: Path, network: Network, tmp_path: Path) -> None:
    ports = {end: said for end, said in heard(network).items() if end[0] != "spine2"}
    rows: dict[str, object] = {one.name: {"status": "answered"} for one in network.switches}
    rows["spine2"] = {"status": "failed", "error": "no route to host"}
    rows["spine1"] = {"status": "partly", "failed": {"bgp": "permission denied"}}
    folder = write_capture(tmp_path / "now", network, ports, {"devices": rows})
    found = api.check(file, folder, device=[":frr"])
    assert [(one.id, one.where) for one in found.findings] == [
        ("device-silent", "spine2"),
        ("question-not-answered", "spine1"),
    ]
    assert found.findings[0].what == "spine2 did not answer: no route to host"
    assert found.findings[1].what == "bgp: permission denied"
    assert [(one.device, one.port) for one in found.tasks] == [("spine2", "")]
    file.write_text(file.read_text() + "status: {spine2: failed}\n")
    assert "device-silent" not in {one.id for one in api.check(file, folder, device=[":frr"]).findings}


def test_findings_of_some_ids(file: Path, network: Network, tmp_path: Path) -> None:
    ports, *_ = swapped(network)
    folder = write_capture(tmp_path / "now", network, ports)
    assert run("check", file, folder, *FRR, "--only", "device-silent")[0] == 0
    assert run("check", file, folder, *FRR, "--only", "device-silent", "--only", "cables-swapped")[0] == 1
    with pytest.raises(InputError, match="there is no such finding"):
        api.check(file, folder, device=[":frr"], only=["cables-knotted"])


def test_what_is_no_capture_of_this_network(file: Path, network: Network, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        api.check(file, tmp_path / "none")
    folder = tmp_path / "other"
    (folder / "tor1").mkdir(parents=True)
    (folder / "tor1" / "version.txt").write_text("FRRouting 10.3\n")
    with pytest.raises(InputError, match="no answer of any switch of this network"):
        api.check(file, folder)
    write_capture(folder, network, heard(network))
    [finding] = api.check(file, folder, device=[":frr"]).findings
    assert (finding.id, finding.where) == ("capture-device-unknown", "tor1")


def test_a_configuration_is_no_answer_about_state(file: Path, network: Network, tmp_path: Path) -> None:
    folder = write_capture(tmp_path / "now", network, {k: v for k, v in heard(network).items() if k[0] != "spine1"})
    for answer in folder.glob("*/configuration.txt"):
        answer.unlink()
    (folder / "spine1").mkdir()
    (folder / "spine1" / "configuration.txt").write_text("frr version 10.3\n")
    silent, *unseen = api.check(file, folder, device=[":frr"]).findings
    assert silent.what == "spine1 did not answer: the capture has its configuration alone"
    assert {finding.where: finding.what for finding in unseen} == dict.fromkeys(
        ("stripe1-leaf1", "stripe2-leaf1", "spine2"), "not seen: 1 of 1 running configurations"
    )


def test_counters_need_two_captures(file: Path, network: Network, tmp_path: Path) -> None:
    port = next(one.port for cable in network.cables for one in (cable.a, cable.b) if one.device == "spine1")
    folders: list[Path] = []
    for name, downs in (("before", 4), ("now", 6)):
        folder = write_capture(tmp_path / name, network, heard(network))
        up = {"administrativeStatus": "up", "operationalStatus": "up"}
        ports = {
            one.port: {**up, "linkDowns": downs if one.port == port else 1}
            for cable in network.cables
            for one in (cable.a, cable.b)
            if one.device == "spine1"
        }
        (folder / "spine1" / "interfaces.json").write_text(json.dumps(ports))
        folders.append(folder)
    alone = api.check(file, folders[1], device=[":frr"])
    assert "link-flaps" not in alone.rules
    assert "link-flaps" not in {one.id for one in alone.findings}
    both = api.check(file, folders[1], since=folders[0], device=[":frr"], only=["link-flaps"])
    assert [(one.id, one.where) for one in both.findings] == [("link-flaps", f"spine1 {port}")]


def test_answers_of_a_router_in_a_lab(tmp_path: Path) -> None:
    """A real router of a lab that had one uplink of the design and one tenant: what is missing is told, all is understood."""
    for name, text in frr.ANSWERS.items():
        answer = tmp_path / "stripe1-leaf1" / f"{name}.{'json' if text.lstrip()[:1] in {'{', '['} else 'txt'}"
        answer.parent.mkdir(exist_ok=True)
        answer.write_text(text)
    found = api.check(EXAMPLES / "evpn-gpu-isolation.yaml", tmp_path, device=[":frr"])
    assert found.answered == {"stripe1-leaf1"}
    own = [one for one in found.findings if one.where.startswith("stripe1-leaf1")]
    assert "answer-not-read" not in {one.id for one in own}
    assert {"cable-wrong", "port-absent", "vrf-missing", "session-missing"} <= {one.id for one in own}
    assert "route-ports-differ" not in {one.id for one in own}
    silent = [one.where for one in found.findings if one.id == "device-silent"]
    assert len(silent) == len(found.devices) - 1
    causes = [one for one in found.findings if one.severity != "info"]
    assert all(one.file == "evpn-gpu-isolation.yaml" and one.field for one in causes)
    assert {one.device for one in found.tasks} <= set(found.devices)


def test_the_punch_list_is_by_rack(file: Path, network: Network, tmp_path: Path) -> None:
    text = "racks: {racks: {A1: {x: 0, y: 0, devices: {spine1: 40}}, B1: {x: 3, y: 0, devices: {spine2: 40}}}}\n"
    file.write_text(file.read_text() + text)
    ports = {end: said for end, said in heard(network).items() if not end[0].startswith("spine")}
    folder = write_capture(tmp_path / "now", network, ports)
    code, out = run("check", file, folder, *FRR)
    assert code == 1
    lines = out.partition("punch list")[2].splitlines()
    racks = [one.split()[2] for one in lines if one.startswith("  [ ]")]
    assert list(dict.fromkeys(racks)) == ["A1", "B1"]
    assert racks == sorted(racks)


def test_what_hands_can_mend_says_what_to_do() -> None:
    assert all(one.fix for one in HANDS)


def test_a_device_of_which_nothing_could_be_read_is_not_good(
    file: Path, network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> None:
        message = "a form that nobody has thought of"
        raise ValueError(message)

    folder = write_capture(tmp_path / "now", network, heard(network))
    monkeypatch.setattr(system("frr").state, "read", broken)
    found = api.check(file, folder, device=[":frr"])
    assert {(one.id, one.severity, one.what.partition(".")[0]) for one in found.findings if one.severity != "info"} == {
        ("answer-not-read", "error", "the answers cannot be read: ValueError")
    }
    assert {one.id for one in found.findings if one.severity == "info"} == {"not-seen"}
    assert not found.good
