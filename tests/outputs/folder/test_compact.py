"""--compact: slots of names that are gone are used again, and no others move."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave import diff
from railweave.cli.app import app
from railweave.errors import DesignError
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


def _full(folder: Path, servers: str) -> Path:
    """A fabric whose leaves have ports for two servers, and which says so."""
    return fabric(
        folder,
        ('"gpu-[01-02]"', servers),
        ("device: qfx5240-64od", "device: qfx5240-64od\n      server_ports: {first: 16, last: 23, breakout: 2x400G}"),
    )


def test_a_leaf_that_former_servers_fill_says_how_to_free_it(tmp_path: Path) -> None:
    """The refusal names the option, by build and by diff, and the build with it succeeds."""
    file = _full(tmp_path, '"gpu-[01-02]"')
    build(file, tmp_path / "out")
    (tmp_path / "new").mkdir()
    changed = _full(tmp_path / "new", "[gpu-02, gpu-11]")
    with pytest.raises(DesignError, match="too few ports") as differing:
        diff(file, changed)
    freed = "or free what the lock keeps for parts that are gone or moved (gpu-01): `railweave build pod1.yaml --compact -o OUT`"
    assert freed in str(differing.value)
    assert "first put pod1.yaml in the place of" in str(differing.value)
    shutil.copy(changed, file)
    with pytest.raises(DesignError, match="too few ports") as refused:
        build(file, tmp_path / "out")
    (line,) = (line for line in str(refused.value).splitlines() if freed in line)
    assert "in the place of" not in line
    words = shlex.split(line.partition("`")[2].partition("`")[0].replace("OUT", str(tmp_path / "out")))
    assert words[:2] == ["railweave", "build"]
    words[2] = str(file)
    assert CliRunner().invoke(app, words[1:]).exit_code == 0
    assert slots(tmp_path) == {"gpu-02": 2, "gpu-11": 1}


def test_a_refusal_that_freeing_does_not_mend_does_not_name_it(tmp_path: Path) -> None:
    file = _full(tmp_path, '"gpu-[01-02]"')
    build(file, tmp_path / "out")
    _full(tmp_path, "[gpu-02, gpu-11, gpu-12]")
    with pytest.raises(DesignError, match="too few ports") as refused:
        build(file, tmp_path / "out")
    assert "--compact" not in str(refused.value)
