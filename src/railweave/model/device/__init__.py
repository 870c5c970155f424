"""Conversion of a ``Network`` to one typed configuration per device, adapted to the device's operating system."""
