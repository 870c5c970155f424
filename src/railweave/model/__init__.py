"""The typed values that the rest of the package works with.

Takes: fabric files, inventories, locks, scenarios, jobs, studies, saved captures; hardware facts with their sources.

Gives:

- ``network``: the ``Network``.
- ``device``: ``DeviceConfig`` and ``HostConfig``.
- ``config``: configuration trees.
- ``findings``: findings and the list of their rules.
- ``catalog``: the hardware catalog.
- ``intent``: the models of every input file.
- ``state``: ``Capture`` and ``DeviceState``.

Imports: none of the other main packages.
"""
