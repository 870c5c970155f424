"""Conversion between a ``DeviceConfig`` and the statements of FRR (``statements``)."""
