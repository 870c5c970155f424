"""Root folders whose programs railweave runs: only those that nobody else can have filled.

A program is run from a folder that an option or an environment variable names, from the project's own checkout (``make
validators`` puts them there), or from a path of the system; never from the folder that railweave happens to be started in. What is
run must belong to root or to the user, and so must every folder down to it, and nobody else may write there.
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
    """Whose files are taken for the user's own: root's, the user's, and of whoever asked for root."""
    sudo = os.environ.get("SUDO_UID", "")  # sudo sets it
    return {0, os.geteuid(), *((int(sudo),) if sudo.isdigit() and os.geteuid() == 0 else ())}


def untrusted(root: Path, program: Path) -> str:
    """Why a program below a root folder is not run; empty where nothing is wrong with it.

    Whoever may write to a folder on the way, or to the program, decides what is run, as root where that is who runs it.
    """
    root, program = root.resolve(), program.resolve()
    if not program.is_relative_to(root):
        return f"{program} is outside {root}"
    trusted = trusted_users()
    way = [one for one in (program, *program.parents) if one.is_relative_to(root)]
    for place in reversed(way):
        found = place.stat()
        if found.st_uid not in trusted:
            return f"{place} belongs to user {found.st_uid}, neither to root nor to who runs this"
        if stat.S_IMODE(found.st_mode) & 0o022 and not found.st_mode & stat.S_ISVTX:
            return f"{place} can be written by others (chmod go-w)"
    return ""
