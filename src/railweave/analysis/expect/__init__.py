"""The state that must hold on a running switch, computed from ``Network``, ``DeviceConfig`` and ``Routes``.

Runbooks print this state, and checks compare a running network with it. Nothing is expected of links and devices that are
down (``Routes.down``), nor of ports whose cable or far end does not exist.
"""

from __future__ import annotations

from railweave.analysis.expect.device import Expected, expected

__all__ = ["Expected", "expected"]
