"""Conversion between a ``DeviceConfig`` and the rows of SONiC's tables (``statements``)."""
