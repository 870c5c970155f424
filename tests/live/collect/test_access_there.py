"""Keys and passwords that access.yaml names and that are not there are told once, at their line, before a device is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave.errors import SpecError
from railweave.live.collect.access_file import read_access
from railweave.live.collect.plan import plan
from railweave.live.reach.failure import ReachError
from railweave.live.reach.target import Password
from tests.conftest import example

NETWORK = "h100-rlb"


def wrong(folder: Path, text: str, **options: bool) -> list[str]:
    """What is wrong with the file, a line each."""
    path = folder / "access.yaml"
    path.write_text(text)
    try:
        plan(example(NETWORK), read_access(path), **options)  # type: ignore[arg-type]
    except SpecError as error:
        return str(error).splitlines()
    return []


def test_a_key_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    assert wrong(tmp_path, "defaults:\n  user: me\n  key: /no/such/key\n") == [
        f"{tmp_path}/access.yaml:3: there is no such file: /no/such/key",
        "    name a file that holds a private key",
    ]
    (tmp_path / "key").write_text("-")
    (tmp_path / "key").chmod(0o600)
    assert wrong(tmp_path, "defaults: {key: key}\n") == []


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "key").write_text("-")
    (tmp_path / "key").chmod(mode)
    assert wrong(tmp_path, "jump_hosts:\n  gate: {key: key}\ndefaults: {key: key, jump: gate}\n") == [
        line
        for place in (2, 3)
        for line in (
            f"{tmp_path}/access.yaml:{place}: others can read {tmp_path}/key (mode {mode:o})",
            f"    chmod 600 {tmp_path}/key",
        )
    ]


def test_a_password_that_is_not_there_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "jump_hosts:\n  gate: {password: env:NO_SUCH}\ndefaults:\n  jump: gate\n  password: file:none\n"
    assert wrong(tmp_path, text) == [
        f"{tmp_path}/access.yaml:2: the environment has no NO_SUCH",
        "    export NO_SUCH first",
        f"{tmp_path}/access.yaml:5: cannot read {tmp_path}/none: No such file or directory",
    ]
    monkeypatch.setenv("NO_SUCH", "x")
    (tmp_path / "none").write_text("x")
    (tmp_path / "none").chmod(0o600)
    assert wrong(tmp_path, text) == []


def test_what_no_device_needs_may_be_missing(tmp_path: Path) -> None:
    text = "roles:\n  server: {password: env:NO_SUCH}\n"
    assert wrong(tmp_path, text) == []
    assert wrong(tmp_path, text, servers=True)[0] == f"{tmp_path}/access.yaml:2: the environment has no NO_SUCH"


def test_the_name_of_a_file_is_not_taken_for_a_secret() -> None:
    with pytest.raises(ReachError, match=r"^cannot read /no/such/password: No such file or directory$"):
        Password("file", "/no/such/password").value()
