"""Secrets: references in what can be shared, values only in what is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import InputError
from railweave.outputs.steps import build
from tests.outputs.fabrics import content, fabric

SECRETS = "root-hash: $6$Z9qXw1$uQ7T\ncommunity: s3same-street\nunused: nothing-refers-to-this\n"


def secrets_file(folder: Path, text: str) -> Path:
    """``folder/secrets.yaml``, for its owner alone."""
    file = folder / "secrets.yaml"
    file.write_text(text)
    file.chmod(0o600)
    return file


def files(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in content(folder).items() if data is not None}


def test_without_a_secrets_file_there_are_references(tmp_path: Path) -> None:
    built = build(fabric(tmp_path), tmp_path / "out")
    text = (tmp_path / "out" / "devices" / "spine1" / "junos.conf").read_text()
    assert "<secret:root-hash>" in text
    assert "<secret:community>" in text
    assert [finding.severity for finding in built.findings if finding.id == "secret-open"] == ["info"]


def test_with_one_the_values_stand_in_device_files_only(tmp_path: Path) -> None:
    secrets_file(tmp_path, SECRETS)
    built = build(fabric(tmp_path), tmp_path / "out", secrets=tmp_path / "secrets.yaml")
    for value in (b"$6$Z9qXw1$uQ7T", b"s3same-street"):
        holding = {name for name, data in files(tmp_path / "out").items() if value in data}
        assert holding
        assert all(name.startswith("devices/") for name in holding)
        assert value not in (tmp_path / "pod1.lock").read_bytes()
    every = b"".join(data for name, data in files(tmp_path / "out").items() if name.startswith("devices/"))
    assert b"<secret:" not in every
    assert b"nothing-refers-to-this" not in every
    assert "secret-open" not in {finding.id for finding in built.findings}


def test_only_device_files_differ(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    secrets_file(tmp_path, SECRETS)
    build(file, tmp_path / "open")
    build(file, tmp_path / "closed", secrets=tmp_path / "secrets.yaml")
    one, two = files(tmp_path / "open"), files(tmp_path / "closed")
    assert one.keys() == two.keys()
    different = {name for name in one if one[name] != two[name]}
    assert {name for name in different if not name.startswith("devices/")} == {
        "manifest.json",
        "findings.json",
        "report.html",
    }


def test_a_missing_value_is_said(tmp_path: Path) -> None:
    secrets_file(tmp_path, "root-hash: x\n")
    built = build(fabric(tmp_path), tmp_path / "out", secrets=tmp_path / "secrets.yaml")
    assert "<secret:community>" in (tmp_path / "out" / "devices" / "spine1" / "junos.conf").read_text()
    assert "secret-open" in {finding.id for finding in built.findings}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- root-hash\n", "secrets.yaml:1: not a list of secrets\n    write NAME: value, one a line"),
        ("just text\n", "secrets.yaml:1: not a list of secrets\n    write NAME: value, one a line"),
        ("a: {b: c}\n", "secrets.yaml:1: secret 'a' is not a single value\n    write NAME: value, one a line"),
        ("a: x\na: y\n", "secrets.yaml:2: duplicate key 'a'\n    it is first given on line 1"),
    ],
)
def test_a_bad_secrets_file(tmp_path: Path, text: str, message: str) -> None:
    file = fabric(tmp_path)
    secrets_file(tmp_path, text)
    before = content(tmp_path)
    with pytest.raises(InputError) as caught:
        build(file, tmp_path / "out", secrets=tmp_path / "secrets.yaml")
    assert str(caught.value) == f"{tmp_path}/{message}"
    assert content(tmp_path) == before


def test_no_secrets_file(tmp_path: Path) -> None:
    file = fabric(tmp_path)
    with pytest.raises(InputError, match=r"secret\.yaml: no such file"):
        build(file, tmp_path / "out", secrets=tmp_path / "secret.yaml")
    assert not (tmp_path / "out").exists()
