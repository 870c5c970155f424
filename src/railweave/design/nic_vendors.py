"""NICs are of vendors that railweave knows how to set up and to simulate: there is no vendor whose ways are taken for another's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.definitions import vendor_files
from railweave.nics.protocol import ONLY_WITH_FIRMWARE, PARTS, missing_parts

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.model.catalog.hardware import NicModel

HOW = "docs/howto/add-a-nic-vendor.md says how to add it; or choose another server model"


def check_nic_vendors(context: Context) -> None:
    """Note every NIC that is connected and whose vendor has no folder under ``railweave.nics``, or lacks a part. Stops there."""
    spec, models = context.source.spec, context.catalog.servers
    for index, group in enumerate(spec.servers):
        for name, fabric in spec.fabrics.items():
            if group.model not in models or (group.fabrics is not None and name not in group.fabrics):
                continue
            nics = models[group.model].nics.get(fabric.nics)
            if nics is not None and (what := _missing(context.catalog.nics.get(nics.nic))):
                context.problem(("servers", index, "model"), f"NICs {nics.nic} of {group.model}: {what}", HOW)
    context.check()


def _missing(model: NicModel | None) -> str:
    if model is None:
        return "they are not in the catalog"
    folder = f"nics/{model.vendor.lower()}"
    if model.vendor.lower() not in vendor_files():
        return f"nothing is known of their vendor, {model.vendor}: there is no {folder}"
    parts = [part for part in missing_parts(model.vendor) if model.firmware or part != ONLY_WITH_FIRMWARE]
    if not parts:
        return ""
    words = ", ".join(f"`{part}` ({PARTS[part]})" for part in parts)
    return f"their vendor, {model.vendor}, lacks {words} in {folder}"
