"""The class ``Network``: all design decisions about a network, also stored as ``design.json``.

This package makes no decisions.
"""
