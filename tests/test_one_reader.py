"""All input comes in by ``railweave.reading``: nothing else opens, decodes or parses what users, devices and servers give."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from railweave import reading
from railweave.errors import InputError, OutputError, SpecError
from railweave.host import packets
from railweave.host.failure import HostInputError
from railweave.model.intent.inventory import read_inventory
from railweave.model.intent.lock import read_lock
from railweave.model.state.capture import read_capture
from railweave.operations.bench.runs import output_text
from railweave.operations.deploy.journal import at_work
from railweave.operations.store.database import Sqlite
from railweave.operations.store.store import opened
from railweave.operations.watch.store import Store
from railweave.prediction.jobs.traces import chakra_read, nccl_read

SOURCE = Path(__file__).parents[1] / "src" / "railweave"
PARSERS = {
    "json": {"load", "loads"},
    "yaml": {"load", "safe_load", "compose", "parse", "load_all", "safe_load_all", "full_load"},
    "csv": {"reader", "DictReader"},
    "tomllib": {"load", "loads"},
    "pickle": {"load", "loads"},
    "gzip": {"open", "decompress"},
    "zlib": {"decompress"},
    "bz2": {"open", "decompress"},
    "lzma": {"open", "decompress"},
    "ET": {"parse", "fromstring", "iterparse", "XML"},
    "ElementTree": {"parse", "fromstring", "iterparse", "XML"},
    "expat": {"ParserCreate"},
}
ELSEWHERE = {
    "reading.py": "the reader",
    "workers.py": "pickles of its own processes, over a pipe that it opened",
    "processes.py": "pickles of its own processes, over a pipe that it opened",
    "operations/watch/store.py": "blocks that it wrote into its own database",
}
"""Modules that parse by themselves, each with the reason. ``host`` runs without the rest of railweave, by ``host/files.py``."""


def outside() -> list[str]:
    """Return each place outside ``reading`` that reads or parses, as ``FILE:LINE CALL``."""
    found: list[str] = []
    for file in sorted(SOURCE.rglob("*.py")):
        name = file.relative_to(SOURCE).as_posix()
        if name in ELSEWHERE or name.startswith("host/"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("xml.parsers", "xml.dom", "lxml")):
                found.append(f"{name}:{node.lineno} import {node.module}")
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            call, of = node.func.attr, ast.unparse(node.func.value)
            if call in {"read_text", "read_bytes"} or call in PARSERS.get(of, ()):
                found.append(f"{name}:{node.lineno} {of}.{call}")
    return found


def test_nothing_reads_or_parses_by_itself() -> None:
    assert outside() == []


def test_what_parses_by_itself_is_still_there() -> None:
    assert [name for name in ELSEWHERE if not (SOURCE / name).is_file()] == []


@pytest.mark.timeout(20)
def test_a_pipe_a_folder_and_a_device_are_refused(tmp_path: Path) -> None:
    import os

    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero", "."):
        for read in (output_text, lambda file: nccl_read.calls_of([file]), lambda file: list(chakra_read.frames(file))):
            with pytest.raises(SpecError, match="no regular file"):
                read(tmp_path / name)
        with pytest.raises(HostInputError, match="no regular file"):
            list(packets.frames(tmp_path / name))
        with pytest.raises(SpecError, match="cannot be read: no regular file"):
            reading.read_text(tmp_path / name)
        with pytest.raises(OSError, match="no regular file"):
            reading.file_text(tmp_path / name)


@pytest.mark.timeout(20)
def test_a_pipe_is_no_database(tmp_path: Path) -> None:
    """Each waited forever for the other end of the pipe."""
    import os

    (tmp_path / "net.state").mkdir()
    for name in ("pipe", "net.state/journal.db"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(SpecError, match="no regular file"), opened(tmp_path / "pipe"):
        pass
    for make in (lambda: Sqlite(tmp_path / "pipe", make=True), lambda: Store(tmp_path / "pipe")):
        with pytest.raises(OutputError, match="no regular file"):
            make()
    with pytest.raises(OutputError, match="no regular file"), at_work(tmp_path / "net.yaml"):
        pass


def test_a_link_to_nothing_is_no_absent_file(tmp_path: Path) -> None:
    """An absent lock and an absent inventory are empty ones; a broken link to one may hide addresses that are in use."""
    for name, read in (("net.lock", read_lock), ("net.inventory.csv", read_inventory)):
        read(tmp_path / name)
        (tmp_path / name).symlink_to("gone")
        with pytest.raises(SpecError, match="the link leads to no file"):
            read(tmp_path / name)


def test_a_configuration_of_millions_of_values_is_refused(tmp_path: Path) -> None:
    (tmp_path / "leaf.json").write_text("[" + "1," * 1_000_000 + "1]")
    with pytest.raises(InputError, match="more than 1,000,000 values"):
        read_capture(tmp_path).configurations("leaf", ())


def test_limits_of_size_values_depth_and_digits(tmp_path: Path) -> None:
    file = tmp_path / "long"
    file.write_bytes(b"x" * 100)
    with pytest.raises(OSError, match="larger than"):
        reading.file_bytes(file, 99)
    for text, wrong in (
        ("[" + "1," * 200 + "1]", "more than 100 values"),
        ("[" * 20_000, "nested too deeply"),
        ("1" * 5_000, "digits"),
    ):
        with pytest.raises(ValueError, match=wrong):
            reading.parse_json(text, most_values=100 if "values" in wrong else 10**6)
    assert reading.parse_json('"' + "," * 200 + '"', most_values=100) == "," * 200, "commas in texts are no values"
