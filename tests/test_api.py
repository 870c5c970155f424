"""The steps as functions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import railweave
from tests.conftest import EXAMPLES

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
        ('"device": "spine1"', '"device": "ghost"', "names 'ghost', which is not there"),
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
    from railweave.outputs.differences import diff

    copy = tmp_path / "more.yaml"
    copy.write_text(FILE.read_text().replace("H100-[01-02]", "H100-[01-02,05]"))
    found = diff(*load_pair(FILE, copy))
    assert list(found.servers) == ["H100-05"]
    assert {one.device for one in found.devices} == {f"stripe1-leaf{n}" for n in range(1, 9)}
    assert found.cables_removed == ()
