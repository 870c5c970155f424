"""What changes between two networks, per device."""
