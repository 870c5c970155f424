"""Analysis of designed or saved configurations, without queries to devices.

Takes: ``Network``, the ``DeviceConfig`` of every switch, rendered files, saved configurations. Gives: forwarding tables
and paths (``routing``), findings on configuration (``checks``), the differences of running configurations from the
design and their effects (``drift``), a fabric file from an existing network (``adopt``), the required state of a
running switch (``expect``).

Imports: ``host``, ``model``, ``pages``, ``systems``, ``design``.
"""
