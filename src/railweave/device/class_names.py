"""Names of traffic classes, which some systems do not write: a class is then known by its queue."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig


def named_as(read: DeviceConfig, designed: DeviceConfig) -> DeviceConfig:
    """What was read, with its classes called as the design calls those of the same queues.

    A class on a queue that the design does not use keeps its name, unless the design has that for another.
    """
    if read.qos is None or designed.qos is None:
        return read
    wanted = {one.queue: name for name, one in designed.qos.classes.items()}
    taken = set(wanted.values())
    names = {
        name: wanted.get(one.queue, f"queue-{one.queue}" if name in taken else name)
        for name, one in read.qos.classes.items()
    }
    qos = replace(
        read.qos,
        classes={names[name]: one for name, one in read.qos.classes.items()},
        marking={names[name]: one for name, one in read.qos.marking.items()},
        default_class=names.get(read.qos.default_class, read.qos.default_class),
    )
    return replace(read, qos=qos)
