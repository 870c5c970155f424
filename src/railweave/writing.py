"""The only writer of files: each file is written completely or not at all, below an open folder, through no symbolic link.

An attacker who can write into an output folder could put a link there. A build by a different user would then overwrite the
link's target. So names are looked up from the handle of the folder, one component after the other, and a link is refused
(openat(2), ``O_NOFOLLOW``). The folder itself is the one that the user named, and its path may contain links. Temporary
names cannot be guessed, and an existing file is never opened for writing.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Self

from railweave.errors import OutputError
from railweave.guard import removed_if_killed

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Folder:
    """An open folder, below which files are read and written.

    Names are relative, with ``/`` between components. No component may be ``..`` or a link. The methods raise ``OutputError`` if
    there is a link or a file where a folder is expected, and ``OSError`` for other system errors.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, _FOLDER)
        self._last: tuple[str, int] | None = None  # the folder last asked for: names come folder by folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._forget()
        os.close(self._handle)

    def _forget(self) -> None:
        if self._last is not None:
            os.close(self._last[1])
            self._last = None

    def _at(self, name: str, *, make: bool = False) -> tuple[int, str]:
        """Return (handle of the folder that contains a name, last component of the name).

        If ``make`` is True, missing folders are created.
        """
        above, _, base_name = name.rpartition("/")
        if not above:
            return self._handle, base_name
        if self._last is None or self._last[0] != above:
            self._forget()
            self._last = above, self._opened(above, make=make)
        return self._last[1], base_name

    def _opened(self, name: str, *, make: bool) -> int:
        if not {"", ".", ".."}.isdisjoint(name.split("/")):
            raise OutputError(f"{name} would be outside {self.path}; nothing was changed")
        handle = os.dup(self._handle)
        try:
            walked = ""
            for part in name.split("/"):
                walked = f"{walked}/{part}" if walked else part
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=handle)
                try:
                    below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
                except OSError as error:
                    if error.errno in {errno.ELOOP, errno.ENOTDIR}:
                        raise OutputError(self._not_a_folder(handle, part, walked)) from None
                    raise
                os.close(handle)
                handle = below
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _not_a_folder(self, handle: int, part: str, walked: str) -> str:
        kind = os.stat(part, dir_fd=handle, follow_symlinks=False).st_mode
        if stat.S_ISLNK(kind):
            return f"{self.path}/{walked} is a symbolic link, and links are not followed; nothing was changed"
        return f"{self.path}/{walked} is a file, and a folder is to be made there; nothing was changed"

    def kind(self, name: str) -> str:
        """Return the kind of the object at ``name``: ``file``, ``folder``, ``link`` or ``other``; empty if there is no such object."""
        try:
            handle, base_name = self._at(name)
            mode = os.stat(base_name, dir_fd=handle, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return ""
        if stat.S_ISREG(mode):
            return "file"
        return "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist, is a link or is unreadable."""
        try:
            handle, base_name = self._at(name)
            file = os.open(base_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=handle)
        except OSError:
            return None
        with os.fdopen(file, "rb") as stream:
            return stream.read() if stat.S_ISREG(os.fstat(file).st_mode) else None

    def create(self, name: str, content: bytes, mode: int = 0o666) -> None:
        """Write a new file with ``content``, and create its folders if they are missing. The umask reduces the permission bits in ``mode``."""
        handle, base_name = self._at(name, make=True)
        file = os.open(base_name, _NEW, mode, dir_fd=handle)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(file, left) :]
        finally:
            os.close(file)

    def move(self, name: str, target: Folder, to: str) -> None:
        """Move a file to the name ``to`` below another folder of the same file system.

        An existing target is replaced; no link is followed.
        """
        handle, base_name = self._at(name)
        there, called = target._at(to, make=True)
        os.replace(base_name, called, src_dir_fd=handle, dst_dir_fd=there)

    def remove(self, name: str) -> None:
        """Remove a file. Also remove its folder if the folder becomes empty."""
        try:
            handle, base_name = self._at(name)
            os.unlink(base_name, dir_fd=handle)
        except FileNotFoundError:
            return
        above = name.rpartition("/")[0]
        if above:
            self._forget()
            outer, inner = self._at(above)
            with contextlib.suppress(OSError):  # other files may stand there
                os.rmdir(inner, dir_fd=outer)


