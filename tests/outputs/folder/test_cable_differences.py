"""What a diff says of cables that stay: length, optics, racks, the bill, and the list for the technician."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.model.catalog import in_force
from railweave.model.network.devices import Cable, End
from railweave.model.network.model import Network
from railweave.outputs.folder.differences import NetworkDiff, attributes, diff, differing
from tests.conftest import designed

FABRIC = """\
name: racked
racks:
  racks:
    A1: {{x: 0m, y: 0m, devices: {{"gpu-1": 1, stripe1-leaf1: 40}}}}
    B1: {{x: {x}, y: 0m, devices: {{"gpu-2": {unit}, spine1: 40, spine2: 42}}}}
fabrics:
  backend:
    topology: {{stripes: 1, leaves_per_stripe: 1, spines: 2, links_per_spine: {links}, oversubscription: 2}}
    leaf: {{device: {leaf}}}
    spine: {{device: qfx5240-64od}}
    load_balancing: {{mode: {mode}}}
servers: [{{names: "gpu-[1-2]", model: h100-8gpu-cx7}}]
"""


def text(*, x: str = "1m", unit: int = 1, links: int = 4, leaf: str = "qfx5240-64od", mode: str = "dlb-flowlet") -> str:
    return FABRIC.format(x=x, unit=unit, links=links, leaf=leaf, mode=mode)


def network(folder: Path, **given: str | int) -> Network:
    folder.mkdir(exist_ok=True)
    return designed(folder, text(**given))[0]  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Network:
    return network(tmp_path_factory.mktemp("plain"), mode="rlb")


def compared(old: Network, new: Network) -> NetworkDiff:
    with in_force(old.catalog):
        return diff(old, new)


def test_a_rack_that_moves_changes_length_optic_and_bill(tmp_path: Path) -> None:
    """At 60 m multimode optics no longer reach: 8 cables of gpu-2 and 8 of the leaf's uplinks are exchanged."""
    old, new = network(tmp_path / "old"), network(tmp_path / "new", x="60m")
    found = compared(old, new)
    assert not found.equal
    assert found.shared == {}
    assert list(found.servers) == ["gpu-2"]  # its NICs size their lossless buffers by the cable
    assert all(words in "\n".join(found.servers["gpu-2"]) for words in ("host.json", "nic-qos.sh"))
    assert (found.cables_added, found.cables_removed) == ((), ())
    far = {cable.name for cable in old.cables if {"gpu-2", "spine1", "spine2"} & {cable.a.device, cable.b.device}}
    assert len(far) == 16
    assert set(found.cables_changed) == far
    one = next(cable for cable in old.cables if cable.a.device == "gpu-2")
    after = new.cable(one.name)
    assert found.cables_changed[one.name] == {
        "length_m": (f"{one.length_m:g}", f"{after.length_m:g}"),
        "a_optic": (one.a.optic, after.a.optic),
        "b_optic": (one.b.optic, after.b.optic),
    }
    assert one.a.optic != after.a.optic
    bill = {(line.kind, line.name): line.after - line.before for line in found.bill}
    assert bill["pluggable", after.a.optic] == 8
    assert sum(count for (kind, _), count in bill.items() if kind == "fibre cable") == 0
    assert Counter(row.action for row in found.cable_work) == {"replace": 16}
    row = next(row for row in found.cable_work if row.old_a.startswith("gpu-2:"))
    assert (row.old_a_place, row.new_a_optic, row.new_length_m) == ("B1 1", after.a.optic, f"{after.length_m:g}")
    assert row.label_a == f"gpu-2 {after.a.port} > stripe1-leaf1 {after.b.port}, {after.length_m:g} m"
    lines = "\n".join(found.lines())
    assert "16 cables changed" in lines
    assert f"~ cable {one.name}: length_m {one.length_m:g} -> {after.length_m:g}" in lines
    assert "~ bill: pluggable" in lines


