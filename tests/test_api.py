"""The steps as functions."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import railweave
from docs import api_reference
from railweave import api
from tests.conftest import EXAMPLES, ROOT

FILE = EXAMPLES / "h100-rlb.yaml"
UPLINK = "stripe1-leaf1:et-0/0/0:0--spine1:et-0/0/0:0"


def _path(down: list[str]) -> list[list[str]]:
    [path] = railweave.paths(FILE, "H100-01:gpu0_eth", "H100-03:gpu0_eth", qps=1, down=down)
    return [[one.link for one in hop] for hop in path.hops]


def test_a_link_may_be_named_from_either_end() -> None:
    turned = "--".join(reversed(UPLINK.split("--")))
    assert _path([UPLINK]) == _path([turned]) != _path([])
    assert len(_path([UPLINK])[1]) == 3


def test_a_nic_may_be_named_by_its_rdma_device() -> None:
    assert railweave.paths(FILE, "H100-01:mlx5_0", "H100-03:mlx5_0") == railweave.paths(
        FILE, "H100-01:gpu0_eth", "H100-03:gpu0_eth"
    )


def test_a_server_that_is_down_is_not_reached_and_takes_nothing_else_along() -> None:
    assert _path(["H100-03"]) == []
    assert _path(["H100-02"]) == _path([])
    both = railweave.routes(FILE, ["H100-03", "H100-04"])
    assert both.next_hops("stripe1-leaf1", "fc00:2:1:1::/64") == (), "a gateway without a live port is withdrawn"


@pytest.mark.parametrize("name", ["spine9", "stripe1-leaf1:et-0/0/9:0--spine1:et-0/0/0:0", ""])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(railweave.InputError, match="neither a link nor a switch nor a server"):
        railweave.routes(FILE, [name])


def test_an_unknown_name_is_refused_with_names_that_exist() -> None:
    with pytest.raises(
        railweave.InputError, match=r"switches are stripe1-leaf1, .*…; servers are H100-01, .*H100-04; "
    ):
        railweave.routes(FILE, ["nothing-like-it"])
    with pytest.raises(railweave.InputError, match=r"did you mean spine1\?"):
        railweave.routes(FILE, ["spin1"])


@pytest.fixture
def built(tmp_path: Path) -> Path:
    for file in EXAMPLES.glob("h100-rlb.*"):
        shutil.copy(file, tmp_path)
    railweave.build(tmp_path / "h100-rlb.yaml", tmp_path / "out")
    return tmp_path / "out"


def test_a_build_folder_loads_as_its_fabric_file(built: Path) -> None:
    assert railweave.load(built) == railweave.load(FILE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"schema": 2', '"schema": "x"', "not a design of this version"),
        ('"device": "spine1"', '"device": "ghost"', "names 'ghost', which does not exist"),
        ("}", "", "not a design of this version"),
    ],
)
def test_a_damaged_design_is_refused(built: Path, old: str, new: str, message: str) -> None:
    file = built / "design.json"
    text = file.read_text()
    file.write_text(text.replace(old, new, 1) if new else text[:-20])
    with pytest.raises(railweave.InputError, match=message):
        railweave.load(built)


def test_no_errors_and_every_check_ran_on_the_example() -> None:
    result = railweave.verify(FILE)
    assert result.good
    assert "single-fault" in result.checks
    assert json.dumps([finding.to_json() for finding in result])


@pytest.mark.slow
def test_verify_by_sampling_on_a_large_network(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_text(
        "name: large\nfabrics:\n  b:\n    topology: {stripes: 9, spines: 4, servers_per_stripe: 1, oversubscription: 2}\n"
        "    leaf: {device: qfx5240-64od}\nservers: [{names: 'n[1-9]', model: h100-8gpu-cx7}]\n"
    )
    result = railweave.verify(file)
    assert result.good
    assert "single-fault-sampled" in {finding.id for finding in result}


def test_a_copy_to_compare_needs_no_inventory_of_its_own(tmp_path: Path) -> None:
    from railweave.api import load_pair
    from railweave.outputs.folder.differences import diff

    copy = tmp_path / "more.yaml"
    copy.write_text(FILE.read_text().replace("H100-[01-02]", "H100-[01-02,05]"))
    found = diff(*load_pair(FILE, copy))
    assert list(found.servers) == ["H100-05"]
    assert {one.device for one in found.devices} == {f"stripe1-leaf{n}" for n in range(1, 9)}
    assert found.cables_removed == ()


FUNCTIONS = ("build", "diff", "load", "paths", "routes", "simulate", "verify")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_plain_and_says_everything(name: str) -> None:
    function = getattr(railweave, name)
    assert inspect.isfunction(function)
    signature = inspect.signature(function)
    assert signature.return_annotation.partition("[")[0] in {*railweave.__all__, "list"}
    for parameter in signature.parameters.values():
        assert parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}, parameter
        assert parameter.annotation not in {parameter.empty, "Any"}, parameter
        assert parameter.name in {"source", "fabric"} or f"``{parameter.name}``" in function.__doc__, parameter


WITHOUT_SWITCHES = {"bench_check"}
"""Steps without a fabric file, which have no switches to replace."""


@pytest.mark.parametrize("name", api.__all__)
def test_every_step_takes_other_switches_and_hardware_of_one_s_own(name: str) -> None:
    ours = {"hardware"} if name in WITHOUT_SWITCHES else {"device", "hardware"}
    assert ours <= inspect.signature(getattr(api, name)).parameters.keys()


def fresh(script: str) -> list[str]:
    """What a fresh interpreter prints, by lines."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_tab_shows_the_api_and_nothing_else() -> None:
    show = "print(*dir(railweave))"
    script = f"import railweave; {show}; import railweave.cli.app, railweave.outputs.report.page; {show}"  # binds rooms to it
    before, after = fresh(script)
    shown = {name for name in before.split() if not name.startswith("_")}
    assert shown == set(railweave.__all__)
    assert set(FUNCTIONS) <= shown
    assert after == before


