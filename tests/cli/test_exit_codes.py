"""Exit codes: 0 good, 1 errors found or a difference, 2 bad input or bad use, 130 interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from railweave.cli import main
from tests.outputs.folder.fabrics import content, fabric

MAIN = [sys.executable, "-c", "from railweave.cli import main; main()"]
SAME_RAIL = ("--src", "gpu-01:gpu0_eth", "--dst", "gpu-03:gpu0_eth")

LONG = ("    leaf:\n", "    cabling: {fabric: {length: 10km}, server: {length: 10km}}\n    leaf:\n")
"""Cables too long for the headroom: a finding that is an error."""


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    """The exit code of a command line, run in this process as the installed command runs it."""
    monkeypatch.setattr("sys.argv", ["railweave", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    code = stop.value.code
    assert code is None or isinstance(code, int)
    return code or 0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return fabric(tmp_path / "in")


def test_build_good(monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path) -> None:
    assert run(monkeypatch, "build", file, "-o", tmp_path / "out") == 0


@pytest.mark.parametrize("verb", ["build", "verify", "paths", "sim", "diff"])
def test_switches_that_there_are_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], file: Path, tmp_path: Path, verb: str
) -> None:
    more = {"build": ("-o", tmp_path / "out"), "paths": SAME_RAIL, "diff": (file,)}.get(verb, ())
    assert run(monkeypatch, verb, file, *more, "--device", "leaf=:ios") == 2
    assert "--device leaf=:ios: there is no operating system 'ios'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_build_with_an_error_found(monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path) -> None:
    """A finding is no reason not to build: the output shows what it is about."""
    fabric(file.parent, LONG)
    assert run(monkeypatch, "build", file, "-o", tmp_path / "out") == 1
    assert (tmp_path / "out" / "findings.json").is_file()


def test_build_of_a_bad_file(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fabric(file.parent, ("spines: 2", "spine: 2"))
    assert run(monkeypatch, "build", file, "-o", tmp_path / "out", "-q") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"error: {file}:4: unknown key 'fabrics.backend.topology.spine'\n    did you mean 'spines'?\n"


def test_a_file_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, "build", tmp_path / "none.yaml", "-o", tmp_path / "out") == 2
    assert run(monkeypatch, "verify", tmp_path / "none.yaml") == 2
    assert run(monkeypatch, "diff", tmp_path / "none.yaml", tmp_path / "none.yaml") == 2
    assert run(monkeypatch, "check", tmp_path / "none.yaml", tmp_path) == 2
    assert run(monkeypatch, "inventory", "fill", tmp_path / "none.yaml", tmp_path) == 2
    assert run(monkeypatch, "paths", tmp_path / "none.yaml", *SAME_RAIL) == 2
    assert content(tmp_path) == {}


@pytest.mark.parametrize(
    "arguments",
    [
        ("build",),
        ("build", "x.yaml"),
        ("build", "x.yaml", "-o", "out", "--frobnicate"),
        ("knit", "x.yaml"),
        ("diff", "x.yaml"),
        ("diff", "x.yaml", "y.yaml", "--as", "cisco"),
        ("paths", "x.yaml", "--src", "a:b"),
        ("paths", "x.yaml", "--src", "a:b", "--dst", "c:d", "--qps", "many"),
        ("init", "folder"),
    ],
)
def test_bad_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert printed.err
    assert content(tmp_path) == {}


def test_verify_good(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    assert run(monkeypatch, "verify", file) == 0


def test_verify_with_an_error_found(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    fabric(file.parent, LONG)
    assert run(monkeypatch, "verify", file) == 1


def test_verify_writes_nothing(monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path) -> None:
    before = content(tmp_path)
    assert run(monkeypatch, "verify", file) == 0
    assert content(tmp_path) == before


def test_verify_of_a_folder_without_a_design(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run(monkeypatch, "verify", tmp_path) == 2


@pytest.mark.parametrize("text", ["{}", "[]", "not json", '{"name": 1}'])
def test_a_damaged_design(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str) -> None:
    (tmp_path / "design.json").write_text(text)
    assert run(monkeypatch, "verify", tmp_path) == 2


def test_diff_of_the_same(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "build", file, "-o", tmp_path / "out", "-q") == 0
    capsys.readouterr()
    for old, new in ((file, file), (tmp_path / "out", tmp_path / "out"), (file, tmp_path / "out")):
        assert run(monkeypatch, "diff", old, new) == 0
        assert capsys.readouterr().out == "no difference\n"


def test_diff_of_two(monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path) -> None:
    other = fabric(tmp_path / "other", ("spines: 2", "spines: 3"))
    assert run(monkeypatch, "diff", file, other) == 1
    assert run(monkeypatch, "diff", other, file, "--as", "junos-set") == 1


def test_diff_as_commands(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = fabric(tmp_path / "other", ("spines: 2", "spines: 3"))
    folders = {nos: (tmp_path / f"old-{nos}", tmp_path / f"new-{nos}") for nos in ("eos", "sonic")}
    for nos, (old, new) in folders.items():
        for source, folder in ((file, old), (other, new)):
            assert run(monkeypatch, "build", source, "-o", folder, "-q", "--device", f":{nos}") == 0
    capsys.readouterr()
    assert run(monkeypatch, "diff", *folders["eos"], "--as", "eos") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("! ")
    assert "   description spine3 Ethernet1/1" in lines
    assert run(monkeypatch, "diff", *folders["sonic"], "--as", "sonic-patch") == 1
    patches = json.loads(capsys.readouterr().out)
    assert {operation["op"] for patch in patches.values() for operation in patch} <= {"add", "remove", "replace"}


def test_diff_on_other_switches(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--device is for both sides; one for a side alone shows what other switches would change."""
    other = fabric(tmp_path / "other", ("spines: 2", "spines: 3"))
    assert run(monkeypatch, "diff", file, file, "--device", ":eos") == 0
    assert run(monkeypatch, "diff", file, other, "--device", ":eos", "--as", "eos") == 1
    assert "   description spine3 Ethernet1/1" in capsys.readouterr().out.splitlines()
    assert run(monkeypatch, "diff", file, file, "--new-device", ":eos") == 1
    assert run(monkeypatch, "diff", file, file, "--old-device", ":eos") == 1
    assert run(monkeypatch, "diff", file, file, "--old-device", ":eos", "--new-device", ":eos") == 0


