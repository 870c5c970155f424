"""Secrets: references in what can be shared, values only in what is loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from railweave.errors import FileLine, InputError
from railweave.outputs.folder.rendering import Secrets, read_secrets, with_secrets
from railweave.outputs.folder.steps import build
from tests.outputs.folder.fabrics import content, fabric

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
    assert [one.what for one in built.findings if one.id.startswith("secret-")] == [
        "no device file holds the secret 'unused'"
    ]


@pytest.mark.parametrize("value", ["", '""', '"  "'])
def test_an_empty_secret_is_refused_with_its_line(tmp_path: Path, value: str) -> None:
    file = secrets_file(tmp_path, f"root-hash: $6$Z9qXw1$uQ7T\ncommunity: {value}\n")
    with pytest.raises(InputError, match=r"secrets\.yaml:2: secret 'community' is (empty|not a single value)"):
        read_secrets(file)


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
    for again in (built, build(tmp_path / "pod1.yaml", tmp_path / "out", secrets=tmp_path / "secrets.yaml")):
        (found,) = (one for one in again.findings if one.id.startswith("secret-"))
        assert (found.id, found.severity, found.what) == (
            "secret-missing",
            "error",
            "the file of secrets has no 'community'",
        )
        assert (found.file, found.line) == (str(tmp_path / "pod1.yaml"), 13)


def test_a_name_that_is_written_otherwise_is_said_on_both_sides(tmp_path: Path) -> None:
    secrets_file(tmp_path, "root-hsh: x\ncommunity: y\n")
    built = build(fabric(tmp_path), tmp_path / "out", secrets=tmp_path / "secrets.yaml")
    missing, unused = (one for one in built.findings if one.id.startswith("secret-"))
    assert missing.fix == "write `root-hash: VALUE` into the file of secrets ('root-hsh' is the nearest name)"
    assert (unused.id, unused.severity, unused.line) == ("secret-unused", "warning", 1)
    assert unused.file == str(tmp_path / "secrets.yaml")
    assert unused.fix == "take it out, or correct its name ('root-hash' is the nearest name)"


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


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = secrets_file(tmp_path, "a: b\n")
    file.chmod(mode)
    with pytest.raises(InputError) as caught:
        read_secrets(file)
    assert str(caught.value) == f"{file}: others can read the secrets (mode {mode:o})\n    chmod 600 {file}"


def test_a_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = secrets_file(tmp_path, "a: b\n")
    monkeypatch.setattr("railweave.outputs.folder.rendering.trusted_users", lambda: {os.geteuid() + 1})
    with pytest.raises(InputError, match=f"belong to user {os.geteuid()}, who can read and change them"):
        read_secrets(file)


def test_values_are_as_they_are_written(tmp_path: Path) -> None:
    found = read_secrets(secrets_file(tmp_path, "a: 007\nb: yes\nc: 0x1f\nd: 'x y'\n5: |\n  two\n  lines\n"))
    assert found == {"a": "007", "b": "yes", "c": "0x1f", "d": "x y", "5": "two\nlines\n"}
    assert str(found.lines["c"]) == f"{tmp_path}/secrets.yaml:3"


@pytest.mark.parametrize(
    ("nos", "file", "value", "shown"),
    [
        ("eos", "eos.conf", "s3cret!#$", "s3cret!#$"),
        ("frr", "frr.conf", "s3cret", "s3cret"),
        ("dell_sonic", "sonic.cli", "s3cret", "s3cret"),
        ("dell_sonic", "sonic.cli", "two words", '"two words"'),
        ("dell_sonic", "sonic.cli", "a#b", '"a#b"'),
        ("junos", "junos.conf", 'a "b"\nc', '"a \\"b\\"\\nc"'),
        ("sonic", "config_db.json", 'a "b"\nc', 'a \\"b\\"\\nc'),
    ],
)
def test_a_secret_stays_in_its_place(nos: str, file: str, value: str, shown: str) -> None:
    text = with_secrets(f"devices/a/{file}", "key <secret:a> end", Secrets({"a": value}), nos)
    assert text == f"key {shown} end"


@pytest.mark.parametrize("nos", ["eos", "frr", "dell_sonic", "sonic"])
@pytest.mark.parametrize("value", ["a\nreload now", 'a"b', "a\\b", "é", "a\tb", "", "a'b"])
def test_a_secret_that_would_end_its_word_is_refused(tmp_path: Path, nos: str, value: str) -> None:
    secrets = Secrets({"a": value}, {"a": FileLine(str(tmp_path / "secrets.yaml"), 4)})
    with pytest.raises(InputError) as caught:
        with_secrets("devices/a/x.conf", "key <secret:a> end", secrets, nos)
    assert str(caught.value).startswith(f"{tmp_path}/secrets.yaml:4: secret 'a' cannot be written into x.conf: it ")


@pytest.mark.parametrize("value", ["two words", " "])
def test_eos_takes_one_word(value: str) -> None:
    with pytest.raises(InputError, match=r"--secrets a: secret 'a' cannot be written into eos\.conf: it holds ' '"):
        with_secrets("devices/a/eos.conf", "key <secret:a>", {"a": value}, "eos")


def test_a_value_is_no_reference_to_another() -> None:
    text = with_secrets("devices/a/eos.conf", "<secret:a> <secret:b> <secret:c>", {"a": "<secret:b>", "b": "x"}, "eos")
    assert text == "<secret:b> x <secret:c>"
