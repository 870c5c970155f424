"""What a switch's platform lacks, as its renderer says it."""

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


def left_out_findings(config: DeviceConfig) -> list[Finding]:
    """``platform-lacks``, where something was left out for the platform."""
    if not config.left_out:
        return []
    what = f"{config.model} has no {', no '.join(config.left_out)}"
    return [PLATFORM_LACKS.finding(config.name, what)]
