"""The files in which operating systems and NIC vendors describe themselves, by the folder's name.

They lie in the folders of ``railweave.systems`` and ``railweave.nics``, which are located and not imported: the catalog is
data, and reads no code.
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
"""Files of a vendor's folder, beside its modules."""


@lru_cache(maxsize=1)
def system_files() -> dict[str, Path]:
    """The ``system.yaml`` of every operating system, in alphabetical order: what it calls things, holds and can do.

    Raises ``ImportError`` for a folder that has none.
    """
    return found_by(_places("railweave.systems"), "system.yaml")


@lru_cache(maxsize=1)
def vendor_files() -> dict[str, Path]:
    """The ``nics.yaml`` of every NIC vendor, in alphabetical order.

    Raises ``ImportError`` for a folder that has none, and for a data file or script that nothing reads.
    """
    nic_files = found_by(_places("railweave.nics"), "nics.yaml")
    for path in nic_files.values():
        modules = modules_of(path.parent)
        check_known(path.parent, {*VENDOR_FILES, *modules}, f"files of a vendor are {', '.join(VENDOR_FILES)}")
    return nic_files


def _places(package: str) -> Iterable[str]:
    """The folders in which the packages of a registry are looked for."""
    spec = find_spec(package)
    return (spec.submodule_search_locations if spec else None) or ()
