"""Predictions of how long collectives and training steps take on a designed network.

Takes: ``Network``, forwarding tables, a collective or a job file.

Gives: messages between NICs (``collectives``), the graph of a training step (``jobs``), arrays for the engines that simulate the
network, and predictions with their likely range (``simulation``).

Imports: ``model``, ``pages``, ``nics``, ``design``, ``analysis``.
"""
