"""Work on designed or saved configurations; no device is asked.

Takes: ``Network``, the ``DeviceConfig`` of every switch, rendered files, saved configurations.
Gives: forwarding tables and paths (``routing``), findings on configuration (``checks``), the difference from running configurations and
its effect (``drift``), a fabric file from an existing network (``adopt``), what must hold on a running switch (``expect``).

Imports: ``host``, ``model``, ``pages``, ``systems``, ``design``.
"""
