"""The state that must hold on a running switch, computed from ``Network``, ``DeviceConfig`` and ``Routes``.

Runbooks print this state, and checks compare a running network with it. Parts that are down (``Routes.down``) have no
expectation. This includes ports whose cable or far end does not exist.
"""

from __future__ import annotations

from railweave.analysis.expect.device import Expected, expected

__all__ = ["Expected", "expected"]
