"""What the statements of FRR (``statements``) mean for a ``DeviceConfig``, and what a ``DeviceConfig`` says in them."""
