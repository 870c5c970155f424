"""``railweave init --gpus``: what it prints, what it refuses, and that what it writes builds for every switch model."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from railweave.api import init_choices, load
from railweave.cli.app import app
from railweave.design.sizing.report import optics_of
from railweave.design.sizing.request import Request, answer
from railweave.design.sizing.shapes import sizes
from railweave.design.sizing.size import Size, SizeRequest
from railweave.errors import InputError
from railweave.model.catalog import catalog
from railweave.model.catalog.words import servers_named, switches_named
from railweave.model.network.model import Network
from railweave.outputs.folder.designing import design_file
from railweave.outputs.folder.starting import sized, to_be_reported
from railweave.outputs.folder.steps import build
from tests.conftest import ROOT, designed

TWO_PORTS = "hgx-b300-8gpu-cx8-2x400"


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["init", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def made(folder: Path, *words: str) -> tuple[str, Network]:
    """What it prints, and the design of the file it writes."""
    out = run(str(folder / "new"), *words)
    network, _ = designed(folder, next((folder / "new").glob("*.yaml")).read_text())
    return out, network


def test_a_file_with_choice_and_alternatives(tmp_path: Path) -> None:
    out, network = made(tmp_path, "--gpus", "512", "--nic", "cx7", "--switch", "qfx5240-64", "--growth", "2x")
    assert "chosen: two tiers, first shape that fits" in out
    assert "alternative: rail planes" in out
    assert "not super-spines: " in out
    assert len(network.servers) == 64


@pytest.mark.parametrize(("words", "nics"), [((), 8), (("--nics-per-server", "4"), 4)])
def test_nics_are_counted_not_their_ports(words: tuple[str, ...], nics: int, tmp_path: Path) -> None:
    out, network = made(tmp_path, "--gpus", "64", "--nic", TWO_PORTS, *words)
    assert f"8 GPUs and {nics} NICs of 2 ports each (" in out
    assert "chosen: planes of NIC ports, first shape that fits" in out
    assert {switch.plane for switch in network.switches} == {"plane1", "plane2"}
    assert [one for one in network.findings if one.severity == "error"] == []
    assert len(network.servers[0].nics) == 2 * nics


def test_a_page_is_named_among_what_was_written(tmp_path: Path) -> None:
    out = run(str(tmp_path / "new"), "--gpus", "64", "--html", str(tmp_path / "page.html"))
    assert f"wrote {tmp_path / 'page.html'}\n" in out


def test_for_machines(tmp_path: Path) -> None:
    found = json.loads(run(str(tmp_path / "new"), "--gpus", "1024", "--switch", "qfx5220-32cd", "--json"))
    assert found["chosen"] == "rail-planes"
    assert (found["server"], found["switch"]) == ("h100-8gpu-cx7", "qfx5220-32cd")
    fits = {one["shape"]: one["fits"] for one in found["shapes"]}
    assert fits == {"one-leaf": False, "two-tier": False, "rail-planes": True, "super-spine": True}
    assert {one["id"] for one in found["findings"]} == {"no-login"}


def test_models_and_optics_are_said_as_they_are_designed(tmp_path: Path) -> None:
    out, network = made(tmp_path, "--gpus", "1024", "--nic", "connectx-7", "--oversubscription", "2:1", "--lb", "rlb")
    assert "servers: 128 x h100-8gpu-cx7, 8 GPUs and 8 NICs each (ConnectX-7, one port of 400G)" in out
    assert (
        'other models that match "connectx-7": dgx-h100, dgx-h100-2gpu, dgx-h100-aidc, dgx-h200, hgx-h200-8gpu-cx7, hgx-h20-8gpu-cx7, dgx-b200, gb200-nvl72, generic-gpu-server; choose with --nic NAME'
        in out
    )
    assert "switches: qfx5240-64od (64 x 800G OSFP), as 128 ports of 400G, running junos" in out
    assert 'other models that match "qfx5240-64": qfx5240-64qd (64 x 800G QSFP-DD); choose with --switch NAME' in out
    assert {one.model for one in network.switches} == {"qfx5240-64od"}
    optics = {one.a.optic for one in network.cables if one.kind == "server"}
    optics |= {one.b.optic for one in network.cables if one.kind == "server"}
    optics |= {one.a.optic for one in network.cables if one.kind == "fabric"}
    said = re.search(r"^optics: (.*)$", out, flags=re.MULTILINE)
    assert said
    assert set(re.findall(r": ([^ ;]+)", said[1])) == optics
    assert "16 leaves, 4 spines; 1,024 server cables, 512 cables between switches, 2,048 optics" in out
    assert "2 stripes of 64 servers; 32 uplinks per leaf, 8 to each of 4 spines (2:1); 8 path colors" in out


def test_gpus_are_rounded_up_to_servers_and_that_is_said(tmp_path: Path) -> None:
    out, network = made(tmp_path, "--gpus", "100")
    assert "requested: 100 GPUs, rounded up to whole servers: 104" in out
    assert len(network.servers) == 13
    assert "ports of 400G in use on the fullest leaf: 104 of 128" in out
    assert "spare: 24 server ports on these leaves" in out
    assert "as two tiers: 7 leaves, 2 spines" in out


def test_ports_of_each_kind_of_switch_are_counted(tmp_path: Path) -> None:
    out, _ = made(tmp_path, "--gpus", "600", "--oversubscription", "3", "--shape", "two-tier")
    # 75 servers need 25 uplinks; 2 x 13 would be two path colors of 13, so there are 2 x 14; a spine has 14 from 8 leaves
    assert "ports of 400G in use on the fullest leaf: 103 of 128" in out
    assert "ports of 400G in use on the fullest spine: 112 of 128" in out


@pytest.mark.parametrize("gpus", ["8", "100", "512"])
def test_no_sentence_speaks_of_what_is_not_there(gpus: str, tmp_path: Path) -> None:
    """Without spines no path is pinned, and nothing has three hops; one of a thing is not said in the plural."""
    found = json.loads(run(str(tmp_path / "new"), "--gpus", gpus, "--lb", "rlb", "--json"))
    for one in found["shapes"]:
        if one["fits"] and not one["spines"]:
            assert "one switch" in one["why"]
            assert "pins" not in one["why"]
            assert not any("spine" in limit["what"] or "next-hop" in limit["what"] for limit in one["limits"])
        elif one["fits"]:
            assert "pins" in one["why"]
            assert "three switches" in one["why"]
    out = run(str(tmp_path / "more"), "--gpus", gpus)
    assert not re.search(r"\b1 (servers|stripes|leaves|spines|GPUs|NICs|cables|optics|uplinks)\b", out)


UNKNOWN_OPTIC = "optic-unlisted"
ALLOWED = {
    "no-login",  # only the operator knows logins
    "no-vtep",  # of what is published about the model
    "junos-color-endpoints",
    "eos-no-color-endpoints",
    "sonic-no-color-endpoints",
    "sonic-control-plane",
    "sonic-buffer-pools",
    "sonic-no-anycast",
    "sonic-no-platform",
    "sonic-ipv6-tunnel",
    UNKNOWN_OPTIC,
}
"""Warnings that no value in a file can avoid: what systems lack, and what is not known of hardware."""


@pytest.mark.parametrize("switch", list(catalog().switches))
def test_files_for_every_switch_model_build(switch: str) -> None:
    """They make no error, no warning that another value would avoid, and the optics are those of the design."""
    usual = Request(96, "cx7", switch, shape="two-tier")
    for request in (
        replace(usual, gpus=16, shape=None, tenants=2),
        replace(usual, tenants=3),
        replace(usual, oversubscription=4.0),
        replace(usual, shape="rail-planes"),
        replace(usual, gpus=64, shape=None, nic=TWO_PORTS, stripes=2),
        replace(usual, gpus=64, nic="dgx-b300"),
        replace(usual, nic="dgx-a100-aidc"),
    ):
        speed = catalog().nics[catalog().servers[servers_named(catalog(), request.nic)[0]].nics["gpu"].nic].speed_gbps
        if not any(mode.speed_gbps == speed for mode in catalog().switches[switch].ports[0].modes()):
            with pytest.raises(InputError, match=f"{switch} has no {speed}G ports"):
                answer(catalog(), request)
            continue
        found = answer(catalog(), request)
        network = sized(found)
        assert {one.model for one in network.switches} == {switch}
        said = set(optics_of(found.catalog, found.sized.best).values())
        ends = {end.optic for cable in network.cables for end in (cable.a, cable.b)}
        assert {one.replace("unlisted", "none in the catalog") for one in ends} == said
        reports = to_be_reported(network)
        assert not [one for one in reports if one.severity == "error"]
        assert {one.id for one in reports} <= ALLOWED, (request, reports)
        assert any(one.id == UNKNOWN_OPTIC for one in reports) == ("none in the catalog" in said)


@pytest.mark.parametrize(
    "words",
    [
        ["--gpus", "64", "--switch", "arista-7060dx5", "--tenants", "2", "--shape", "two-tier"],
        ["--gpus", "64", "--switch", "ais800-64d", "--nic", "dgx-b300", "--qps", "2", "--shape", "two-tier"],
        ["--gpus", "64", "--nic", TWO_PORTS, "--growth", "4x"],
    ],
)
def test_init_prints_what_build_reports(words: list[str], tmp_path: Path) -> None:
    out = run(str(tmp_path / "new"), *words)
    reported = re.findall(r"^(error|warning|info) \[([\w-]+)\]", out, flags=re.MULTILINE)
    built = build(tmp_path / "new" / "rail-64.yaml", tmp_path / "out").findings
    loud = [one for one in built if one.severity != "info"]
    assert Counter(reported) == Counter((one.severity, one.id) for one in loud)
    for one in loud:
        assert one.what in out


def test_pools_hold_the_switches_of_a_large_fabric() -> None:
    """With 1,568 spines and 1,024 super-spines the default pools of 999 AS numbers are too small."""
    request = Request(100_000, "cx7", "qfx5240-64od")
    found = answer(catalog(), request)
    pools = yaml.safe_load(found.fabric())["fabrics"]["backend"]["pools"]
    assert pools == {"spine_asn": "4200300001-4200399999", "super_spine_asn": "4200400001-4200499999"}
    size = found.sized.best
    assert (size.spine_switches, size.super_spine_switches) == (1568, 1024)
    spread = answer(catalog(), replace(request, gpus=40_000, growth=3.0)).fabric()
    assert "spine_asn" in spread, "pools cannot be moved later: they hold the fabric once grown"
    assert "pools" not in answer(catalog(), replace(request, gpus=32_768)).fabric()


def test_names_of_models() -> None:
    assert switches_named(catalog(), "QFX5240-64") == ["qfx5240-64od", "qfx5240-64qd"]
    assert switches_named(catalog(), "qfx5240-64qd") == ["qfx5240-64qd"]
    assert servers_named(catalog(), "THOR2") == ["mi300x-8gpu-thor2", "mi325x-8gpu-thor2"]
    assert "weka-storage" not in servers_named(catalog(), "e")


@pytest.mark.parametrize(
    ("word", "device", "nos"),
    [
        ("sonic", "z9864f-on", "sonic"),
        ("SONiC", "z9864f-on", "sonic"),
        ("dell-sonic", "z9864f-on", "dell_sonic"),
        ("eos", "arista-7060x6-64pe", "eos"),
        ("junos", "qfx5240-64od", ""),
        ("frr", "qfx5240-64od", "frr"),
        ("sn5600:frr", "sn5600", "frr"),
        ("dell:dell_sonic", "z9864f-on", "dell_sonic"),
        ("arista", "arista-7060x6-64pe", "eos"),
    ],
)
def test_a_system_in_place_of_a_switch_model(word: str, device: str, nos: str, tmp_path: Path) -> None:
    """The first model that runs the system, which the file then names; the file can be built."""
    printed = run(str(tmp_path / "new"), "--gpus", "16", "--switch", word)
    given = f"leaf: {{device: {device}{f', nos: {nos}' if nos else ''}}}"
    assert given in (tmp_path / "new" / "rail-16.yaml").read_text()
    assert f"running {nos or 'junos'}" in printed
    assert {switch.nos for switch in load(tmp_path / "new" / "rail-16.yaml").switches} == {nos or "junos"}


def test_every_system_of_the_catalog_sizes_a_network() -> None:
    for name in catalog().systems:
        sized = answer(catalog(), Request(64, "cx7", name, lb=None))
        assert catalog().switches[sized.sized.best.wanted.switch].systems
        assert sized.sized.best.wanted.nos == name
        assert init_choices.switch_of(catalog(), name).name.endswith(f":{name}")


@pytest.mark.parametrize("ratio", ["3", "3:1", "3.0:1"])
def test_oversubscription_is_read_as_it_is_written(ratio: str, tmp_path: Path) -> None:
    run(str(tmp_path / "new"), "--gpus", "2048", "--oversubscription", ratio)
    assert "oversubscription: 3}" in (tmp_path / "new" / "rail-2048.yaml").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpus", "8", "--nic", "cx9"], "--nic: server model 'cx9' is not in the catalog"),
        (
            ["--gpus", "8", "--switch", "sn5600:eos"],
            "--switch: sn5600 does not run 'eos'\n    sn5600 runs sonic, frr; models that run eos: arista-",
        ),
        (
            ["--gpus", "8", "--switch", "sn5600:nxos"],
            "--switch: there is no operating system 'nxos'\n    known: dell_sonic, eos, ",
        ),
        (["--gpus", "8", "--switch", "z7"], "--switch: switch model 'z7' is not in the catalog"),
        (
            ["--gpus", "0"],
            "--gpus: '0' is not a number of GPUs\n    write a whole number of at least 1, for example 512",
        ),
        (["--gpus", "many"], "'many' is not a number of GPUs"),
        (["--gpus", "1.5"], "'1.5' is not a number of GPUs"),
        (
            ["--gpus", "8", "--growth", "twice"],
            "--growth: 'twice' is not a growth factor\n    write a factor of at least 1, for example 2x",
        ),
        (["--gpus", "8", "--growth", "0.5x"], "'0.5x' is not a growth factor"),
        (
            ["--gpus", "8", "--oversubscription", "0.5"],
            "--oversubscription: '0.5' is not an oversubscription ratio\n    write",
        ),
        (["--gpus", "8", "--oversubscription", "1:3"], "'1:3' is not an oversubscription ratio"),
        (["--gpus", "8", "--oversubscription", "nan"], "'nan' is not an oversubscription ratio"),
        (["--gpus", "8", "--shape", "ring"], "there is no shape 'ring'"),
        (
            ["--gpus", "9000", "--shape", "two-tier"],
            "9000 GPUs do not fit into any shape .*\n    shape rail-planes is possible",
        ),
        (["--gpus", "512", "--oversubscription", "200", "--shape", "two-tier"], "at 200:1 a leaf has no port left"),
        ([], "nothing to start from"),
        (["--gpus", "8", "--example", "h100-rlb"], "nothing to start from"),
    ],
)
def test_what_cannot_be_sized_is_refused(words: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        CliRunner().invoke(app, ["init", str(tmp_path / "new"), *words], catch_exceptions=False)
    assert not (tmp_path / "new").exists()


def test_stripes_queue_pairs_and_tenants(tmp_path: Path) -> None:
    _, network = made(tmp_path, "--gpus", "256", "--stripes", "4", "--qps", "16", "--tenants", "3")
    (fabric,) = network.fabrics
    placed = Counter(nic.stripe for server in network.servers for nic in server.nics[:1])
    assert set(placed.values()) == {8}
    assert len(placed) == 4
    assert network.hosts.job.qps_per_connection == 16
    members = Counter(server.nics[0].tenant for server in network.servers)
    assert members == {"tenant-1": 11, "tenant-2": 11, "tenant-3": 10}
    assert len(fabric.tenants) == 3
    assert not any(one.severity == "error" for one in network.findings)


@pytest.mark.parametrize("gpus", [16, 100, 256, 1024])
@pytest.mark.parametrize("stripes", [1, 2, 3, 4])
def test_stripes_asked_for_are_stripes_with_servers(gpus: int, stripes: int) -> None:
    known = catalog()
    for found in sizes(known, SizeRequest(gpus, "h100-8gpu-cx7", "qfx5240-64od", stripes=stripes)).values():
        if isinstance(found, Size):
            assert found.stripes == stripes
            assert (found.stripes - 1) * found.servers_per_stripe < found.servers


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stripes", "5", "--gpus", "48"], "6 servers with 2 per stripe leave one of the 5 stripes empty"),
        (["--stripes", "1", "--gpus", "2048", "--shape", "two-tier"], "256 servers need 4 stripes"),
        (["--stripes", "5", "--gpus", "48"], "remove --stripes"),
        (["--stripes", "none", "--gpus", "48"], "--stripes: 'none' is not a number of stripes"),
        (["--tenants", "7", "--gpus", "48"], "--tenants: 7 tenants of 6 servers"),
        (
            ["--tenants", "512", "--gpus", "4096"],
            "512 tenants with 8 rails need 4,096 VLANs, but only 4,093 exist\n    request at most 511",
        ),
        (
            ["--stripes", "512", "--gpus", "4608", "--switch", "ptx10008-lc1301"],
            "512 stripes of 8 rails need 4,096 VLANs, and there are 4,093",
        ),
        (["--gpus", "64", "--shape", "rail-planes", "--nic", TWO_PORTS], "NICs with 2 ports need one plane per port"),
        (["--qps", "129", "--gpus", "48"], "--qps: '129' is not a number of queue pairs per connection"),
    ],
)
def test_stripes_and_tenants_that_cannot_be(words: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        CliRunner().invoke(app, ["init", str(tmp_path / "new"), *words], catch_exceptions=False)
    assert not (tmp_path / "new").exists()


def test_the_inventory_has_a_row_for_each_mac_address(tmp_path: Path) -> None:
    """Empty, it changes nothing; filled in, its addresses are those of the NICs."""
    run(str(tmp_path / "new"), "--gpus", "16")
    file, inventory = tmp_path / "new" / "rail-16.yaml", tmp_path / "new" / "rail-16.inventory.csv"
    empty, _ = design_file(file)
    rows = inventory.read_text().splitlines()
    assert rows[0] == "device,interface,mac,serial,netdev,rdma,length"
    nics = [(server.name, nic.name) for server in empty.servers for nic in server.nics]
    assert [tuple(row.split(",")[:2]) for row in rows[1:]] == nics
    assert all(nic.mac_is_placeholder for server in empty.servers for nic in server.nics)
    filled = [row.replace(",,,,,", f",02:00:00:00:00:{place:02x},,,,") for place, row in enumerate(rows)]
    inventory.write_text("\n".join(filled))
    network, _ = design_file(file)
    assert not any(nic.mac_is_placeholder for server in network.servers for nic in server.nics)
    inventory.unlink()
    without = design_file(file)[0]
    assert replace(without, findings=()) == replace(empty, findings=())
    assert [finding.id for finding in without.findings] == [finding.id for finding in empty.findings]
    assert "inventory fill" in without.findings[0].fix  # names the command that writes the rows
    assert "inventory fill" not in empty.findings[0].fix


def test_an_editor_finds_the_schema(tmp_path: Path) -> None:
    """The first line is what YAML language servers look for; the schema beside it is the one of this release."""
    run(str(tmp_path / "new"), "--gpus", "16")
    first = (tmp_path / "new" / "rail-16.yaml").read_text().splitlines()[0]
    name = first.removeprefix("# yaml-language-server: $schema=")
    schema = json.loads((tmp_path / "new" / name).read_text())
    assert schema == json.loads((ROOT / "docs" / "fabric.schema.json").read_text())


@pytest.mark.slow
def test_queue_pairs_are_chosen_by_prediction(tmp_path: Path) -> None:
    out, network = made(tmp_path, "--gpus", "32", "--shape", "two-tier", "--stripes", "2", "--qps", "predict")
    found = re.search(r"queue pairs: (\d+) per connection, predicted on 4 of 4 servers", out)
    assert found is not None
    assert network.hosts.job.qps_per_connection == int(found[1])
    assert "fitted to two published results" in out
    times = {int(count): line for count, line in re.findall(r"^  (\d+): (.*us)$", out, re.MULTILINE)}
    assert int(found[1]) in times
    assert set(times) >= {1, 2}


def test_the_choice_of_queue_pairs_is_named_where_there_is_one(tmp_path: Path) -> None:
    colored = run(str(tmp_path / "two"), "--gpus", "512", "--lb", "rlb")
    assert "queue pairs: one per path color (8); --qps predict" in colored
    assert "queue pairs: one per connection, NCCL's default; --qps predict" in run(
        str(tmp_path / "dlb"), "--gpus", "512"
    )
    assert "queue pairs" not in run(str(tmp_path / "one"), "--gpus", "64")
    assert "--qps predict" not in run(str(tmp_path / "said"), "--gpus", "512", "--qps", "4")


@pytest.mark.parametrize(
    ("words", "mode", "colors"),
    [
        ((), "dlb-flowlet", 1),
        (("--switch", "arista-7060x6"), "dlb-flowlet", 1),
        (("--switch", "sn5600"), "ecmp", 1),
        (("--lb", "ecmp"), "ecmp", 1),
        (("--lb", "rlb"), "rlb", 8),
    ],
)
def test_load_balancing_is_what_switches_can_do_and_its_price_is_named(
    words: tuple[str, ...], mode: str, colors: int, tmp_path: Path
) -> None:
    out, network = made(tmp_path, "--gpus", "512", *words)
    fabric = network.fabrics[0]
    assert fabric.load_balancing.mode == mode
    assert max(1, len(fabric.colors)) == colors
    assert f"load balancing: {mode}: " in out
    assert (
        "8 addresses per NIC, 64 routing tables per server" in out
    )  # its price, or that of the choice that was not taken


def test_switches_without_dynamic_load_balancing_say_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sn5600 with sonic has no dynamic load balancing"):
        run(str(tmp_path / "n"), "--gpus", "512", "--switch", "sn5600", "--lb", "dlb")


def test_models_are_found_by_the_words_that_people_use() -> None:
    known = catalog()
    assert switches_named(known, "7060X6") == ["arista-7060x6-64pe"]
    assert switches_named(known, "tomahawk") == []
    assert servers_named(known, "ConnectX 7") == servers_named(known, "connectx-7")
    assert servers_named(known, "MI300X") == ["mi300x-8gpu-thor2"]
    with pytest.raises(InputError, match=r"did you mean 'connectx-7'\?"):
        answer(known, Request(64, "conectx-7", "qfx5240-64"))
