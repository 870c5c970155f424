"""State that must hold on a running switch, computed from ``Network``, ``DeviceConfig`` and ``Routes``.

Runbooks print it, checks of a running network compare with it, and both take it from here. Parts that are down in ``Routes``
(``Routes.down``) are expected of no switch: a port whose cable or far end does not exist has no expectation.
"""

from __future__ import annotations

from railweave.analysis.expect.device import Expected, expected

__all__ = ["Expected", "expected"]
