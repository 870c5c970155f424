"""Write a folder whole or not at all.

New content is first written in full into a staging folder inside the target; only when every byte is there are the
files renamed into place, which needs no more space. Whatever stops the first part leaves the old output as it was.
``manifest.json`` lists what a build owns: only those files are ever replaced or removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import hashlib
import json
import os
import platform
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, InputError, OutputError, Problem
from railweave.manifest import HELD, MANIFEST, STAGING, VERSION, digest, is_below, read_manifest
from railweave.outputs.rendering.network import CONFIG_FILE
from railweave.workers import spreading
from railweave.writing import Folder, beside

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence, Set


@contextlib.contextmanager
def held(folder: Path) -> Generator[None]:
    """Hold a folder that is there. Raises ``OutputError`` with owner and age where another build holds it.

    The kernel lets go of the lock when the process ends, however it ends (flock(2)); a file that a killed build left is taken over.
    """
    path = folder / HELD
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {folder}: {error.strerror}; what was there is unchanged") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = _owner(file)
            os.close(file)
            raise OutputError(
                f"another build is writing {folder}: {owner}; wait for it, or give another folder"
            ) from None
        if os.fstat(file).st_nlink:
            break
        os.close(file)  # its owner had just removed it: what is locked is not what the next one finds
    try:
        owner = {"process": os.getpid(), "user": _user(), "machine": platform.node(), "since": int(time.time())}
        os.truncate(file, 0)
        os.write(file, (json.dumps(owner) + "\n").encode())
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        os.close(file)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return str(os.getuid())


def _owner(file: int) -> str:
    try:
        owner = cast("dict[str, Any]", json.loads(os.pread(file, 4096, 0)))
        age = max(0, int(time.time()) - int(owner["since"]))
        return f"process {owner['process']} of {owner['user']} on {owner['machine']}, for {age} s"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "a process that has just begun"


def by_folder(files: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Files with their digests by the device or server (``devices/NAME``, ``hosts/NAME``) whose folder they are in."""
    folders: dict[str, dict[str, str]] = {}
    for name, value in files.items():
        above, _, rest = name.partition("/")
        device, _, below = rest.partition("/")
        if below:
            folders.setdefault(f"{above}/{device}", {})[name] = value
    return folders


def stamp(key: str, files: Mapping[str, str]) -> str:
    """Return a stamp that binds a folder's files to the ``key`` of their input, so that neither matches with another."""
    lines = [key, *(f"{name} {value}" for name, value in sorted(files.items()))]
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def write_folder(
    folder: Path,
    files: Mapping[str, bytes],
    also: Mapping[Path, bytes] | None = None,
    *,
    kept: Mapping[str, str] | None = None,
    keys: Mapping[str, str] | None = None,
    private: bool = False,
) -> list[str]:
    """Make ``folder`` hold exactly ``files`` (paths relative to it) and ``kept``, and write ``also`` (the lock) last.

    ``kept`` are files that stand there as wanted, with their digests; ``keys`` tell what folders were rendered from.
    ``private`` files can be read by their owner alone. Returns the paths that changed. Raises ``InputError`` where the
    folder is not one of ours, ``OutputError`` where the disk is full or refuses; everything is then as it was.
    """
    before = read_manifest(folder).files
    if folder.exists() and (
        not folder.is_dir() or (not before and any(entry.name != HELD for entry in folder.iterdir()))
    ):
        fix = "choose another folder, or empty it"
        raise InputError([Problem(FileLine(str(folder)), "exists and was not written by railweave build", fix)])
    digests = {**(kept or {}), **{name: digest(content) for name, content in files.items()}}
    held = by_folder(digests) if keys else {}
    rendered = {name: stamp(key, held.get(name, {})) for name, key in sorted((keys or {}).items())}
    manifest = {"railweave": VERSION, "files": dict(sorted(digests.items())), "rendered": rendered}
    wanted = {**files, MANIFEST: (json.dumps(manifest, indent=1) + "\n").encode()}
    stale = [name for name in before if name not in wanted and name not in digests]
    try:
        with contextlib.ExitStack() as opened:
            opened.enter_context(making(folder))
            output = opened.enter_context(Folder(folder))
            there = {entry.name for entry in folder.iterdir()}
            _check_targets(output, [*wanted, *stale], there)
            changed = [
                name for name, content in wanted.items() if _top(name) not in there or output.read(name) != content
            ]
            for left in folder.glob(f"{STAGING}*"):  # of a build that was killed
                shutil.rmtree(left, ignore_errors=True)
            staging = opened.enter_context(_staging(folder))
            for name in changed:
                _write(staging, name, wanted[name], private=private)
            moves = {
                path: opened.enter_context(beside(path, content))
                for path, content in (also or {}).items()
                if _differs(path, content)
            }
            with _uninterrupted():
                _install(output, staging, changed, stale, there)
                for path, place in moves.items():
                    place.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}; what was there is unchanged") from error
    return sorted(name for name in (*changed, *stale) if name != MANIFEST)