def test_star_import_brings_the_api() -> None:
    names: dict[str, object] = {}
    exec("from railweave import *", names)  # noqa: S102 - a star import is no statement inside a function
    assert names.keys() - {"__builtins__"} == set(railweave.__all__)
    assert names["load"] is railweave.load


def test_no_room_has_the_name_of_something_public() -> None:
    rooms = {module.name for module in pkgutil.iter_modules(railweave.__path__)}
    assert rooms.isdisjoint(railweave.__all__)


def test_types_are_what_a_type_checker_reads() -> None:
    exported = {name for names in api_reference.exported().values() for name in names}
    assert exported == set(railweave.__all__)
    for module, names in api_reference.exported().items():
        for name in names:
            assert getattr(railweave, name) is getattr(importlib.import_module(module), name)
    assert (ROOT / "src" / "railweave" / "py.typed").exists()


def test_results_are_of_the_types_that_signatures_name() -> None:
    network = railweave.load(FILE)
    assert isinstance(network, railweave.Network)
    assert isinstance(railweave.routes(network), railweave.Routes)
    [path] = railweave.paths(network, "H100-01:gpu0_eth", "H100-03:gpu0_eth")
    assert isinstance(path, railweave.QueuePairPath)
    assert isinstance(path.hops[0][0], railweave.LinkShare)
    found = railweave.simulate(network, "all-reduce", "1M", watch=False)
    assert isinstance(found, railweave.JobPrediction)
    assert isinstance(found.steps[0], railweave.JobStep)
    assert isinstance(found.steps[0].prediction, railweave.Prediction)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'railweave' has no attribute 'simulat'"):
        _ = railweave.simulat


def test_diff_of_a_file_with_itself_and_with_other_switches() -> None:
    assert railweave.diff(FILE, FILE).equal
    network = railweave.load(FILE)
    assert railweave.diff(network, network).equal
    other = railweave.diff(FILE, FILE, new_device=["spine=:eos"])
    assert isinstance(other, railweave.NetworkDiff)
    assert {"spine1", "spine4"} <= {one.device for one in other.devices}


def test_diff_of_a_network_with_a_folder(tmp_path: Path) -> None:
    network = railweave.load(FILE)
    (tmp_path / "design.json").write_bytes(network.to_json())
    assert railweave.diff(network, tmp_path).equal
    assert railweave.diff(str(tmp_path), network).equal


@pytest.mark.parametrize("name", ["load", "verify", "diff"])
def test_what_is_designed_takes_no_other_switches(tmp_path: Path, name: str) -> None:
    sources = {"load": [tmp_path], "verify": [railweave.load(FILE)], "diff": [FILE, railweave.load(FILE)]}[name]
    with pytest.raises(railweave.InputError, match="for the switches it has"):
        getattr(railweave, name)(*sources, device=["leaf=:eos"])


def test_progress_is_told(tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    railweave.simulate(FILE, "all-reduce", "16M", watch=False, progress=lambda *words: said.append(words))
    assert all(arrived <= of for _, arrived, of in said)
    assert {what for what, _, _ in said} <= {f"all-reduce of {16 << 20} bytes (1)"}
    assert said
    told: list[str] = []
    railweave.verify(EXAMPLES / "mi300x-leaf-31.yaml", progress=told.append)
    assert told[0].startswith("rendering 1 switch")


def test_a_checker_sees_types_and_misspelt_names(tmp_path: Path) -> None:
    pyright = Path(sys.executable).parent / "pyright"
    file = tmp_path / "user.py"
    file.write_text(
        "import railweave\n"
        "network: railweave.Network = railweave.load('a.yaml')\n"
        "reveal_type(railweave.verify(network))\n"
        "reveal_type(railweave.simulate(network).links)\n"
        "railweave.simulat(network)\n"
        "railweave.verify(network, frr='/')\n"
    )
    command = [pyright, "--pythonpath", sys.executable, "--outputjson", file]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)  # 1: it has errors
    said = [(one["range"]["start"]["line"], one["message"]) for one in json.loads(done.stdout)["generalDiagnostics"]]
    assert [line for line, _ in said] == [2, 3, 4, 5]
    assert 'is "Verified"' in said[0][1]
    assert 'is "dict[str, Any]"' in said[1][1]
    assert '"simulat" is not a known attribute' in said[2][1]
    assert 'No parameter named "frr"' in said[3][1]
