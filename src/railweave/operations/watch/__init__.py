"""Monitoring of a network: samples from its devices, the store of samples, and the deviations from the design."""
