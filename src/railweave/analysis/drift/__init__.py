"""Comparison of running configurations with the design.

This package finds the differences and their effects on traffic. It can also extend the fabric file by statements that devices
have and the design lacks.
"""
