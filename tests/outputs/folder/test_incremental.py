"""Building again: only devices whose files would differ are rendered, and what is kept is what rendering gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from railweave.manifest import digest
from railweave.outputs.folder import rendering
from railweave.outputs.folder.steps import build
from tests.outputs.folder.fabrics import CHANGED, content, fabric

if TYPE_CHECKING:
    from collections.abc import Callable

LEAF_AS = ("management:\n", "overrides: {devices: {stripe1-leaf1: {asn: 4200009999}}}\nmanagement:\n")
CHANGES = {
    "as-number": (LEAF_AS,),
    "server": (('"gpu-[03-04]"', '"gpu-[03-05]"'),),
    "renamed": (('"gpu-[03-04]"', '"gpu-[03,07]"'),),
    "cable": (
        ("management:\n", "overrides: {cables: [{between: [stripe1-leaf1, spine1], length: 41}]}\nmanagement:\n"),
    ),
    "fabric": (CHANGED,),
}


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The folders that the builds of a test render, as they are rendered."""
    seen: set[str] = set()

    def watched(function: Callable[[Any], dict[str, str]]) -> Callable[[Any], dict[str, str]]:
        def render(config: Any) -> dict[str, str]:
            files = function(config)
            seen.update(name.rpartition("/")[0] for name in files)
            return files

        return render

    for name in ("switch_files", "server_files"):
        monkeypatch.setattr(rendering, name, watched(getattr(rendering, name)))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_the_bytes_of_a_full_build(tmp_path: Path, change: str) -> None:
    out = tmp_path / "out"
    build(fabric(tmp_path), out)
    before = content(out)
    file = fabric(tmp_path, *CHANGES[change])
    lock = (tmp_path / "pod1.lock").read_bytes()
    build(file, out)
    assert content(out) != before
    (tmp_path / "pod1.lock").write_bytes(lock)
    build(file, tmp_path / "full")
    assert content(out) == content(tmp_path / "full")


def test_only_devices_whose_configuration_changed_are_rendered(tmp_path: Path, rendered: set[str]) -> None:
    out = tmp_path / "out"
    build(fabric(tmp_path), out)
    everything = {f"devices/{name}" for name in ("spine1", "spine2", "stripe1-leaf1", "stripe2-leaf1")}
    assert {one for one in rendered if one.startswith("devices/")} == everything
    assert "hosts/gpu-01" in rendered
    rendered.clear()
    build(fabric(tmp_path), out)
    assert rendered == set()
    build(fabric(tmp_path, LEAF_AS), out)
    assert rendered == {"devices/stripe1-leaf1", "devices/spine1", "devices/spine2"}


@pytest.mark.parametrize("damage", ["edited", "missing", "edited with its digest"])
def test_what_is_not_as_it_was_written_is_rendered(tmp_path: Path, rendered: set[str], damage: str) -> None:
    file, out = fabric(tmp_path), tmp_path / "out"
    build(file, out)
    before = content(out)
    rendered.clear()
    name = "hosts/gpu-02/netplan.yaml"
    if damage == "missing":
        (out / name).unlink()
    else:
        (out / name).write_text("edited\n")
    if damage == "edited with its digest":
        manifest = json.loads((out / "manifest.json").read_text())
        manifest["files"][name] = digest(b"edited\n")
        (out / "manifest.json").write_text(json.dumps(manifest))
    assert build(file, out).changed == [name]
    assert rendered == {"hosts/gpu-02"}
    assert content(out) == before


def test_another_program_renders_everything(
    tmp_path: Path, rendered: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = fabric(tmp_path), tmp_path / "out"
    build(file, out)
    first = set(rendered)
    rendered.clear()
    monkeypatch.setattr(rendering, "program_digest", lambda: "another")
    build(file, out)
    assert rendered == first


def test_the_program_is_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "render").mkdir()
    (tmp_path / "__init__.py").write_text("")
    source = tmp_path / "render" / "junos.py"
    monkeypatch.setattr(rendering.railweave, "__file__", str(tmp_path / "__init__.py"))
    found: set[str] = set()
    for text in ("one", "two"):
        source.write_text(text)
        rendering.program_digest.cache_clear()
        found.add(rendering.program_digest())
    rendering.program_digest.cache_clear()
    assert len(found) == 2


def test_other_secrets_render_the_switches(tmp_path: Path, rendered: set[str]) -> None:
    file, out, secrets = fabric(tmp_path), tmp_path / "out", tmp_path / "secrets.yaml"
    build(file, out)
    for value in ("one", "two"):
        rendered.clear()
        secrets.write_text(f"root-hash: {value}\ncommunity: {value}\n")
        secrets.chmod(0o600)
        build(file, out, secrets=secrets)
        assert rendered == {f"devices/{name}" for name in ("spine1", "spine2", "stripe1-leaf1", "stripe2-leaf1")}
        assert f"encrypted-password {value};" in (out / "devices/spine1/junos.conf").read_text()


def test_kept_files_still_count_as_holding_open_secrets(tmp_path: Path) -> None:
    file, out = fabric(tmp_path), tmp_path / "out"
    first = build(file, out)
    assert [one.id for one in first.findings].count("secret-open") == 1
    assert build(file, out).findings == first.findings
