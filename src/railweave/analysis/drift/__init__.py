"""Comparison of running configurations with the design.

This package finds the differences and their effects on traffic, and can add the differing statements to the fabric
file.
"""
