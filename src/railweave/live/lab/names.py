"""Names of folders, namespaces and processes that a lab creates on its machine. They differ from the host's and other labs' names."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from pathlib import Path

FOLDER = Path("/run/railweave/lab")
"""The folder with a subfolder for each lab. Like namespaces, it does not survive a restart of the machine."""

MARK = "RAILWEAVE_LAB"
"""The environment variable that marks the processes of a lab."""


NAME = re.compile(r"rw[0-9a-f]{8}")
"""The form of a lab's name."""


def lab_id(fabric: Path) -> str:
    """Return the name of the lab of a fabric file or build folder. The name depends only on the path, which need not exist.

    If ``fabric`` is itself the name of a lab (``rw`` and eight hexadecimal digits), and not an existing file, return it unchanged.
    """
    if NAME.fullmatch(str(fabric)) and not fabric.exists():
        return str(fabric)
    return "rw" + hashlib.sha256(str(fabric.resolve()).encode()).hexdigest()[:8]


def namespace(lab: str, device: str) -> str:
    """Return the name of the network namespace of a lab's switch or server."""
    return f"{lab}-{device}"


def folder(lab: str) -> Path:
    """Return the folder with the files of a lab."""
    return FOLDER / lab


def sudo_program() -> str:
    """Return the path of the running program, for a command with sudo, which has another ``PATH``."""
    return shutil.which(sys.argv[0]) or "railweave"
