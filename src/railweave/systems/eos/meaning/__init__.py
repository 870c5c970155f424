"""Conversion between a ``DeviceConfig`` and the values of EOS's statement tables (``statements``)."""
