"""One folder per NIC vendor: all that railweave knows of its NICs, behind the protocol ``Vendor``.

A folder that has a ``nics.yaml`` is one (``model.catalog.definitions``); its name is the vendor's in lower case. A vendor's code is
imported when ``vendor`` is first asked for it.

Imports: ``model``.
"""

from __future__ import annotations

import importlib
from functools import cache, lru_cache
from typing import TYPE_CHECKING, cast

from railweave.model.catalog.definitions import vendor_files

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from railweave.nics.protocol import Vendor


@lru_cache(maxsize=32)
def vendor(name: str) -> Vendor:
    """All that is known of a vendor, by its name in the catalog. Raises ``KeyError`` where there is no folder of it."""
    folder = name.lower()
    if folder not in vendor_files():
        raise KeyError(name)
    return cast("Vendor", importlib.import_module(f"railweave.nics.{folder}").VENDOR)


def vendors_of(names: Iterable[str]) -> list[Vendor]:
    """Vendors by their names in the catalog, each once, in alphabetical order. Raises ``KeyError`` as ``vendor`` does."""
    return [vendor(name) for name in sorted(set(names), key=str.lower)]


def every_vendor() -> list[Vendor]:
    """All vendors, in alphabetical order."""
    return vendors_of(vendor_files())


def script(folder: str, file: str) -> str:
    """The text of a shell file in a vendor's folder. Raises ``KeyError`` where there is no such vendor."""
    return _text(vendor_files()[folder].with_name(file))


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
