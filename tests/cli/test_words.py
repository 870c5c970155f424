"""What the command line says of mistakes: the cause and what to write, in plain words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from railweave.cli import main
from tests.conftest import EXAMPLES

FABRIC = str(EXAMPLES / "h100-rlb.yaml")
NIC = "H100-01:gpu0_eth"


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that runs a command that is bad use, and gives what it says, in one line."""

    def call(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["railweave", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code == 2
        return " ".join(capsys.readouterr().err.split())

    return call


def test_a_tab_is_named(said: Callable[..., str], tmp_path: Path) -> None:
    for number, text in enumerate(("name: x\n\tfabrics: 1\n", "name: x\nfabrics:\n\tbackend: {}\n")):
        file = tmp_path / f"tab{number}.yaml"
        file.write_text(text)
        out = said("build", str(file), "-o", str(tmp_path / "out"))
        assert "there is a tab tabs are not allowed there: use spaces" in out


def test_a_nic_has_to_be_named(said: Callable[..., str]) -> None:
    out = said("paths", FABRIC, "--src", "H100-01", "--dst", NIC)
    assert "error: H100-01: no NIC of H100-01 is named write HOST:NIC, as H100-01:gpu0_eth" in out


def test_a_nic_has_no_path_to_itself(said: Callable[..., str]) -> None:
    assert "source and destination are the same NIC" in said("paths", FABRIC, "--src", NIC, "--dst", NIC)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("share=30", "share: 30 is not allowed: the value must be at most 1 "),
        ("share=30%,qps=few", "qps: 'few' is not a whole number"),
    ],
)
def test_values_are_refused_in_plain_words(said: Callable[..., str], given: str, words: str) -> None:
    out = said("sim", FABRIC, "--size", "1M", "--background", given)
    assert words in out
    assert "Input should be" not in out


def test_what_is_meant_is_suggested(said: Callable[..., str]) -> None:
    assert "did you mean spine1?" in said("paths", FABRIC, "--src", NIC, "--dst", "H100-02:gpu0_eth", "--down", "spin1")
    assert "did you mean all-reduce?" in said("sim", FABRIC, "--collective", "allreduce")
