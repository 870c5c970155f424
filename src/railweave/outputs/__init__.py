"""The files that ``build`` writes.

The input is a ``Network`` with its configurations, forwarding tables and predictions. The output is:

- the files of every device and server (``rendering``)
- pages and pictures (``report``)
- a runbook page for each switch (``runbook``)
- the output folder, written completely or not at all, and the difference of two designs (``folder``)

Imports: ``host``, ``model``, ``pages``, ``systems``, ``nics``, ``design``, ``analysis``, ``prediction``.
"""
