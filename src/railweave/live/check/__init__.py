"""Is the running network the designed one: compares expectations with what devices said, and gives findings with their causes."""

from __future__ import annotations

from railweave.live.check.diagnosis import diagnose
from railweave.live.check.living import NetworkStates

__all__ = ["NetworkStates", "diagnose"]
