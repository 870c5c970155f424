"""Queues of systems where PFC works on queues: a lossless class has the queue of its priority, and strict ones go on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.model.catalog.systems import System
    from railweave.model.intent.qos import Qos
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.traffic_class import TrafficClass


def check_strict_queues(context: Context, system: System, qos: Qos, base: Location) -> None:
    """Note a problem where a strict class cannot be above all classes that share, as a system wants it that serves queues by number."""
    if not (system.pfc_by_queue and system.strict_on_top):
        return
    strict = [name for name, one in qos.classes.items() if one.priority == "strict-high" and not one.lossless]
    for name, one in qos.classes.items():
        if one.pfc_priority is None:
            continue
        own = f"class {name} has queue {one.pfc_priority} on {system.description}, the number of its pfc_priority"
        if one.priority == "strict-high":
            above = _sharing_above(qos, one.pfc_priority)
            if above:
                what = f"{own}, and {' and '.join(above)} above it {'share' if above[1:] else 'shares'}: a strict class must be the highest"
                context.problem((*base, "classes", name, "priority"), what, "make it `priority: low`")
        elif len(strict) > system.queues - 1 - one.pfc_priority:
            what = f"{own}, which leaves too few above it for {_these(strict)}"
            fix = f"give {name} a pfc_priority of at most {system.queues - 1 - len(strict)}"
            context.problem((*base, "classes", name, "pfc_priority"), what, fix)


def _sharing_above(qos: Qos, queue: int) -> list[str]:
    """Classes that share the port by weight and have a higher queue."""
    return [name for name, one in qos.classes.items() if one.priority != "strict-high" and _queue(one) > queue]


def _queue(one: TrafficClass) -> int:
    return one.queue if one.pfc_priority is None else one.pfc_priority


def _these(strict: Sequence[str]) -> str:
    return f"the strict class{'es' if strict[1:] else ''} {', '.join(strict)}"
