"""The typed values that the rest of the package works with.

Takes: fabric files, inventories, locks, scenarios, jobs, studies, saved captures; hardware facts with their sources.

Gives:

- ``network``: the ``Network``.
- ``device``: ``DeviceConfig`` and ``HostConfig``.
- ``config``: configuration trees.
- ``findings``: findings and their registry.
- ``catalog``: the hardware catalog.
- ``intent``: the models of every input file.
- ``state``: ``Capture`` and ``DeviceState``.

Imports: no other wing.
"""
