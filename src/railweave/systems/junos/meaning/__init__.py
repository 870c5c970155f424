"""Conversion between a device's configuration and the values of Junos's statement tables."""
