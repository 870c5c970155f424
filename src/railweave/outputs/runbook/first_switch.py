"""The check of the first switch of each kind: statements that nothing but a document stands for, and limits that no document has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems import system
from railweave.systems.forms import forms_of
from railweave.systems.runbook import Check

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Switch
    from railweave.model.network.model import Network

TITLE = "First of its kind only"
HEADER = ("Statement", "Look for", "Sources", "What is known")


def first_switch(network: Network, config: DeviceConfig) -> list[Check]:
    """Return the check of a switch that is the first of its kind; none for others, and none if all its statements were read.

    Switches are of one kind if they have the same fabric, role, model, system, release and kinds of neighbors: what the first
    takes the others take, and to render one of each kind is cheap.
    """
    if not _is_first(network, config.name):
        return []
    forms = forms_of(config.nos)
    rows = forms.to_look_at(system(config.nos).lines(config)) if forms.forms else []
    if not rows:
        return []
    points = (
        "load this switch before the others of its role and model: a line that it refuses is shown while the file is loaded",
        "each statement works as its row says; if not, stop, and put what the switch takes into `extra:`",
    )
    table = tuple((f"`{one.text}`", one.look_for, one.cited(), one.known or "–") for one in rows)
    return [Check(TITLE, (), points, HEADER, table)]


def _is_first(network: Network, name: str) -> bool:
    own = network.switch(name)
    kind, outside = _kind(own), _neighbors(network, name)
    return name == next(
        one.name for one in network.switches if _kind(one) == kind and _neighbors(network, one.name) == outside
    )


def _kind(switch: Switch) -> tuple[str, ...]:
    return (switch.fabric, switch.role, switch.model, switch.nos, switch.release)


def _neighbors(network: Network, name: str) -> frozenset[str]:
    """The kinds of what a switch is cabled to: servers, switches; routers outside, whose cables have no row."""
    outside = {"external"} if any(link.leaf == name for *_, link in network.external_links()) else set[str]()
    return frozenset({one.kind for one in network.cables_of(name)} | outside)
