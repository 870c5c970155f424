"""Prediction of the control plane: forwarding tables and the paths of queue pairs, computed from ``DeviceConfig``."""
