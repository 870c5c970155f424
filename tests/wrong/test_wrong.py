"""Wrong inputs, and the exact words they are met with.

A case is ``NAME.yaml`` (with ``NAME.inventory.csv`` or ``NAME.lock`` where the mistake is there) and ``NAME.error``, what
``railweave build`` prints. ``<server models>`` and the like in it stand for the names that the catalog has. A
``NAME.error.proposed`` holds what should be printed where it is not yet so; rename it once it is.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from railweave.cli import main
from railweave.model.catalog import catalog

HERE = Path(__file__).parent
CASES = sorted(path.name.removesuffix(".error") for path in HERE.glob("*.error"))


def expected(name: str) -> str:
    """The error text of a case, with the names of the catalog filled in."""
    text = (HERE / f"{name}.error").read_text(encoding="utf-8")
    for label, known in (
        ("<server models>", catalog().servers),
        ("<switch models>", catalog().switches),
        ("<optics>", catalog().optics),
    ):
        text = text.replace(label, ", ".join(sorted(known)))
    return text


def content(folder: Path) -> dict[str, bytes]:
    """Every file and folder below ``folder``."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


@pytest.mark.parametrize("name", CASES)
def test_error_text(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for suffix in ("yaml", "inventory.csv", "lock"):
        if (HERE / f"{name}.{suffix}").exists():
            shutil.copy(HERE / f"{name}.{suffix}", tmp_path)
    before = content(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["railweave", "build", f"{name}.yaml", "-o", "out", "--quiet"])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert printed.err == expected(name)
    assert printed.out == ""
    assert stop.value.code == 2
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", CASES)
def test_every_message_says_where(name: str) -> None:
    """Each problem begins with one of the case's own files; only the lock may leave the line out."""
    lines = expected(name).removeprefix("error: ").splitlines()
    heads = [line for line in lines if not line.startswith("    ")]
    for head in heads:
        file, _, rest = head.partition(":")
        assert (HERE / file).is_file()
        assert rest.split(":")[0].isdigit() or file.endswith(".lock")


def test_every_file_belongs_to_a_case() -> None:
    errors = {path.name.removesuffix(".proposed").removesuffix(".error") for path in HERE.glob("*.error*")}
    inputs = {path.name.split(".")[0] for path in HERE.iterdir() if path.suffix in {".yaml", ".csv", ".lock"}}
    assert inputs == errors
