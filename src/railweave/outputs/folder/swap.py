"""The exchange of a whole folder by one rename: a reader sees all old files or all new ones, also after ``kill -9``.

The new folder is made beside the old one, on the same file system. Files that stay are linked into it: a hard link takes no space.
Then ``renameat2(RENAME_EXCHANGE)`` exchanges the two (Linux 3.15; ext4, XFS, Btrfs, tmpfs). A shell whose working directory is the
folder must enter it again. A bind mount of the folder keeps the old one: mount the folder above.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.manifest import STAGING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_EXCHANGE = 2
_HERE = -100
"""The handle of the working directory, from which relative paths begin (AT_FDCWD of fcntl.h)."""

Links = dict[str, tuple[int, int]]
"""The device and inode of each linked file, by path below the folder."""


def can_be_swapped(folder: Path, staging: Path) -> bool:
    """Return True if ``folder`` can be exchanged with the folder ``staging`` beside it.

    It cannot be if it is a mount point, or if this process works in it: the working directory would be the old folder.
    """
    try:
        if folder.is_symlink() or folder.is_mount() or folder.stat().st_dev != staging.stat().st_dev:
            return False
        with contextlib.suppress(OSError):  # the working directory is gone
            if Path.cwd().is_relative_to(folder.resolve()):
                return False
        probe = f".railweave-{secrets.token_hex(8)}"  # a bind mount in between shows in this way only
        (staging / probe).mkdir()
        (staging / probe).rename(folder / probe)
        (folder / probe).rmdir()
    except OSError:
        return False
    return True


def link_rest(folder: Path, staging: Path, left_out: Collection[str]) -> Links:
    """Link every file of ``folder`` into ``staging``, except the files ``left_out``. Folders keep their modes and owners.

    Raises ``OSError`` if a file cannot be linked, for example because it belongs to another user, or is on another file system.
    """
    links: Links = {}
    left = frozenset(left_out)

    def link(above: str) -> None:
        with os.scandir(folder / above) as entries:
            for entry in entries:
                name = f"{above}{entry.name}"
                folder_there = entry.is_dir(follow_symlinks=False)
                if not above and folder_there and entry.name.startswith(STAGING):
                    continue  # of a build that was killed
                if folder_there:
                    _made_alike(folder / name, staging / name)
                    link(f"{name}/")
                elif name not in left:
                    os.link(folder / name, staging / name, follow_symlinks=False)
                    status = (staging / name).lstat()
                    links[name] = status.st_dev, status.st_ino
                else:
                    emptied.add(above)

    emptied: set[str] = set()
    link("")
    for name in emptied - {""}:
        with contextlib.suppress(OSError):  # it has other files
            (staging / name).rmdir()
    _alike(folder, staging)
    os.utime(staging)
    return links


def _made_alike(old: Path, new: Path) -> None:
    with contextlib.suppress(FileExistsError):
        new.mkdir()
    _alike(old, new)


def _alike(old: Path, new: Path) -> None:
    """Give a folder the mode, the owner and the attributes of another one."""
    was, now = old.stat(), new.stat()
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        os.chown(new, was.st_uid, was.st_gid)
    shutil.copystat(old, new)


def exchange(first: Path, second: Path) -> None:
    """Exchange two folders. Raises ``OSError`` if the kernel or the file system cannot do that; both are then unchanged."""
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameat2", None)
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if call(_HERE, os.fsencode(first), _HERE, os.fsencode(second), ctypes.c_uint(_EXCHANGE)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def rescue(old: Path, new: Path, links: Mapping[str, tuple[int, int]], ours: Collection[str]) -> None:
    """Move what others have written into the folder while it was linked, from the ``old`` folder into the ``new`` one.

    ``links`` are the linked files, and ``ours`` the files that the build has written or removed.
    """
    of_build = frozenset(ours)
    for above, folders, files in os.walk(old):
        relative = os.path.relpath(above, old)
        prefix = "" if relative == "." else f"{relative}/"
        if not prefix:
            folders[:] = [name for name in folders if not name.startswith(STAGING)]
        for name in files:
            path = f"{prefix}{name}"
            with contextlib.suppress(OSError):
                status = (old / path).lstat()
                if path not in of_build and links.get(path) != (status.st_dev, status.st_ino):
                    (new / prefix).mkdir(parents=True, exist_ok=True)
                    (old / path).rename(new / path)
