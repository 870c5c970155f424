"""One folder per NIC vendor: all that railweave knows of its NICs, behind the protocol ``Vendor``.

A folder that has a ``nics.yaml`` is one; its name is the vendor's in lower case. This module only knows which there are and
where: what reads their data (the catalog) or asks for one of them (``vendor``) imports no part until it needs it.
"""

from __future__ import annotations

import importlib
from functools import cache, lru_cache
from typing import TYPE_CHECKING, cast

from railweave.plugged import NICS, check_known, found_by, modules_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from railweave.nics.protocol import Vendor

FILES = ("nics.yaml", "servers.yaml", "nic_qos.sh", "nic_nvm.sh")
"""Files of a vendor's folder, beside its modules."""


@lru_cache(maxsize=1)
def definitions() -> dict[str, Path]:
    """The ``nics.yaml`` of every vendor, by its folder's name, in alphabetical order.

    Raises ``ImportError`` for a package here that has none, and for a data file or script that nothing reads.
    """
    found = found_by(*NICS)
    for path in found.values():
        modules = modules_of(path.parent)
        check_known(path.parent, {*FILES, *modules}, f"files of a vendor are {', '.join(FILES)}")
    return found


@lru_cache(maxsize=32)
def vendor(name: str) -> Vendor:
    """All that is known of a vendor, by its name in the catalog. Raises ``KeyError`` where there is no folder of it."""
    folder = name.lower()
    if folder not in definitions():
        raise KeyError(name)
    return cast("Vendor", importlib.import_module(f"railweave.nics.{folder}").VENDOR)


def vendors_of(names: Iterable[str]) -> list[Vendor]:
    """Vendors by their names in the catalog, each once, in alphabetical order. Raises ``KeyError`` as ``vendor`` does."""
    return [vendor(name) for name in sorted(set(names), key=str.lower)]


def every_vendor() -> list[Vendor]:
    """All vendors, in alphabetical order."""
    return vendors_of(definitions())


def script(folder: str, file: str) -> str:
    """The text of a shell file in a vendor's folder. Raises ``KeyError`` where there is no such vendor."""
    return _text(definitions()[folder].with_name(file))


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
