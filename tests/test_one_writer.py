"""Files of a user are written by ``railweave.writing`` alone: through no link, whole or not at all."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from railweave.errors import OutputError
from railweave.writing import write_below, write_file
from tests.conftest import ROOT

SOURCE = ROOT / "src" / "railweave"
WRITERS = {"write_text", "write_bytes", "touch", "mkstemp", "mkdtemp", "NamedTemporaryFile", "to_csv", "symlink_to"}
OF_MODULES = {
    "os": {"open", "replace", "rename", "symlink", "link", "truncate"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move"},
    "np": {"save", "savez", "savetxt"},
}
ALLOWED = {
    "writing.py": "the writer",
    "reading.py": "read only, and kept waiting by no pipe; SQLite writes its own files, which are made through no link",
    "live/fleet/running.py": "on a server, in a temporary folder of its own",
    "host/files.py": "the room `host` imports nothing of railweave: its own writer",
    "host/journal.py": "the lock beside the journal, which nothing is written through",
    "host/checking.py": "links of a recorded machine, in a new folder",
    "host/setup_run.py": "lines at the end of the log of installers, beside the journal, through no link",
    "operations/watch/inspector/following.py": "read only, and through no link",
    "host/plugin.py": "read only, and through no link",
    "host/commands.py": "/dev/null, after the reader of standard output has gone",
    "outputs/folder/write.py": "the file that is locked, through no link; the staging folder, made beside the output folder under a name that cannot be guessed",
    "outputs/folder/swap.py": "links to files that stay, in the staging folder, through no link",
    "operations/deploy/ztp/serving.py": "lines at the end of the log of the folder that it serves",
    "operations/deploy/journal.py": "the lock and the database in a folder of mode 700, made for their owner alone",
    "live/lab/state.py": "the lock of a lab, below /run, where only root writes; through no link",
    "live/lab/logins.py": "the log of sshd, in a folder that root has just made below /run",
    "live/lab/lldp.py": "the log of lldpd, in a folder that root has just made below /run",
    "live/lab/frr/routers.py": "the log of vtysh, in a folder that root has just made below /run",
    "live/lab/frr/held_sessions.py": "a folder, which is only gone into",
    "live/lab/holder.py": "folders, which are only mounted elsewhere, and /dev/null",
    "live/lab/kernel/neighbors.py": "the lock of the folder of labs, below /run, where only root writes",
    "live/lab/kernel/namespace.py": "the kernel's namespaces and parameters below /proc",
    "outputs/folder/verify.py": "read only, and kept waiting by no pipe",
    "analysis/checks/validators.py": "in a temporary folder of its own, mode 700",
    "systems/frr/validator.py": "in a temporary folder of its own, mode 700",
    "systems/junos/yang_models.py": "in a temporary folder of its own, mode 700",
    "systems/sonic/validator.py": "in a temporary folder of its own, mode 700",
}
"""Modules that write otherwise, and why they may."""


def direct_writes(source: str) -> list[int]:
    """Lines of a module that write a file without ``railweave.writing``."""
    return [node.lineno for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call) and _writes(node)]


def _writes(call: ast.Call) -> bool:
    function = call.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    owner = function.value.id if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) else ""
    if name in OF_MODULES.get(owner, ()):
        return True
    if name == "open" and owner != "os":
        modes = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")]
        texts = [one.value for one in modes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        return any(set(text) <= set("rwaxbt+") and set(text) & set("wax+") for text in texts)
    return name in WRITERS


@pytest.mark.parametrize(
    "line",
    [
        "path.write_text(x)",
        "Path(a, b).write_bytes(x)",
        "open(path, 'w')",
        "path.open('ab')",
        "path.open(mode='x')",
        "os.open(path, flags)",
        "os.replace(a, b)",
        "shutil.copy(a, b)",
        "tempfile.mkdtemp()",
        "np.save(path, x)",
    ],
)
def test_a_direct_write_is_seen(line: str) -> None:
    assert direct_writes(f"x = 1\n{line}\n") == [2]


@pytest.mark.parametrize("line", ["path.open('rb')", "open(path)", "text.replace('a', 'w')", "path.read_text()"])
def test_what_reads_is_not(line: str) -> None:
    assert direct_writes(line) == []


def test_every_file_is_written_by_the_one_writer() -> None:
    found = Counter[str]()
    for path in sorted(SOURCE.rglob("*.py")):
        lines = direct_writes(path.read_text())
        if lines:
            found[path.relative_to(SOURCE).as_posix()] += len(lines)
    assert found.keys() - ALLOWED.keys() == set(), "write with railweave.writing, or say here why not"
    assert ALLOWED.keys() - found.keys() == set(), "these write nothing any more"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, page = tmp_path / "victim", tmp_path / "page.html"
    victim.write_text("mine")
    page.symlink_to(victim)
    write_file(page, "new")
    assert (victim.read_text(), page.read_text(), page.is_symlink()) == ("mine", "new", False)


def test_the_system_s_own_folders_hold_no_files_of_a_user() -> None:
    with pytest.raises(OutputError, match="/dev/railweave-test is not a file; nothing was changed"):
        write_file(Path("/dev/railweave-test"), "new")


@pytest.mark.parametrize("place", ["/dev/null", "."])
def test_what_is_no_file_stays(place: str, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(place if place != "." else tmp_path)
    with pytest.raises(OutputError, match="is not a file; nothing was changed"):
        write_file(link, "new")
    assert link.is_symlink()


def test_files_below_a_folder_are_not_written_through_a_link(tmp_path: Path) -> None:
    outside, out = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    out.mkdir()
    (out / "config").symlink_to(outside)
    with pytest.raises(OutputError, match="is a symbolic link, and links are not followed"):
        write_below(out, {"config/leaf1.conf": "x"})
    assert list(outside.iterdir()) == []
    write_below(out, {"lab.yml": "x", "other/leaf1.conf": b"y"})
    assert sorted(path.name for path in out.rglob("*")) == ["config", "lab.yml", "leaf1.conf", "other"]
