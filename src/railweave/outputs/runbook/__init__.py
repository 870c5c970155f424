"""Runbook: a page per switch for the person who brings it up: order, commands with the values expected of them, cable labels.

``network.runbook`` writes a page from what is configured (``DeviceConfig``) and what the control plane computes (``Routes``): the
switch must show each value. Commands are those of its operating system (``systems/NAME/runbook``), values come from ``expect``,
``document`` is the page around them.
"""
