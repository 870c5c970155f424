"""Names of a lab on its machine, which conflict neither with the host's names nor with another lab's."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

FOLDER = Path("/run/railweave/lab")
"""Where labs keep what belongs to them: a folder each. Gone after a restart, as namespaces are."""

MARK = "RAILWEAVE_LAB"
"""The environment variable by which a process is known as a lab's."""


NAME = re.compile(r"rw[0-9a-f]{8}")
"""The form of a lab's name."""


def lab_id(fabric: Path) -> str:
    """The name of the lab of a fabric file or build folder: the same for the same path, whether it is there or not.

    What is such a name already, and no file, stays as it is.
    """
    if NAME.fullmatch(str(fabric)) and not fabric.exists():
        return str(fabric)
    return "rw" + hashlib.sha256(str(fabric.resolve()).encode()).hexdigest()[:8]


def namespace(lab: str, device: str) -> str:
    """The network namespace of a switch or server of a lab."""
    return f"{lab}-{device}"


def folder(lab: str) -> Path:
    """Where a lab keeps what belongs to it."""
    return FOLDER / lab
