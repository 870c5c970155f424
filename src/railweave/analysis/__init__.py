"""Analysis of designed or saved configurations, without queries to devices.

Takes: ``Network``, the ``DeviceConfig`` of every switch, rendered files, saved configurations.

Gives:

- ``routing``: forwarding tables and paths.
- ``checks``: findings on configuration.
- ``drift``: the differences of running configurations from the design, and their effects.
- ``adopt``: a fabric file from an existing network.
- ``expect``: the required state of a running switch.

Imports: ``host``, ``model``, ``pages``, ``systems``, ``design``.
"""
