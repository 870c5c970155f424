"""Conversion between a ``DeviceConfig`` and the objects from which EOS's statements are written (``statements``)."""
