"""The files that ``build`` writes.

Takes: ``Network``, configurations, forwarding tables, predictions.
Gives: the files of every device and server (``rendering``), pages and pictures (``report``), a page for each switch with the order of
bring-up (``runbook``), the output folder, written whole or not at all, and the difference of two designs (``folder``).

Imports: ``host``, ``model``, ``pages``, ``systems``, ``nics``, ``design``, ``analysis``, ``prediction``.
"""
