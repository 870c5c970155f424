"""--compact: slots of names that are gone are used again, and no others move."""

from __future__ import annotations

import json
from pathlib import Path

from railweave.outputs.folder.steps import build
from tests.outputs.folder.fabrics import fabric


def slots(folder: Path) -> dict[str, int]:
    return json.loads((folder / "pod1.lock").read_text())["pools"]["backend/servers/stripe1"]


def test_without_it_a_slot_is_kept_for_its_name(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "out")
    fabric(tmp_path, ('"gpu-[01-02]"', "[gpu-02, gpu-11]"))
    build(file, tmp_path / "out")
    assert slots(tmp_path) == {"gpu-01": 1, "gpu-02": 2, "gpu-11": 3}


def test_with_it_the_name_that_is_gone_goes(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "out")
    fabric(tmp_path, ('"gpu-[01-02]"', "[gpu-02]"))
    build(file, tmp_path / "out", compact=True)
    assert slots(tmp_path) == {"gpu-02": 2}
    fabric(tmp_path, ('"gpu-[01-02]"', "[gpu-02, gpu-11]"))
    built = build(file, tmp_path / "out")
    assert slots(tmp_path) == {"gpu-02": 2, "gpu-11": 1}
    assert built.network.server("gpu-11").nics[0].leaf_port != built.network.server("gpu-02").nics[0].leaf_port


def test_names_that_stay_do_not_move(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    fabric(tmp_path, ('"gpu-[01-02]"', "[gpu-01, gpu-02]"))
    before = build(file, tmp_path / "out").network
    fabric(tmp_path, ('"gpu-[01-02]"', "[gpu-02]"))
    after = build(file, tmp_path / "out", compact=True).network
    assert after.server("gpu-02") == before.server("gpu-02")
    assert after.switches == before.switches


def test_nothing_gone_nothing_changed(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    build(file, tmp_path / "out")
    lock = (tmp_path / "pod1.lock").read_bytes()
    assert build(file, tmp_path / "out", compact=True).changed == []
    assert (tmp_path / "pod1.lock").read_bytes() == lock
