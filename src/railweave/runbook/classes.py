"""The table of traffic classes, for systems whose thresholds are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.device.model import QosConfig

CLASS_HEADER = ("Class", "Traffic class and queue", "DSCP", "Loss", "Scheduling", "ECN marking")


def class_rows(qos: QosConfig) -> tuple[tuple[object, ...], ...]:
    """The rows below ``CLASS_HEADER``, by queue."""
    return tuple(
        (
            name,
            one.queue,
            ", ".join(map(str, one.dscp)) or "–",
            f"no-drop, PFC priority {one.pfc_priority}" if one.lossless else "lossy",
            "strict"
            if one.priority == "strict-high"
            else (f"weight {one.transmit_percent}" if one.transmit_percent else "–"),
            f"{found.first:,} to {found.last:,} B, up to {found.probability} %"
            if (found := qos.marking.get(name))
            else "–",
        )
        for name, one in sorted(qos.classes.items(), key=lambda item: item[1].queue)
    )
