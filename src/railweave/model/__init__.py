"""The values that everything else is made of: typed, and decided elsewhere.

Takes: fabric files, inventories, locks, scenarios, jobs, studies, saved captures; hardware facts with their sources.
Gives: ``Network`` (``network``), ``DeviceConfig`` and ``HostConfig`` (``device``), configuration trees (``config``), findings and their
registry (``findings``), the hardware catalog (``catalog``), the models of every file (``intent``), ``Capture`` and
``DeviceState`` (``state``).

Imports: no other wing.
"""
