"""Conversion between a ``DeviceConfig`` and the objects that EOS's statement tables print and read (``statements``)."""
