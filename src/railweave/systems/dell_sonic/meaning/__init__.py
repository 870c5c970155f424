"""Conversion between a device's configuration (``DeviceConfig``) and the values of Enterprise SONiC's statements (``statements``)."""
