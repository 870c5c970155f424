"""What a switch's platform lacks or has elsewhere, as its renderer says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig
    from railweave.findings import Finding


PLATFORM_LACKS = Rule(
    "platform-lacks",
    "info",
    "rendering",
    "the switch model has none of the queues, buffers or load balancing that the fabric file wants",
    "what the fabric file wants of them is left out of its configuration",
)
QUEUE_MOVED = Rule(
    "queue-moved",
    "info",
    "rendering",
    "a class has another queue than its `queue` in the fabric file",
    "PFC works on queues there: a lossless class has that of its priority, and others give way; the number is local to the switch",
)


def left_out_findings(config: DeviceConfig) -> list[Finding]:
    """``platform-lacks``, where something was left out for the platform, and ``queue-moved``."""
    found: list[Finding] = []
    if config.left_out:
        found.append(PLATFORM_LACKS.finding(config.name, f"{config.model} has no {', no '.join(config.left_out)}"))
    if config.qos and config.qos.moved:
        moved = ", ".join(f"{name} has queue {now} for `queue: {asked}`" for name, asked, now in config.qos.moved)
        found.append(QUEUE_MOVED.finding(config.name, moved))
    return found
