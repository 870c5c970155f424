"""Conversion between a ``DeviceConfig`` and the statements of Enterprise SONiC, as far as rows of statement tables cannot express it."""
