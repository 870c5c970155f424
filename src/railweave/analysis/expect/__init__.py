"""What must hold on a running switch, from ``Network``, ``DeviceConfig`` and ``Routes``.

Runbooks print it, checks of a running network compare with it, and both take it from here. What is down in ``Routes``
(``Routes.down``) is expected of nobody: a port whose cable or far end is not there has no expectation.
"""

from __future__ import annotations

from railweave.analysis.expect.device import Expected, expected

__all__ = ["Expected", "expected"]