def unguessable(name: str) -> str:
    """Return a random name for an unfinished file in the same folder as ``name``."""
    return f".{name}.{secrets.token_hex(8)}"


@contextlib.contextmanager
def beside(path: Path, content: bytes, mode: int = 0o666) -> Generator[Path]:
    """Write ``content`` to a temporary file in the folder of ``path``, and yield the path of the temporary file.

    The caller must rename this file to ``path``. If it was not renamed, it is deleted at the end. The umask reduces the permission bits in
    ``mode``.
    """
    place = path.with_name(unguessable(path.name))
    guard = contextlib.nullcontext() if mode & 0o077 else removed_if_killed(place)  # a private file holds secrets
    with guard:
        try:
            with os.fdopen(os.open(place, _NEW, mode), "wb") as stream:
                stream.write(content)
            yield place
        finally:
            with contextlib.suppress(OSError):
                place.unlink(missing_ok=True)


def write_file(path: Path, content: bytes | str, *, private: bool = False) -> None:
    """Write a file completely or not at all, and create its folder. An existing file or link is replaced; the target of a link is unchanged.

    If ``private`` is True, only the owner may read the file. Raises ``OutputError`` if writing fails, or if the path is a
    device, a pipe, a folder or a link to one of these, because the new file would replace it.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if not _is_file_or_nothing(path):
            raise OutputError(f"{path} is not a file; nothing was changed")
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path, data, 0o600 if private else 0o666) as place:
            place.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; what was there is unchanged") from error


def write_asked(file: Path | str | None, made: Callable[[], str]) -> None:
    """Write the text that ``made`` returns to a file. If ``file`` is None, do nothing. Raises ``OutputError`` if writing fails."""
    if file is not None:
        write_file(Path(file), made())


def check_writable(path: Path) -> None:
    """Raise ``OutputError`` if ``write_file`` could not write to a path. Nothing is changed.

    Callers use this check before long work.
    """
    try:
        if not _is_file_or_nothing(path):
            raise OutputError(f"{path} is not a file; nothing was changed")
        above = next(parent for parent in path.absolute().parents if parent.exists())
        os.close(os.open(above, _FOLDER))
        if os.access(above, os.W_OK | os.X_OK):
            return
        reason = os.strerror(errno.EACCES)
    except OSError as error:
        reason = error.strerror or str(error)
    raise OutputError(f"cannot write {path}: {reason}; what was there is unchanged")


def _is_file_or_nothing(path: Path) -> bool:
    if path.absolute().parts[1:2] in {("dev",), ("proc",), ("sys",)} and "shm" not in path.parts:
        return False  # /dev/stdout may lead to a file, and is itself none
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return True


def write_below(folder: Path, files: Mapping[str, bytes | str]) -> None:
    """Write files by name below a folder, which is created if missing. Each file is written completely or not at all.

    No link is followed. Raises ``OutputError`` if a file cannot be written. The files that were written earlier stay.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Folder(folder) as opened:
            for name, content in files.items():
                above, slash, base_name = name.rpartition("/")
                staged = f"{above}{slash}{unguessable(base_name)}"
                try:
                    opened.create(staged, content.encode() if isinstance(content, str) else content)
                    opened.move(staged, opened, name)
                except BaseException:
                    with contextlib.suppress(OSError, OutputError):
                        opened.remove(staged)
                    raise
    except OSError as error:
        raise OutputError(f"cannot write {folder}: {error.strerror or error}") from error
