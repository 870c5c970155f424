"""The comparison of a running network with its design, as findings with their causes."""

from __future__ import annotations

from railweave.live.check.diagnosis import diagnose
from railweave.live.check.living import NetworkStates

__all__ = ["NetworkStates", "diagnose"]
