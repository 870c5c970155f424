"""Every verb has -h, -q and --json, and says what is wrong as JSON where it is asked to."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from railweave.cli import main
from railweave.cli.app import app
from railweave.cli.output import waiting
from railweave.host import options

PROBLEM = {"where", "file", "line", "option", "what", "fix"}


def commands(command: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every verb of a tree of commands, by its words."""
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
    else:
        for name, one in below.items():
            yield from commands(one, *words, name)


VERBS = {words: one for words, one in commands(get_command(app)) if words not in {("host",), ("flows",)}}
"""Those of the command line but ``host`` and ``flows``, whose parsers are their own and the engine's."""


def host_verbs() -> dict[str, ArgumentParser]:
    """The verbs of ``host``, but the one whose words are another program's."""
    (action,) = (one for one in options.parser()._actions if one.dest == "verb")
    assert isinstance(action.choices, dict)
    return {name: one for name, one in action.choices.items() if name != "rdma-ping"}


def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["railweave", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, printed.out, printed.err


LAB_THAT_IS_UP = {
    *(("lab", name) for name in ("test", "status", "down", "fault", "fib", "access")),
    ("deploy", "history"),
}
"""They find the network in the record of the lab; or what was done to it in the journal, and design nothing."""


@pytest.mark.parametrize("words", [words for words, one in VERBS.items() if "fabric" in {p.name for p in one.params}])
def test_a_verb_that_reads_a_fabric_file_takes_hardware_of_one_s_own(words: tuple[str, ...]) -> None:
    taken = "hardware" in {one.name for one in VERBS[words].params}
    assert taken != (words in LAB_THAT_IS_UP)


def test_there_are_verbs() -> None:
    assert {("build",), ("sim",), ("lab", "up"), ("lab", "export"), ("schema",)} <= VERBS.keys()
    assert {"plan", "apply", "undo", "env", "zipapp"} <= host_verbs().keys()


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_the_common_options(words: tuple[str, ...]) -> None:
    given = {name for one in VERBS[words].params for name in one.opts}
    assert {"--json", "--quiet", "-q"} <= given


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_help(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    for option in ("-h", "--help"):
        code, out, err = run(monkeypatch, capsys, *words, option)
        assert (code, err) == (0, "")
        assert out.startswith(f"Usage: railweave {' '.join(words)} ")
        for name in ("--json", "-q, --quiet", "-h, --help"):
            assert name in out


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_help_names_the_value_of_each_option(words: tuple[str, ...]) -> None:
    shown = {name.metavar for name in VERBS[words].params if name.param_type_name == "option" and not name.is_flag}
    assert not shown & {None, "", "TEXT"}


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_bad_use_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, out, err = run(monkeypatch, capsys, *words, "--frobnicate", "--json")
    found = json.loads(out)
    assert (code, err) == (2, "")
    assert (found["error"], found["exit_code"]) == ("InputError", 2)
    (problem,) = found["problems"]
    assert problem.keys() == PROBLEM
    assert problem["option"] == "--frobnicate"


MISSING = {
    "build": ("nowhere.yaml", "-o", "out"),
    "diff": ("nowhere.yaml", "nowhere.yaml"),
    "paths": ("nowhere.yaml", "--src", "a:b", "--dst", "c:d"),
    "verify": ("nowhere.yaml",),
    "drift": ("nowhere.yaml", "captures"),
    "check": ("nowhere.yaml", "captures"),
    "import": ("nowhere", "-o", "x.yaml"),
    "sim": ("nowhere.yaml",),
}


@pytest.mark.parametrize("verb", MISSING)
def test_what_is_missing_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any, verb: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(monkeypatch, capsys, verb, *MISSING[verb], "--json")
    found = json.loads(out)
    assert (code, err, found["exit_code"]) == (2, "", 2)
    assert found["problems"][0].keys() == PROBLEM
    assert found["problems"][0]["file"].startswith("nowhere")
    assert found["problems"][0]["what"] in found["message"]


def test_a_problem_has_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    (tmp_path / "x.yaml").write_text("name: x\nfabric: {}\n")
    _, out, _ = run(monkeypatch, capsys, "verify", str(tmp_path / "x.yaml"), "--json")
    one = next(one for one in json.loads(out)["problems"] if "unknown key" in one["what"])
    assert one["line"] == 2
    assert one["where"] == f"{tmp_path}/x.yaml:2"
    assert one["fix"] == "did you mean 'fabrics'?"


def test_the_engine_s_errors_as_json(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--topology", "star:hosts=4", "--traffic", "permutation:bytes=1MB", "--set", "host.mtu=1", "--json")
    monkeypatch.setattr("sys.argv", ["railweave", "flows", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    out, err = capfd.readouterr()
    assert (stop.value.code, err) == (2, "")
    (problem,) = json.loads(out)["problems"]
    assert (problem["option"], problem["what"]) == ("--set", "host.mtu: 1 is too small")
    assert problem["fix"] == "give 256 to 9KB"


@pytest.mark.parametrize("verb", host_verbs())
def test_verbs_of_a_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    code, out, err = run(monkeypatch, capsys, "host", verb, "-h")
    assert (code, err) == (0, "")
    for name in ("--json", "-q, --quiet", "-h, --help"):
        assert name in out
    code, out, err = run(monkeypatch, capsys, "host", verb, "--frobnicate", "--json")
    assert (code, err) == (2, "")
    assert json.loads(out)["exit_code"] == 2
    code, out, err = run(monkeypatch, capsys, "host", verb, "--frobnicate")
    assert (code, out) == (2, "")
    assert err.startswith("usage: railweave host ")


def test_waiting_says_what_goes_on() -> None:
    """Whatever takes long says so; what does not, says nothing."""
    said = io.StringIO()
    with redirect_stderr(said), waiting("designing", quiet=False, after_s=1e9):
        pass
    assert said.getvalue() == ""
    with redirect_stderr(said), waiting("designing", quiet=False, after_s=0):
        while not said.getvalue():
            pass
    assert said.getvalue() == "designing\n"


COMPLETED = {
    "bash": ({"COMP_WORDS": "railweave pa", "COMP_CWORD": "1"}, "paths"),
    "zsh": ({"_TYPER_COMPLETE_ARGS": "railweave pa"}, "paths"),
    "fish": ({"_TYPER_COMPLETE_ARGS": "railweave pa", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "paths"),
}


@pytest.mark.slow
@pytest.mark.parametrize("shell", COMPLETED)
def test_completion(shell: str) -> None:
    words, expected = COMPLETED[shell]

    def asked(**more: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from railweave.cli import main; main()"],
            env={**os.environ, **more},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    assert expected in asked(_RAILWEAVE_COMPLETE=f"complete_{shell}", **words)
    assert "railweave" in asked(_RAILWEAVE_COMPLETE=f"source_{shell}")


def test_results_of_a_server_s_verbs_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = run(monkeypatch, capsys, "host", "undo", "--json", "--state-file", str(tmp_path / "none"))
    assert (code, json.loads(out)) == (0, {"changes": None})
    code, out, _ = run(monkeypatch, capsys, "host", "zipapp", str(tmp_path / "host.pyz"), "--json")
    assert (code, json.loads(out)) == (0, {"file": str(tmp_path / "host.pyz")})
    assert (tmp_path / "host.pyz").is_file()


@pytest.mark.parametrize(
    ("words", "option", "content"),
    [
        (words, option, content)
        for words, one in VERBS.items()
        for option, content in (("html", "a page"), ("csv", "a table"))
        if option in {p.name for p in one.params}
    ],
)
def test_a_file_is_called_as_what_it_gets(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    option: str,
    content: str,
) -> None:
    needed = [one for one in VERBS[words].params if one.required and one.name != option]
    given = [word for one in needed for word in ((one.opts[-1], "x") if one.param_type_name == "option" else ("x",))]
    code, _, err = run(monkeypatch, capsys, *words, *given, f"--{option}", "file.txt")
    assert code == 2
    assert (
        err == f"error: --{option}: file.txt does not end in .{option}\n    it gets {content}: call it file.{option}\n"
    )
