"""The files in which operating systems and NIC vendors describe themselves, by folder name.

The files are in the folders of ``railweave.systems`` and ``railweave.nics``. These packages are located but not imported,
because the catalog is data and runs no code.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

from railweave.plugged import check_known, found_by, modules_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

VENDOR_FILES = ("nics.yaml", "servers.yaml", "nic_qos.sh", "nic_nvm.sh")
"""The data files that a vendor's folder may contain besides its modules."""


@lru_cache(maxsize=1)
def system_files() -> dict[str, Path]:
    """Return the ``system.yaml`` of every operating system, in alphabetical order: its naming, limits and features.

    Raises ``ImportError`` for a folder without that file.
    """
    return found_by(_places("railweave.systems"), "system.yaml")


@lru_cache(maxsize=1)
def vendor_files() -> dict[str, Path]:
    """Return the ``nics.yaml`` of every NIC vendor, in alphabetical order.

    Raises ``ImportError`` for a folder without that file, and for a data file or script that nothing reads.
    """
    nic_files = found_by(_places("railweave.nics"), "nics.yaml")
    for path in nic_files.values():
        modules = modules_of(path.parent)
        check_known(
            path.parent,
            {*VENDOR_FILES, *modules},
            f"a vendor's folder may have only the files {', '.join(VENDOR_FILES)}",
        )
    return nic_files


def _places(package: str) -> Iterable[str]:
    """Return the directories that hold the sub-packages of a package, without importing it."""
    spec = find_spec(package)
    return (spec.submodule_search_locations if spec else None) or ()
