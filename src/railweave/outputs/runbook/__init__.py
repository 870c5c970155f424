"""The runbook of a switch: a page for the person who brings it up, with the order of steps, commands, expected values and cable labels.

``network.runbook`` writes a page from the configuration (``DeviceConfig``) and the computed routes (``Routes``), whose values the
switch must show. The commands are those of the switch's operating system (``systems/NAME/runbook``), the values come from
``expect``, and ``document`` assembles the page.
"""
