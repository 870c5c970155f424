"""Devices and their tables: what the rows of ``statements`` come to in a ``DeviceConfig``, and back."""
