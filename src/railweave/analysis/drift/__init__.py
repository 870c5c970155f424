"""Comparison of running configurations with the design: the differences, their effects on traffic, and their adoption into the fabric file."""
