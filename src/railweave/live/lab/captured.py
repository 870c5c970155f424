"""The lab that a capture was taken of: what its devices were given, wherever that lab was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.errors import FileLine, InputError, LabError, Problem
from railweave.live.lab import slicing
from railweave.live.lab.overlay import Overlay
from railweave.live.lab.plan import make_plan
from railweave.model.network.status import present
from railweave.model.state.capture import OfLab

if TYPE_CHECKING:
    from railweave.live.lab.plan import Plan
    from railweave.model.network.model import Network
    from railweave.model.state.capture import Capture


def plan_of(network: Network, capture: Capture) -> Plan:
    """The plan of the lab that a capture is of: its slice of the network, on the systems and with the timers that it had.

    Raises ``InputError`` where it is no lab of this network.
    """
    of = capture.meta.lab or OfLab()
    try:
        whole = present(network)
        part = slicing.sliced(whole, slicing.parse(of.slice)) if of.slice else whole
        return make_plan(part, None if of.timers is None else Overlay(**of.timers))
    except (InputError, LabError, TypeError) as error:
        fix = "check it against the fabric file that the lab was brought up with"
        what = f"it is of a lab that this network does not have: {error}"
        raise InputError([Problem(FileLine(str(capture.folder)), what, fix)]) from None
