"""Writing of a folder completely or not at all.

New content is first written completely into a staging folder beside the target. Then all other files are linked into it, and one
rename exchanges the two folders (``swap``). If that is impossible, for example because the target is a mount point or the working
directory, the files are renamed into place one by one. A failure before the renaming leaves the old output unchanged.
``manifest.json`` lists the files that a build owns. Only these files are ever replaced or removed. After ``kill -9``, a guard
removes the staging folder (``railweave.guard``).
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import hashlib
import json
import os
import platform
import secrets
import shutil
import signal
import stat
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, InputError, OutputError, Problem
from railweave.guard import removed_if_killed
from railweave.manifest import HELD, MANIFEST, STAGING, VERSION, digest, is_below, read_manifest
from railweave.outputs.folder.swap import can_be_swapped, exchange, link_rest, rescue
from railweave.outputs.rendering.network import CONFIG_FILE
from railweave.reading import file_bytes, parse_json
from railweave.workers import spreading
from railweave.writing import Folder, beside

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence, Set
    from pathlib import Path


@contextlib.contextmanager
def locked(folder: Path) -> Generator[None]:
    """Lock an existing folder during a ``with`` statement.

    Raises ``OutputError`` with the owner and age of the lock if another build has locked the folder.

    The kernel releases the lock when the process ends for any reason (flock(2)). A lock file that a killed build has left
    is reused.
    """
    path = folder / HELD
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
        except OSError as error:
            raise OutputError(f"cannot write {folder}: {error.strerror}; what was there is unchanged") from error
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise OutputError(f"cannot write {folder}: {HELD} in it is no regular file; remove it")
        with contextlib.suppress(OSError):  # of another owner
            os.fchmod(file, 0o600)  # any user who can read it can hold the lock
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
        os.close(file)  # another build has just removed the lock file, so this lock protects nothing
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
        owner = cast("dict[str, Any]", parse_json(os.pread(file, 4096, 0)))
        age = max(0, int(time.time()) - int(owner["since"]))
        return f"process {owner['process']} of {owner['user']} on {owner['machine']}, for {age} s"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "a process that has just begun"


def by_folder(files: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return ``files``, the digests of files by path, grouped by the device or server whose folder has the file.

    The outer keys are folders (``devices/NAME`` or ``hosts/NAME``). The inner keys are the full paths. Files outside such folders are left
    out.
    """
    folders: dict[str, dict[str, str]] = {}
    for name, value in files.items():
        above, _, rest = name.partition("/")
        device, _, below = rest.partition("/")
        if below:
            folders.setdefault(f"{above}/{device}", {})[name] = value
    return folders


def stamp(key: str, files: Mapping[str, str]) -> str:
    """Return a digest that changes if the folder's input or one of its files changes.

    ``key`` is a digest of the input, and ``files`` maps paths to digests.
    """
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
    """Write files into a folder and remove the other files that an earlier build wrote there. Return the paths that changed.

    - ``files``: the content of each file to write, by path relative to the folder.
    - ``also``: the content of files outside the folder, by path. These files (the lock) are written last.
    - ``kept``: the digests of existing files that stay.
    - ``keys``: by folder of a device or server, a key that identifies the input from which its files were rendered.
    - ``private``: True if only the owner may read the files.

    Raises ``InputError`` if railweave did not write the folder, and ``OutputError`` if writing fails. Everything is then
    unchanged.
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
            target = folder.resolve()  # a link to the folder stays
            for left in (*folder.glob(f"{STAGING}*"), *target.parent.glob(f"{_beside(target)}{'?' * 8}")):
                shutil.rmtree(left, ignore_errors=True)  # left by a build that was killed, and its guard too
            staging, swaps = opened.enter_context(_staging(target))
            for name in changed:
                _write(staging, name, wanted[name], private=private)
            moves = {
                path: opened.enter_context(beside(path, content))
                for path, content in (also or {}).items()
                if _differs(path, content)
            }
            with _uninterrupted():
                if not (swaps and (changed or stale) and _swapped(target, staging, [*changed, *stale])):
                    _install(output, staging, changed, stale, there)
                for path, place in moves.items():
                    place.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}; what was there is unchanged") from error
    return sorted(name for name in (*changed, *stale) if name != MANIFEST)


@contextlib.contextmanager
def making(folder: Path) -> Generator[None]:
    """Create a folder and its parents for a ``with`` statement. At the end, remove those of the created folders that are still empty."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for path in new:
            with contextlib.suppress(OSError):  # not empty, because the build succeeded
                path.rmdir()


def _top(name: str) -> str:
    """Return the first part of a file's path, which is a folder at the top of the output folder, or the file itself."""
    return name.partition("/")[0]


def _check_targets(output: Folder, names: Sequence[str], there: Set[str]) -> None:
    """Raise ``OutputError``, before any change, if renaming could fail half-way or would write outside the folder.

    ``there`` has the names at the top of the folder.
    """
    for name in names:
        if not is_below(name):
            raise OutputError(f"{name} would be written outside {output.path}; nothing was changed")
        if _top(name) in there and output.kind(name) == "folder":
            raise OutputError(
                f"{output.path / name} is a folder, and a file is to be written there; nothing was changed"
            )


