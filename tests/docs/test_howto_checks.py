"""docs/howto/bring-up-a-gpu-server.md: every ``railweave-host check`` in it, on a recorded DGX H100 as it should be and on others."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from railweave.host import host_file
from railweave.host.checking import record
from railweave.host.checks import counters
from railweave.host.checks import server as running
from railweave.host.checks.server import server
from railweave.host.commands import main
from railweave.host.files import content, parsed
from tests.conftest import ROOT
from tests.host.machines import Written
from tests.host.machines.samples import SAMPLES

PAGE = ROOT / "docs" / "howto" / "bring-up-a-gpu-server.md"


def recorded(name: str, folder: Path) -> Path:
    """A folder with one of the samples and its ``host.json``, as ``railweave host capture`` writes it."""
    (sample,) = [one for one in SAMPLES if one.name == name]
    folder.mkdir()
    file, parts = sample.written(folder)
    machine = Written(parts)
    looked = server(machine, host_file.load(file), parsed(content(file)))
    running.run(looked, running.chosen(()))
    counters.known(looked)
    record(machine, folder)
    return folder


def commands() -> list[str]:
    lines = re.findall(r"^railweave-host check.*", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [line.partition("#")[0].strip() for line in lines]


def test_the_page_checks_after_each_step() -> None:
    asked = " ".join(commands())
    assert {"nics", "modules", "pcie", "system", "gpus", "qos", "network", "counters"} <= set(asked.split())
    assert "railweave-host check" in commands()


def test_every_check_of_the_page_passes_on_a_good_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded("dgx-h100", tmp_path / "dgx-h100")
    monkeypatch.chdir(tmp_path)
    for command in commands():
        words, _, file = command.partition(" > ")
        assert main([*shlex.split(words)[1:], "--capture", str(folder)]) == 0, command
        said = capsys.readouterr().out
        if file:
            Path(file).write_text(said)
        elif "--all" not in words:
            _, *more = said.splitlines()
            assert [line for line in more if not line.startswith("Not checked for want of an earlier look")] == [], (
                command
            )


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("hgx-h100-x8", "pcie"),
        ("dgx-h100-just-installed", "qos"),
        ("dgx-h100-just-installed", "network"),
        ("mi300x-thor2-firmware-dcbx", "nics"),
    ],
)
def test_a_step_that_was_left_out_is_named(
    name: str, subject: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = recorded(name, tmp_path / name)
    assert main(["check", "--only", subject, "--capture", str(folder)]) == 1
    assert "\n  do      " in capsys.readouterr().out
