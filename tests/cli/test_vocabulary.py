"""One vocabulary: what an option takes, the fabric file takes, in the same meaning; what one refuses, both do in the same words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.design.retarget import parse_target
from railweave.errors import InputError
from railweave.model.network.model import Network
from tests.conftest import designed

FILE = """\
name: x
fabrics:
  backend:
    topology: {{stripes: 2, spines: 4, oversubscription: {ratio}}}
    leaf: {{device: {switch}{nos}}}
    mtu: {mtu}
servers:
  - {{names: "gpu-[1-2]", model: {server}, stripe: stripe1}}
  - {{names: "gpu-[3-4]", model: {server}, stripe: stripe2}}
hosts: {{job: {{qps_per_connection: {qps}}}}}
"""
USUAL = {"ratio": "4", "switch": "qfx5240-64od", "nos": "", "server": "h100-8gpu-cx7", "mtu": "{}", "qps": "8"}


def by_file(folder: Path, **given: str) -> Network:
    return designed(folder, FILE.format(**{**USUAL, **given}))[0]


def by_option(folder: Path, *words: str) -> str:
    """The fabric file that ``init`` writes."""
    options = ["init", str(folder / "new"), "--gpus", "256", *words]
    result = CliRunner().invoke(app, options, catch_exceptions=False)
    assert result.exit_code == 0
    return (folder / "new" / "rail-256.yaml").read_text()


@pytest.mark.parametrize(("text", "meant"), [("3:1", "3"), ("2:1", "2"), ("1.5", "1.5"), ("2.0:1", "2"), ("3", "3")])
def test_ratios(tmp_path: Path, text: str, meant: str) -> None:
    from railweave.model.intent.topology import Topology

    assert Topology.model_validate({"oversubscription": text}).oversubscription == float(meant)
    by_file(tmp_path, ratio=text)
    written = by_option(tmp_path, "--oversubscription", text)
    assert re.search(rf"oversubscription: {meant}\b", written)


@pytest.mark.parametrize(
    ("word", "model", "system"),
    [
        ("qfx5240-64od", "qfx5240-64od", "junos"),
        ("QFX5240-64OD", "qfx5240-64od", "junos"),
        ("qfx5240-64", "qfx5240-64od", "junos"),
        ("qfx5240-64q", "qfx5240-64qd", "junos"),
        ("arista", None, "eos"),
        ("Dell", None, "sonic"),
        ("nvidia", "sn5600", "sonic"),
    ],
)
def test_switches(tmp_path: Path, word: str, model: str | None, system: str) -> None:
    network = by_file(tmp_path, switch=word, nos=f", nos: {system}", ratio="16")
    assert {one.nos for one in by_file(tmp_path, switch=word, ratio="16").switches} == {system}, (
        "as without a word on it"
    )
    (used,) = {one.model for one in network.switches}
    assert model in {None, used}
    assert f"device: {used}" in by_option(tmp_path, "--switch", word)
    assert parse_target(f"leaf={word}").model == used
    named = [one for one in network.findings if one.id == "model-by-word"]
    assert bool(named) == (word in {"qfx5240-64", "arista", "Dell"}), "what means several models is said"


@pytest.mark.parametrize(
    ("word", "model"), [("cx7", "h100-8gpu-cx7"), ("dgx-h100", "dgx-h100"), ("THOR2", "mi300x-8gpu-thor2")]
)
def test_servers(tmp_path: Path, word: str, model: str) -> None:
    network = by_file(tmp_path, server=word)
    assert {one.model for one in network.servers} == {model}
    assert f"model: {model}" in by_option(tmp_path, "--nic", word)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ratio": "1:3"}, ("--oversubscription", "1:3")),
        ({"ratio": "0"}, ("--oversubscription", "0")),
        ({"ratio": "3:2"}, ("--oversubscription", "3:2")),
        ({"switch": "z7"}, ("--switch", "z7")),
        ({"server": "cx99"}, ("--nic", "cx99")),
    ],
)
def test_what_both_refuse(tmp_path: Path, given: dict[str, str], words: tuple[str, str]) -> None:
    with pytest.raises(InputError) as refused:
        by_option(tmp_path, *words)
    (option,) = refused.value.problems
    with pytest.raises(InputError) as refused:
        by_file(tmp_path, **given)
    for one in refused.value.problems:
        assert re.sub("'0'", "0", option.what) in one.what.replace("'0'", "0")
        assert one.fix == option.fix


@pytest.mark.parametrize("qps", ["0", "129"])
def test_queue_pairs_have_the_same_bounds(tmp_path: Path, qps: str) -> None:
    with pytest.raises(InputError):
        by_file(tmp_path, qps=qps)
    with pytest.raises(InputError, match="1 to 128"):
        by_option(tmp_path, "--qps", qps)


def test_a_server_s_mtu_gets_one_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        by_file(tmp_path, mtu="{server: 9216}")
    (one,) = refused.value.problems
    assert (one.what, one.fix) == ("server MTU 9216 exceeds the gateway's 9000", "use at most 9000")


@pytest.mark.parametrize(
    "mtu", ["{server: 9216, irb: 9216}", "{server: 9216, irb: 9216, server_port: 9216, fabric: 9216}"]
)
def test_hints_about_an_mtu_lead_to_one_that_is_taken(tmp_path: Path, mtu: str) -> None:
    with pytest.raises(InputError) as refused:
        by_file(tmp_path, mtu=mtu)
    assert {one.fix for one in refused.value.problems} == {"use at most 9202"}
    by_file(tmp_path, mtu="{server: 9202, irb: 9202}")


@pytest.mark.parametrize(
    ("given", "close"), [({"switch": "qfx5240-64odd"}, "qfx5240-64od"), ({"server": "h100-8gpu-cx77"}, "h100-8gpu-cx7")]
)
def test_a_misspelt_model_gets_the_right_one(tmp_path: Path, given: dict[str, str], close: str) -> None:
    with pytest.raises(InputError) as refused:
        by_file(tmp_path, **given)
    for one in refused.value.problems:
        assert one.fix.startswith(f"did you mean {close!r}? known models: ")


def test_more_stripes_than_servers_is_a_mistake_of_that_option(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        by_option(tmp_path, "--stripes", "33")
    (one,) = refused.value.problems
    assert (str(one.place), one.what) == ("--stripes", "33 stripes of 32 servers")


def test_an_unknown_server_is_all_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        by_file(tmp_path, server="h999")
    assert {one.what for one in refused.value.problems} == {"server model 'h999' is not in the catalog"}


def test_an_unknown_member_of_many_does_not_hide_the_others(tmp_path: Path) -> None:
    """Where some server of the file has NICs for the fabric, what else is wrong is still said."""
    text = FILE.format(**{**USUAL, "mtu": "{server: 9216}"}).replace(
        "model: h100-8gpu-cx7, stripe: stripe2", "model: h999"
    )
    with pytest.raises(InputError) as refused:
        designed(tmp_path, text)
    assert "server model 'h999' is not in the catalog" in {one.what for one in refused.value.problems}
