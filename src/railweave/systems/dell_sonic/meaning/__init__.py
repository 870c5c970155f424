"""Inference that rows cannot say: what the statements of Enterprise SONiC mean for a ``DeviceConfig``, and the reverse."""
