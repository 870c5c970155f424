"""``DeviceConfig`` to forwarding tables and the paths of queue pairs: what the control plane will do."""
