"""What a switch's platform has as its default, where a fabric file does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from railweave.model.intent.qos import Qos


def with_platform_defaults(qos: Qos, device: str) -> Qos:
    """A role's QoS with the platform's own ECN fill level where the fabric file gives none."""
    model = catalog().switches.get(device)
    fill = model.platform.ecn_min_fill if model else None
    if fill is None:
        return qos
    classes = {
        name: one
        if one.ecn is None or "min_fill" in one.ecn.model_fields_set
        else one.model_copy(update={"ecn": one.ecn.model_copy(update={"min_fill": fill})})
        for name, one in qos.classes.items()
    }
    return qos.model_copy(update={"classes": classes})


def own_marking(qos: Qos, usual: str, device: str) -> tuple[tuple[str, int], ...]:
    """Classes that a switch marks from another fill level than its role, for it is another device; with that level."""
    if usual == device:
        return ()
    here, there = with_platform_defaults(qos, device), with_platform_defaults(qos, usual)
    return tuple(
        (name, one.ecn.min_fill)
        for name, one in here.classes.items()
        if one.ecn is not None and one.ecn != there.classes[name].ecn
    )
