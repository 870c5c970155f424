"""The NIC vendors: one folder per vendor, with everything that railweave knows about the vendor's NICs, behind the protocol ``Vendor``.

A folder with a ``nics.yaml`` is a vendor (``model.catalog.definitions``), named after the vendor in lower case. The vendor's
code is imported when ``vendor`` is first called for it.

Imports: ``model``.
"""

from __future__ import annotations

import importlib
from functools import cache, lru_cache
from typing import TYPE_CHECKING, cast

from railweave.model.catalog.definitions import vendor_files
from railweave.reading import packaged_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from railweave.nics.protocol import Vendor


@lru_cache(maxsize=32)
def vendor(name: str) -> Vendor:
    """Return the vendor with this name in the catalog, such as ``Broadcom``. Raise ``KeyError`` if the vendor has no folder."""
    folder = name.lower()
    if folder not in vendor_files():
        raise KeyError(name)
    return cast("Vendor", importlib.import_module(f"railweave.nics.{folder}").VENDOR)


def vendors_of(names: Iterable[str]) -> list[Vendor]:
    """Return the vendors with these catalog names, without duplicates and in alphabetical order. Raise ``KeyError`` for an unknown vendor."""
    return [vendor(name) for name in sorted(set(names), key=str.lower)]


def every_vendor() -> list[Vendor]:
    """Return all vendors in alphabetical order."""
    return vendors_of(vendor_files())


def script(folder: str, file: str) -> str:
    """Return the text of a shell file in a vendor's folder. Raise ``KeyError`` if there is no such vendor."""
    return _text(vendor_files()[folder].with_name(file))


@cache
def _text(path: Path) -> str:
    return packaged_text(path)
