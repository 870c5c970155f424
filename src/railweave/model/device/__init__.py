"""``Network`` to one typed configuration per device, lowered for the device's operating system."""
