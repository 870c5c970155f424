"""State that must hold on a running switch, computed from ``Network``, ``DeviceConfig`` and ``Routes``.

Runbooks print this state, and checks compare a running network with this state. Parts that are down (``Routes.down``)
are not expected: a port has no expectation if its cable or far end does not exist.
"""

from __future__ import annotations

from railweave.analysis.expect.device import Expected, expected

__all__ = ["Expected", "expected"]
