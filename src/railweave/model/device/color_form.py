"""In which form a fabric's switches carry path colors: one that all of them have (docs/path-colors.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.device.policy import Form
    from railweave.model.network.fabric import Fabric


def path_color_form(fabric: Fabric, systems: Iterable[tuple[str, str]]) -> Form:
    """The form for switches of these systems and releases, which understand each other in it.

    Deterministic path forwarding where every one has it in its release, or in any where the file asks for it; AIGP where
    every one has it and the file asks for it; else local preference, for which large communities are enough. Leaves tag
    what they originate in the form that spines read, so a fabric has one.
    """
    if not fabric.colors:
        return "none"
    if fabric.interconnect:  # its routers pass on one copy of a prefix: the color must be the prefix's, not the copy's
        return "local-preference"
    found = [(catalog().systems[nos], release) for nos, release in systems]
    wanted = fabric.underlay.path_color
    by_hand = wanted == "dpf"  # who asks for it knows: documents differ on its first release (docs/decisions.md)
    if wanted != "local-preference" and all(s.has("path-color-dpf", None if by_hand else r) for s, r in found):
        return "dpf"
    if fabric.emulation == "aigp" and all(s.has("path-color-aigp", r) for s, r in found):
        return "aigp"
    return "local-preference"
