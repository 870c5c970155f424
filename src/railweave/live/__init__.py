"""Is the living network the designed one: expectations beside what devices said, as findings with their causes."""

from __future__ import annotations

from railweave.live.judge import judged
from railweave.live.living import Living

__all__ = ["Living", "judged"]
