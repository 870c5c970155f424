"""Racks: cables are as long as the places of their devices make them, and every rack has its list of cables."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import pytest

from railweave import api
from railweave.errors import InputError
from railweave.model.network.model import Network
from railweave.outputs.rendering.tables import racks_csv
from tests.conftest import designed

if TYPE_CHECKING:
    from pathlib import Path

FABRIC = """\
name: racked
racks:
  slack: 1m
  step: 0.5m
  racks:
    A1: {{x: 0m, y: 0m, units: 48, devices: {{{a1}}}}}
    A2: {{x: 0.6m, devices: {{"gpu-2": 1, spine1: 40}}}}
    B1: {{x: 0.6m, y: 3m, devices: {{spine2: 47}}}}
fabrics:
  backend:
    topology: {{stripes: 1, leaves_per_stripe: 1, spines: 3, links_per_spine: 3, oversubscription: 2}}
    leaf: {{device: qfx5240-64od}}
servers: [{{names: "gpu-[1-2]", model: h100-8gpu-cx7}}]
"""


def network(folder: Path, a1: str = "gpu-1: 1, stripe1-leaf1: 44", text: str = FABRIC) -> Network:
    return designed(folder, text.format(a1=a1))[0]


def lengths(found: Network) -> dict[tuple[str, str], set[float]]:
    result: dict[tuple[str, str], set[float]] = {}
    for cable in found.cables:
        result.setdefault((cable.a.device, cable.b.device), set()).add(cable.length_m)
    return result


def test_lengths_follow_from_places(tmp_path: Path) -> None:
    """By hand: units of 44.45 mm, 1 m of slack, rounded up to half metres. A leaf at unit 44, spine1 at 40, spine2 at 47."""
    found = lengths(network(tmp_path))
    assert found["gpu-1", "stripe1-leaf1"] == {3}  # 43 units = 1.911 m
    assert found["gpu-2", "stripe1-leaf1"] == {4}  # 47 + 4 units = 2.267 m, and 0.6 m
    assert found["stripe1-leaf1", "spine1"] == {2.5}  # 4 + 8 units = 0.533 m, and 0.6 m: 2.13 m
    assert found["stripe1-leaf1", "spine2"] == {5}  # 4 + 1 units = 0.222 m, and 3.6 m: 4.82 m
    assert found["stripe1-leaf1", "spine3"] == {50}  # it stands in no rack


def test_what_is_fixed_or_measured_is_over_the_racks(tmp_path: Path) -> None:
    text = FABRIC
    text += 'overrides: {{cables: [{{between: ["gpu-1:gpu0_eth", stripe1-leaf1], length: 7m}}]}}\n'
    found = network(tmp_path, text=text)
    assert lengths(found)["gpu-1", "stripe1-leaf1"] == {3, 7}
    pair = [one for one in found.cables if one.b.device == "stripe1-leaf1" and one.a.port in {"gpu0_eth", "gpu1_eth"}]
    assert {one.a.optic for one in pair if one.a.device == "gpu-1"} == {
        "osfp-400g-sr4"
    }  # both are on one port of the leaf


def test_a_host_list_stands_one_over_the_other(tmp_path: Path) -> None:
    text = FABRIC.replace('"gpu-2": 1, ', "")
    found = network(tmp_path, '"gpu-[1-2]": 3, stripe1-leaf1: 44', text)
    assert {name: one.unit for name, one in found.positions.items() if one.rack == "A1"} == {
        "gpu-1": 3,
        "gpu-2": 11,
        "stripe1-leaf1": 44,
    }


def test_each_rack_has_its_cables(tmp_path: Path) -> None:
    found = network(tmp_path)
    rows = list(csv.DictReader(io.StringIO(racks_csv(found))))
    assert list(dict.fromkeys(row["rack"] for row in rows)) == ["A1", "A2", "B1"]
    assert [row["unit"] for row in rows if row["rack"] == "A1"] == ["1"] * 8 + ["44"] * 25
    across = next(row for row in rows if row["device"] == "spine2")
    assert (across["to_rack"], across["to_unit"], across["to_device"], across["length_m"]) == (
        "A1", "44", "stripe1-leaf1", "5",
    )  # fmt: skip
    assert sum(row["to_device"] == "spine3" and not row["to_rack"] for row in rows) == 3


def test_places_travel_with_the_design(tmp_path: Path) -> None:
    found = network(tmp_path)
    assert Network.from_json(found.to_json()).positions == found.positions


@pytest.mark.parametrize(
    ("a1", "said"),
    [
        ("gpu-1: 1, stripe1-leaf1: 8", "fabric.yaml:6: stripe1-leaf1 and gpu-1 overlap in rack A1"),
        ("gpu-1: 42", "fabric.yaml:6: gpu-1 would extend to unit 49 of rack A1"),
        ("gpu-9: 1", "fabric.yaml:6: there is no device 'gpu-9'"),
        ("gpu-2: 1", "gpu-2 is also in rack A1"),
    ],
)
def test_what_cannot_stand_so_is_said_with_its_line(tmp_path: Path, a1: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        network(tmp_path, a1)
    assert said in str(error.value)


def test_the_list_of_each_rack_is_written_and_verified(tmp_path: Path) -> None:
    (tmp_path / "fabric.yaml").write_text(FABRIC.format(a1="gpu-1: 1, stripe1-leaf1: 44"))
    out = tmp_path / "out"
    found = api.build(tmp_path / "fabric.yaml", out)
    assert (out / "racks.csv").read_text() == racks_csv(found.network)
    assert api.verify(out).good
    (out / "racks.csv").write_text(racks_csv(found.network).replace("B1,47,", "B1,46,"))
    assert [one.id for one in api.verify(out) if one.severity == "error"][:1] == ["table-differs"]
