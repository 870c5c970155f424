"""Is the running network the designed one: compares expectations with what devices said, and gives findings with their causes."""

from __future__ import annotations

from railweave.live.diagnosis import diagnose
from railweave.live.living import Living

__all__ = ["Living", "diagnose"]