def _differs(path: Path, content: bytes) -> bool:
    try:
        return path.is_symlink() or file_bytes(path) != content
    except OSError:
        return True


def _beside(folder: Path) -> str:
    """Return the beginning of the names of staging folders beside a folder; eight characters follow."""
    return f"{STAGING}{folder.name}."


@contextlib.contextmanager
def _staging(folder: Path) -> Generator[tuple[Folder, bool]]:
    """Yield (temporary folder on the same file system as ``folder``, True if the two can be exchanged).

    The temporary folder is beside ``folder``, or in it if they cannot be exchanged. It is always removed at the end.
    """
    with contextlib.ExitStack() as left:
        try:
            staging, swaps = left.enter_context(_temporary(folder.parent, _beside(folder))), True
        except OSError:  # only the folder itself may be written
            staging, swaps = folder, False
        if not (swaps := swaps and can_be_swapped(folder, staging)):
            staging = left.enter_context(_temporary(folder, STAGING))
        with Folder(staging) as opened:
            yield opened, swaps


@contextlib.contextmanager
def _temporary(above: Path, prefix: str) -> Generator[Path]:
    """Create a folder below ``above`` whose name cannot be guessed. It is removed at the end, also after ``kill -9``."""
    path = above / f"{prefix}{secrets.token_hex(4)}"
    with removed_if_killed(path):
        path.mkdir(mode=0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def _swapped(folder: Path, staging: Folder, names: Sequence[str]) -> bool:
    """Exchange a folder with the complete staging folder. Return False if that is impossible; the folder is then unchanged.

    ``names`` are the files that the build writes or removes. All others are linked into the new folder.
    """
    try:
        links = link_rest(folder, staging.path, names)
        exchange(folder, staging.path)
    except OSError:
        return False
    rescue(staging.path, folder, links, names)
    return True


def _write(staging: Folder, name: str, content: bytes, *, private: bool) -> None:
    staging.create(name, content, 0o600 if private else 0o777 if name.endswith(".sh") else 0o666)


def _install(output: Folder, staging: Folder, changed: list[str], stale: list[str], there: Set[str]) -> None:
    """Rename the staged files ``changed`` into place, the manifest last, and remove ``stale`` files. A new folder at the top is renamed as a whole.

    ``there`` has the names that exist at the top of the output folder.
    """
    moved = dict.fromkeys(name if (top := _top(name)) in there else top for name in changed)
    for name in sorted(moved, key=lambda file_name: file_name == MANIFEST):
        staging.move(name, output, name)
    for name in stale:
        output.remove(name)


@contextlib.contextmanager
def _uninterrupted() -> Generator[None]:
    """Ignore Ctrl-C and SIGTERM while files are renamed, so that no mix of old and new files remains."""
    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # outside the main thread, no signal arrives
        before = {signum: signal.signal(signum, signal.SIG_IGN) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@dataclass(frozen=True)
class EarlierBuild:
    """The files that an earlier build left.

    - ``files``: the digests of files, by folder of a device or server, then by path.
    - ``stamps``: for each folder, a digest of its input and files (``stamp``).
    - ``whole``: for each folder whose files are unchanged, the number of its files with unresolved secrets.
    """

    files: dict[str, dict[str, str]]
    stamps: dict[str, str]
    whole: dict[str, int]

    def has(self, folder: str, key: str) -> bool:
        """Return True if a folder already has the files that rendering would produce. ``key`` identifies the input of rendering."""
        return folder in self.whole and self.stamps.get(folder) == stamp(key, self.files[folder])


@contextlib.contextmanager
def reading_earlier(out: Path) -> Generator[Callable[[], EarlierBuild]]:
    """Start reading an earlier build's files in the folder ``out`` in the background. Yield a function that waits for the result and returns it."""
    manifest = read_manifest(out)
    files = by_folder(manifest.files)

    def open_secrets(folder: str) -> int | None:
        """Return the number of files in a folder with references to secrets, or None if any file has changed since it was written."""
        count = 0
        for name, value in files[folder].items():
            try:
                with open(f"{out}/{name}", "rb") as stream:  # noqa: PTH123 - pathlib takes a second more for 18,000
                    content = stream.read()
            except OSError:
                return None
            if digest(content) != value:
                return None
            count += OPEN in content and not name.endswith(f"/{CONFIG_FILE}")  # this file never contains a secret
        return count

    folders = [file for file in files if file in manifest.rendered]
    with spreading(open_secrets, folders) as counts:
        yield lambda: EarlierBuild(
            files,
            manifest.rendered,
            {folder: count for folder, count in zip(folders, counts(), strict=True) if count is not None},
        )


OPEN = b"<secret:"
"""The beginning of the placeholder for a secret without a value."""
