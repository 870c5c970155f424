"""Root folders whose programs railweave runs: only folders that no one else can have filled.

A program is run from one of these:

- a folder that an option or an environment variable names,
- the project's own checkout (``make validators`` puts programs there),
- a path of the system.

No program is run from the folder in which railweave happens to be started. The program must belong to root or to the user,
and so must every folder down to it, and no one else may write there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def project_root(name: str) -> Path | None:
    """``.validators/NAME`` of the checkout that this program is run from; None where it is installed otherwise, or not there."""
    checkout = Path(__file__).resolve().parents[2]
    folder = checkout / ".validators" / name
    return folder if (checkout / "pyproject.toml").is_file() and folder.is_dir() else None


def trusted_users() -> set[int]:
    """Return the users whose files count as the user's own: root, the user, and the user who asked for root with sudo."""
    sudo = os.environ.get("SUDO_UID", "")  # sudo sets it
    return {0, os.geteuid(), *((int(sudo),) if sudo.isdigit() and os.geteuid() == 0 else ())}


def untrusted(root: Path, program: Path) -> str:
    """Return the reason why a program below a root folder is not run; empty if nothing is wrong with the program.

    A user who may write to a folder on the path, or to the program, decides what is run, as root if root runs it.
    """
    root, program = root.resolve(), program.resolve()
    if not program.is_relative_to(root):
        return f"{program} is outside {root}"
    trusted = trusted_users()
    way = [path for path in (program, *program.parents) if path.is_relative_to(root)]
    for place in reversed(way):
        status = place.stat()
        if status.st_uid not in trusted:
            return f"{place} belongs to user {status.st_uid}, neither to root nor to who runs this"
        if stat.S_IMODE(status.st_mode) & 0o022 and not status.st_mode & stat.S_ISVTX:
            return f"{place} can be written by others (chmod go-w)"
    return ""