def test_diff_writes_no_lock(monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path) -> None:
    other = fabric(tmp_path / "other", ("spines: 2", "spines: 3"))
    before = content(tmp_path)
    assert run(monkeypatch, "diff", file, other) == 1
    assert content(tmp_path) == before


def test_paths_good(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    assert run(monkeypatch, "paths", file, *SAME_RAIL, "--qps", "2") == 0


def test_paths_with_none(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    assert run(monkeypatch, "paths", file, *SAME_RAIL, "--down", "spine1", "--down", "spine2") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--src", "gpu-09:gpu0_eth", "--dst", "gpu-03:gpu0_eth"),
        ("--src", "gpu-01:eth0", "--dst", "gpu-03:gpu0_eth"),
        ("--src", "gpu-01", "--dst", "gpu-03:gpu0_eth"),
        (*SAME_RAIL, "--qps", "0"),
        (*SAME_RAIL, "--down", "spine9"),
    ],
)
def test_paths_of_what_is_not_there(monkeypatch: pytest.MonkeyPatch, file: Path, arguments: tuple[str, ...]) -> None:
    assert run(monkeypatch, "paths", file, *arguments) == 2


def test_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "schema") == 0
    assert run(monkeypatch, "schema", "--markdown") == 0


def test_version_and_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from railweave import __version__

    assert run(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"{__version__}\n"
    for arguments in (
        ["--help"],
        ["-h"],
        *([verb, "-h"] for verb in ("init", "build", "diff", "paths", "verify", "schema")),
    ):
        assert run(monkeypatch, *arguments) == 0
        assert capsys.readouterr().out.startswith("Usage: railweave")


def test_a_foreign_folder_is_not_written_to(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work\n")
    before = content(tmp_path)
    assert run(monkeypatch, "build", file, "-o", tmp_path / "home", "-q") == 2
    printed = capsys.readouterr()
    assert printed.err == (
        f"error: {tmp_path}/home: exists and was not written by railweave build\n    choose another folder, or empty it\n"
    )
    assert content(tmp_path) == before


def test_an_interrupt(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("railweave.outputs.folder.steps.outputs", interrupted)
    before = content(file.parent)
    assert run(monkeypatch, "build", file, "-o", file.parent / "out") == 130
    assert content(file.parent) == before


@pytest.mark.slow
def test_ctrl_c_in_a_terminal(file: Path) -> None:
    """The whole process, stopped by the signal as it begins to write."""
    script = """
        import os, signal
        from railweave.outputs.folder import write
        from railweave.cli import main

        signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal: in the background it is ignored
        real = write._write
        def stopped(staging, name, data, *, private):
            real(staging, name, data, private=private)
            os.kill(os.getpid(), signal.SIGINT)
        write._write = stopped
        main()
    """
    before = content(file.parent)
    done = subprocess.run(
        [sys.executable, "-c", dedent(script), "build", str(file), "-o", str(file.parent / "out"), "-q"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert "Traceback" not in done.stderr
    assert content(file.parent) == before


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("schema",), ("schema", "--markdown"), ("--help",)])
def test_the_reader_of_our_output_goes_away(arguments: tuple[str, ...]) -> None:
    """As `| head -1` does: no traceback, and the pipe's default of SIGPIPE is not relied on."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*MAIN, *arguments],
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN),
    )
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert done.stderr == ""


def test_diff_of_a_build_folder_uses_the_allocations_it_was_built_with(
    monkeypatch: pytest.MonkeyPatch, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed file elsewhere, without a lock of its own, is compared as if it were built in the old one's place."""
    assert run(monkeypatch, "build", file, "-o", tmp_path / "out", "-q") == 0
    text = file.read_text()
    changed = tmp_path / "elsewhere.yaml"
    changed.write_text(text.replace("spines: 2", "spines: [spine2]"))
    assert changed.read_text() != text
    capsys.readouterr()
    assert run(monkeypatch, "diff", tmp_path / "out", changed, "--json") == 1
    printed = json.loads(capsys.readouterr().out)
    assert [one["device"] for one in printed["devices"] if one["change"] == "gone"] == ["spine1"]
    assert printed["cables_added"] == []
