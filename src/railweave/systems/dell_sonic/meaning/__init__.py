"""Conversion between a ``DeviceConfig`` and the values of Enterprise SONiC's statement tables (``statements``)."""
