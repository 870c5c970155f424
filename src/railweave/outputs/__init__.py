"""The files that ``build`` writes.

Input: ``Network``, configurations, forwarding tables, predictions. Output:

- the files of every device and server (``rendering``)
- pages and pictures (``report``)
- a runbook page for each switch (``runbook``)
- the output folder, written completely or not at all, and the difference of two designs (``folder``)

Imports: ``host``, ``model``, ``pages``, ``systems``, ``nics``, ``design``, ``analysis``, ``prediction``.
"""