def test_a_server_that_moves_in_its_rack_is_said_with_its_cables(tmp_path: Path) -> None:
    """Three units are 13 cm: cables are rounded up to the same length, and have to be laid again all the same."""
    found = compared(network(tmp_path / "old"), network(tmp_path / "new", unit=3))
    assert found.devices_changed == {"gpu-2": {"unit": ("1", "3")}}
    assert {tuple(one) for one in found.cables_changed.values()} == {("a_unit",)}
    assert Counter(row.action for row in found.cable_work) == {"move": 8}
    assert not found.bill


def test_another_model_with_the_same_configuration_is_a_difference(tmp_path: Path) -> None:
    """Cages decide optics: none of the configuration changes."""
    found = compared(network(tmp_path / "old"), network(tmp_path / "new", leaf="qfx5241-64od"))
    assert found.devices_changed == {"stripe1-leaf1": {"model": ("qfx5240-64od", "qfx5241-64od")}}
    assert {line.name: line.after - line.before for line in found.bill if line.kind == "switch"} == {
        "qfx5240-64od": -1,
        "qfx5241-64od": 1,
    }
    assert not found.equal


def test_a_cable_that_goes_to_another_port_is_a_move(tmp_path: Path) -> None:
    old, new = network(tmp_path / "old"), network(tmp_path / "new", links=8)
    found = compared(old, new)
    rows = Counter(row.action for row in found.cable_work)
    assert rows["move"] + rows["remove"] == len(found.cables_removed)
    assert rows["move"] + rows["lay"] == len(found.cables_added)
    assert rows["move"]
    for row in found.cable_work:
        if row.action == "move":
            assert (row.old_a == row.new_a) != (row.old_b == row.new_b)


OTHERS: dict[str, object] = {
    "kind": "other",
    "fabric": "other",
    "measured": True,
    "color": None,
    "optic": "other",
    "lanes": "other",
    "address": "other",
}
"""Other values of a cable's or an end's fields; of those that are not here: 77."""


def names_compared(old: Network, cable: Cable) -> set[str]:
    new = replace(old, cables=(cable, *old.cables[1:]))
    ((name, before), *_), after = attributes(old).items(), attributes(new)
    return set(differing(before, after[name]))


@pytest.mark.parametrize("name", [one.name for one in fields(Cable) if one.name not in {"a", "b", "fabric"}])
def test_every_attribute_of_a_cable_is_compared(name: str, plain: Network) -> None:
    """A field that is added to Cable is compared too, or this test says so."""
    cable = plain.cables[-1]
    old = replace(plain, cables=(cable,))
    assert names_compared(old, replace(cable, **{name: OTHERS.get(name, 77)}))


@pytest.mark.parametrize("name", [one.name for one in fields(End) if one.name not in {"device", "port"}])
@pytest.mark.parametrize("side", ["a", "b"])
def test_every_attribute_of_an_end_is_compared(side: str, name: str, plain: Network) -> None:
    cable = plain.cables[0]
    end = replace(getattr(cable, side), **{name: OTHERS.get(name, 77)})
    assert names_compared(plain, replace(cable, **{side: end})) == {f"{side}_{name}"}


def test_the_list_for_the_technician_and_json(tmp_path: Path) -> None:
    for name, given in (("old", text()), ("new", text(x="60m"))):
        (tmp_path / f"{name}.yaml").write_text(given)
    words = ["diff", str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml")]
    result = CliRunner().invoke(app, [*words, "--as", "cables"])
    assert result.exit_code == 1
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert len(rows) == 16
    printed = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert printed["cable_work"] == rows
    assert set(printed["cables_changed"]) == {f"{row['new_a']}--{row['new_b']}" for row in rows}
    assert {"kind", "name", "before", "after"} == set(printed["bill"][0])
    same = CliRunner().invoke(app, [*words[:2], words[1], "--as", "cables"])
    assert (same.exit_code, same.stdout) == (0, "")
