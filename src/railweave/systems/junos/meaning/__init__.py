"""Conversion between a device's configuration and the data classes of Junos's statement tables (``statements``)."""
