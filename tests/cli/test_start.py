"""Starting: fast, and from an example that builds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from railweave.cli import main
from railweave.examples import example_names
from tests.conftest import EXAMPLES, SMALL
from tests.outputs.folder.fabrics import content

HEAVY = ("pydantic", "numpy", "yaml", "rich", "railweave._sim")


def imported(statement: str) -> set[str]:
    """The modules of top level, and the engine, that a fresh interpreter has loaded after a statement."""
    script = f"""
import json, sys
try:
    {statement}
except SystemExit as stop:
    assert not stop.code, stop.code
json.dump(sorted({{name for name in sys.modules if name == 'railweave._sim' or '.' not in name}}), sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "statement",
    [
        "import railweave",
        "sys.argv = ['railweave', '--help']; from railweave.cli import main; main()",
        "sys.argv = ['railweave', '--version']; from railweave.cli import main; main()",
        "import railweave.cli.app",
    ],
)
def test_help_brings_nothing_heavy(statement: str) -> None:
    modules = imported(statement)
    assert "railweave" in modules
    assert not modules & set(HEAVY)


@pytest.mark.slow
def test_building_brings_them() -> None:
    """The check above would see them."""
    assert {"pydantic", "yaml"} <= imported("from railweave.outputs.folder import steps")
    engine = imported("sys.argv = ['railweave', 'flows', '--version']; from railweave.cli import main; main()")
    assert "railweave._sim" in engine
    assert "numpy" not in engine


def test_a_prediction_brings_no_writer_of_files() -> None:
    """Reports, runbooks and renderers are a third of the program's modules, and only a build needs them."""
    script = (
        f"import sys; sys.argv = ['railweave', 'sim', {str(EXAMPLES / 'h100-rlb.yaml')!r}, '--size', '1M', '--quiet']\n"
        "from railweave.cli import main\n"
        "try: main()\n"
        "except SystemExit: print(*(name for name in sys.modules if name.startswith('railweave.')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "railweave.prediction.simulation.question" in loaded
    written = ("railweave.outputs.report", "railweave.outputs.runbook", "railweave.outputs.rendering")
    assert not [name for name in loaded if name.startswith(written)]
    assert "railweave.processes" not in loaded


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> int:
    monkeypatch.setattr("sys.argv", ["railweave", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    code = stop.value.code
    assert code is None or isinstance(code, int)
    return code or 0


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_init_copies_an_example_that_builds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = tmp_path / "mine"
    assert run(monkeypatch, "init", folder, "--example", name) == 0
    expected = {
        path.name: path.read_bytes()
        for path in (EXAMPLES / f"{name}.yaml", EXAMPLES / f"{name}.inventory.csv")
        if path.exists()
    }
    expected[f"{name}.yaml"] = b"# yaml-language-server: $schema=fabric.schema.json\n" + expected[f"{name}.yaml"]
    schema = (EXAMPLES.parent / "docs" / "fabric.schema.json").read_bytes()
    written = content(folder)
    expected.setdefault(f"{name}.inventory.csv", written[f"{name}.inventory.csv"])
    assert written == {**expected, "fabric.schema.json": schema}
    rows = expected[f"{name}.inventory.csv"].decode().splitlines()
    assert rows[0] == "device,interface,mac,serial,netdev,rdma,length"
    assert len(rows) > 2
    said = capsys.readouterr().out.splitlines()
    assert said == [
        *(f"wrote {folder / file}" for file in sorted(expected, reverse=True)),
        f"wrote {folder}/fabric.schema.json",
        f"next: railweave build {folder}/{name}.yaml -o {folder}/out",
    ]
    assert run(monkeypatch, *said[-1].removeprefix("next: railweave ").split(), "-q") == 0
    assert (folder / "out" / "design.json").is_file()
    assert (folder / f"{name}.lock").is_file()


def test_init_lists_the_examples(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "init", tmp_path / "x", "--example", "list") == 0
    assert capsys.readouterr().out.split() == sorted(path.stem for path in EXAMPLES.glob("*.yaml"))
    assert content(tmp_path) == {}


def test_init_of_an_example_that_is_not_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "init", tmp_path / "x", "--example", "h200") == 2
    assert capsys.readouterr().err == (
        f"error: --example: there is no example 'h200'\n    examples are {', '.join(example_names())}\n"
    )
    assert content(tmp_path) == {}


def test_init_leaves_a_full_folder_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\n")
    before = content(tmp_path)
    assert run(monkeypatch, "init", tmp_path, "--example", example_names()[0]) == 2
    assert run(monkeypatch, "init", tmp_path, "--gpus", "64") == 2
    assert content(tmp_path) == before


def test_init_for_gpus_says_what_the_file_still_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "init", tmp_path / "mine", "--gpus", "64") == 0
    said = capsys.readouterr().out
    for lacking in ("root_password", "users", "MAC address", "cable lengths"):
        assert lacking in said
        assert lacking not in (tmp_path / "mine" / "rail-64.yaml").read_text()


def test_examples_are_listed_without_a_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["railweave", "init", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        printed = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return stop.value.code, printed.out, printed.err

    code, out, _ = call("--example", "list")
    assert (code, "h100-rlb" in out.split()) == (0, True)
    code, _, err = call("--example", "h100-rlb")
    assert (code, "there is no folder for the files" in err) == (2, True)
