"""Write a folder whole or not at all.

New content is first written in full into a staging folder inside the target; only when every byte is there are the
files renamed into place, which needs no more space. Whatever stops the first part leaves the old output as it was.
``manifest.json`` lists what a build owns: only those files are ever replaced or removed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, InputError, OutputError, Problem

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

MANIFEST = "manifest.json"
VERSION = 1
STAGING = ".railweave-"


def digest(content: bytes) -> str:
    """The identity of a file's content in the manifest."""
    return hashlib.sha256(content).hexdigest()


@dataclass(frozen=True)
class Manifest:
    """What an earlier build wrote: the digest of every file, and of every folder that was rendered on its own its stamp."""

    files: dict[str, str]
    rendered: dict[str, str]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an earlier build; an empty one where there was none."""
    try:
        data: object = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Manifest({}, {})
    manifest = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    if manifest.get("railweave") != VERSION or not isinstance(manifest.get("files"), dict):
        return Manifest({}, {})
    return Manifest(*(_words(manifest.get(part)) for part in ("files", "rendered")))


def _words(data: object) -> dict[str, str]:
    named = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    return {str(name): str(value) for name, value in named.items() if _is_below(str(name))}


def by_folder(files: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Files with their digests by the device or server (``devices/NAME``, ``hosts/NAME``) whose folder they are in."""
    found: dict[str, dict[str, str]] = {}
    for name, value in files.items():
        above, _, rest = name.partition("/")
        device, _, below = rest.partition("/")
        if below:
            found.setdefault(f"{above}/{device}", {})[name] = value
    return found


def stamp(key: str, files: Mapping[str, str]) -> str:
    """What binds a folder's files to the ``key`` of what they were rendered from, so that neither goes with another."""
    lines = [key, *(f"{name} {value}" for name, value in sorted(files.items()))]
    return hashlib.blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()


def _is_below(name: str) -> bool:
    """Whether a path stays inside the folder it is taken to be in."""
    parts = name.split("/")  # pathlib takes a second more for 18,000
    return not name.startswith("/") and ".." not in parts and any(part not in {"", "."} for part in parts)


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
    if folder.exists() and (not folder.is_dir() or (not before and any(folder.iterdir()))):
        fix = "choose another folder, or empty it"
        raise InputError([Problem(FileLine(str(folder)), "exists and was not written by railweave build", fix)])
    digests = {**(kept or {}), **{name: digest(content) for name, content in files.items()}}
    held = by_folder(digests) if keys else {}
    rendered = {name: stamp(key, held.get(name, {})) for name, key in sorted((keys or {}).items())}
    manifest = {"railweave": VERSION, "files": dict(sorted(digests.items())), "rendered": rendered}
    wanted = {**files, MANIFEST: (json.dumps(manifest, indent=1) + "\n").encode()}
    _check_targets(folder, wanted)
    changed = [name for name, content in wanted.items() if _differs(f"{folder}/{name}", content)]
    stale = [name for name in before if name not in wanted and name not in digests]
    moves = {
        path: path.with_name(f".{path.name}.railweave")
        for path, content in (also or {}).items()
        if _differs(path, content)
    }
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for stale_staging in folder.glob(f"{STAGING}*"):  # of a build that was killed
            shutil.rmtree(stale_staging, ignore_errors=True)
        with _staging(folder) as staging:
            for name in changed:
                _write(staging / name, wanted[name], private=private)
            for path, place in moves.items():
                _write(place, (also or {})[path], private=False)
            with _uninterrupted():
                _install(folder, staging, changed, stale)
                for path, place in moves.items():
                    place.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}; what was there is unchanged") from error
    finally:
        for place in moves.values():
            with contextlib.suppress(OSError):  # a folder that cannot be written holds nothing of ours
                place.unlink(missing_ok=True)
        for path in made:
            with contextlib.suppress(OSError):  # not empty: the build is there
                path.rmdir()
    return sorted(name for name in (*changed, *stale) if name != MANIFEST)


def _check_targets(folder: Path, wanted: Mapping[str, bytes]) -> None:
    """Refuse, before anything is touched, what could stop the renaming half-way or lead it outside the folder."""
    folders: set[str] = set()
    for name in wanted:
        if not _is_below(name):
            raise OutputError(f"{name} would be written outside {folder}; nothing was changed")
        if os.path.isdir(os.path.join(folder, name)):  # noqa: PTH112, PTH118 - pathlib takes seconds for 18,000
            raise OutputError(f"{folder / name} is a folder, and a file is to be written there; nothing was changed")
        above = name.rpartition("/")[0]
        while above and above not in folders:
            folders.add(above)
            above = above.rpartition("/")[0]
    blocked = next((folder / one for one in sorted(folders) if (folder / one).is_file()), None)
    if blocked is not None:
        raise OutputError(f"{blocked} is a file, and a folder is to be made there; nothing was changed")


def _differs(path: Path | str, content: bytes) -> bool:
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - pathlib takes a second more for 18,000
            return stream.read() != content
    except OSError:
        return True


@contextlib.contextmanager
def _staging(folder: Path) -> Generator[Path]:
    """A folder on the same file system as the output, gone at the end whatever happens."""
    staging = Path(tempfile.mkdtemp(prefix=STAGING, dir=folder))
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _write(path: Path, content: bytes, *, private: bool) -> None:
    try:
        stream = path.open("wb")
    except FileNotFoundError:  # the first file of its folder
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("wb")
    with stream:
        if private:
            path.chmod(0o600)
        elif path.suffix == ".sh":
            path.chmod(path.stat().st_mode | 0o111)
        stream.write(content)


def _install(folder: Path, staged: Path, changed: list[str], stale: list[str]) -> None:
    """Rename staged files into place, the manifest last."""
    for parent in {name.rpartition("/")[0] for name in changed}:
        (folder / parent).mkdir(parents=True, exist_ok=True)
    for name in sorted(changed, key=lambda one: one == MANIFEST):
        (staged / name).replace(folder / name)
    for name in stale:
        target = folder / name
        target.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # other files may stand there
            target.parent.rmdir()


@contextlib.contextmanager
def _uninterrupted() -> Generator[None]:
    """Hold back Ctrl-C and SIGTERM while files are renamed: the moment between old and new is not to be seen."""
    before: dict[signal.Signals, Any] = {}
    with contextlib.suppress(ValueError):  # not in the main thread: no signal reaches us here
        before = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
