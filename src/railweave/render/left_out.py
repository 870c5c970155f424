"""What a switch's platform lacks, as its renderer says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings import Finding

if TYPE_CHECKING:
    from railweave.device.model import DeviceConfig


def left_out_findings(config: DeviceConfig) -> list[Finding]:
    """``platform-lacks``, where something was left out for the platform."""
    if not config.left_out:
        return []
    what = f"{config.model} has no {', no '.join(config.left_out)}"
    why = "what the fabric file wants of them is left out of its configuration"
    return [Finding("platform-lacks", "info", config.name, what, why, "")]