@contextlib.contextmanager
def making(folder: Path) -> Generator[None]:
    """Make a folder with those it is in; what is still empty at the end goes again."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for path in new:
            with contextlib.suppress(OSError):  # not empty: the build is there
                path.rmdir()


def _top(name: str) -> str:
    """The entry of the output folder that a file is in, or is."""
    return name.partition("/")[0]


def _check_targets(output: Folder, names: Sequence[str], there: Set[str]) -> None:
    """Refuse, before anything is touched, what could stop the renaming half-way or lead it outside the folder."""
    for name in names:
        if not is_below(name):
            raise OutputError(f"{name} would be written outside {output.path}; nothing was changed")
        if _top(name) in there and output.kind(name) == "folder":
            raise OutputError(
                f"{output.path / name} is a folder, and a file is to be written there; nothing was changed"
            )


def _differs(path: Path, content: bytes) -> bool:
    try:
        return path.is_symlink() or path.read_bytes() != content
    except OSError:
        return True


@contextlib.contextmanager
def _staging(folder: Path) -> Generator[Folder]:
    """A folder on the same file system as the output, gone at the end whatever happens."""
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
    try:
        with Folder(staging) as opened:
            yield opened
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write(staging: Folder, name: str, content: bytes, *, private: bool) -> None:
    staging.create(name, content, 0o600 if private else 0o777 if name.endswith(".sh") else 0o666)


def _install(output: Folder, staging: Folder, changed: list[str], stale: list[str], there: Set[str]) -> None:
    """Rename staged files into place, folders that are not there as a whole, the manifest last."""
    moved = dict.fromkeys(name if (top := _top(name)) in there else top for name in changed)
    for name in sorted(moved, key=lambda file_name: file_name == MANIFEST):
        staging.move(name, output, name)
    for name in stale:
        output.remove(name)


@contextlib.contextmanager
def _uninterrupted() -> Generator[None]:
    """Hold back Ctrl-C and SIGTERM while files are renamed: the moment between old and new is not to be seen."""
    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # not in the main thread: no signal reaches us here
        before = {signum: signal.signal(signum, signal.SIG_IGN) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@dataclass(frozen=True)
class EarlierBuild:
    """Digests by file of every device's folder and its stamp; ``whole`` are folders as written, with their open secrets."""

    files: dict[str, dict[str, str]]
    stamps: dict[str, str]
    whole: dict[str, int]

    def has(self, folder: str, key: str) -> bool:
        """Return whether a folder has exactly the files that rendering by this key gives."""
        return folder in self.whole and self.stamps.get(folder) == stamp(key, self.files[folder])


@contextlib.contextmanager
def reading_earlier(out: Path) -> Generator[Callable[[], EarlierBuild]]:
    """Read what an earlier build left, beside what the caller does meanwhile: what is given waits for the result."""
    manifest = read_manifest(out)
    files = by_folder(manifest.files)

    def open_secrets(folder: str) -> int | None:
        """Return the number of files that hold references to secrets; None if any file is not as it was written."""
        count = 0
        for name, value in files[folder].items():
            try:
                with open(f"{out}/{name}", "rb") as stream:  # noqa: PTH123 - pathlib takes a second more for 18,000
                    content = stream.read()
            except OSError:
                return None
            if digest(content) != value:
                return None
            count += OPEN in content and not name.endswith(f"/{CONFIG_FILE}")  # which never holds a secret
        return count

    folders = [file for file in files if file in manifest.rendered]
    with spreading(open_secrets, folders) as counts:
        yield lambda: EarlierBuild(
            files,
            manifest.rendered,
            {folder: count for folder, count in zip(folders, counts(), strict=True) if count is not None},
        )


OPEN = b"<secret:"
"""The start of the text that a file has in place of a secret that was not given."""
