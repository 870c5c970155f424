"""Captures: folders of what devices said."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import InputError
from railweave.model.state.capture import read_capture


def _write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def _texts(folder: Path, device: str, files: tuple[str, ...] = ()) -> dict[str, str]:
    found = read_capture(folder).configurations(device, files)
    return {str(path.relative_to(folder)): text for path, text in found.items()}


def test_answers_are_by_device_and_question(tmp_path: Path) -> None:
    _write(tmp_path, {"leaf1/configuration.txt": "a", "leaf1/lldp.json": "{}", "leaf2/configuration.json": "{}"})
    capture = read_capture(tmp_path)
    assert capture.devices == ["leaf1", "leaf2"]
    assert set(capture.answers["leaf1"]) == {"configuration", "lldp"}
    assert _texts(tmp_path, "leaf1") == {"leaf1/configuration.txt": "a"}


def test_a_configuration_may_come_in_parts(tmp_path: Path) -> None:
    _write(tmp_path, {"leaf1/configuration.json": "{}", "leaf1/configuration-frr.txt": "router bgp 1"})
    assert set(_texts(tmp_path, "leaf1")) == {"leaf1/configuration.json", "leaf1/configuration-frr.txt"}


def test_files_of_a_build_folder_are_read_by_their_names(tmp_path: Path) -> None:
    _write(tmp_path, {"design.json": "{}", "devices/leaf1/junos.conf": "a", "devices/leaf1/junos.set": "b"})
    assert _texts(tmp_path, "leaf1", ("junos.conf",)) == {"devices/leaf1/junos.conf": "a"}
    assert read_capture(tmp_path).folder == tmp_path / "devices"


@pytest.mark.parametrize("ending", [".txt", ".conf", ".cfg", ".set", ".json", ".xml"])
def test_one_file_for_each_device(tmp_path: Path, ending: str) -> None:
    _write(tmp_path, {f"leaf1{ending}": "a", "notes.md": "not a configuration"})
    assert _texts(tmp_path, "leaf1") == {f"leaf1{ending}": "a"}
    assert read_capture(tmp_path).devices == ["leaf1"]


def test_nothing_was_captured_of_a_device(tmp_path: Path) -> None:
    _write(tmp_path, {"leaf1/lldp.json": "{}"})
    assert _texts(tmp_path, "leaf1") == {} == _texts(tmp_path, "leaf2")


def test_ends_of_lines_and_marks_of_other_systems_are_taken_off(tmp_path: Path) -> None:
    _write(tmp_path, {"leaf1.txt": b"\xef\xbb\xbfset a\r\nset b\r\n"})
    assert _texts(tmp_path, "leaf1") == {"leaf1.txt": "set a\nset b\n"}


def test_meta_is_read_and_may_have_more(tmp_path: Path) -> None:
    meta = '{"schema": 1, "taken": "2026-11-22T10:00:00Z", "versions": {"leaf1": "23.4"}, "by": "me"}'
    _write(tmp_path, {"leaf1.txt": "a", "meta.json": meta})
    found = read_capture(tmp_path)
    assert found.devices == ["leaf1"]
    assert found.meta.versions == {"leaf1": "23.4"}
    assert found.meta.taken is not None
    assert found.meta.taken.year == 2026


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({}, "the folder contains no answers of devices"),
        ({"leaf1.txt": "a", "meta.json": '{"schema": 2}'}, "less than or equal to 1"),
        ({"leaf1.txt": "a", "meta.json": "{"}, "Invalid JSON"),
        ({"leaf1.txt": b"\xff\xfe"}, "not UTF-8 text"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, files: dict[str, str | bytes], wrong: str) -> None:
    _write(tmp_path, files)
    with pytest.raises(InputError, match=wrong):
        read_capture(tmp_path).configurations("leaf1", ())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_capture(tmp_path / "gone")
