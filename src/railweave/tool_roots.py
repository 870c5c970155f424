"""The root folders of the programs that railweave runs. No other user may be able to write to them.

railweave runs a program only from one of these:

- a folder that an option or an environment variable names,
- the project's own checkout (``make validators`` puts programs there),
- the place of an installed program, for example a folder in ``PATH``.

railweave runs no program from the current working folder. The program and every folder on its path must belong to root, to
the user, or to the user who called ``sudo``, and no other user may have write permission.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from railweave.reading import file_text

INSIDE = "RAILWEAVE_LAB_INSIDE"
"""The environment variable of a command in the namespaces of a user's labs: the process id of their holder, as the user sees it."""


def project_root(name: str) -> Path | None:
    """Return the folder ``.validators/NAME`` of this checkout.

    Return None outside a checkout, or if the folder is missing.
    """
    checkout = Path(__file__).resolve().parents[2]
    folder = checkout / ".validators" / name
    return folder if (checkout / "pyproject.toml").is_file() and folder.is_dir() else None


def trusted_users() -> set[int]:
    """Return the ids of trusted file owners: root, the current user, and the user who called sudo."""
    sudo = os.environ.get("SUDO_UID", "")  # sudo sets it
    return {0, os.geteuid(), *((int(sudo),) if sudo.isdigit() and os.geteuid() == 0 else ())}


def untrusted(root: Path, program: Path) -> str:
    """Return the reason not to run a program below a root folder, or an empty text if the program is safe to run.

    A user who can write to the program or to a folder on its path controls the code that runs, even as root.
    """
    root, program = root.resolve(), program.resolve()
    if not program.is_relative_to(root):
        return f"{program} is outside {root}"
    trusted = trusted_users()
    if os.environ.get(INSIDE):  # root does not exist here; the owners were checked before these namespaces were entered
        trusted.add(int(file_text(Path("/proc/sys/kernel/overflowuid"))))
    way = [path for path in (program, *program.parents) if path.is_relative_to(root)]
    for place in reversed(way):
        status = place.stat()
        if status.st_uid not in trusted:
            return f"{place} belongs to user {status.st_uid}, neither to root nor to who runs this"
        if stat.S_IMODE(status.st_mode) & 0o022 and not status.st_mode & stat.S_ISVTX:
            return f"{place} can be written by others (chmod go-w)"
    return ""
