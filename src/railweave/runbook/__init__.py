"""Runbook: a page per switch for whoever brings it up: order, commands with the values expected on it, cable labels.

``network.runbooks`` makes them from what is configured (``DeviceConfig``) and what the control plane computes
(``Routes``), so a value here is one that the switch must show, not one that was hoped for. ``junos`` and ``frr`` hold
the commands of an operating system, ``expected`` the values, ``document`` the page around them.
"""
