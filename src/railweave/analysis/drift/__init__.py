"""Comparison of running configurations with the design: the differences, and their effects on traffic."""
